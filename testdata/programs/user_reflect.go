package main

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/nn"
)

type Mode uint

func (m *Mode) Set(s string) error {
	n, err := strconv.Atoi(s)
	*m = Mode(n)
	return err
}
func (m Mode) String() string { return "mode" + strconv.Itoa(int(m)) }

type Params struct {
	LR      float64 `arg:"lr" help:"learning rate" default:"0.1"`
	Epochs  int     `arg:"epochs" default:"3"`
	Name    string  `default:"net"`
	Layers  []int   `arg:"layers"`
	Verbose bool    `default:"true"`
	private int
	Sub     struct {
		Depth int8 `default:"4"`
	}
}

func defaults(v any) {
	rv := reflect.ValueOf(v).Elem()
	for i := range rv.NumField() {
		f, sf := rv.Field(i), rv.Type().Field(i)
		if !sf.IsExported() {
			continue
		}
		if f.Kind() == reflect.Struct {
			defaults(f.Addr().Interface())
			continue
		}
		d, ok := sf.Tag.Lookup("default")
		if !ok {
			continue
		}
		switch f.Kind() {
		case reflect.Float64:
			x, _ := strconv.ParseFloat(d, 64)
			f.SetFloat(x)
		case reflect.Int, reflect.Int8:
			x, _ := strconv.ParseInt(d, 10, 64)
			f.SetInt(x)
		case reflect.String:
			f.SetString(d)
		case reflect.Bool:
			f.SetBool(d == "true")
		}
	}
}

type Block struct {
	nn.Module
	Fc   *nn.Linear
	Name string
}

func (b *Block) Forward(x *torch.Tensor) *torch.Tensor { return b.Fc.Forward(x).Relu() }

type Plugin interface {
	Name() string
	Run(args ...int) (int, error)
}
type sum struct{ base int }

func (s sum) Name() string { return "sum" }
func (s sum) Run(args ...int) (int, error) {
	t := s.base
	for _, a := range args {
		t += a
	}
	return t, nil
}
func (s *sum) Reset() { s.base = 0 }

type Registry map[string]reflect.Type

func (r Registry) Add(p Plugin) { r[p.Name()] = reflect.TypeOf(p) }
func (r Registry) New(name string) Plugin {
	return reflect.New(r[name]).Elem().Interface().(Plugin)
}

func dump(v reflect.Value, depth int) {
	pad := strings.Repeat(" ", depth)
	switch v.Kind() {
	case reflect.Struct:
		fmt.Println(pad+v.Type().String(), v.NumField(), v.Type().Size() > 0)
		for i := range v.NumField() {
			fmt.Printf("%s.%s %s %v\n", pad, v.Type().Field(i).Name, v.Field(i).Type(), v.Field(i).CanInterface())
			dump(v.Field(i), depth+1)
		}
	case reflect.Slice:
		fmt.Println(pad, v.Len(), v.Type().Elem())
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		fmt.Println(pad, keys)
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			dump(v.Elem(), depth+1)
		}
	default:
		fmt.Println(pad, v)
	}
}

func main() {
	var p Params
	defaults(&p)
	fmt.Printf("%+v\n", p)
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	fs.SetOutput(os.Stdout)
	var m Mode = 2
	fs.Var(&m, "mode", "the `kind` of run")
	fs.Float64Var(&p.LR, "lr", p.LR, "rate")
	fs.Func("layers", "sizes", func(s string) error {
		for _, x := range strings.Split(s, ",") {
			n, err := strconv.Atoi(x)
			if err != nil {
				return err
			}
			p.Layers = append(p.Layers, n)
		}
		return nil
	})
	fmt.Println(fs.Parse([]string{"-mode", "5", "-layers", "3,4", "-lr=0.5", "rest"}), m, p.Layers, p.LR, fs.Args())
	fs.PrintDefaults()
	fmt.Println(fs.Parse([]string{"-mode", "x"}))
	r := Registry{}
	r.Add(sum{3})
	pl := r.New("sum")
	fmt.Println(pl.Run(1, 2))
	v := reflect.ValueOf(pl)
	fmt.Println(v.Type(), v.NumMethod(), v.MethodByName("Run").Type(), v.MethodByName("Run").Call([]reflect.Value{reflect.ValueOf(4)})[0])
	fmt.Println(v.MethodByName("Run").CallSlice([]reflect.Value{reflect.ValueOf([]int{1, 2})})[0], reflect.TypeFor[*sum]().NumMethod())
	s := sum{9}
	reflect.ValueOf(&s).MethodByName("Reset").Call(nil)
	fmt.Println(s, reflect.TypeFor[Plugin]().NumMethod(), reflect.TypeFor[sum]().Implements(reflect.TypeFor[Plugin]()))
	dump(reflect.ValueOf(map[string]any{"a": p, "b": []Mode{1}}), 0)
	dump(reflect.ValueOf(p), 0)
	dump(reflect.ValueOf(&struct {
		A any
		P Plugin
		m Mode
	}{m, pl, 3}), 0)
	b := &Block{Fc: nn.NewLinear(2, 2), Name: "blk"}
	t := reflect.TypeOf(b)
	fmt.Println(t, t.Elem().Name(), t.Elem().Field(0).Name, t.Elem().Field(0).Anonymous, t.Elem().Field(1).Type)
	_, has := t.MethodByName("Forward")
	fmt.Println(has)
	out := reflect.ValueOf(b).MethodByName("Forward").Call([]reflect.Value{reflect.ValueOf(torch.Zeros(1, 2))})
	fmt.Println(out[0].Interface().(*torch.Tensor).Shape())
	swap := func(in []reflect.Value) []reflect.Value { return []reflect.Value{in[1], in[0]} }
	var ss func(Mode, string) (string, Mode)
	reflect.ValueOf(&ss).Elem().Set(reflect.MakeFunc(reflect.TypeOf(ss), swap))
	fmt.Println(ss(3, "x"))
	fmt.Println(reflect.DeepEqual(map[Mode][]Params{1: {p}}, map[Mode][]Params{1: {p}}), reflect.DeepEqual(sum{1}, sum{2}), reflect.DeepEqual(error(nil), nil))
	cp := reflect.MakeSlice(reflect.TypeOf([]Mode{}), 2, 4)
	cp.Index(1).SetUint(7)
	reflect.Copy(cp, reflect.ValueOf([]Mode{1}))
	fmt.Println(cp.Interface(), cp.Cap(), reflect.Indirect(reflect.ValueOf(&m)).Uint())
	mm := reflect.MakeMap(reflect.TypeFor[map[Mode]*sum]())
	mm.SetMapIndex(reflect.ValueOf(Mode(1)), reflect.ValueOf(&sum{4}))
	for k, v := range mm.Seq2() {
		fmt.Println(k, v.Elem().Field(0))
	}
	got := mm.Interface().(map[Mode]*sum)
	got[2] = &sum{5}
	fmt.Println(mm.Len(), got[1].base)
	defer func() { fmt.Println(recover()) }()
	reflect.ValueOf(p).Field(0).SetFloat(1)
}

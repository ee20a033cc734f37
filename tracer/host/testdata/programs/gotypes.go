package main

import (
	"container/heap"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
	"text/template"
	"time"
)

type Base struct {
	ID   int `json:"id"`
	Tags []string
}

func (b Base) Describe() string { return fmt.Sprintf("base#%d", b.ID) }

type Kind int

const (
	A Kind = iota
	B
)

func (k Kind) String() string { return [...]string{"A", "B"}[k] }
func (k Kind) MarshalText() ([]byte, error) {
	return []byte("kind-" + k.String()), nil
}
func (k *Kind) UnmarshalText(b []byte) error {
	switch string(b) {
	case "kind-A":
		*k = A
	case "kind-B":
		*k = B
	default:
		return fmt.Errorf("bad kind %q", b)
	}
	return nil
}

type Dur time.Duration

func (d Dur) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }
func (d *Dur) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	x, err := time.ParseDuration(s)
	*d = Dur(x)
	return err
}

type Config struct {
	Base
	Name    string         `json:"name"`
	K       Kind           `json:"kind"`
	Timeout Dur            `json:"timeout,omitempty"`
	ByKind  map[Kind]int   `json:"by_kind"`
	Next    *Config        `json:"next,omitempty"`
	Any     any            `json:"any"`
	Extra   map[string]any `json:"extra,omitempty"`
	hidden  int
}

type Vec []float64

func (v Vec) Sum() (s float64) {
	for _, x := range v {
		s += x
	}
	return
}

type MyErr struct{ Code int }

func (e *MyErr) Error() string { return fmt.Sprintf("code %d", e.Code) }
func (e *MyErr) Is(t error) bool {
	_, ok := t.(*MyErr)
	return ok
}
func (e *MyErr) Unwrap() []error { return []error{os.ErrNotExist, context.Canceled} }

type Pair[K comparable, V any] struct {
	Key K
	Val V
}

type Shape interface{ Area() float64 }
type Sq struct{ S float64 }

func (s Sq) Area() float64 { return s.S * s.S }

type PQ []*Config

func (p PQ) Len() int           { return len(p) }
func (p PQ) Less(i, j int) bool { return p[i].ID < p[j].ID }
func (p PQ) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *PQ) Push(x any)        { *p = append(*p, x.(*Config)) }
func (p *PQ) Pop() any {
	o := *p
	x := o[len(o)-1]
	*p = o[:len(o)-1]
	return x
}

type list []string

func (l *list) String() string     { return strings.Join(*l, "+") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

type G struct{ x int }

func (g G) GoString() string { return "G!" }

type F struct{ n int }

func (f F) Format(s fmt.State, v rune) { fmt.Fprintf(s, "<%c %d>", v, f.n) }

func main() {
	c := Config{Base: Base{7, []string{"x"}}, Name: "n", K: B, Timeout: Dur(3 * time.Second), ByKind: map[Kind]int{A: 1, B: 2}, Next: &Config{Name: "m"}, Any: Base{ID: 3}, Extra: map[string]any{"p": Pair[string, int]{"k", 1}}}
	b, err := json.Marshal(c)
	fmt.Println(string(b), err)
	var d Config
	fmt.Println(json.Unmarshal(b, &d))
	fmt.Println(d.Next.Name, d.ID, d.Any)
	d.Next = nil
	fmt.Printf("%+v\n", d)
	fmt.Println(json.Unmarshal([]byte(`{"kind":"zz"}`), &d), json.Unmarshal([]byte(`{"name":3}`), &d))
	t := reflect.TypeOf(c)
	fmt.Println(t.Name(), t, t.NumMethod(), t.NumField(), t.Field(0).Anonymous, t.Field(7).Name, t.PkgPath(), reflect.TypeOf(&c).NumMethod())
	for i := range t.NumMethod() {
		fmt.Println(t.Method(i).Name, t.Method(i).Type)
	}
	fmt.Println(reflect.ValueOf(c).MethodByName("Describe").Call(nil)[0], t.Method(0).Func.Call([]reflect.Value{reflect.ValueOf(c)})[0])
	fmt.Println(template.Must(template.New("x").Parse(`{{.Name}} {{.Describe}} {{.K}} {{range $k,$v := .ByKind}}{{$k}}={{$v}} {{end}}{{.Next.Name}} {{.Any.ID}}
`)).Execute(os.Stdout, c))
	fmt.Println(template.Must(template.New("x").Funcs(template.FuncMap{"f": func(c *Config) string { return c.Name }}).Parse(`{{range .}}{{f .}} {{end}}`)).Execute(os.Stdout, []*Config{&c, c.Next}))
	e := fmt.Errorf("w: %w", &MyErr{3})
	var me *MyErr
	fmt.Println(errors.As(e, &me), me, errors.Is(e, os.ErrNotExist), errors.Is(e, &MyErr{9}), errors.Is(e, context.Canceled), errors.Is(e, context.DeadlineExceeded))
	var co interface{ Unwrap() []error }
	fmt.Println(errors.As(e, &co), co != nil)
	fmt.Printf("%v %+v %#v %T\n", Pair[string, Kind]{"a", B}, Pair[string, Kind]{"a", B}, Pair[string, Kind]{"a", B}, Pair[Sq, Kind]{})
	fmt.Printf("%v %T %#v\n", Vec{1, 2}, Vec{}, Vec{1})
	var sh Shape = Sq{2}
	fmt.Printf("%v %T %+v %#v\n", sh, sh, []Shape{sh}, []Shape{sh})
	fmt.Printf("%v %#v %v %+v %d\n", G{1}, []G{{2}}, F{3}, map[string]F{"a": {1}}, struct{ F F }{F{2}})
	pq := &PQ{&c}
	heap.Init(pq)
	heap.Push(pq, &Config{Base: Base{ID: 1}})
	heap.Push(pq, &Config{Base: Base{ID: 5}})
	for pq.Len() > 0 {
		fmt.Print(heap.Pop(pq).(*Config).ID, " ")
	}
	sort.Sort(sort.Reverse(sort.StringSlice([]string{"a"})))
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	var l list
	fs.Var(&l, "l", "list")
	fmt.Println(fs.Parse([]string{"-l", "a", "-l", "b"}), l, &l)
	x, err := xml.MarshalIndent(struct {
		XMLName xml.Name `xml:"r"`
		N       string   `xml:"n,attr"`
		V       Vec      `xml:"v"`
		K       Kind
	}{N: "q", V: Vec{1, 2}, K: B}, "", " ")
	fmt.Println(string(x), err)
	fmt.Println(reflect.DeepEqual(c, c), reflect.DeepEqual(Vec{1}, Vec{1}), reflect.DeepEqual(Vec{1}, []float64{1}))
	var z any = c.K
	switch z.(type) {
	case int:
		fmt.Println("int")
	case fmt.Stringer:
		fmt.Println("stringer")
	}
	m := map[any]int{A: 1, 0: 2, Pair[int, int]{1, 2}: 3}
	fmt.Println(m[A], m[0], m[Pair[int, int]{1, 2}], m[Pair[int, int8]{1, 2}])
	defer func() {
		r := recover()
		fmt.Println(r)
		type local struct{ a int }
		fmt.Printf("%T %v\n", local{}, local{3})
		_, err := json.Marshal(map[string]any{"f": func() {}})
		fmt.Println(err)
		_, err = json.Marshal(struct{ C chan Kind }{})
		fmt.Println(err)
	}()
	_ = z.(Shape)
}

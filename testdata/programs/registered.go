package main

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

type Layer interface {
	Forward(*torch.Tensor) *torch.Tensor
}

type Dense struct {
	Units int     `cfg:"units" default:"4"`
	Scale float64 `cfg:"scale" default:"0.5"`
	Bias  bool    `cfg:"bias" default:"true"`
	Name  string  `cfg:"name"`
	w     *torch.Tensor
}

func (d *Dense) Build(in int) error {
	if d.Units <= 0 {
		return &ConfigError{Field: "units", Err: fmt.Errorf("%d: %w", d.Units, ErrRange)}
	}
	d.w = torch.Arange(in*d.Units).Reshape(in, d.Units).To(torch.Float32).Mul(d.Scale)
	return nil
}
func (d *Dense) Forward(x *torch.Tensor) *torch.Tensor {
	y := x.Matmul(d.w)
	if d.Bias {
		y = y.Add(1)
	}
	return y
}

type Act struct {
	Fn   func(*torch.Tensor) *torch.Tensor
	Clip struct {
		Lo, Hi float64 `cfg:"x"`
	}
}

func (a Act) Forward(x *torch.Tensor) *torch.Tensor {
	return a.Fn(x).Clamp(kw.Min(a.Clip.Lo), kw.Max(a.Clip.Hi))
}

type Block struct {
	Layer
	depth int
	Inner []Layer
}

func (b *Block) Forward(x *torch.Tensor) *torch.Tensor {
	for _, l := range b.Inner {
		x = l.Forward(x)
	}
	return b.Layer.Forward(x)
}

var ErrRange = errors.New("out of range")

type ConfigError struct {
	Field string
	Err   error
}

func (e *ConfigError) Error() string { return "config " + e.Field + ": " + e.Err.Error() }
func (e *ConfigError) Unwrap() error { return e.Err }
func (e *ConfigError) Is(t error) bool {
	o, ok := t.(*ConfigError)
	return ok && (o.Field == "" || o.Field == e.Field)
}

type multi []error

func (m multi) Error() string   { return strconv.Itoa(len(m)) + " errors" }
func (m multi) Unwrap() []error { return m }

type code int

func (c code) Error() string { return "code " + strconv.Itoa(int(c)) }
func (c code) As(target any) bool {
	if p, ok := target.(**fs.PathError); ok {
		*p = &fs.PathError{Op: "as", Path: "p", Err: c}
		return true
	}
	return false
}

var registry = map[string]reflect.Type{}

func register(l Layer) {
	t := reflect.TypeOf(l)
	name := t.String()
	if t.Kind() == reflect.Pointer {
		name = t.Elem().Name()
	}
	registry[strings.ToLower(name)] = t
}

func build(name string, cfg map[string]string, in int) (Layer, error) {
	t, ok := registry[name]
	if !ok {
		return nil, &fs.PathError{Op: "build", Path: name, Err: fs.ErrNotExist}
	}
	p := t
	if t.Kind() == reflect.Pointer {
		p = t.Elem()
	}
	v := reflect.New(p)
	var errs []error
	for i := range p.NumField() {
		f := p.Field(i)
		key, ok := f.Tag.Lookup("cfg")
		if !ok || !f.IsExported() {
			continue
		}
		s, ok := cfg[key]
		if !ok {
			s = f.Tag.Get("default")
		}
		if err := set(v.Elem().Field(i), s); err != nil {
			errs = append(errs, &ConfigError{key, err})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if m := v.MethodByName("Build"); m.IsValid() {
		if err, _ := m.Call([]reflect.Value{reflect.ValueOf(in)})[0].Interface().(error); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if t.Kind() != reflect.Pointer {
		v = v.Elem()
	}
	return v.Interface().(Layer), nil
}

func set(v reflect.Value, s string) error {
	switch v.Kind() {
	case reflect.Int:
		n, err := strconv.ParseInt(s, 10, v.Type().Bits())
		v.SetInt(n)
		return err
	case reflect.Float64:
		x, err := strconv.ParseFloat(s, 64)
		v.SetFloat(x)
		return err
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		v.SetBool(b)
		return err
	case reflect.String:
		v.SetString(s)
	}
	return nil
}

func main() {
	register(&Dense{})
	register(Act{})
	register(&Block{})
	register(nn.NewReLU())
	var names []string
	for k, t := range registry {
		names = append(names, k+"="+t.String())
	}
	sort.Strings(names)
	fmt.Println(names)
	var numErr *strconv.NumError
	var pathErr *fs.PathError
	var cfgErr *ConfigError
	for _, c := range []map[string]string{{}, {"units": "x", "scale": "y"}, {"units": "-1"}, {"units": "99999999999999999999"}, {"units": "2", "bias": "false"}} {
		l, err := build("dense", c, 3)
		fmt.Println(l != nil, err, errors.Is(err, ErrRange), errors.Is(err, strconv.ErrSyntax), errors.As(err, &numErr), errors.As(err, &cfgErr), errors.Is(err, &ConfigError{Field: "scale"}))
		if err == nil {
			f := torch.Compile(l.Forward)
			fmt.Println(f(torch.Ones(2, 3)))
		}
	}
	_, err := build("conv", nil, 3)
	fmt.Println(err, errors.Is(err, fs.ErrNotExist), errors.As(err, &pathErr), pathErr.Path)
	err = fmt.Errorf("top: %w and %w", multi{code(3), fmt.Errorf("in: %w", ErrRange)}, &ConfigError{"lr", code(9)})
	var c code
	var s *fs.PathError
	var m multi
	fmt.Println(err, errors.Is(err, ErrRange), errors.Is(err, code(9)), errors.As(err, &c), c, errors.As(err, &s), s, errors.As(err, &m), len(m))
	fmt.Printf("%v|%+v|%T|%q\n", errors.Join(nil, err, nil), multi{nil}, errors.Unwrap(err), code(2))
	d, _ := build("dense", map[string]string{"units": "3", "name": "d"}, 3)
	e, _ := build("dense", nil, 3)
	b := &Block{Layer: e, Inner: []Layer{d, Act{Fn: func(x *torch.Tensor) *torch.Tensor { return x.Tanh() }, Clip: struct {
		Lo, Hi float64 `cfg:"x"`
	}{-0.5, 0.75}}, nn.NewReLU()}}
	fmt.Println(torch.Compile(b.Forward)(torch.Ones(2, 3)))
	dump(reflect.ValueOf(b), "")
	defer func() {
		r := recover()
		err, ok := r.(error)
		var re interface {
			error
			RuntimeError()
		}
		fmt.Println(ok, errors.As(err, &re), r)
	}()
	torch.Compile(func(x *torch.Tensor) *torch.Tensor { return Layer(nil).Forward(x) })(torch.Ones(1))
}

func dump(v reflect.Value, indent string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || v.Type() == reflect.TypeFor[*torch.Tensor]() {
			fmt.Println(indent, v.Type())
			return
		}
		fmt.Println(indent, v.Type(), v.Kind())
		dump(v.Elem(), indent+" ")
	case reflect.Struct:
		if !strings.HasPrefix(v.Type().String(), "main.") {
			fmt.Println(indent, v.Type())
			return
		}
		for f, x := range v.Fields() {
			fmt.Println(indent, f.Name, f.Anonymous)
			dump(x, indent+" ")
		}
	case reflect.Slice:
		for i, x := range v.Seq2() {
			fmt.Println(indent, i)
			dump(x, indent+" ")
		}
	case reflect.Func:
		fmt.Println(indent, v.Type(), v.IsNil())
	default:
		fmt.Println(indent, v)
	}
}

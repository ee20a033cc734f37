package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
)

type Shape interface {
	Area() float64
	name() string
}
type Named interface{ Name() string }
type Sq struct{ S float64 }

func (s Sq) Area() float64 { return s.S }
func (s Sq) name() string  { return "sq" }

type C struct {
	A Shape
	B int
	N Named `json:"-"`
	D []Shape
}
type K int

func (k K) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf("K%d", int(k))) }

func namedFunc() {}

func main() {
	log.SetFlags(log.Lshortfile)
	log.SetOutput(os.Stdout) // standard error would not be compared
	log.Println("hello")
	log.New(os.Stdout, "p ", log.Lshortfile|log.Lmsgprefix).Printf("%v", Sq{1})
	h := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(g []string, a slog.Attr) slog.Attr {
		if a.Key == "time" {
			return slog.Attr{}
		}
		if s, ok := a.Value.Any().(*slog.Source); ok {
			return slog.String("source", fmt.Sprint(filepath.Base(s.File), s.Line, s.Function))
		}
		return a
	}}))
	h.Info("msg", "k", K(3), "s", Sq{2}, slog.Group("g", "x", []K{1}))
	slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(g []string, a slog.Attr) slog.Attr {
		if a.Key == "time" {
			return slog.Attr{}
		}
		return a
	}})).Warn("w", "k", K(3), "c", C{A: Sq{2}, B: 3})
	fmt.Println(runtime.FuncForPC(reflect.ValueOf(namedFunc).Pointer()).Name())
	fmt.Println(runtime.FuncForPC(reflect.ValueOf(fmt.Println).Pointer()).Name())
	t := reflect.TypeFor[Shape]()
	fmt.Println(t, t.Name(), t.Kind(), t.NumMethod(), t.Method(0).Name, t.Method(0).Type, t.Method(1).Name)
	fmt.Println(reflect.TypeFor[Sq]().Implements(t), reflect.TypeFor[C]().Implements(t), reflect.TypeFor[*Sq]().AssignableTo(t), reflect.TypeFor[int]().AssignableTo(t), reflect.TypeFor[Sq]().ConvertibleTo(t))
	var c C
	fmt.Println(json.Unmarshal([]byte(`{"B":4,"A":{"S":1}}`), &c), c.B, c.A)
	fmt.Println(json.Unmarshal([]byte(`{"B":5,"A":null,"D":[1]}`), &c), c.B, c.A, c.D)
	c.A = &Sq{1}
	fmt.Println(json.Unmarshal([]byte(`{"A":{"S":7}}`), &c), c.A.Area())
	fmt.Println(reflect.ValueOf(&c).Elem().Field(0).Type().NumMethod(), reflect.ValueOf(&c).Elem().Field(0).NumMethod())
	func() {
		defer func() { fmt.Println(recover()) }()
		reflect.ValueOf(&c).Elem().Field(0).Set(reflect.ValueOf(3))
	}()
	var buf bytes.Buffer
	gob.Register(Sq{})
	fmt.Println(gob.NewEncoder(&buf).Encode(C{A: Sq{3}, B: 2, D: []Shape{Sq{4}}}))
	var d C
	fmt.Println(gob.NewDecoder(&buf).Decode(&d), d)
	tt := reflect.TypeFor[interface{ Area() float64 }]()
	fmt.Println(tt, tt.NumMethod(), reflect.TypeFor[Sq]().Implements(tt), reflect.TypeFor[Sq]().Implements(reflect.TypeFor[fmt.Stringer]()))
	st := reflect.StructOf([]reflect.StructField{{Name: "X", Type: reflect.TypeFor[Sq]()}})
	v := reflect.New(st).Elem()
	v.Field(0).Set(reflect.ValueOf(Sq{9}))
	fmt.Printf("%v %+v %T\n", v, v.Interface(), v.Interface())
	mf := reflect.MakeFunc(reflect.TypeFor[func(Sq, ...Shape) (K, error)](), func(a []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(K(a[1].Len())), reflect.Zero(reflect.TypeFor[error]())}
	}).Interface().(func(Sq, ...Shape) (K, error))
	fmt.Println(mf(Sq{}, Sq{}, Sq{}))
	out := reflect.ValueOf(func(k K, s ...Sq) (Shape, string) { return s[0], fmt.Sprint(k) }).Call([]reflect.Value{reflect.ValueOf(K(3)), reflect.ValueOf(Sq{5})})
	fmt.Println(out[0].Interface(), out[0].Type(), out[1], out[0].Elem().Type())
	m := reflect.ValueOf(map[K]Shape{1: Sq{1}, 2: nil})
	fmt.Println(m.MapIndex(reflect.ValueOf(K(1))), m.Type(), m.Type().Key().Name(), m.Len())
	fmt.Println(reflect.ValueOf(Sq{3}).Method(0).Type(), reflect.ValueOf(Sq{3}).Method(0).Call(nil)[0].Float())
	sl := reflect.Append(reflect.ValueOf([]K{1}), reflect.ValueOf(K(2))).Interface().([]K)
	fmt.Println(sl, reflect.Zero(reflect.TypeFor[C]()).Interface().(C).B)
	ch := reflect.MakeChan(reflect.TypeFor[chan K](), 1)
	ch.Send(reflect.ValueOf(K(4)))
	fmt.Println(<-ch.Interface().(chan K))
	for i, f := range reflect.VisibleFields(reflect.TypeFor[struct {
		C
		Z int `a:"b"`
	}]()) {
		fmt.Println(i, f.Name, f.Type, f.Anonymous, f.Tag, f.Index, f.PkgPath)
	}
}

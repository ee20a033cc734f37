package main

import (
	"fmt"
	"go/ast"
	"reflect"
)

type Shape interface {
	Area() float64
	name() string
}

type Sq struct{ S float64 }

func (s Sq) Area() float64 { return s.S * s.S }
func (s Sq) name() string  { return "sq" }

type Small int8
type Flag bool
type Text string
type Row [3]Small
type Rows []Row
type Table map[Text]*Leaf
type Pipe chan<- Shape
type Apply func(a Shape, rest ...Small) (Rows, error)
type Wave complex64
type Seq func(yield func(Small) bool)
type Seq2 func(yield func(Text, *Leaf) bool)

type Leaf struct {
	N    Small `json:"n" db:"key"`
	Next *Leaf
	seen bool
}

type Base struct {
	ID   int
	Leaf Leaf
}

type inner struct{ Hidden, Same Text }
type other struct{ Same Text }

type Model struct {
	Base
	*Leaf
	inner
	other
	Shape
	F   Apply
	Tab Table
	gen Pair[Small, Text]
	_   int
}

type Pair[K comparable, V any] struct {
	Key K
	Val V
}

func try(what string, f func() any) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Printf("%s: panic %T %v\n", what, r, r)
		}
	}()
	fmt.Println(what, f())
}

func all() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[Small](), reflect.TypeFor[Flag](), reflect.TypeFor[Text](), reflect.TypeFor[Row](), reflect.TypeFor[Rows](),
		reflect.TypeFor[Table](), reflect.TypeFor[Pipe](), reflect.TypeFor[Apply](), reflect.TypeFor[Wave](), reflect.TypeFor[Seq](),
		reflect.TypeFor[Seq2](), reflect.TypeFor[Leaf](), reflect.TypeFor[Model](), reflect.TypeFor[Pair[Small, Text]](), reflect.TypeFor[Shape](),
		reflect.TypeFor[*Model](), reflect.TypeFor[[]Shape](), reflect.TypeFor[map[Small]Shape](), reflect.TypeFor[func(Shape) Sq](),
		reflect.TypeFor[chan Sq](), reflect.TypeFor[<-chan Small](), reflect.TypeFor[struct{ A Small }](), reflect.TypeFor[any](),
		reflect.TypeFor[error](), reflect.TypeFor[fmt.Stringer](), reflect.TypeFor[uintptr](), reflect.TypeFor[[4]Leaf](),
	}
}

func main() {
	for _, t := range all() {
		fmt.Println(t, t.Name(), t.PkgPath(), t.Kind(), t.Size(), t.Align(), t.FieldAlign(), t.NumMethod(), t.Comparable(), t.CanSeq(), t.CanSeq2())
		try("  bits", func() any { return t.Bits() })
		try("  len", func() any { return t.Len() })
		try("  dir", func() any { return t.ChanDir() })
		try("  key", func() any { return t.Key() })
		try("  elem", func() any { return t.Elem() })
		try("  ins", func() any {
			s := ""
			for i := range t.NumIn() {
				s += t.In(i).String() + ","
			}
			for i := range t.NumOut() {
				s += "->" + t.Out(i).String()
			}
			return fmt.Sprint(s, t.IsVariadic(), t.NumOut())
		})
		try("  overflow", func() any { return t.OverflowInt(300) })
		try("  overflowu", func() any { return t.OverflowUint(300) })
		try("  overflowf", func() any { return t.OverflowFloat(1e300) })
		try("  overflowc", func() any { return t.OverflowComplex(1e300) })
		fmt.Println("  ptr", reflect.PointerTo(t), reflect.PtrTo(t) == reflect.PointerTo(t), reflect.PointerTo(t).Elem() == t, reflect.PointerTo(t).NumMethod())
		fmt.Println("  slice", reflect.SliceOf(t), reflect.SliceOf(t).Elem() == t)
		fmt.Println("  array", reflect.ArrayOf(2, t), reflect.ArrayOf(2, t).Size() == 2*t.Size())
		fmt.Println("  chan", reflect.ChanOf(reflect.RecvDir, t), reflect.ChanOf(reflect.BothDir, t))
		fmt.Println("  func", reflect.FuncOf([]reflect.Type{t, reflect.SliceOf(t)}, []reflect.Type{t}, true))
		fmt.Println("  zero", reflect.Zero(t).IsZero(), reflect.Zero(t).Kind(), reflect.New(t).Type())
	}
	fmt.Println(reflect.TypeFor[[]Shape]() == reflect.SliceOf(reflect.TypeFor[Shape]()),
		reflect.TypeFor[[2]Small]() == reflect.ArrayOf(2, reflect.TypeFor[Small]()),
		reflect.TypeFor[chan Sq]() == reflect.ChanOf(reflect.BothDir, reflect.TypeFor[Sq]()),
		reflect.TypeFor[func(Shape) Sq]() == reflect.FuncOf([]reflect.Type{reflect.TypeFor[Shape]()}, []reflect.Type{reflect.TypeFor[Sq]()}, false),
		reflect.TypeFor[*Model]() == reflect.PointerTo(reflect.TypeFor[Model]()),
		reflect.TypeFor[map[Small]Shape]() == reflect.MapOf(reflect.TypeFor[Small](), reflect.TypeFor[Shape]()))
	try("assert slice", func() any {
		v := reflect.MakeSlice(reflect.SliceOf(reflect.TypeFor[Shape]()), 2, 3)
		v.Index(0).Set(reflect.ValueOf(Sq{3}))
		return v.Interface().([]Shape)[0].Area()
	})
	try("assert array", func() any {
		return reflect.New(reflect.ArrayOf(2, reflect.TypeFor[Small]())).Elem().Interface().([2]Small)
	})
	try("assert func", func() any {
		t := reflect.FuncOf([]reflect.Type{reflect.TypeFor[Shape]()}, []reflect.Type{reflect.TypeFor[Sq]()}, false)
		f := reflect.MakeFunc(t, func(a []reflect.Value) []reflect.Value { return []reflect.Value{a[0].Elem()} })
		return f.Interface().(func(Shape) Sq)(Sq{7})
	})
	try("assert chan", func() any {
		c := reflect.MakeChan(reflect.ChanOf(reflect.BothDir, reflect.TypeFor[Sq]()), 1).Interface().(chan Sq)
		c <- Sq{8}
		return <-c
	})
	try("assert new chan", func() any {
		c := reflect.MakeChan(reflect.ChanOf(reflect.BothDir, reflect.TypeFor[Leaf]()), 1)
		c.Send(reflect.ValueOf(Leaf{N: 3}))
		v, ok := c.Recv()
		return fmt.Sprint(v, ok)
	})
	try("slice of struct of", func() any {
		t := reflect.StructOf([]reflect.StructField{{Name: "Key", Type: reflect.TypeFor[Text](), Tag: `json:"k"`}})
		v := reflect.MakeSlice(reflect.SliceOf(t), 1, 1)
		v.Index(0).Field(0).SetString("x")
		return fmt.Sprintf("%v %+v %T", v, v, v.Interface())
	})
	m := reflect.TypeFor[Model]()
	for i := range m.NumField() {
		f := m.Field(i)
		fmt.Println(f.Name, f.Type, f.Anonymous, f.PkgPath, f.Index, f.Offset, f.Tag, f.IsExported())
	}
	for _, name := range []string{"ID", "N", "Leaf", "Next", "Hidden", "Same", "seen", "Area", "gen", "none", "_"} {
		f, ok := m.FieldByName(name)
		fmt.Println(name, ok, f.Name, f.Type, f.Index, f.PkgPath, f.Tag.Get("json"), f.Tag)
	}
	for _, index := range [][]int{{0}, {0, 1}, {0, 1, 0}, {1, 0}, {1, 1}, {2, 0}, {9, 0}} {
		try(fmt.Sprint("index ", index), func() any { f := m.FieldByIndex(index); return fmt.Sprint(f.Name, f.Type, f.Index) })
	}
	f, ok := m.FieldByNameFunc(func(s string) bool { return s == "Hidden" || s == "never" })
	fmt.Println(f.Name, ok)
	f, ok = m.FieldByNameFunc(func(s string) bool { return len(s) == 1 })
	fmt.Println(f.Name, ok)
	fmt.Println(len(reflect.VisibleFields(m)))
	for _, f := range reflect.VisibleFields(m) {
		fmt.Println(f.Name, f.Index, f.Type)
	}
	for i := range m.NumMethod() {
		fmt.Println(m.Method(i).Name, m.Method(i).Type)
	}
	p, ok := reflect.TypeFor[Pair[Small, Text]]().FieldByName("Val")
	fmt.Println(p.Name, p.Type, p.Offset, ok)
	ast.Print(nil, map[Text]Small{"a": 1})
	ast.Print(nil, []any{&Leaf{N: 2}, Sq{3}, Row{1}, Table{"k": nil}})
	ast.Fprint(writer{}, nil, Base{ID: 3}, ast.NotNilFilter)
	ast.Fprint(writer{}, nil, Model{Base: Base{ID: 4}, Shape: Sq{2}}, func(name string, v reflect.Value) bool { return name != "ID" && ast.NotNilFilter(name, v) })
}

type writer struct{}

func (writer) Write(b []byte) (int, error) { fmt.Print(string(b)); return len(b), nil }

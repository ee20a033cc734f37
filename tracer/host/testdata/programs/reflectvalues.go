package main

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"unsafe"
)

type Shape interface{ Area() float64 }

type Sq struct{ S float64 }

func (s Sq) Area() float64 { return s.S * s.S }

type Zeroer struct{ A, b int }

func (Zeroer) IsZero() bool { return true }

type Small int8
type Byte uint8
type Bytes []Byte
type Raw []byte
type Flag bool
type Text string
type Real float32
type Wave complex64
type Row [3]Small
type Rows []Row
type Table map[Text]*Leaf
type Pipe chan Shape
type Fn func(Shape) Small
type Seq func(yield func(Small) bool)
type Seq2 func(yield func(Text, Leaf) bool)

type Leaf struct {
	N    Small
	Next *Leaf
	seen bool
}

type inner struct{ Hidden Text }

type Model struct {
	Leaf
	*inner
	Shape Shape
	Any   any
	Rows  Rows
	Tab   Table
	P     *Small
	F     Fn
	C     Pipe
	priv  Shape
}

func try(what string, f func() any) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Printf("%s: panic %T %v\n", what, r, r)
		}
	}()
	fmt.Println(what, f())
}

func values() []reflect.Value {
	m := &Model{Leaf: Leaf{N: 5, seen: true}, Shape: Sq{2}, Any: Small(3), Rows: Rows{{1, 2, 3}}, Tab: Table{"a": {N: 9}}, priv: Sq{4}}
	out := []reflect.Value{}
	for _, x := range []any{Small(-3), Byte(200), Bytes{1, 2}, Raw("raw"), Flag(true), Text("text"), Real(1.5), Wave(1 + 2i), Row{1, 2, 3},
		Rows{{4}}, Table{"k": nil}, Pipe(nil), Fn(nil), m, *m, Leaf{}, Zeroer{}, []Shape{Sq{1}, nil}, map[Small]Shape{1: Sq{2}}, &Row{7, 8, 9}, uintptr(3)} {
		out = append(out, reflect.ValueOf(x))
	}
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		out = append(out, v.Field(i))
	}
	return append(out, v.Field(0).Field(2), reflect.Value{})
}

func main() {
	for i, v := range values() {
		name := func(s string) string { return fmt.Sprintf("%d %s", i, s) }
		try(name("kind"), func() any { return fmt.Sprint(v.Kind(), v.IsValid(), v.CanAddr(), v.CanSet(), v.CanInterface()) })
		try(name("type"), func() any { return v.Type() })
		try(name("can"), func() any { return fmt.Sprint(v.CanInt(), v.CanUint(), v.CanFloat(), v.CanComplex()) })
		for _, call := range []struct {
			name string
			f    func() any
		}{
			{"Bool", func() any { return v.Bool() }},
			{"Int", func() any { return v.Int() }},
			{"Uint", func() any { return v.Uint() }},
			{"Float", func() any { return v.Float() }},
			{"Complex", func() any { return v.Complex() }},
			{"String", func() any { return v.String() }},
			{"Bytes", func() any { return v.Bytes() }},
			{"Len", func() any { return v.Len() }},
			{"Cap", func() any { return v.Cap() >= v.Len() }},
			{"IsNil", func() any { return v.IsNil() }},
			{"IsZero", func() any { return v.IsZero() }},
			{"Elem", func() any { return v.Elem().Kind() }},
			{"NumField", func() any { return v.NumField() }},
			{"Field", func() any { return v.Field(0).Type() }},
			{"FieldByName N", func() any { return v.FieldByName("N") }},
			{"FieldByName none", func() any { return v.FieldByName("none").IsValid() }},
			{"Hidden", func() any { return v.FieldByName("Hidden") }},
			{"FieldByIndex", func() any { return v.FieldByIndex([]int{0, 0}) }},
			{"FieldByIndexErr", func() any { x, err := v.FieldByIndexErr([]int{1, 0}); return fmt.Sprint(x.IsValid(), err) }},
			{"FieldByNameFunc", func() any { return v.FieldByNameFunc(func(s string) bool { return s == "N" }).Int() }},
			{"Fields", func() any {
				s := ""
				for f, x := range v.Fields() {
					s += fmt.Sprint(f.Name, ":", x.Kind(), " ")
				}
				return s
			}},
			{"MapKeys", func() any { return fmt.Sprint(v.MapKeys()) }},
			{"MapRange", func() any {
				it, s := v.MapRange(), ""
				for it.Next() {
					s += fmt.Sprint(it.Key(), it.Key().Type(), it.Value().Type(), it.Value().Kind())
				}
				return s
			}},
			{"Slice", func() any { return v.Slice(0, 1) }},
			{"Slice3", func() any { return v.Slice3(0, 1, 1).Cap() }},
			{"Index", func() any { return v.Index(0) }},
			{"OverflowInt", func() any { return v.OverflowInt(200) }},
			{"OverflowUint", func() any { return v.OverflowUint(300) }},
			{"OverflowFloat", func() any { return v.OverflowFloat(1e300) }},
			{"OverflowComplex", func() any { return v.OverflowComplex(1e300) }},
			{"Interface", func() any { return fmt.Sprintf("%T", v.Interface()) }},
			{"InterfaceData", func() any { return v.InterfaceData()[1] != 0 }},
			{"Addr", func() any { return v.Addr().Type() }},
			{"UnsafeAddr", func() any { return v.UnsafeAddr() != 0 }},
			{"UnsafePointer", func() any { return v.UnsafePointer() != nil }},
			{"SetInt", func() any { v.SetInt(7); return v }},
			{"SetZero", func() any { v.SetZero(); return v.IsZero() }},
			{"Comparable", func() any { return v.Comparable() }},
			{"Equal", func() any { return v.Equal(v) }},
			{"Indirect", func() any { return reflect.Indirect(v).Kind() }},
			{"NumMethod", func() any { return v.NumMethod() }},
			{"CanConvert", func() any {
				return fmt.Sprint(v.CanConvert(reflect.TypeFor[int]()), v.CanConvert(reflect.TypeFor[Text]()), v.CanConvert(reflect.TypeFor[Shape]()), v.CanConvert(reflect.TypeFor[any]()))
			}},
			{"Convert", func() any { return v.Convert(reflect.TypeFor[Text]()) }},
			{"Convert real", func() any { return fmt.Sprintf("%T", v.Convert(reflect.TypeFor[Real]()).Interface()) }},
			{"Convert any", func() any { return v.Convert(reflect.TypeFor[any]()).Type() }},
			{"Convert Shape", func() any {
				x := v.Convert(reflect.TypeFor[Shape]())
				return fmt.Sprint(x.Type(), x.Kind(), x.Elem().Type())
			}},
		} {
			try(name(call.name), call.f)
		}
	}
	setters()
	sequences()
	channels()
	methods()
}

func setters() {
	var s struct {
		I Small
		U Byte
		B Flag
		T Text
		R Real
		W Wave
		Y Raw
		V []Small
		M Table
		P unsafe.Pointer
		S Shape
		L *Leaf
	}
	v := reflect.ValueOf(&s).Elem()
	v.FieldByName("I").SetInt(300)
	v.FieldByName("U").SetUint(300)
	v.FieldByName("B").SetBool(true)
	v.FieldByName("T").SetString("t")
	v.FieldByName("R").SetFloat(1.25)
	v.FieldByName("W").SetComplex(3i)
	v.FieldByName("Y").SetBytes([]byte("abc"))
	v.FieldByName("P").SetPointer(unsafe.Pointer(&s))
	v.FieldByName("L").Set(reflect.NewAt(reflect.TypeFor[Leaf](), unsafe.Pointer(&Leaf{N: 4})))
	fmt.Println(s.I, s.U, s.B, s.T, s.R, s.W, s.Y, s.P != nil, s.L.N)
	l := v.FieldByName("V")
	l.Grow(4)
	fmt.Println(l.Cap() >= 4, l.Len())
	l.SetLen(3)
	l.Index(2).SetInt(6)
	l.SetCap(3)
	fmt.Println(s.V, cap(s.V))
	fmt.Println(reflect.AppendSlice(l, reflect.ValueOf([]Small{1, 2})), reflect.AppendSlice(l, l).Type())
	try("append slice", func() any { return reflect.AppendSlice(l, reflect.ValueOf([]int8{1})) })
	l.Clear()
	fmt.Println(s.V)
	m := reflect.MakeMapWithSize(reflect.TypeFor[Table](), 8)
	m.SetMapIndex(reflect.ValueOf(Text("x")), reflect.ValueOf(s.L))
	v.FieldByName("M").Set(m)
	fmt.Println(s.M["x"].N, len(s.M))
	it := m.MapRange()
	it.Next()
	v.FieldByName("T").SetIterKey(it)
	fmt.Println(s.T, it.Key(), it.Value().Elem().Field(0))
	it.Reset(reflect.ValueOf(map[string]Shape{"q": Sq{1}}))
	it.Next()
	fmt.Println(it.Key(), it.Value().Type(), it.Value().Elem().Type(), it.Value().NumMethod())
	try("iter key", func() any { v.FieldByName("S").SetIterKey(it); return s.S })
	try("iter value", func() any { v.FieldByName("S").SetIterValue(it); return s.S })
	m.Clear()
	fmt.Println(len(s.M))
	s.T = "again"
	v.SetZero()
	fmt.Println(s.T == "", v.IsZero())
	sl := reflect.SliceAt(reflect.TypeFor[Small](), unsafe.Pointer(&[]Small{4, 5, 6}[0]), 2)
	fmt.Println(sl, sl.Type(), sl.Interface().([]Small)[1])
	row := Row{1, 2, 3}
	rv := reflect.ValueOf(&row).Elem()
	rv.Slice(1, 3).Index(0).SetInt(9)
	fmt.Println(row, rv.Slice3(0, 2, 3).Cap(), rv.Slice(0, 2).Type())
	*rv.Addr().Interface().(*Row) = Row{5}
	fmt.Println(row)
	*(*Small)(rv.Index(1).Addr().UnsafePointer()) = 8
	fmt.Println(row)
	fmt.Println(rv.Convert(reflect.TypeFor[[3]Small]()).Type(), reflect.ValueOf([]Small{1, 2, 3}).Convert(reflect.TypeFor[Row]()), reflect.ValueOf(&row).Convert(reflect.TypeFor[*[3]Small]()).Type())
	try("short", func() any { return reflect.ValueOf([]Small{1}).Convert(reflect.TypeFor[Row]()) })
	try("equal", func() any {
		a, b := reflect.ValueOf([]Shape{Sq{1}, Sq{1}, Sq{2}, nil}), reflect.ValueOf(Sq{1})
		return fmt.Sprint(a.Index(0).Equal(a.Index(1)), a.Index(0).Equal(a.Index(2)), a.Index(0).Equal(b), a.Index(3).Equal(b), a.Index(3).Equal(a.Index(3)))
	})
}

func sequences() {
	for x := range reflect.ValueOf(Small(3)).Seq() {
		fmt.Print(x.Type(), x, " ")
	}
	for x := range reflect.ValueOf(Rows{{1}, {2}}).Seq() {
		fmt.Print(x, " ")
	}
	for x := range reflect.ValueOf(Text("añ")).Seq() {
		fmt.Print(x, " ")
	}
	for x := range reflect.ValueOf(Seq(func(yield func(Small) bool) { _ = yield(1) && yield(2) && yield(3) })).Seq() {
		fmt.Print(x.Type(), x, " ")
		if x.Int() == 2 {
			break
		}
	}
	for k, x := range reflect.ValueOf(Seq2(func(yield func(Text, Leaf) bool) { _ = yield("a", Leaf{N: 1}) && yield("b", Leaf{N: 2}) })).Seq2() {
		fmt.Print(k, x.Type(), x.Field(0), " ")
	}
	for k, x := range reflect.ValueOf(&Row{3, 4, 5}).Elem().Seq2() {
		fmt.Print(k, x, " ")
	}
	var keys []string
	for k, x := range reflect.ValueOf(map[Text]Shape{"x": Sq{1}, "y": nil}).Seq2() {
		keys = append(keys, fmt.Sprint(k, x.Type(), x.IsNil()))
	}
	sort.Strings(keys)
	fmt.Println(keys, slices.MaxFunc(reflect.ValueOf(Table{"a": nil, "b": nil}).MapKeys(), func(a, b reflect.Value) int { return int(a.String()[0]) - int(b.String()[0]) }))
	try("seq", func() any { return reflect.ValueOf(Sq{1}).Seq() })
	try("seq2", func() any { return reflect.ValueOf(Small(1)).Seq2() })
}

func channels() {
	c := make(Pipe, 2)
	v := reflect.ValueOf(c)
	c <- Sq{3}
	x, ok := v.Recv()
	fmt.Println(x.Type(), x.Elem(), ok, v.Len(), v.Cap())
	x, ok = v.TryRecv()
	fmt.Println(x.IsValid(), ok)
	go func() { c <- nil }()
	x, ok = v.Recv()
	fmt.Println(x.IsNil(), ok)
	for range 2 {
		v.Send(reflect.ValueOf(Sq{4}))
	}
	v.Close()
	for x := range v.Seq() {
		fmt.Println(x.Elem().Field(0), x.Method(0).Call(nil)[0])
	}
	x, ok = v.TryRecv()
	fmt.Println(x.Type(), x.IsNil(), ok)
	try("closed", func() any { v.Send(reflect.ValueOf(Sq{1})); return 0 })
	try("close twice", func() any { v.Close(); return 0 })
	try("close recv", func() any { reflect.ValueOf((<-chan Shape)(make(chan Shape))).Close(); return 0 })
	ready := make(chan Small)
	go func() { ready <- 4; close(ready) }()
	for {
		i, x, ok := reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ready)}})
		fmt.Println(i, x, ok)
		if !ok {
			break
		}
	}
}

func methods() {
	m := Model{Leaf: Leaf{N: 2}, inner: &inner{"h"}, Shape: Sq{2}}
	v := reflect.ValueOf(&m).Elem()
	fmt.Println(v.FieldByName("Hidden"), v.FieldByName("Hidden").CanSet(), v.FieldByName("N").CanSet())
	try("promote", func() any { v.FieldByName("Hidden").SetString("new"); return m.Hidden })
	try("priv", func() any { v.FieldByName("priv").Set(reflect.ValueOf(Sq{1})); return 0 })
	try("priv get", func() any { return v.FieldByName("priv").Interface() })
	try("seen", func() any { v.Field(0).Field(2).SetBool(true); return 0 })
	try("wrong", func() any { v.FieldByName("Shape").Set(reflect.ValueOf(Leaf{})); return 0 })
	try("wrong any", func() any { v.FieldByName("Any").Set(reflect.ValueOf(Leaf{N: 4})); return m.Any })
	try("func", func() any {
		v.FieldByName("F").Set(reflect.ValueOf(func(s Shape) Small { return Small(s.Area()) }))
		return v.FieldByName("F").Call([]reflect.Value{reflect.ValueOf(Sq{3})})[0]
	})
	try("make", func() any {
		v.FieldByName("F").Set(reflect.MakeFunc(reflect.TypeFor[Fn](), func(a []reflect.Value) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(Small(a[0].Elem().Field(0).Float()) + 1)}
		}))
		return m.F(Sq{5})
	})
	try("zeroer", func() any {
		return fmt.Sprint(reflect.ValueOf(Zeroer{1, 2}).IsZero(), reflect.ValueOf(Zeroer{}).IsZero())
	})
	try("nil embedded", func() any { m.inner = nil; return v.FieldByName("Hidden") })
}

package main

import (
	"fmt"
	"reflect"
	"sort"
)

type Shape interface {
	Area() float64
	name() string
}
type Sizer interface{ Size(Shape, ...Shape) int }
type Sq struct{ S float64 }

func (s Sq) Area() float64 { return s.S * s.S }
func (s Sq) name() string  { return "sq" }

type T struct{ V Shape }

func (t T) Take(s Shape) string           { return s.name() }
func (t T) Many(n int, s ...Shape) int    { return n + len(s) }
func (t *T) Size(s Shape, r ...Shape) int { return len(r) }
func (t T) Two(s Shape, z Sizer) (Shape, error) {
	return s, nil
}

func try(what string, f func() any) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Printf("%s: panic %T %v\n", what, r, r)
		}
	}()
	fmt.Println(what, f())
}

func vals(xs ...any) []reflect.Value {
	var out []reflect.Value
	for _, x := range xs {
		out = append(out, reflect.ValueOf(x))
	}
	return out
}

func main() {
	t := &T{Sq{1}}
	v := reflect.ValueOf(t)
	shape := reflect.TypeFor[Shape]()
	try("call", func() any { return v.MethodByName("Take").Call(vals(Sq{2}))[0] })
	try("call bad", func() any { return v.MethodByName("Take").Call(vals("x"))[0] })
	try("call func bad", func() any { return reflect.ValueOf(func(s Shape) string { return s.name() }).Call(vals(3))[0] })
	try("call method expr bad", func() any { return reflect.ValueOf(T.Take).Call(vals(*t, 3))[0] })
	try("call Method.Func bad", func() any { m, _ := reflect.TypeFor[T]().MethodByName("Take"); return m.Func.Call(vals(*t, 3))[0] })
	try("variadic", func() any { return v.MethodByName("Many").Call(vals(1, Sq{2}, Sq{3}))[0] })
	try("variadic bad", func() any { return v.MethodByName("Many").Call(vals(1, Sq{2}, 4))[0] })
	try("slice", func() any { return v.MethodByName("Many").CallSlice(vals(1, []Shape{Sq{1}}))[0] })
	try("slice bad", func() any { return v.MethodByName("Many").CallSlice(vals(1, []any{1}))[0] })
	try("few", func() any { return v.MethodByName("Take").Call(nil) })
	try("zero", func() any { return v.MethodByName("Take").Call([]reflect.Value{{}}) })
	try("nil", func() any { return v.MethodByName("Two").Call([]reflect.Value{reflect.Zero(shape), v})[0].IsNil() })
	try("sizer", func() any { return v.MethodByName("Two").Call(vals(Sq{4}, t))[0] })
	try("sizer bad", func() any { return v.MethodByName("Two").Call(vals(Sq{4}, *t))[0] })
	try("field", func() any { v.Elem().Field(0).Set(reflect.ValueOf(1)); return t })
	try("field ok", func() any { v.Elem().Field(0).Set(reflect.ValueOf(Sq{9})); return t.V })
	m := map[string]Shape{}
	mk := map[Shape]int{Sq{1}: 5}
	try("map", func() any { reflect.ValueOf(m).SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf(1)); return m })
	try("map ok", func() any { reflect.ValueOf(m).SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf(Sq{1})); return m })
	try("map del", func() any { reflect.ValueOf(m).SetMapIndex(reflect.ValueOf("k"), reflect.Value{}); return m })
	try("key", func() any { return reflect.ValueOf(mk).MapIndex(reflect.ValueOf(1)) })
	try("key ok", func() any { return reflect.ValueOf(mk).MapIndex(reflect.ValueOf(Sq{1})) })
	ch := make(chan Shape, 3)
	try("send", func() any { reflect.ValueOf(ch).Send(reflect.ValueOf(1)); return 0 })
	try("trysend", func() any { return reflect.ValueOf(ch).TrySend(reflect.ValueOf(1)) })
	try("trysend ok", func() any { return reflect.ValueOf(ch).TrySend(reflect.ValueOf(Sq{1})) })
	try("select", func() any {
		i, _, _ := reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectSend, Chan: reflect.ValueOf(ch), Send: reflect.ValueOf("q")}})
		return i
	})
	try("select ok", func() any {
		i, x, ok := reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)}})
		return fmt.Sprint(i, x, ok)
	})
	var l []Shape
	try("append", func() any { return reflect.Append(reflect.ValueOf(l), reflect.ValueOf(1)).Len() })
	try("append ok", func() any { return reflect.Append(reflect.ValueOf(l), vals(Sq{1}, Sq{2})...).Len() })
	try("iter", func() any {
		it := reflect.ValueOf(map[string]any{"a": 1}).MapRange()
		it.Next()
		reflect.ValueOf(&l).Elem().Set(reflect.MakeSlice(reflect.TypeOf(l), 1, 1))
		reflect.ValueOf(l).Index(0).SetIterValue(it)
		return l
	})
	try("make", func() any {
		f := reflect.MakeFunc(reflect.TypeFor[func() Shape](), func([]reflect.Value) []reflect.Value { return vals(5) })
		return f.Interface().(func() Shape)()
	})
	try("make ok", func() any {
		f := reflect.MakeFunc(reflect.TypeFor[func(Shape) Shape](), func(a []reflect.Value) []reflect.Value { return a })
		return f.Interface().(func(Shape) Shape)(Sq{3})
	})
	for m := range shape.Methods() {
		fmt.Println(m.Name, m.Type, m.Index, m.PkgPath, m.Func.IsValid())
	}
	for m := range reflect.TypeFor[fmt.Stringer]().Methods() {
		fmt.Println(m.Name, m.Type)
	}
	for m := range reflect.TypeFor[*T]().Methods() {
		fmt.Println(m.Name, m.Type, m.Index)
		if m.Name == "Take" {
			break
		}
	}
	for f := range reflect.TypeFor[T]().Fields() {
		fmt.Println(f.Name, f.Type)
	}
	for m, x := range reflect.ValueOf(t).Methods() {
		fmt.Println(m.Name, x.Type())
	}
	for m, x := range v.Elem().Field(0).Methods() {
		if x.IsValid() && m.IsExported() {
			fmt.Println(m.Name, x.Call(nil)[0])
		}
	}
	try("oob", func() any { return shape.Method(7).Name })
	fn := reflect.TypeOf(T.Take)
	for i := range fn.Ins() {
		_ = i
	}
	try("ins", func() any {
		var out []string
		for x := range fn.Ins() {
			out = append(out, x.String())
		}
		for x := range fn.Outs() {
			out = append(out, x.String())
		}
		return out
	})
	try("swap", func() any { l := []Shape{Sq{1}, Sq{2}}; reflect.Swapper(l)(0, 1); return l })
	try("deep", func() any { return reflect.DeepEqual([]Shape{Sq{1}}, []Shape{Sq{1}}) })
	try("copy", func() any {
		l := make([]Shape, 1)
		reflect.Copy(reflect.ValueOf(l), reflect.ValueOf([]Shape{Sq{6}}))
		return l
	})
	try("assert", func() any {
		_, ok := reflect.TypeAssert[Sizer](v)
		_, o2 := reflect.TypeAssert[Sizer](v.Elem())
		return fmt.Sprint(ok, o2)
	})
	try("struct", func() any {
		st := reflect.StructOf([]reflect.StructField{{Name: "A", Type: shape}, {Name: "B", Type: reflect.TypeFor[int]()}})
		x := reflect.New(st).Elem()
		x.Field(0).Set(reflect.ValueOf(Sq{2}))
		return fmt.Sprintf("%v %+v", st, x)
	})
	try("struct bad", func() any {
		x := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "A", Type: shape}})).Elem()
		x.Field(0).Set(reflect.ValueOf(2))
		return x
	})
	try("mapof", func() any {
		x := reflect.MakeMap(reflect.MapOf(reflect.TypeFor[string](), shape))
		x.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf(Sq{3}))
		return x.Interface().(map[string]Shape)["a"].Area()
	})
	try("comparable", func() any {
		return fmt.Sprint(shape.Comparable(), reflect.ValueOf(l).Comparable(), shape.Kind(), shape.String(), shape.Name(), shape.PkgPath(), shape.NumMethod())
	})
	ks := []string{}
	for k := range reflect.ValueOf(map[string]Shape{"a": Sq{1}, "b": nil}).Seq2() {
		ks = append(ks, k.String())
	}
	sort.Strings(ks)
	fmt.Println(ks)
}

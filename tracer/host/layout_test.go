package host

import (
	"reflect"
	"runtime"
	"testing"
	"unsafe"
)

// TestLayout checks what layout.go assumes of this release of Go.
func TestLayout(t *testing.T) {
	x := 42
	var i any = &x
	if e := (*eface)(unsafe.Pointer(&i)); e.data != unsafe.Pointer(&x) || e.typ != typeWord(reflect.TypeFor[*int]()) {
		t.Error("eface")
	}
	if typeOfWord(typeWord(reflect.TypeFor[[]string]())) != reflect.TypeFor[[]string]() {
		t.Error("typeOfWord")
	}
	if real, own := reflect.TypeFor[runtime.TypeAssertionError](), reflect.TypeFor[assertion](); real.Size() != own.Size() ||
		real.NumField() != own.NumField() || real.Field(2).Name != "asserted" || real.Field(3).Type != own.Field(3).Type {
		t.Error("runtime.TypeAssertionError")
	}
	type one struct{ p *int }
	type two struct{ _, _ *int }
	for r, want := range map[reflect.Type]bool{
		reflect.TypeFor[one](): true, reflect.TypeFor[[1]*int](): true, reflect.TypeFor[two](): false,
		reflect.TypeFor[int](): false, reflect.TypeFor[uintptr](): false, reflect.TypeFor[map[int]int](): true,
	} {
		v := reflect.New(r).Elem()
		if isDirect(r) != want {
			t.Errorf("isDirect(%s) = %v", r, !want)
		}
		if want && v.Kind() == reflect.Struct {
			v.Field(0) // reachable
			var a any = one{&x}
			if *(*unsafe.Pointer)(dataOf(&a, true)) != unsafe.Pointer(&x) {
				t.Error("dataOf of a direct struct")
			}
		}
	}
	if unsafe.Sizeof(makeFunc{}) != 6*8 {
		t.Error("size of makeFunc")
	}
}

// TestFuncValue: a func value of the interpreter is found again, and survives
// collections while only native code holds it.
func TestFuncValue(t *testing.T) {
	in := loadText(t, stepProgram, Config{})
	scale := in.Prog.Main.Func("scale")
	fn := scale.AnonFuncs[0]
	k := 6
	pk := &k // the bound value is the variable's address
	var f func(int) int
	in.MakeFunc(unsafe.Pointer(&f), fn.Signature, &Closure{Fn: fn, Free: []unsafe.Pointer{unsafe.Pointer(&pk)}})
	for range 5 {
		runtime.GC()
		if got := f(7); got != 42 {
			t.Fatalf("f(7) = %d", got)
		}
	}
	c := in.ClosureOf(unsafe.Pointer(&f))
	if c == nil || c.Fn != fn || len(c.Free) != 1 {
		t.Errorf("closure %v", c)
	}
	native := func(x int) int { return x }
	var none func(int) int
	made := reflect.MakeFunc(reflect.TypeOf(f), func(a []reflect.Value) []reflect.Value { return a }).Interface().(func(int) int)
	for name, g := range map[string]*func(int) int{"native": &native, "nil": &none, "made by reflect": &made} {
		if in.ClosureOf(unsafe.Pointer(g)) != nil {
			t.Errorf("%s has a closure", name)
		}
	}
}

// TestFuncTypes calls functions of many shapes from native code: arguments in
// registers and on the stack, pointers among them.
func TestFuncTypes(t *testing.T) {
	in := loadText(t, `package main

type big struct {
	a, b, c, d, e int
	s             string
}

func many(a int, b string, c float64, d []int, e big, f *int, g any, h int8, i, j, k, l, m int) (string, int, error) {
	return b + e.s + g.(string), a + len(d) + *f + int(h) + i + j + k + l + m + e.e, nil
}

func main() {}
`, Config{})
	fn := in.Prog.Main.Func("many")
	w := in.funcValue(fn)
	v := reflect.NewAt(in.Rep(fn.Signature), unsafe.Pointer(&w)).Elem()
	x := 5
	args := []reflect.Value{reflect.ValueOf(1), reflect.ValueOf("b"), reflect.ValueOf(2.5), reflect.ValueOf([]int{1, 2})}
	e := reflect.New(v.Type().In(4)).Elem()
	*(*int)(unsafe.Add(e.Addr().UnsafePointer(), 32)) = 100
	*(*string)(unsafe.Add(e.Addr().UnsafePointer(), 40)) = "S"
	args = append(args, e, reflect.ValueOf(&x), reflect.ValueOf("any"), reflect.ValueOf(int8(3)))
	for i := range 5 {
		args = append(args, reflect.ValueOf(i))
	}
	runtime.GC()
	out := v.Call(args)
	if out[0].String() != "bSany" || out[1].Int() != 1+2+5+3+10+100 || !out[2].IsNil() {
		t.Errorf("got %v", out)
	}
}

// TestPooledFramesHoldNothing: a returned frame does not keep objects alive.
func TestPooledFramesHoldNothing(t *testing.T) {
	in := loadText(t, stepProgram, Config{})
	fn := in.Prog.Main.Func("pair")
	th := in.newThread()
	gone := make(chan bool, 1)
	func() {
		big := &[1 << 16]int{1: 9}
		runtime.AddCleanup(big, func(c chan bool) { c <- true }, gone)
		f := th.Push(fn, nil, nil)
		*(*[]int)(f.Addr(fn.Params[0])) = big[:]
		th.Run(nil)
	}()
	for range 10 {
		runtime.GC()
		if len(gone) > 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("still held")
	runtime.KeepAlive(th)
}

// TestResliceAtTheEnd: an empty slice at the end of an array must not point
// after it, where another object may begin.
func TestResliceAtTheEnd(t *testing.T) {
	s := []int{1, 2, 3}
	h := *(*sliceHeader)(unsafe.Pointer(&s))
	end := func(*Frame) int { return 3 }
	if got := reslice(nil, h, 8, end, nil, nil, false); got.data != h.data || got.len != 0 || got.cap != 0 {
		t.Errorf("%v of %v", got, h)
	}
}

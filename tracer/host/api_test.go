package host

import (
	"bytes"
	"fmt"
	"go/types"
	"reflect"
	"testing"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// The tests of this file use the interpreter as the tracer does.

const stepProgram = `package main

import "fmt"

type Shape interface{ Area() int }

type rect struct{ w, h int }

func (r rect) Area() int { return r.w * r.h }

var global = 5

func add(a, b int) int { return a + b }

func sum(n int) (total, last int) {
	for i := 0; i < n; i++ {
		total = add(total, i)
		last = i
	}
	return
}

func area(s Shape) int { return s.Area() + global }

func scale(k int) func(int) int { return func(x int) int { return k * x } }

func pair(xs []int) (int, string) { return xs[1], "s" }

func local(n int) int {
	var a [4]int
	for i := range a {
		a[i] = n + i
	}
	return a[3]
}

func outer(n int) int {
	x := inner(n) + 1
	return x * 2
}

func inner(n int) int { return n * 10 }

func main() {
	f := scale(3)
	fmt.Println(f(4), area(rect{2, 3}), outer(1))
}
`

func loadText(t *testing.T, text string, cfg Config) *Interp {
	t.Helper()
	p, err := Load(LoadConfig{Paths: []string{write(t, text)}})
	if err != nil {
		t.Fatal(err)
	}
	in := New(p, cfg)
	if init := p.Main.Func("init"); init != nil {
		th := in.newThread()
		th.Push(init, nil, nil)
		th.Run(nil)
	}
	return in
}

// stepAll single-steps th until the frame below has the result.
func stepAll(t *testing.T, th *Thread, limit int) {
	t.Helper()
	for range limit {
		if th.Top() == nil {
			return
		}
		if p := th.Step(); p != nil {
			t.Fatalf("step panicked: %v", p)
		}
	}
	t.Fatal("no end")
}

// result runs fn with int arguments step by step and reads its results.
func result(t *testing.T, in *Interp, name string, run func(th *Thread), args ...int) []int {
	t.Helper()
	fn := in.Prog.Main.Func(name)
	th := in.NewThread()
	f := th.Push(fn, nil, nil)
	out := make([]int, max(2, fn.Signature.Results().Len()))
	f.retp = unsafe.Pointer(&out[0])
	for i, a := range args {
		*(*int)(f.Addr(fn.Params[i])) = a
	}
	run(th)
	return out
}

func TestStep(t *testing.T) {
	in := loadText(t, stepProgram, Config{})
	got := result(t, in, "sum", func(th *Thread) { stepAll(t, th, 1000) }, 10)
	if got[0] != 45 || got[1] != 9 {
		t.Errorf("sum(10) = %v by single steps", got)
	}
	got = result(t, in, "sum", func(th *Thread) { th.Run(nil) }, 10)
	if got[0] != 45 || got[1] != 9 {
		t.Errorf("sum(10) = %v by the loop", got)
	}
	got = result(t, in, "sum", func(th *Thread) {
		depth := th.Depth()
		for th.StepOver() {
			if th.Depth() != depth {
				t.Fatal("StepOver left a frame of the callee")
			}
		}
	}, 10)
	if got[0] != 45 {
		t.Errorf("sum(10) = %v by StepOver", got)
	}
}

// TestStepPanics: a panicking instruction changes nothing.
func TestStepPanics(t *testing.T) {
	in := loadText(t, stepProgram, Config{})
	fn := in.Prog.Main.Func("pair")
	th := in.NewThread()
	f := th.Push(fn, nil, nil)
	*(*[]int)(f.Addr(fn.Params[0])) = []int{1}
	pc := f.PC
	p := th.Step()
	if err, ok := p.(error); !ok || err.Error() != "runtime error: index out of range [1] with length 1" {
		t.Errorf("got %v", p)
	}
	if f.PC != pc || th.Top() != f {
		t.Error("the frame moved")
	}
	*(*[]int)(f.Addr(fn.Params[0])) = []int{1, 7}
	if p := th.Step(); p != nil {
		t.Errorf("the repaired instruction panics: %v", p)
	}
}

// TestClone: a copy runs on without touching the original, local arrays
// included.
func TestClone(t *testing.T) {
	in := loadText(t, stepProgram, Config{})
	fn := in.Prog.Main.Func("local")
	th := in.newThread() // not a scratch thread: the array lies in the frame
	f := th.Push(fn, nil, nil)
	var a, b int
	f.retp = unsafe.Pointer(&a)
	*(*int)(f.Addr(fn.Params[0])) = 10
	for range 8 {
		th.Step()
	}
	array := in.Code(fn).Instrs[0].(*ssa.Alloc)
	elems := *(**[4]int)(f.Addr(array))
	before := *elems
	scratch := in.NewThread()
	c := f.Clone()
	c.retp = unsafe.Pointer(&b)
	scratch.PushFrame(c)
	*(*int)(c.Addr(fn.Params[0])) = 20
	scratch.Run(nil)
	if *elems != before {
		t.Errorf("the clone wrote %v over %v", *elems, before)
	}
	th.Run(nil)
	tracer := in.NewThread()
	f = tracer.Push(fn, nil, nil)
	tracer.Step()
	if p := *(*uintptr)(f.Addr(array)); p >= uintptr(f.fp) && p < uintptr(f.fp)+f.Code.layout.Size() {
		t.Error("a scratch thread keeps a local array in its frame, where the next frame will have another object")
	}
	if a != 13 || b != 23 {
		t.Errorf("original %d, clone %d", a, b)
	}
}

// TestRebuild builds a stack of two frames by hand, returns a value from the
// upper one and lets the host go on: what a resume after a break does.
func TestRebuild(t *testing.T) {
	in := loadText(t, stepProgram, Config{})
	fn := in.Prog.Main.Func("outer")
	var call *ssa.Call
	for _, i := range in.Code(fn).Instrs {
		if c, ok := i.(*ssa.Call); ok {
			call = c
		}
	}
	th := in.NewThread()
	f := th.Push(fn, nil, nil)
	var got int
	f.retp = unsafe.Pointer(&got)
	f.PC = f.Code.PC(call) + 1
	if f.Code.BlockPC(call.Block()) != 0 {
		t.Error("the entry block starts at pc 0")
	}
	th.Push(in.Prog.Main.Func("inner"), nil, call)
	v := 100
	th.Return([]unsafe.Pointer{unsafe.Pointer(&v)})
	th.Run(nil)
	if got != 202 {
		t.Errorf("got %d", got)
	}
}

func TestInterfaces(t *testing.T) {
	in := loadText(t, stepProgram, Config{})
	pkg := in.Prog.Main.Pkg.Scope()
	rect, shape := pkg.Lookup("rect").Type(), pkg.Lookup("Shape").Type()
	src, dst := in.New(rect), in.New(shape)
	in.value2(src, 4, 5)
	in.MakeInterface(dst, shape, rect, src)
	d, p := in.Dynamic(shape, dst)
	if !types.Identical(d, rect) || *(*[2]int)(p) != [2]int{4, 5} {
		t.Errorf("dynamic %v %v", d, p)
	}
	other := in.New(shape)
	in.MakeInterface(other, shape, rect, src)
	if !in.Equal(shape, dst, other) {
		t.Error("equal values differ")
	}
	in.value2(src, 4, 6)
	in.MakeInterface(other, shape, rect, src)
	if in.Equal(shape, dst, other) {
		t.Error("different values are equal")
	}
	errType := types.Universe.Lookup("error").Type()
	e := fmt.Errorf("native")
	if d, _ := in.Dynamic(errType, unsafe.Pointer(&e)); d == nil ||
		d.String() != "*fmt.wrapError" && d.String() != "*fmt.fmtError" && d.String() != "*errors.errorString" {
		t.Errorf("dynamic type of a native error: %v", d)
	}
	var none error
	if d, p := in.Dynamic(errType, unsafe.Pointer(&none)); d != nil || p != nil {
		t.Error("a nil interface has a dynamic type")
	}
}

func (in *Interp) value2(p unsafe.Pointer, a, b int) { *(*[2]int)(p) = [2]int{a, b} }

// TestResolve: Callee and NativeName see through func values and interfaces.
func TestResolve(t *testing.T) {
	in := loadText(t, stepProgram, Config{Stdout: &bytes.Buffer{}})
	main := in.Prog.Main.Func("main")
	th := in.NewThread()
	f := th.Push(main, nil, nil)
	var names []string
	for th.Top() == f {
		if call, ok := f.Instr().(*ssa.Call); ok {
			if fn, free := f.Callee(call.Common()); fn != nil {
				names = append(names, fmt.Sprint(fn.Name(), len(free)))
			} else {
				names = append(names, f.NativeName(call.Common()))
			}
		}
		th.StepOver()
	}
	want := []string{"scale0", "scale$11", "area0", "outer0", "fmt.Println"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("got %q", names)
	}
}

// TestCompiledHook: a closure with Compiled set reaches the hook from
// interpreted and from native code, and the hook may run the call itself.
func TestCompiledHook(t *testing.T) {
	const text = `package main

import (
	"fmt"
	"sort"

	"tcdbg/torch"
)

func twice(x int) int { return 2 * x }

func less(i, j int) bool { return i > j }

func fails(x int) int { defer func() { fmt.Println("deferred") }(); panic("inside") }

func main() {
	f := torch.Compile(twice)
	fmt.Println(f(4), f(5))
	s := []int{1, 2, 3}
	sort.Slice(s, torch.Compile(less))
	fmt.Println(s)
	g := torch.Compile(fails)
	func() {
		defer func() { fmt.Println("recovered", recover()) }()
		g(1)
	}()
}
`
	var calls []string
	passed := false // the panic left the hook, its frames unwound
	var out bytes.Buffer
	cfg := Config{Stdout: &out, Intrinsics: map[string]Intrinsic{}}
	cfg.Intrinsics["tcdbg/torch.Compile"] = func(th *Thread, call *Frame, args []unsafe.Pointer, result unsafe.Pointer) {
		c := th.In.ClosureOf(args[0])
		sig := call.CallSite().Common().Signature().Results().At(0).Type().Underlying().(*types.Signature)
		th.In.MakeFunc(result, sig, &Closure{Fn: c.Fn, Free: c.Free, Compiled: "compiled"})
	}
	cfg.Compiled = func(th *Thread, f *Frame, c *Closure) bool {
		calls = append(calls, c.Fn.Name())
		caller := f.Caller
		switch c.Fn.Name() {
		case "twice":
			x := *(*int)(f.Addr(c.Fn.Params[0]))
			if x == 5 {
				return false // the interpreter runs it
			}
			v := 1000 + x
			th.Return([]unsafe.Pointer{unsafe.Pointer(&v)})
			return true
		case "fails":
			defer func() {
				if r := recover(); r != nil {
					passed = th.Top() == caller
					panic(r)
				}
			}()
			for th.StepOver() {
			}
			return true
		}
		return false
	}
	p, err := Load(LoadConfig{Paths: []string{write(t, text)}})
	if err != nil {
		t.Skipf("SKIPPED: torch does not load: %v", err)
	}
	if e := New(p, cfg).Run(); e.Code != 0 {
		t.Fatalf("exit %v", e)
	}
	want := "1004 10\n[3 2 1]\ndeferred\nrecovered inside\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
	if !passed {
		t.Error("the panic of a compiled call did not pass through the hook")
	}
	if len(calls) < 5 || calls[0] != "twice" || calls[len(calls)-1] != "fails" {
		t.Errorf("calls %q", calls)
	}
}

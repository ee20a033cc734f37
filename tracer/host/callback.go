package host

import (
	"context"
	"go/types"
	"sort"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// This file is what native code calls back. The functions that it is given run on threads
// of their own (see [Interp.nativeCall]); what Config.Counted names there is counted for
// the thread that called the native code. Where native code starts a goroutine to run one,
// nobody there recovers: a panic ends the program as its own goroutine's does.

// functionArgs are the arguments of a call of a native function that are func
// values, the receiver being argument 0 of a method.
func functionArgs(sig *types.Signature) []int {
	var out []int
	first := 0
	if sig.Recv() != nil {
		first = 1
	}
	for i := range sig.Params().Len() {
		if _, ok := sig.Params().At(i).Type().Underlying().(*types.Signature); ok {
			out = append(out, first+i)
		}
	}
	return out
}

// withCallbacks is a native call that gets func values at the given arguments.
// Each is handed over as a func value of its own, so that what it counts belongs
// to this call alone: native code may keep it and call it later, for somebody else.
func (b *builder) withCallbacks(c invocation, sig *types.Signature, args []ref, at []int, d uintptr) op {
	templates := make([]*makeFunc, len(at))
	for k, i := range at {
		if sig.Recv() != nil {
			i--
		}
		templates[k] = template(b.in, sig.Params().At(i).Type())
	}
	return func(f *Frame) *Frame {
		th := f.th
		base := th.pushArgs(f, args)
		var ran *atomic.Int64
		for k, i := range at {
			cl := closureAt(*(*unsafe.Pointer)(th.argv[base+i]))
			if cl == nil {
				continue
			}
			if ran == nil {
				ran = new(atomic.Int64)
				defer func() { th.Counted += ran.Load() }() // also where a callback panics
			}
			own := &Closure{Fn: cl.Fn, Free: cl.Free, Compiled: cl.Compiled, in: cl.in, ran: ran}
			word := newFunc(templates[k], own)
			th.argv[base+i] = unsafe.Pointer(&word)
		}
		th.native(c, f, th.argv[base:], unsafe.Add(f.fp, d))
		th.popArgs(base)
		return th.top
	}
}

func addStarted(m map[string]Intrinsic) {
	m["(*sync.WaitGroup).Go"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		wg, f := arg[*sync.WaitGroup](a, 0), arg[func()](a, 1)
		wg.Add(1)
		go func() {
			defer wg.Done()
			th.In.started(f)()
		}()
	}
	m["time.AfterFunc"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, time.AfterFunc(arg[time.Duration](a, 0), th.In.started(arg[func()](a, 1))))
	}
	m["context.AfterFunc"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, context.AfterFunc(arg[context.Context](a, 0), th.In.started(arg[func()](a, 1))))
	}
}

// PanicValue is what the program panicked with, of a panic that has gone through native code.
func PanicValue(recovered any) (value any, ok bool) {
	if p, is := recovered.(*nativePanic); is {
		return p.rec.value, true
	}
	return nil, false
}

// started is f as a goroutine's function.
func (in *Interp) started(f func()) func() {
	return func() {
		in.live.Add(1)
		defer in.live.Add(-1)
		defer func() {
			r := recover()
			if p, ok := r.(*nativePanic); ok {
				in.die(p.rec)
			} else if r != nil {
				panic(r)
			}
		}()
		f()
	}
}

// ownCall is the func value in the word at p, as a function for a goroutine of the program.
func ownCall(in *Interp, p unsafe.Pointer) func() {
	cl := closureAt(*(*unsafe.Pointer)(p))
	if cl == nil {
		return in.started(*(*func())(p))
	}
	run := routine(in, invocation{b: in.bindClosure(cl), closure: cl, free: cl.Free}, nil)
	return func() {
		in.live.Add(1)
		in.parallel.Store(true)
		run()
	}
}

// addSort is the functions of package sort that call the program for every comparison:
// they call its closures straight, where a func value would go through reflection each time.
func addSort(m map[string]Intrinsic) {
	m["sort.Slice"] = sortSlice(sort.Slice)
	m["sort.SliceStable"] = sortSlice(sort.SliceStable)
	m["sort.SliceIsSorted"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, sort.SliceIsSorted(arg[any](a, 0), lessAt(th.In, a[1])))
	}
	m["sort.Search"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		f, call := arg[func(int) bool](a, 1), direct(th.In, a[1])
		if call != nil {
			f = func(i int) (yes bool) {
				call([]unsafe.Pointer{unsafe.Pointer(&i)}, unsafe.Pointer(&yes))
				return yes
			}
		}
		put(r, sort.Search(arg[int](a, 0), f))
	}
}

func sortSlice(f func(any, func(i, j int) bool)) Intrinsic {
	return func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		f(arg[any](a, 0), lessAt(th.In, a[1]))
	}
}

// lessAt is the comparison whose func value is at p.
func lessAt(in *Interp, p unsafe.Pointer) func(i, j int) bool {
	call := direct(in, p)
	if call == nil {
		return *(*func(i, j int) bool)(p)
	}
	var x, y int
	var yes bool
	args := []unsafe.Pointer{unsafe.Pointer(&x), unsafe.Pointer(&y)}
	return func(i, j int) bool {
		x, y = i, j
		call(args, unsafe.Pointer(&yes))
		return yes
	}
}

// direct calls the program's function whose func value is at p; nil where it is
// native code, or none.
func direct(in *Interp, p unsafe.Pointer) func(args []unsafe.Pointer, result unsafe.Pointer) {
	c := in.ClosureOf(p)
	if c == nil || c.in == nil {
		return nil
	}
	b := c.in.bind(c.Fn)
	return func(args []unsafe.Pointer, result unsafe.Pointer) { c.in.nativeCall(b, c, c.Free, args, result) }
}

package host

import (
	"maps"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file routes calls of a method to Config.Compiled, for the receivers for which
// it is compiled.

// CompileMethod makes calls of fn, a method with a pointer receiver, come to
// Config.Compiled where recv is the receiver, with a closure whose Compiled field is c.
// It reports whether fn has a body here.
func (in *Interp) CompileMethod(fn *ssa.Function, recv unsafe.Pointer, c any) bool {
	code := in.bind(fn).code
	if code == nil {
		return false
	}
	for {
		old := code.compiled.Load()
		set := map[unsafe.Pointer]*Closure{}
		if old != nil {
			set = maps.Clone(*old)
		}
		set[recv] = &Closure{Fn: fn, in: in, Compiled: c}
		if code.compiled.CompareAndSwap(old, &set) {
			return true
		}
	}
}

// enterMethod hands the call whose frame f is on top to the tracer, where the method
// is compiled for its receiver. It returns the frame that runs next.
func (th *Thread) enterMethod(f *Frame) *Frame {
	if c := f.compiled(); c != nil {
		return th.enter(f, c)
	}
	return f
}

// compiled is the closure by which f's method is compiled for its receiver.
func (f *Frame) compiled() *Closure {
	return (*f.Code.compiled.Load())[*(*unsafe.Pointer)(unsafe.Add(f.fp, f.Code.params[0].off))]
}

// CallsCompiledMethod reports whether call, made by f now, is one of a method that is
// compiled for its receiver.
func (f *Frame) CallsCompiledMethod(call *ssa.CallCommon) bool {
	inv, ok := f.tryResolve(call)
	if !ok || inv.b == nil || inv.b.code == nil {
		return false
	}
	set := inv.b.code.compiled.Load()
	switch {
	case set == nil:
		return false
	case call.IsInvoke():
		return inv.recv != nil && (*set)[*(*unsafe.Pointer)(inv.recv)] != nil
	}
	return len(call.Args) > 0 && (*set)[*(*unsafe.Pointer)(f.Addr(call.Args[0]))] != nil
}

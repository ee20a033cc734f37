package backends

import (
	"runtime"
	"time"
	"unsafe"

	"tcdbg/inductor/interp"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file runs programs without compiled code, by the interpreter of kernels: for
// machines without a C compiler and as a second opinion in tests.

// interpreted executes the program without compiled code.
func (x *executable) interpreted(in []torch.Value) []torch.Value {
	f := x.frames.Get().(*frame)
	f.bind(in)
	f.place(nil)
	f.interpret(in)
	out := f.outputs(in)
	runtime.KeepAlive(in)
	f.release()
	return out
}

// interpret runs the program's steps in the interpreter.
func (f *frame) interpret(in []torch.Value) {
	x := f.x
	env := &interpEnv{f, map[string]int{}}
	for i := range x.prog.Buffers {
		env.slots[x.prog.Buffers[i].Name] = i
	}
	kernels := func(st *plan.Step, slot int) {
		for i, k := range st.Kernels {
			if k == nil { // packs what nobody reads here
				continue
			}
			start := time.Now()
			f.beside(st, i, func() { interp.Run(k, env) })
			f.took(slot+i, int64(time.Since(start))) // an interpreter has the time for a clock
		}
	}
	f.withPrologue(in, func(i int) { kernels(&x.prog.Prologue[i], x.prof.hoistedAt[i]) })
	for i := range x.prog.Steps {
		st := &x.prog.Steps[i]
		if st.Extern != nil {
			f.within = 0
			start := time.Now()
			f.beside(st, 0, func() { f.extern(st.Extern) })
			f.since(x.prof.at[i], start)
			continue
		}
		kernels(st, x.prof.at[i])
		f.verify(in)
	}
	x.prof.end()
}

// interpEnv is a call as the interpreter sees it.
type interpEnv struct {
	f     *frame
	slots map[string]int // position of a buffer by its name
}

// Eval is the value of a size in this call.
func (e *interpEnv) Eval(x sym.Int) int64 { return e.f.eval(x) }

// Pointer is where the first element of a buffer's memory lies.
func (e *interpEnv) Pointer(b *ir.Buffer) unsafe.Pointer {
	ptr := e.f.ptrs[e.slots[b.Name]]
	return *(*unsafe.Pointer)(unsafe.Pointer(&ptr))
}

// Failed notes that data is not as it must be.
func (e *interpEnv) Failed() { e.f.failed() }

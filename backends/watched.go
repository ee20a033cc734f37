package backends

import (
	"fmt"
	"runtime"
	"unsafe"

	"tcdbg/inductor"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/sched"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file runs the kernels of a program one by one, for a debugger that stops between
// them. It is the code that always runs: the runtime is told which kernel of a segment to
// run, and leaves out the others.

// watched runs the steps of a program.
func (f *frame) watched(in []torch.Value) {
	steps := f.x.whole().Steps
	for i := range steps {
		st := &steps[i]
		if st.Extern != nil {
			f.beside(st, 0, func() { f.extern(st.Extern) })
			continue
		}
		for k := range st.Names {
			f.beside(st, k, func() { f.one(st.Segment, k) })
		}
		f.verify(in)
	}
}

// whole is the program with all that is known of its kernels.
func (x *executable) whole() *inductor.Program {
	if x.planned != nil {
		return x.planned()
	}
	return x.prog
}

// one calls into C for one kernel.
func (f *frame) one(segment, kernel int) {
	f.args = [...]uintptr{
		f.x.entry, uintptr(segment), uintptr(unsafe.Pointer(&f.ptrs[0])), uintptr(unsafe.Pointer(&f.sizes[0])),
		uintptr(unsafe.Pointer(f.x.graph)), uintptr(kernel), 0,
	}
	r := ccall(f.x.rt.one, f.args[:]...)
	runtime.KeepAlive(f.x)
	if r != 0 {
		panic(fmt.Sprintf("inductor: %s has no segment %d", f.x.prog.Name, segment))
	}
}

// beside runs kernel k of a step, and tells the debugger before and after.
func (f *frame) beside(st *plan.Step, k int, run func()) {
	w := f.x.watch
	if w == nil || !w.Kernels() {
		run()
		return
	}
	kr := &tracer.KernelRun{ID: f.x.id, Graph: f.x.prog.Name, Name: st.Names[k]}
	if st.Extern == nil && k < len(st.Kernels) {
		f.buffers(kr, st.Kernels[k])
	} else if st.Extern != nil {
		f.externBuffers(kr, st.Extern)
	}
	of := f.x.whole().Provenance.Kernels
	for i := range of {
		p := &of[i]
		if p.Name != kr.Name {
			continue
		}
		kr.Ops = p.Ops
		for _, l := range p.Lines {
			kr.Lines = append(kr.Lines, l.Pos...)
		}
	}
	w.BeforeKernel(kr)
	run()
	w.AfterKernel(kr)
}

// buffers are what a kernel reads and writes in memory.
func (f *frame) buffers(kr *tracer.KernelRun, k *sched.Kernel) {
	slots := map[string]int{}
	for i := range f.x.prog.Buffers {
		slots[f.x.prog.Buffers[i].Name] = i
	}
	written, seen := map[string]bool{}, map[string]bool{}
	list := func(b *ir.Buffer, to *[]tracer.KernelTensor) {
		i, ok := slots[b.Name]
		if !ok || k.Place[b] != sched.Memory || seen[b.Name] || f.ptrs[i] == 0 {
			return
		}
		seen[b.Name] = true
		*to = append(*to, tracer.KernelTensor{Name: b.Name, T: f.tensor(i)})
	}
	for _, it := range k.Group.Members() {
		it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { written[b.Name] = true })
	}
	for _, it := range k.Group.Members() {
		it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) {
			if !written[b.Name] {
				list(b, &kr.Inputs)
			}
		})
	}
	for _, it := range k.Group.Members() {
		it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { list(b, &kr.Outputs) })
	}
}

func (f *frame) externBuffers(kr *tracer.KernelRun, e *plan.Extern) {
	for _, a := range e.Args {
		if v, ok := a.(plan.BufferView); ok {
			kr.Inputs = append(kr.Inputs, tracer.KernelTensor{Name: f.x.prog.Buffers[v.Buffer].Name, T: f.tensor(v.Buffer)})
		}
	}
	for _, b := range e.Outs {
		kr.Outputs = append(kr.Outputs, tracer.KernelTensor{Name: f.x.prog.Buffers[b].Name, T: f.tensor(b)})
	}
}

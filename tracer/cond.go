package tracer

import (
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file enters the branch of a compiler.Cond or compiler.Switch that broke the graph: the
// data decides which branch runs, but what is in it is captured like any other function.

// enterBranch does a call of compiler.Cond or compiler.Switch by pushing the frame of the
// branch that the first argument chooses. It reports false, and does nothing, where the top
// frame is elsewhere or the function itself has to see to the call: for an argument that
// cannot choose, and branches that are native, or compiled by themselves.
func (t *Tracer) enterBranch(th *host.Thread) bool {
	f := th.Top()
	in, ok := f.Instr().(*ssa.Call)
	if !ok {
		return false
	}
	branch := chosenBranch(f, in)
	if branch == nil {
		return false
	}
	cl := t.in.ClosureOf(branch)
	if cl == nil || cl.Compiled != nil || len(cl.Fn.Blocks) == 0 {
		return false
	}
	list := in.Call.Args[len(in.Call.Args)-1]
	operands := f.Addr(list)
	f.PC++ // a frame waits after its call
	g := th.Push(cl.Fn, cl.Free, in)
	t.in.Copy(list.Type(), g.Addr(cl.Fn.Params[0]), operands)
	return true
}

// chosenBranch is where the branch is that a choice takes, nil for what is no choice.
func chosenBranch(f *host.Frame, in *ssa.Call) unsafe.Pointer {
	fn, args := in.Call.StaticCallee(), in.Call.Args
	isSwitch := eval.IsSwitch(fn)
	if !isSwitch && !eval.IsCond(fn) {
		return nil
	}
	by := *(**torch.Tensor)(f.Addr(args[0]))
	switch {
	case by == nil || by.Numel() != 1:
		return nil
	case !isSwitch && by.Bool():
		return f.Addr(args[1])
	case !isSwitch:
		return f.Addr(args[2])
	case by.DType().IsFloat() || by.DType().IsComplex():
		return nil
	}
	branches := *(*[]unsafe.Pointer)(f.Addr(args[1]))
	if len(branches) == 0 {
		return nil
	}
	return unsafe.Pointer(&branches[min(max(by.ItemInt(), 0), len(branches)-1)])
}

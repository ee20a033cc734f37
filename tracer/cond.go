package tracer

import (
	"tcdbg/torch"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file enters the branch of a compiler.Cond that broke the graph: the data decides
// which branch runs, but what is in it is captured like any other function.

// enterBranch does a call of compiler.Cond by pushing the frame of the branch that the
// predicate chooses. It reports false, and does nothing, where the top frame is
// elsewhere or Cond itself has to see to the call: for a predicate that is none, and
// branches that are native, or compiled by themselves.
func (t *Tracer) enterBranch(th *host.Thread) bool {
	f := th.Top()
	in, ok := f.Instr().(*ssa.Call)
	if !ok || !eval.IsCond(in.Call.StaticCallee()) {
		return false
	}
	args := in.Call.Args // predicate, both branches, operands
	pred := *(**torch.Tensor)(f.Addr(args[0]))
	if pred == nil || pred.Numel() != 1 {
		return false
	}
	branch := args[2]
	if pred.Bool() {
		branch = args[1]
	}
	cl := t.in.ClosureOf(f.Addr(branch))
	if cl == nil || cl.Compiled != nil || len(cl.Fn.Blocks) == 0 {
		return false
	}
	operands := f.Addr(args[3])
	f.PC++ // a frame waits after its call
	g := th.Push(cl.Fn, cl.Free, in)
	t.in.Copy(args[3].Type(), g.Addr(cl.Fn.Params[0]), operands)
	return true
}

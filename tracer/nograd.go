package tracer

import (
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file captures torch.NoGrad(func() { ... }): its body is inlined and its
// operators are marked. The mode is no part of a frame, so a break inside the
// body cannot be resumed; the trace is then made again with a break in front of
// the whole call.

// underNoGradCall inlines the body of torch.NoGrad.
func (tr *trace) underNoGradCall(in *ssa.Call) {
	if why, ok := tr.avoid[in]; ok {
		tr.breakAt(breaks.BreakUnderContext, "the body of torch.NoGrad breaks the graph: %s", why)
	}
	v := in.Call.Args[0]
	cl := tr.in.ClosureOf(tr.addr(v))
	if cl == nil || cl.Fn.Blocks == nil {
		tr.breakAt(breaks.DynamicCall, "torch.NoGrad of a native function")
	}
	if n := tr.noteOf(v); n != nil && n.src != nil {
		tr.guardFunc(n.src, cl.Fn)
	}
	notes := tr.freeNotes(&ssa.CallCommon{Value: v}, cl.Fn, cl.Free)
	tr.skip()
	f := tr.th.Push(cl.Fn, cl.Free, nil)
	sh := &shadow{frame: f, initial: -1, notes: map[ssa.Value]*note{}, assigned: map[ssa.Value]bool{}, free: notes, noGrad: in}
	for i, fv := range cl.Fn.FreeVars {
		sh.notes[fv] = notes[i]
	}
	tr.shadows = append(tr.shadows, sh)
}

// underNoGrad reports whether the trace is inside the body of a torch.NoGrad.
func (tr *trace) underNoGrad() bool { return tr.noGradCall() != nil }

// noGradCall is the outermost call of torch.NoGrad that the trace is in.
func (tr *trace) noGradCall() ssa.Instruction {
	for _, sh := range tr.shadows {
		if sh.noGrad != nil {
			return sh.noGrad
		}
	}
	return nil
}

package eval

import (
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file captures torch.NoGrad(func() { ... }): its body is inlined and its
// operators are marked. The mode is no part of a frame, so a break inside the
// body cannot be resumed; the trace is then made again with a break before
// the whole call.

// inlineNoGrad inlines the body of torch.NoGrad.
func inlineNoGrad(tr *Trace, in *ssa.Call) {
	if why, ok := tr.Avoid[in]; ok {
		breakAt(breaks.BreakUnderContext, "the body of torch.NoGrad breaks the graph: %s", why)
	}
	v := in.Call.Args[0]
	cl := tr.In.ClosureOf(tr.addr(v))
	if cl == nil || cl.Fn.Blocks == nil {
		breakAt(breaks.DynamicCall, "torch.NoGrad of a native function")
	}
	if n := tr.tracked(v); n != nil && n.Src != nil {
		tr.Guards.Func(n.Src, cl.Fn)
	}
	tracked := tr.freeTracked(&ssa.CallCommon{Value: v}, cl.Fn, cl.Free)
	tr.skip()
	f := tr.th.Push(cl.Fn, cl.Free, nil)
	sh := &shadow{frame: f, initial: -1, tracked: map[ssa.Value]*value.Tracked{}, assigned: map[ssa.Value]bool{}, free: tracked, noGrad: in}
	for i, fv := range cl.Fn.FreeVars {
		sh.tracked[fv] = tracked[i]
	}
	tr.shadows = append(tr.shadows, sh)
}

// underNoGrad reports whether the trace is inside the body of a torch.NoGrad.
func (fs *frames) underNoGrad() bool { return fs.noGradCall() != nil }

// noGradCall is the outermost call of torch.NoGrad that the trace is in.
func (fs *frames) noGradCall() ssa.Instruction {
	for _, sh := range fs.shadows {
		if sh.noGrad != nil {
			return sh.noGrad
		}
	}
	return nil
}

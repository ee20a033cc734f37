package eval

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file captures torch.NoGrad(func() { ... }) and torch.Autocast(d, func() { ... }): the body
// is inlined; its operators are marked, or what they cast are nodes. The mode is no part of a
// frame, so a break inside the body cannot be resumed; the trace is then made again with a break
// before the whole call. A compiled function that is called under Autocast has entries of its own
// for it (see cacheAt), so no guard tests the type.

// inlineNoGrad inlines the body of torch.NoGrad.
func inlineNoGrad(tr *Trace, in *ssa.Call) {
	inlineBody(tr, in, in.Call.Args[0], "torch.NoGrad").noGrad = true
}

// inlineBody inlines the function that a call of a mode is given.
func inlineBody(tr *Trace, in *ssa.Call, v ssa.Value, mode string) *shadow {
	if why, ok := tr.Avoid[in]; ok {
		breakAt(breaks.BreakUnderContext, "the body of %s breaks the graph: %s", mode, why)
	}
	cl := tr.In.ClosureOf(tr.addr(v))
	if cl == nil || cl.Fn.Blocks == nil {
		breakAt(breaks.DynamicCall, "%s of a native function", mode)
	}
	if n := tr.tracked(v); n != nil && n.Src != nil {
		tr.Guards.Func(n.Src, cl.Fn)
	}
	tracked := tr.freeTracked(&ssa.CallCommon{Value: v}, cl.Fn, cl.Free)
	tr.skip()
	f := tr.th.Push(cl.Fn, cl.Free, nil)
	sh := tr.newShadow(f, -1)
	sh.mode = in
	sh.bind(tracked)
	tr.shadows = append(tr.shadows, sh)
	return sh
}

// underNoGrad reports whether the trace is inside the body of a torch.NoGrad.
func (fs *frames) underNoGrad() bool {
	return slices.ContainsFunc(fs.shadows, func(sh *shadow) bool { return sh.noGrad })
}

// modeCall is the outermost call of torch.NoGrad or torch.Autocast that the trace is in.
func (fs *frames) modeCall() ssa.Instruction {
	for _, sh := range fs.shadows {
		if sh.mode != nil {
			return sh.mode
		}
	}
	return nil
}

// inlineAutocast inlines the body of torch.Autocast.
func inlineAutocast(tr *Trace, in *ssa.Call) {
	d, ok := arguments{tr}.argument(in.Call.Args[0].Type(), tr.addr(in.Call.Args[0]), tr.tracked(in.Call.Args[0])).(ops.DType)
	if !ok || d != torch.Float32 && d != torch.Bfloat16 && d != torch.Float16 {
		breakAt(breaks.ObservedPanic, "torch.Autocast takes bfloat16, float16 and float32")
	}
	sh := inlineBody(tr, in, in.Call.Args[1], "torch.Autocast")
	sh.autocast = &d
}

// autocast is the type of half precision that products are in, if any.
func (fs *frames) autocast() (d ops.DType, on bool) {
	for i := len(fs.shadows) - 1; i >= 0; i-- {
		if d := fs.shadows[i].autocast; d != nil {
			return *d, *d != torch.Float32
		}
	}
	return torch.AutocastType()
}

// autocasted is a call's bound arguments with the casts that autocast wants, which become nodes.
func autocasted(tr *Trace, in *ssa.Call, row *ops.Op, bound []ops.Arg, build *graph.Builder) []ops.Arg {
	d, on := tr.autocast()
	if !on {
		return bound
	}
	return ops.Autocast(row, bound, d, func(v ops.Value, d ops.DType) ops.Value {
		n := build.Emit(ops.To, v, d)
		tr.made = append(tr.made, madeNode{n.(*graph.Node), in})
		return n
	})
}

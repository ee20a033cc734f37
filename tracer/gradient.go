package tracer

import (
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file reads and replaces the gradients of tensors that existed on entry: to
// a trace x.Grad() is a field of x, so that it can be an input of the graph, and
// x.SetGrad a store that the segment replays.

// gradient evaluates x.Grad().
func (tr *trace) gradient(in *ssa.Call) {
	place, loc := tr.gradPlace(in)
	dst := tr.addr(in)
	tr.in.Copy(loc.typ, dst, place)
	n := tr.loadEntry(loc.typ, place, dst, loc)
	tr.skip()
	tr.set(in, n)
}

// setGradient evaluates x.SetGrad(g).
func (tr *trace) setGradient(in *ssa.Call) {
	place, loc := tr.gradPlace(in)
	g := in.Call.Args[1]
	if why := tr.tensorAt(in.Call.Args[0]).GradRefused(tr.tensorAt(g)); why != "" {
		tr.breakAt(breaks.ObservedPanic, "%s", why)
	}
	tr.storeEntry(loc.typ, place, tr.addr(g), loc, tr.noteOf(g))
	tr.skip()
}

// gradPlace is where the receiver of a call keeps its gradient, and how that
// place is found again. What the graph computes has its gradient later.
func (tr *trace) gradPlace(in *ssa.Call) (unsafe.Pointer, *source) {
	tr.inBackward("reads or replaces the gradient of a tensor")
	x := in.Call.Args[0]
	t, n := tr.tensorAt(x), tr.noteOf(x)
	if n == nil || n.src == nil {
		b := &breakPoint{code: breaks.UnsupportedMethod, detail: "call of " + shortFunc(calledName(in)) + " on what the graph computes", value: x}
		panic(&breakSignal{b})
	}
	if t == nil {
		tr.guardNil(n.src, true)
		tr.breakAt(breaks.ObservedPanic, "a nil tensor is used")
	}
	return unsafe.Pointer(t.GradPlace()), tr.src.grad(n.src)
}

func calledName(in *ssa.Call) string { return in.Call.StaticCallee().String() }

// gradPlaces are the tensors whose gradients a trace has accessed.
type gradPlaces struct {
	of      []*source
	seen    map[*source]bool
	written bool
}

// touchGrad notes that the gradient of the tensor at s was accessed.
func (tr *trace) touchGrad(s *source, write bool) {
	gs := &tr.grads
	gs.written = gs.written || write
	if gs.seen[s] {
		return
	}
	if gs.seen == nil {
		gs.seen = map[*source]bool{}
	}
	gs.seen[s] = true
	gs.of = append(gs.of, s)
}

// gradAliasGuard demands, where gradients are replaced, that the tensors are the
// same ones under the same names as when they were traced.
func (tr *trace) gradAliasGuard() {
	of := tr.grads.of
	if !tr.grads.written || len(of) < 2 {
		return
	}
	want := make([]int, len(of))
	meet(tr.entry, of, func(i, first int) bool { want[i] = first; return true })
	text := "tensors whose gradients the function replaces are as distinct as on the first call"
	tr.guard("NO_TENSOR_ALIASING", nil, text, text, func(a *addresses) bool {
		return meet(a, of, func(i, first int) bool { return want[i] == first })
	}, func(*addresses) failure { return plain("two of them are one, or no longer so") })
}

// meet hands visit the place in the list at which each tensor was met first,
// until it returns false or there is no tensor.
func meet(a *addresses, of []*source, visit func(i, first int) bool) bool {
	seen := make(map[*torch.Tensor]int, len(of))
	for i, s := range of {
		p := a.at(s)
		if p == nil {
			return false
		}
		t := *(**torch.Tensor)(p)
		first, met := seen[t]
		if !met {
			first, seen[t] = i, i
		}
		if !visit(i, first) {
			return false
		}
	}
	return true
}

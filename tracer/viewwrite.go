package tracer

import (
	"slices"
	"strings"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
)

// This file finds the writes to views, and the uses of views whose memory was
// written, that eager mode refuses because of how the view came to be: under
// torch.NoGrad, or together with others of one operator. The trace breaks in front of
// them, so that eager mode says so itself.

// bornView is a view of the trace that may not be written where gradients are wanted.
type bornView struct {
	node   *graph.Node
	writes int // to its memory when it was taken
}

// written is what the trace did to one piece of memory.
type written struct {
	times int
	grad  bool // gradients may have come into it
}

// noteBirth remembers how t, a view of from, came to be.
func (tr *trace) noteBirth(t, from *torch.Tensor, row *ops.Op) {
	several := row.Tags.Has(ops.TagView) && strings.HasSuffix(row.Schema, "-> Tensor[]")
	if several || tr.underNoGrad() || tr.birthOf(from) && row.ID != ops.Detach {
		tr.born[t] = bornView{tr.nodes[t], tr.writes[tr.baseOf(t)].times}
	}
}

// birthOf reports whether writing to t, where gradients are wanted, is refused
// because of how t came to be.
func (tr *trace) birthOf(t *torch.Tensor) bool {
	if _, ok := tr.born[t]; ok {
		return true
	}
	return tr.inputOf[t] != nil && t.ViewRefused()
}

// refuseView breaks in front of an operator that writes to such a view, and notes
// what is written.
func (tr *trace) refuseView(t *torch.Tensor, row *ops.Op, bound []ops.Arg) {
	base := tr.baseOf(t)
	w := tr.writes[base]
	w.times++
	if !tr.underNoGrad() && t.DType().IsFloat() && tr.mayWantGrad(bound) {
		tr.fixGradMode()
		if torch.GradEnabled() {
			if tr.birthOf(t) {
				tr.breakAt(breaks.FakeTensorFailure, "%s: a view that was created in no_grad mode, or with others by one operator, is being modified inplace", row.Name)
			}
			if in := tr.inputOf[base]; in != nil {
				tr.guardLeaf(in.src, in.tensor)
			}
			w.grad = true
		}
	}
	tr.writes[base] = w
}

// refuseStale breaks in front of an operator that reads such a view, where gradients
// are recorded, behind a write to its memory.
func (tr *trace) refuseStale(row *ops.Op, bound []ops.Arg) {
	if len(tr.born) == 0 || len(tr.writes) == 0 || tr.underNoGrad() || row.Tags.Has(ops.TagNoGrad) {
		return
	}
	for t, b := range tr.born {
		base := tr.baseOf(t)
		w := tr.writes[base]
		if w.times == b.writes || !reads(bound, b.node) || !t.DType().IsFloat() {
			continue
		}
		if node := tr.nodes[base]; !w.grad && (node == nil || !tr.reachesGrad(node)) {
			continue
		}
		tr.fixGradMode()
		if torch.GradEnabled() {
			tr.breakAt(breaks.FakeTensorFailure, "%s: a view that was created in no_grad mode, or with others by one operator, is used behind a write to its memory", row.Name)
		}
	}
}

// reads reports whether a node is among the arguments of a call.
func reads(bound []ops.Arg, n *graph.Node) bool {
	return slices.ContainsFunc(bound, func(a ops.Arg) bool {
		switch a := a.(type) {
		case *graph.Node:
			return a == n
		case []ops.Value:
			return slices.ContainsFunc(a, func(v ops.Value) bool { return v == ops.Value(n) })
		}
		return false
	})
}

// mayWantGrad reports whether an argument of a call wants gradients. Behind a write of
// values that want some, every tensor may.
func (tr *trace) mayWantGrad(bound []ops.Arg) bool {
	for _, w := range tr.writes {
		if w.grad {
			return true
		}
	}
	return slices.ContainsFunc(bound, func(a ops.Arg) bool {
		switch a := a.(type) {
		case *graph.Node:
			return tr.reachesGrad(a)
		case []ops.Value:
			return slices.ContainsFunc(a, func(v ops.Value) bool {
				n, ok := v.(*graph.Node)
				return ok && n != nil && tr.reachesGrad(n)
			})
		}
		return false
	})
}

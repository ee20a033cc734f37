package eval

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
// torch.NoGrad, or together with others of one operator. The trace breaks before
// them, so that eager mode says so itself.

// viewMeta is a view of the trace that may not be written where gradients are wanted.
type viewMeta struct {
	node   *graph.Node
	writes int // to its memory when it was taken
}

// written is what the trace did to one piece of memory.
type written struct {
	times int
	grad  bool // gradients may have come into it
}

// recordView remembers how t, a view of from, came to be.
func (hs *history) recordView(t, from *torch.Tensor, row *ops.Op) {
	several := row.Tags.Has(ops.TagView) && strings.HasSuffix(row.Schema, "-> Tensor[]")
	if several || hs.frames.underNoGrad() || hs.refused(from) && row.ID != ops.Detach {
		hs.views[t] = viewMeta{hs.capture.Nodes[t], hs.writes[hs.baseOf(t)].times}
	}
}

// refused reports whether writing to t, where gradients are wanted, is refused
// because of how t came to be.
func (hs *history) refused(t *torch.Tensor) bool {
	if _, ok := hs.views[t]; ok {
		return true
	}
	return hs.capture.inputOf[t] != nil && t.ViewRefused()
}

// refuseView breaks before an operator that writes to such a view, and records
// what is written.
func (hs *history) refuseView(t *torch.Tensor, row *ops.Op, bound []ops.Arg) {
	base := hs.baseOf(t)
	w := hs.writes[base]
	w.times++
	if !hs.frames.underNoGrad() && t.DType().IsFloat() && hs.mayWantGrad(bound) {
		hs.guards.GradMode()
		if torch.GradEnabled() {
			if hs.refused(t) {
				breakAt(
					breaks.FakeTensorFailure,
					"%s: a view that was created in no_grad mode, or with others by one operator, is being modified inplace",
					row.Name,
				)
			}
			if in := hs.capture.inputOf[base]; in != nil {
				hs.guards.Leaf(in.src, in.tensor)
			}
			w.grad = true
		}
	}
	hs.writes[base] = w
}

// refuseStale breaks before an operator that reads such a view, where gradients
// are recorded, after a write to its memory.
func (hs *history) refuseStale(row *ops.Op, bound []ops.Arg) {
	if len(hs.views) == 0 || len(hs.writes) == 0 || hs.frames.underNoGrad() || row.Tags.Has(ops.TagNoGrad) {
		return
	}
	for t, b := range hs.views {
		base := hs.baseOf(t)
		w := hs.writes[base]
		if w.times == b.writes || !reads(bound, b.node) || !t.DType().IsFloat() {
			continue
		}
		if node := hs.capture.Nodes[base]; !w.grad && (node == nil || !hs.reachesGrad(node)) {
			continue
		}
		hs.guards.GradMode()
		if torch.GradEnabled() {
			breakAt(
				breaks.FakeTensorFailure,
				"%s: a view that was created in no_grad mode, or with others by one operator, is used after a write to its memory",
				row.Name,
			)
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

// mayWantGrad reports whether an argument of a call requires gradients. After a write of
// values that want some, every tensor may.
func (hs *history) mayWantGrad(bound []ops.Arg) bool {
	for _, w := range hs.writes {
		if w.grad {
			return true
		}
	}
	return slices.ContainsFunc(bound, func(a ops.Arg) bool {
		switch a := a.(type) {
		case *graph.Node:
			return hs.reachesGrad(a)
		case []ops.Value:
			return slices.ContainsFunc(a, func(v ops.Value) bool {
				n, ok := v.(*graph.Node)
				return ok && n != nil && hs.reachesGrad(n)
			})
		}
		return false
	})
}

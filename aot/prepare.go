package aot

import (
	"tcdbg/graph"
	"tcdbg/ops"
)

// This file brings a captured graph into the form that functionalization reads:
// whatever may share memory with its argument is a plain view or a plain copy,
// and only operators in place write.

// prepare returns such a copy of g; train: gradients are wanted.
func prepare(g *graph.Graph, train bool) *graph.Graph {
	h, _ := g.Clone(g.Name)
	inlineForward(h, train)
	moved := map[*graph.Node]bool{}
	for n := h.First(); n != nil; {
		next := n.Next()
		if row := n.OpRow(); row != nil && row.Decompose != nil && (mayAlias(n, row) || len(n.Statistics()) > 0) {
			if first := expand(h, n, row, moved); first != nil {
				next = first
			}
		}
		n = next
	}
	settle(h, moved)
	return h
}

// mayAlias reports whether a composite call may give a view: only its
// decomposition tells.
func mayAlias(n *graph.Node, row *ops.Op) bool {
	if row.ID == ops.Dropout { // returns its argument where nothing is dropped
		training, _ := n.Args[2].(bool)
		return !training || ops.NumberOf(n.Args[1]) == 0
	}
	return row.Tags.Has(ops.TagView) || row.Tags.Has(ops.TagMaybeView)
}

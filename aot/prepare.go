package aot

import (
	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/ops"
)

// This file brings a captured graph into the form that functionalization reads:
// whatever may share memory with its argument is a plain view or a plain copy,
// and only operators in place write.

// prepare returns such a copy of g; train: gradients are wanted.
func prepare(g *graph.Graph, train bool) *graph.Graph {
	h, _ := g.Clone(g.Name)
	inlineForward(h, train)
	if train {
		wholeNorms(h)
	}
	decompose.Expand(h, func(n *graph.Node) bool { return mayAlias(n) || len(n.Statistics()) > 0 })
	return h
}

// mayAlias reports whether a composite call may give a view: only its
// decomposition tells.
func mayAlias(n *graph.Node) bool {
	row := n.OpRow()
	if row.ID == ops.Dropout { // returns its argument where nothing is dropped
		a := ops.In[ops.DropoutArgs](&ops.Call{Op: row, Args: n.Args})
		return !a.Training.Bool() || a.P.Float() == 0
	}
	return row.Tags.Has(ops.TagView) || row.Tags.Has(ops.TagMaybeView)
}

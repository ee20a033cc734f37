package aot

import (
	"tcdbg/graph"
	"tcdbg/ops"
)

// This file has draws take their form from a tensor that is there:
//
//	e = empty_like(x); bernoulli(e, 0.9)  ->  bernoulli(x, 0.9)
//
// Of its input such a draw reads shape, dtype and strides alone. Dropout has one for each mask, which a
// kernel would fill for nobody.

// drawLike returns how many draws it changed.
func drawLike(g *graph.Graph) int {
	count := 0
	for _, n := range g.Nodes() {
		if n.Op != ops.Bernoulli {
			continue
		}
		draw := ops.In[ops.BernoulliArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
		empty, ok := draw.Self.Arg.(*graph.Node)
		if !ok || empty.Op != ops.EmptyLike || draw.P.Arg == nil {
			continue
		}
		like := ops.In[ops.SelfArgs](&ops.Call{Op: empty.OpRow(), Args: empty.Args})
		if x, ok := like.Self.Arg.(*graph.Node); ok && sameLayout(x, empty) {
			n.Replace(empty, x)
			count++
		}
	}
	return count
}

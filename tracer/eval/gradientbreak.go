package eval

import (
	"go/types"
	"slices"

	"tcdbg/graph"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is gradients with respect to what the compiled function has computed
// itself: torch.Grad of a loss by a layer's output, or by weights that an inner
// step has changed. The results of one graph do not depend on each other for the
// tape, so that such a tensor has to leave one graph and enter the next: the trace
// is made again with a break before the first operator that reads it.

// madeNode is a call of an operator and what it became.
type madeNode struct {
	node *graph.Node
	call *ssa.Call
}

// apartFrom makes the trace start again where a call of torch.Grad asks for
// gradients by tensors of this graph that the graph goes on with.
func (tr *Trace) apartFrom(in *ssa.Call) {
	if in.Call.StaticCallee().Name() != "Grad" || len(in.Call.Args) < 2 {
		return
	}
	var asked []*graph.Node
	list := in.Call.Args[1]
	elem := list.Type().Underlying().(*types.Slice).Elem()
	places, _ := tr.elemValues(elem, *(*value.SliceHeader)(tr.addr(list)), tr.tracked(list))
	for _, p := range places {
		if n := tr.Nodes[*(**torch.Tensor)(p)]; n != nil && n.Kind != graph.Placeholder {
			asked = append(asked, n)
		}
	}
	for _, m := range tr.made {
		if slices.ContainsFunc(m.node.Inputs(), func(n *graph.Node) bool { return slices.Contains(asked, n) }) {
			tr.apart = []ssa.Instruction{m.call}
			return
		}
	}
}

// beforeOperator breaks before an operator that reads a tensor by which an
// earlier attempt met a gradient.
func (tr *Trace) beforeOperator(in *ssa.Call) {
	if why, ok := tr.Avoid[in]; ok {
		breakAt(breaks.TensorBackward, "an operand has to leave the graph, as a gradient by it is asked for: %s", why)
	}
}

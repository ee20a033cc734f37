package eval

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file answers what a tensor of the trace has to do with gradients: whether
// it wants them, whether it is a leaf, and whether eager mode would let an
// in-place operator write it.

// askHistory evaluates x.RequiresGrad() and x.IsLeaf(). What the graph computes is
// no tensor yet, so the graph says which of its inputs gradients would reach.
func (ns natives) askHistory(in *ssa.Call, name string) {
	ns.inBackward("asks for the history of a tensor: %s", name)
	for t := range ns.mutated { // writing in place can make a tensor want gradients
		if w, known := ns.writes[t]; !known || w.grad {
			breakAt(breaks.TensorDataRead, "%s after an in-place operator", name)
		}
	}
	x := in.Call.Args[0]
	t := ns.tensorAt(x)
	node := ns.tensorNode(x)
	switch from := comesFromFlow(node, map[*graph.Node]bool{}); {
	case from == nil:
	case from.Predicate() != nil:
		breakAt(breaks.TensorDataRead, "%s of what %s gives, which the branch decides that runs", name, callOf[from.Flow.Op])
	default:
		breakAt(breaks.TensorDataRead, "%s of what %s gives, which its function decides", name, callOf[from.Flow.Op])
	}
	leaf := name == "Tensor.IsLeaf"
	var yes bool
	if given := ns.inputOf[t]; given == nil {
		yes = ns.wantsGrad(node) != leaf
	} else if leaf {
		yes = t.IsLeaf()
		ns.Guards.Leaf(given.src, t)
	} else {
		yes = t.RequiresGrad()
	}
	*(*bool)(ns.addr(in)) = yes
	ns.skip()
	ns.set(in, nil)
}

// comesFromFlow is the control flow that gradients of n may go into, nil for none.
func comesFromFlow(n *graph.Node, seen map[*graph.Node]bool) *graph.Node {
	if seen[n] {
		return nil
	}
	if seen[n] = true; n.Flow != nil {
		return n
	}
	for _, x := range n.GradInputs() {
		if from := comesFromFlow(x, seen); from != nil {
			return from
		}
	}
	return nil
}

// wantsGrad reports whether gradients flow through a node to an input.
func (hs *history) wantsGrad(n *graph.Node) bool {
	hs.guards.GradMode()
	return torch.GradEnabled() && hs.reachesGrad(n)
}

func (hs *history) reachesGrad(n *graph.Node) bool {
	m, tensor := n.Meta.(*ops.TensorMeta)
	if n.Kind == graph.Placeholder {
		return tensor && m.RequiresGrad
	}
	if known, ok := hs.wants[n]; ok {
		return known
	}
	row := n.OpRow()
	wants := !n.NoGrad && n.Op != ops.Detach && (row == nil || !row.Tags.Has(ops.TagNoGrad)) &&
		(!tensor || m.DType.IsFloat() || m.DType.IsComplex()) &&
		slices.ContainsFunc(n.GradInputs(), hs.reachesGrad)
	hs.wants[n] = wants
	return wants
}

// refuseLeaf breaks before an in-place operator that eager mode refuses,
// which then says so itself: what is written, or shown by it, is a leaf that wants
// gradients. Of an input that is none it is guarded.
func (hs *history) refuseLeaf(t *torch.Tensor, row *ops.Op) {
	node := hs.capture.Nodes[t]
	if node == nil || hs.frames.underNoGrad() || !t.DType().IsFloat() {
		return
	}
	for n := node; ; {
		if n.Kind == graph.Placeholder {
			hs.refuseLeafInput(hs.capture.inputOf[hs.baseOf(t)], row)
			return
		}
		r := n.OpRow()
		if r == nil && len(n.Args) > 0 { // a piece of what split has cut
			n, _ = n.Args[0].(*graph.Node)
			r = n.OpRow()
		}
		if r == nil || n.NoGrad || n.Op == ops.Detach || !r.Tags.Has(ops.TagView) && !r.Tags.Has(ops.TagMaybeView) {
			return
		}
		from, ok := n.Args[0].(*graph.Node)
		if !ok {
			return
		}
		n = from
	}
}

func (hs *history) refuseLeafInput(in *input, row *ops.Op) {
	if in == nil || !in.tensor.RequiresGrad() {
		return
	}
	hs.guards.GradMode()
	if !torch.GradEnabled() {
		return
	}
	if root := in.tensor.ViewRoot(); root.RequiresGrad() && root.IsLeaf() {
		breakAt(breaks.FakeTensorFailure, "%s: a leaf Variable that requires grad is being used in an in-place operation.", row.Name)
	}
	hs.guards.Leaf(in.src, in.tensor)
}

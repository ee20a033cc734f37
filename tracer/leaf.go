package tracer

import (
	"slices"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file answers what a tensor of the trace has to do with gradients: whether
// it wants them, whether it is a leaf, and whether eager mode would let an
// operator in place write it.

// history evaluates x.RequiresGrad() and x.IsLeaf(). What the graph computes is
// no tensor yet, so the graph says which of its inputs gradients would reach.
func (tr *trace) history(in *ssa.Call, name string) {
	tr.inBackward("asks for the history of a tensor: %s", name)
	for t := range tr.mutated { // writing in place can make a tensor want gradients
		if w, known := tr.writes[t]; !known || w.grad {
			tr.breakAt(breaks.TensorDataRead, "%s behind an operator in place", name)
		}
	}
	x := in.Call.Args[0]
	t := tr.tensorAt(x)
	node := tr.tensorNode(x)
	leaf := name == "Tensor.IsLeaf"
	var yes bool
	if given := tr.inputOf[t]; given == nil {
		yes = tr.wantsGrad(node) != leaf
	} else if leaf {
		yes = t.IsLeaf()
		tr.guardLeaf(given.src, t)
	} else {
		yes = t.RequiresGrad()
	}
	*(*bool)(tr.addr(in)) = yes
	tr.skip()
	tr.set(in, nil)
}

// wantsGrad reports whether gradients flow through a node to an input.
func (tr *trace) wantsGrad(n *graph.Node) bool {
	tr.fixGradMode()
	return torch.GradEnabled() && tr.reachesGrad(n)
}

func (tr *trace) reachesGrad(n *graph.Node) bool {
	m, tensor := n.Meta.(*ops.TensorMeta)
	if n.Kind == graph.Placeholder {
		return tensor && m.RequiresGrad
	}
	if known, ok := tr.wants[n]; ok {
		return known
	}
	row := n.OpRow()
	wants := !n.NoGrad && n.Op != ops.Detach && (row == nil || !row.Tags.Has(ops.TagNoGrad)) &&
		(!tensor || m.DType.IsFloat() || m.DType.IsComplex()) &&
		slices.ContainsFunc(n.GradInputs(), tr.reachesGrad)
	tr.wants[n] = wants
	return wants
}

// refuseLeaf breaks in front of an operator in place that eager mode refuses,
// which then says so itself: what is written, or shown by it, is a leaf that wants
// gradients. Of an input that is none it is guarded.
func (tr *trace) refuseLeaf(t *torch.Tensor, row *ops.Op) {
	node := tr.nodes[t]
	if node == nil || tr.underNoGrad() || !t.DType().IsFloat() {
		return
	}
	for n := node; ; {
		if n.Kind == graph.Placeholder {
			tr.refuseLeafInput(tr.inputOf[tr.baseOf(t)], row)
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

func (tr *trace) refuseLeafInput(in *input, row *ops.Op) {
	if in == nil || !in.tensor.RequiresGrad() {
		return
	}
	tr.fixGradMode()
	if !torch.GradEnabled() {
		return
	}
	if root := in.tensor.ViewRoot(); root.RequiresGrad() && root.IsLeaf() {
		tr.breakAt(breaks.FakeTensorFailure, "%s: a leaf Variable that requires grad is being used in an in-place operation.", row.Name)
	}
	tr.guardLeaf(in.src, in.tensor)
}

// guardLeaf fixes whether the tensor at s, and what it is a view of, are leaves.
func (tr *trace) guardLeaf(s *source, t *torch.Tensor) {
	want := leafOf(t)
	tr.guard("EQUALS_MATCH", s, s.name+".is_leaf == "+pyBool(want.self), pyBool(want.self),
		at(s, func(p unsafe.Pointer) bool { return leafOf(*(**torch.Tensor)(p)) == want }),
		found(s, func(p unsafe.Pointer) failure { return plain(pyBool(leafOf(*(**torch.Tensor)(p)).self)) }))
}

// leafness tells whether a tensor is a leaf, whether the one that it is a view of is,
// and whether it is a view that may not be written where gradients are wanted.
type leafness struct{ self, root, refused bool }

func leafOf(t *torch.Tensor) leafness {
	if t == nil {
		return leafness{}
	}
	return leafness{t.IsLeaf(), t.ViewRoot().IsLeaf(), t.ViewRefused()}
}

package eval

import (
	"go/types"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file captures x.At(subscripts...) and x.SetAt(value, subscripts...):
// each subscript becomes the view, or all tensors among them the index, that
// eager mode would take.

// subscripted is a tensor after some subscripts.
type subscripted struct {
	tr      *Trace
	build   *graph.Builder
	node    *graph.Node
	dim     int // that the next subscript applies to
	left    int // dimensions that an ellipsis skips
	indices []ops.Value
	indexed bool
}

// subscript evaluates x.At.
func subscript(tr *Trace, in *ssa.Call) {
	x := in.Call.Args[0]
	self := tr.tensorAt(x)
	s := tr.subscripts(x, in.Call.Args[1])
	if s.node == tr.Nodes[self] && !s.indexed { // nothing was asked for
		tr.In.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&self))
		n := tr.tracked(x)
		tr.skip()
		tr.set(in, n)
		return
	}
	if s.indexed {
		s.emit(ops.Index, s.indices)
	}
	t := tr.fake(s.node)
	if !s.indexed {
		tr.bases[t] = tr.baseOf(self)
	}
	tr.In.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&t))
	tr.skip()
	tr.set(in, nil)
	tr.nameAfter(in, s.node)
}

// storeAt evaluates x.SetAt.
func storeAt(tr *Trace, in *ssa.Call) {
	x, v := in.Call.Args[0], in.Call.Args[1]
	s := tr.subscripts(x, in.Call.Args[2])
	d := s.node.TensorMeta()
	value := arguments{tr}.stored(s, v, d)
	n, isTensor := value.(*graph.Node)
	switch {
	case s.indexed:
		if !isTensor {
			n = s.call(ops.Full, []sym.Int{}, value, d.DType, d.Device)
		} else if n.TensorMeta().DType != d.DType {
			n = s.call(ops.To, n, d.DType)
		}
		s.write(x, ops.IndexPut, s.indices, n)
	case isTensor:
		s.write(x, ops.Copy, n)
	default:
		s.write(x, ops.Fill, value)
	}
	tr.skip()
}

// stored is the value of x.SetAt: a number or the node of a tensor. Of what PyTorch
// makes a tensor, one is made here.
func (as arguments) stored(s *subscripted, v ssa.Value, d *ops.TensorMeta) ops.Arg {
	t, p, n := as.unwrap(v.Type(), as.addr(v), as.tracked(v))
	if t != nil {
		if _, isSlice := t.Underlying().(*types.Slice); isSlice {
			l, ok := as.literalAt(t, p, n)
			if !ok {
				breakAt(breaks.ArgumentNotProxy, "a %s is stored into a tensor", value.TypeName(t))
			}
			return as.fill(s.build, l, d.DType, d.Device)
		}
	}
	switch value := as.argument(t, p, n).(type) {
	case *graph.Node, sym.Int, float64, bool:
		return value
	}
	breakAt(breaks.ArgumentNotProxy, "a %s is stored into a tensor", v.Type())
	return nil
}

// write calls the in-place form of an operator on what the subscripts show.
func (s *subscripted) write(x ssa.Value, op ops.ID, args ...ops.Arg) {
	id := ops.InPlace(op)
	if id == ops.None {
		breakAt(breaks.UnsupportedOperator, "%s in place", ops.Get(op).Name)
	}
	s.tr.mutate(s.tr.tensorAt(x), ops.Get(id))
	s.call(id, append([]ops.Arg{s.node}, args...)...)
}

// call appends a call of an operator and returns its node.
func (s *subscripted) call(op ops.ID, args ...ops.Arg) *graph.Node {
	return s.tr.emit(s.build, op, args...)
}

// emit replaces the tensor by an operator's result on it.
func (s *subscripted) emit(op ops.ID, args ...ops.Arg) {
	s.node = s.call(op, append([]ops.Arg{s.node}, args...)...)
}

// element is one subscript: its type inside the interface and where it is.
type element struct {
	t types.Type
	p unsafe.Pointer
	n *value.Tracked
}

// subscripts applies the elements of rest, a []any, to the tensor in x.
func (tr *Trace) subscripts(x, rest ssa.Value) *subscripted {
	s := &subscripted{tr: tr, build: &graph.Builder{G: tr.Graph, Stack: tr.stack(), NoGrad: tr.underNoGrad()}, node: tr.tensorNode(x)}
	list := arguments{tr}.elements(rest)
	used := 0
	for _, e := range list {
		switch {
		case e.t == nil || isTorchType(e.t, "ellipsis"):
		case isTensor(e.t):
			used += max(1, maskDims(*(**torch.Tensor)(e.p)))
		default:
			used++
		}
	}
	rank := len(s.node.TensorMeta().Shape)
	if used > rank {
		breakAt(breaks.FakeTensorFailure, "index: too many indices for tensor of dimension %d", rank)
	}
	s.left = rank - used
	for _, e := range list {
		s.apply(e)
	}
	return s
}

// elements reads a slice of interfaces.
func (as arguments) elements(rest ssa.Value) []element {
	t := rest.Type().Underlying().(*types.Slice)
	h := *(*value.SliceHeader)(as.addr(rest))
	places, tracked := as.elemValues(t.Elem(), h, as.tracked(rest))
	if n := as.tracked(rest); n != nil && n.Src != nil {
		as.Guards.Len(n.Src, h.Len)
	}
	out := make([]element, h.Len)
	for i := range out {
		e, p, n := as.unwrap(t.Elem(), places[i], tracked[i])
		out[i] = element{e, p, n}
	}
	return out
}

// apply applies one subscript.
func (s *subscripted) apply(e element) {
	switch {
	case e.t == nil:
		s.emit(ops.Unsqueeze, sym.C(s.dim))
		s.dim++
	case isTorchType(e.t, "ellipsis"):
		s.dim += s.left
		s.left = 0
	case isTorchType(e.t, "Slice_"):
		s.slice(e)
		s.dim++
	case isTorchType(e.t, "colon"):
		s.emit(ops.Slice, sym.C(s.dim), nil, nil, sym.C(1))
		s.dim++
	case isTensor(e.t):
		t := *(**torch.Tensor)(e.p)
		s.gather(s.tr.nodeOf(t, e.n))
		s.dim += max(1, maskDims(t))
	case isInts(e.t):
		l, _ := arguments{s.tr}.literalAt(e.t, e.p, e.n)
		s.gather(s.tr.fill(s.build, l, l.dtype(), ops.CPU))
		s.dim++
	case value.KindOf(e.t).Class == value.SignedInt:
		s.emit(ops.Select, sym.C(s.dim), arguments{s.tr}.argument(e.t, e.p, e.n))
	default:
		breakAt(breaks.ArgumentNotProxy, "a subscript of type %s", value.TypeName(e.t))
	}
}

// gather records a tensor that indexes the next dimension.
func (s *subscripted) gather(index *graph.Node) {
	for len(s.indices) <= s.dim {
		s.indices = append(s.indices, nil)
	}
	s.indices[s.dim], s.indexed = index, true
}

// isInts reports the type of a list of places.
func isInts(t types.Type) bool {
	s, ok := t.(*types.Slice)
	return ok && types.Identical(s.Elem(), types.Typ[types.Int])
}

// slice applies start:stop:step.
func (s *subscripted) slice(e element) {
	st := e.t.Underlying().(*types.Struct)
	var parts [3]ops.Arg
	for i := range parts {
		at := unsafe.Add(e.p, s.tr.In.Rep(e.t).Field(i).Offset)
		parts[i] = arguments{s.tr}.argument(st.Field(i).Type(), at, s.tr.src.Part(e.n, e.t, i))
	}
	if parts[2] == nil {
		parts[2] = sym.C(1)
	}
	s.emit(ops.Slice, sym.C(s.dim), parts[0], parts[1], parts[2])
}

// maskDims is the number of dimensions that a mask covers, 0 for other tensors.
func maskDims(t *torch.Tensor) int {
	if t.DType() == torch.Bool || t.DType() == torch.Uint8 {
		return t.Dim()
	}
	return 0
}

func isTorchType(t types.Type, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "tcdbg/torch"
}

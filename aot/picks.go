package aot

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file is about one element of each row, as the loss over classes reads it and gives it a gradient. What is computed for
// such an element is computed after it is picked, and the sum of a row that has no other is that element:
//
//	gather(x - m, dim, index)                                  ->  gather(x, dim, index) - m
//	sum(scatter_add(zeros, dim, index, v), dim, keepdim=True)  ->  v
//
// Otherwise a logarithm of a softmax is written whole to be read at one place in each row, and zeros are added up.

// pickFirst returns how many operators it moved behind what picks one element of each row of them.
func pickFirst(g *graph.Graph) int {
	count := 0
	for _, n := range g.Nodes() {
		if n.Op != ops.Gather {
			continue
		}
		a := ops.In[ops.GatherArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
		x, ok := a.Self.Arg.(*graph.Node)
		index, ok2 := a.Index.Arg.(*graph.Node)
		if !ok || !ok2 || !x.IsTensor() {
			continue
		}
		dim, ok := onePerRow(x, index, a.Dim.Int())
		if !ok {
			continue
		}
		b := &graph.Builder{G: g, Before: n, Stack: n.Stack, NoGrad: n.NoGrad}
		p := picker{b: b, index: index, dim: dim}
		args, ok := p.operands(x)
		if !ok {
			continue
		}
		y := p.apply(x, args)
		if !sameLayout(y, n) {
			p.undo()
			continue
		}
		n.ReplaceUses(y)
		g.Erase(n)
		count += p.moved
	}
	return count
}

// picker picks the elements of a value's operands.
type picker struct {
	b     *graph.Builder
	index *graph.Node
	dim   int
	moved int
	made  []*graph.Node // in their order
}

// undo erases what was made.
func (p *picker) undo() {
	for _, n := range slices.Backward(p.made) {
		p.b.G.Erase(n)
	}
}

// pick is x at the positions of the index: computed from its operands there, where x is pointwise.
func (p *picker) pick(x *graph.Node) *graph.Node {
	if args, ok := p.operands(x); ok {
		return p.apply(x, args)
	}
	return p.emit(p.b, ops.Gather, x, sym.C(p.dim), p.index)
}

// apply is x of other arguments.
func (p *picker) apply(x *graph.Node, args []ops.Arg) *graph.Node {
	b := *p.b
	b.Stack = x.Stack
	return p.emit(&b, x.Op, args...)
}

func (p *picker) emit(b *graph.Builder, op ops.ID, args ...ops.Arg) *graph.Node {
	n := b.Emit(op, args...).(*graph.Node)
	p.made = append(p.made, n)
	return n
}

// mostMoved is how many operators are moved behind one gather: of a long chain those at its end.
const mostMoved = 16

// operands are the arguments of a pointwise x for one element of each row; those that are one for a row are that already.
func (p *picker) operands(x *graph.Node) ([]ops.Arg, bool) {
	if !movable[x.Op] || p.moved >= mostMoved {
		return nil, false
	}
	shape := x.TensorMeta().Shape
	var args []ops.Arg
	for _, a := range x.Args {
		in, ok := a.(*graph.Node)
		if !ok {
			args = append(args, a)
			continue
		}
		if !in.IsTensor() || in.TensorMeta().DType != x.TensorMeta().DType || len(in.TensorMeta().Shape) != len(shape) {
			return nil, false
		}
		for d, s := range in.TensorMeta().Shape {
			if !sym.Same(s, shape[d]) && (d != p.dim || !sym.Is(s, 1)) {
				return nil, false
			}
		}
		args = append(args, in)
	}
	p.moved++
	for i, a := range args {
		if in, ok := a.(*graph.Node); ok && !sym.Is(in.TensorMeta().Shape[p.dim], 1) {
			args[i] = p.pick(in)
		}
	}
	return args, true
}

// movable are the operators that are as cheap for an element as picking it is.
var movable = map[ops.ID]bool{ops.Add: true, ops.Sub: true, ops.Mul: true, ops.Neg: true}

// sumOneHot returns how many sums it removed. What is scattered keeps a reader, as it is there that positions are checked.
func sumOneHot(g *graph.Graph) int {
	count := 0
	for _, n := range g.Nodes() {
		if n.Op != ops.Sum {
			continue
		}
		a := ops.In[ops.SumArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
		x, ok := a.Self.Arg.(*graph.Node)
		if !ok || x.Op != ops.ScatterAdd || x.NumUsers() < 2 || !a.Keepdim.Bool() || a.Dim.IsNone() || len(a.Dim.Ints()) != 1 {
			continue
		}
		s := ops.In[ops.ScatterAddArgs](&ops.Call{Op: x.OpRow(), Args: x.Args})
		index, ok := s.Index.Arg.(*graph.Node)
		src, ok2 := s.Src.Arg.(*graph.Node)
		if !ok || !ok2 || !isZeros(s.Self.Arg) {
			continue
		}
		dim, ok := onePerRow(x, index, s.Dim.Int())
		at, err := ops.WrapDim(a.Dim.Ints()[0], len(x.TensorMeta().Shape))
		if !ok || err != nil || at != dim || !sameLayout(src, n) {
			continue
		}
		n.ReplaceUses(src)
		g.Erase(n)
		count++
	}
	return count
}

// onePerRow reports an index of one element for each row of x along dim.
func onePerRow(x, index *graph.Node, dim sym.Int) (int, bool) {
	shape, of := x.TensorMeta().Shape, index.TensorMeta().Shape
	d, err := ops.WrapDim(dim, len(shape))
	if err != nil || len(shape) == 0 || len(of) != len(shape) || !sym.Is(of[d], 1) || sym.Is(shape[d], 1) {
		return 0, false
	}
	for i := range shape {
		if i != d && !sym.Same(shape[i], of[i]) {
			return 0, false
		}
	}
	return d, true
}

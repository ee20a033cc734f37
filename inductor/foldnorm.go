package inductor

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file folds what scales and shifts the channels of a convolution's result, as batch
// norm in evaluation does, into the convolution's weight and bias, where all of it depends
// on parameters alone: the prologue then multiplies the weight once. Scale and shift are
// computed as the graph says; results differ from eager's by the rounding of the products, and of
// what a norm in half precision reads.

// folded is a convolution with the chain of operators after it that goes into its weight.
type folded struct {
	conv  *graph.Node
	chain []*graph.Node
}

// foldNorms folds in place and returns how many convolutions have taken something up: of those that are not to be left as they are.
func foldNorms(g *graph.Graph, params []bool, leave func(*graph.Node) bool) int {
	found := foldable(g, params, leave)
	for _, f := range found {
		f.rewrite(g)
	}
	g.EliminateDead()
	return len(found)
}

// fixedNodes are the tensors that depend on parameters alone.
func fixedNodes(g *graph.Graph, params []bool) map[*graph.Node]bool {
	fixed := map[*graph.Node]bool{}
	inputs := 0
	for n := g.First(); n != nil; n = n.Next() {
		switch n.Kind {
		case graph.Placeholder:
			fixed[n] = n.IsTensor() && inputs < len(params) && params[inputs]
			inputs++
		case graph.Output:
		default:
			in, row := n.Inputs(), n.OpRow()
			fixed[n] = len(in) > 0 && n.IsTensor() && row != nil && !row.Tags.Has(ops.TagRandom) && !row.Tags.Has(ops.TagInPlace) &&
				!slices.ContainsFunc(in, func(x *graph.Node) bool { return !fixed[x] })
		}
	}
	return fixed
}

// foldable finds the convolutions whose results are scaled.
func foldable(g *graph.Graph, params []bool, leave func(*graph.Node) bool) []folded {
	fixed := fixedNodes(g, params)
	var out []folded
	for n := g.First(); n != nil; n = n.Next() {
		if n.Op != ops.Convolution || leave(n) {
			continue
		}
		a := convArgs(n)
		bias := a.Bias.Value()
		groups := a.Transposed.Bool() && !sym.Is(a.Groups.Int(), 1) // channels are then no dimension of the weight
		if groups || a.Weight.Meta().DType != ops.Float32 || !fixed[a.Weight.Arg.(*graph.Node)] ||
			bias != nil && !fixed[bias.(*graph.Node)] {
			continue
		}
		f := folded{conv: n}
		scaled := 0 // up to the last factor and the shift after it
		for last := n; ; {
			next := f.follow(last, fixed)
			if next == nil {
				break
			}
			f.chain, last = append(f.chain, next), next
			if next.Op == ops.Mul || next.Op == ops.Div || scaled > 0 && next.Op != ops.To {
				scaled = len(f.chain)
			}
		}
		if f.chain = f.chain[:scaled]; scaled > 0 {
			out = append(out, f)
		}
	}
	return out
}

func convArgs(n *graph.Node) *ops.ConvolutionArgs {
	return ops.In[ops.ConvolutionArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
}

// follow is the only reader of a value of the chain, where it belongs to it; else nil.
func (f *folded) follow(last *graph.Node, fixed map[*graph.Node]bool) *graph.Node {
	if last.NumUsers() != 1 {
		return nil
	}
	n := last.Users()[0]
	if f.roundTrip(n) {
		return n
	}
	by := f.operand(n, last)
	if by == nil || !fixed[by] || !sameType(n, f.conv) || !f.perChannel(by.TensorMeta()) {
		return nil
	}
	return n
}

// roundTrip reports whether n is half of the way from float32 to half precision and back, which is left
// out: a norm of a network in half precision computes in float32.
func (f *folded) roundTrip(n *graph.Node) bool {
	if n.Op != ops.To || !sameLayout(n, f.conv) {
		return false
	}
	if n.TensorMeta().DType == ops.Float32 {
		return true
	}
	if !halfPrecision(n.TensorMeta().DType) || n.NumUsers() != 1 {
		return false
	}
	back := n.Users()[0]
	return back.Op == ops.To && back.IsTensor() && back.TensorMeta().DType == ops.Float32
}

// operand is what n adds to the value of the chain, or multiplies it by; nil where it does
// something else.
func (f *folded) operand(n, value *graph.Node) *graph.Node {
	switch n.Op {
	case ops.Add, ops.Sub, ops.Mul, ops.Div:
	default:
		return nil
	}
	for _, extra := range n.Args[2:] { // alpha, a rounding mode
		if x, one := extra.(sym.Int); extra != nil && (!one || !sym.Is(x, 1)) {
			return nil
		}
	}
	left, _ := n.Args[0].(*graph.Node)
	right, _ := n.Args[1].(*graph.Node)
	switch {
	case left == right:
	case left == value:
		return right
	case n.Op == ops.Add || n.Op == ops.Mul:
		return left
	}
	return nil
}

// sameType reports whether two values are tensors of one shape, layout and type.
func sameType(a, b *graph.Node) bool {
	return sameLayout(a, b) && a.TensorMeta().DType == b.TensorMeta().DType
}

func sameLayout(a, b *graph.Node) bool {
	if !a.IsTensor() || !b.IsTensor() {
		return false
	}
	x, y := a.TensorMeta(), b.TensorMeta()
	return sym.AllSame(x.Shape, y.Shape) && sym.AllSame(x.Stride, y.Stride)
}

// perChannel reports whether a tensor has one number for each channel of the result.
func (f *folded) perChannel(m *ops.TensorMeta) bool {
	result := f.conv.TensorMeta()
	channel := len(m.Shape) - len(result.Shape) + 1
	if m.DType != ops.Float32 || channel < 0 || !sym.Same(m.Shape[channel], result.Shape[1]) {
		return false
	}
	for i, n := range m.Shape {
		if i != channel && !sym.Is(n, 1) {
			return false
		}
	}
	return true
}

// rewrite puts a convolution with another weight and bias in place of the chain. It has the
// name of the chain's last node, whose value it computes.
func (f *folded) rewrite(g *graph.Graph) {
	last := f.chain[len(f.chain)-1]
	b := &graph.Builder{G: g, Before: last, NoGrad: last.NoGrad, Stack: f.conv.Stack}
	a := convArgs(f.conv)
	weight := a.Weight.Arg.(*graph.Node)
	channels := f.conv.TensorMeta().Shape[1]
	scale, shift := f.affine(b, channels)
	ones := make([]sym.Int, len(weight.TensorMeta().Shape))
	for i := range ones {
		ones[i] = sym.Const(1)
	}
	if ones[0] = channels; a.Transposed.Bool() {
		ones[0], ones[1] = sym.Const(1), channels
	}
	args := slices.Clone(f.conv.Args)
	args[1] = b.Emit(ops.Mul, weight, b.Emit(ops.View, scale, ones))
	if args[2] = nil; shift != nil {
		args[2] = shift
	}
	conv, err := b.Call(f.conv.OpRow(), args, graph.CallFunction)
	if err != nil {
		panic(err)
	}
	last.ReplaceUses(conv)
	for _, n := range slices.Backward(f.chain) {
		g.Erase(n)
	}
	g.Erase(f.conv)
	g.Rename(conv, last.Name)
}

// affine is what the chain multiplies the convolution without its bias by, and what it adds
// then, nil for nothing, for each channel.
func (f *folded) affine(b *graph.Builder, channels sym.Int) (scale, shift ops.Value) {
	shift = convArgs(f.conv).Bias.Value()
	value := f.conv
	for _, n := range f.chain {
		if n.Op == ops.To {
			value = n
			continue
		}
		by := b.Emit(ops.View, f.operand(n, value), []sym.Int{channels})
		switch {
		case n.Op == ops.Add && shift == nil:
			shift = by
		case n.Op == ops.Sub && shift == nil:
			shift = b.Emit(ops.Neg, by)
		case n.Op == ops.Add || n.Op == ops.Sub:
			shift = b.Emit(n.Op, shift, by)
		default:
			if shift != nil {
				shift = b.Emit(n.Op, shift, by)
			}
			if scale == nil && n.Op == ops.Div {
				scale = b.Emit(ops.Reciprocal, by)
			} else if scale == nil {
				scale = by
			} else {
				scale = b.Emit(n.Op, scale, by)
			}
		}
		value = n
	}
	return scale, shift
}

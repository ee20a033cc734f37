package inductor

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/lower"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file computes convolutions of half precision, and their gradients, in float32: operands are
// widened before and results rounded after, as PyTorch's kernels do within, which add up in float32. The
// loops that widen and round are fused with what is around them, and weights are widened once, in the prologue.

// widens reports whether a node is a convolution of half precision that has a template in float32.
func widens(n *graph.Node) bool {
	var x, groups ops.Arg
	var transposed bool
	switch n.Op {
	case ops.Convolution:
		a := convArgs(n)
		x, groups, transposed = a.Input.Arg, a.Groups.Arg, a.Transposed.Bool()
	case ops.ConvolutionBackward:
		a := ops.In[ops.ConvolutionBackwardArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
		x, groups, transposed = a.Input.Arg, a.Groups.Arg, a.Transposed.Bool()
	default:
		return false
	}
	m := x.(*graph.Node).TensorMeta()
	count, _ := groups.(sym.Int)
	if !halfPrecision(m.DType) || (transposed || len(m.Shape) > 4) && !sym.Is(count, 1) { // those of groups have no template
		return false
	}
	return !slices.ContainsFunc(m.Shape[1:], func(s sym.Int) bool { _, known := s.IsConst(); return !known })
}

func halfPrecision(d ops.DType) bool { return d == ops.BFloat16 || d == ops.Float16 }

// keepsBFloat16 reports whether a convolution's weight should stay one of bfloat16: tiles or the dot product multiply it with an image of
// bfloat16, and a scaled weight is no longer of that type.
func keepsBFloat16(n *graph.Node) bool {
	a := convArgs(n)
	weight := a.Weight.Meta().Shape
	step, dilation := a.Stride.Ints(), a.Dilation.Ints()
	dense := !a.Transposed.Bool() && sym.Is(a.Groups.Int(), 1) && len(weight) == 4
	if !lower.OfBFloat16(n) || !dense || len(step) == 0 || len(dilation) == 0 {
		return false
	}
	var known [4]int64 // channels, the width of the window, how far windows and what they see are apart
	for i, x := range []sym.Int{weight[1], weight[3], step[len(step)-1], dilation[len(dilation)-1]} {
		var static bool
		if known[i], static = x.IsConst(); !static {
			return false
		}
	}
	return known[0]%cpp.TileChannels == 0 || cpp.FirstLayer(known[0], known[1], known[2], known[3])
}

// widen works on a copy, as foldNorm does.
func (c *compiler) widen() (int, error) {
	g := lower.Decomposed(c.graph)
	if !slices.ContainsFunc(g.Nodes(), widens) {
		return 0, nil
	}
	c.ownGraph(g)
	w := widener{c.graph, map[*graph.Node]ops.Value{}}
	count := 0
	for _, n := range c.graph.Nodes() {
		if widens(n) {
			w.rewrite(n)
			count++
		}
	}
	return count, nil
}

// ownGraph has the compilation go on with g, which is a copy where it is the graph that was given.
func (c *compiler) ownGraph(g *graph.Graph) {
	if g == c.given {
		g, _ = g.Clone(g.Name)
	}
	c.graph = g
}

// widener rewrites the convolutions of a graph; wide has the float32 form of each operand.
type widener struct {
	g    *graph.Graph
	wide map[*graph.Node]ops.Value
}

// rewrite puts a convolution of float32 in place of n, and rounds what it gives.
func (w *widener) rewrite(n *graph.Node) {
	b := &graph.Builder{G: w.g, Before: n, NoGrad: n.NoGrad, Stack: n.Stack}
	args := slices.Clone(n.Args)
	for i, a := range args {
		if x, ok := a.(*graph.Node); ok && x.IsTensor() && halfPrecision(x.TensorMeta().DType) {
			if w.wide[x] == nil {
				w.wide[x] = b.Emit(ops.To, x, ops.Float32)
			}
			args[i] = w.wide[x]
		}
	}
	conv, err := b.Call(n.OpRow(), args, graph.CallFunction)
	if err != nil {
		panic(err)
	}
	if n.IsTensor() {
		w.replace(b, n, conv)
	} else {
		for _, item := range slices.Clone(n.Users()) {
			if item.IsTensor() {
				i, _ := item.Args[1].(sym.Int).IsConst()
				b.Before = item
				w.replace(b, item, b.Item(conv, int(i)))
			} else {
				item.ReplaceUses(b.Item(conv, 0))
			}
		}
	}
	w.g.EliminateDead()
}

// replace puts the rounded form of wide in place of a value, under its name.
func (w *widener) replace(b *graph.Builder, old, wide *graph.Node) {
	rounded := b.Emit(ops.To, wide, old.TensorMeta().DType).(*graph.Node)
	name := old.Name
	old.ReplaceUses(rounded)
	w.g.Erase(old)
	w.g.Rename(rounded, name)
}

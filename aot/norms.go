package aot

import (
	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/ops"
)

// This file gives batch_norm in training the closed form of its gradient: two sums for each channel,
// then one pass over the gradient and the input. What it decomposes into has a derivative of its own
// for each piece, with as many sums, and one waits for the other.
//
// Up to the joint graph a normalisation is one operator, which has that derivative; there it is
// decomposed, so that what is cheap to compute again can be.

// wholeNorms makes calls of batch_norm in training that gradients flow through calls of the operator
// without running statistics.
func wholeNorms(g *graph.Graph) {
	for _, n := range g.Nodes() {
		if n.Op != ops.BatchNorm || n.NoGrad {
			continue
		}
		b := &graph.Builder{G: g, Before: n, Stack: n.Stack}
		quiet := &graph.Builder{G: g, Before: n, Stack: n.Stack, NoGrad: true}
		if y, ok := ops.TrainingNorm(b, quiet, &ops.Call{Op: n.OpRow(), Args: n.Args}); ok {
			n.ReplaceUses(y.(*graph.Node))
			g.Erase(n)
		}
	}
}

// takeNormsApart decomposes these operators in the joint graph, and makes the statistics that the
// forward part and derivatives compute one. So it does with log_softmax, whose derivative is that of the whole, too.
func (j *joint) takeNormsApart() int {
	return j.rewrite(func(g *graph.Graph) int {
		return decompose.Expand(g, func(n *graph.Node) bool {
			return n.Op == ops.NativeBatchNormLegit || n.Op == ops.BatchNorm || n.Op == ops.LogSoftmax
		})
	})
}

// rewrite has f change the joint graph, and makes equal values of the forward part one where it did.
func (j *joint) rewrite(f func(g *graph.Graph) int) int {
	all := append(append([]ops.Arg(nil), j.outs...), j.grads...)
	j.g.SetOutput(all)
	after := j.last.Next()
	count := f(j.g)
	if count > 0 {
		if j.last.Graph() == nil {
			j.last = after.Prev()
		}
		late := j.lateNodes()
		cseAmong(j.g, func(n *graph.Node) bool { return !late[n] && n != j.last })
	}
	out := j.g.OutputNode()
	copy(j.outs, out.Args)
	copy(j.grads, out.Args[len(j.outs):])
	j.g.Erase(out)
	return count
}

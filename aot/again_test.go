package aot

import (
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
)

// normStep is a normalisation between two products, a loss and, in the same graph, a gradient that reads what the normalisation
// gives once more.
func normStep(b *graph.Builder, x []ops.Value) []ops.Value {
	y := b.Emit(ops.Mm, x[0], x[1])
	z := b.Emit(ops.Mul, b.Emit(ops.Sub, y, b.Emit(ops.Mean, y, []int{0}, true)), 0.5)
	loss := b.Emit(ops.Sum, b.Emit(ops.Mm, b.Emit(ops.Tanh, z), x[1]))
	d, g := backwardFrom(b, loss)
	return []ops.Value{loss, d.Emit(ops.Sum, d.Emit(ops.Mul, d.Emit(ops.Mm, g, x[1]), z), []int{0})}
}

// backwardFrom begins a backward pass; grad is the gradient of what loss is the sum of.
func backwardFrom(b *graph.Builder, loss ops.Value) (d *graph.Builder, grad ops.Value) {
	d = &graph.Builder{G: b.G, NoGrad: true, Derivative: true}
	return d, d.Emit(ops.Expand, d.Emit(ops.FullLike, loss, 1.0), []int{32, 32})
}

// TestComputeAgain has graphs with a backward pass in them: what is cheap to compute from what lies in memory is computed where
// derivatives read it; what takes long, what is drawn and what lies in memory itself is not.
func TestComputeAgain(t *testing.T) {
	in := []*torch.Tensor{torch.Randn(32, 32), torch.Randn(32, 32)}
	for _, c := range []struct {
		name string
		want int // operators
		f    func(b *graph.Builder, x []ops.Value) []ops.Value
	}{
		{"a normalisation", 2, normStep},
		{"no backward pass", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			y := b.Emit(ops.Neg, b.Emit(ops.Mm, x[0], x[1]))
			return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Mm, b.Emit(ops.Abs, y), x[1]), y)}
		}},
		{"what a product reads as well", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			y := b.Emit(ops.Tanh, x[0])
			d, g := backwardFrom(b, b.Emit(ops.Sum, b.Emit(ops.Mm, y, x[1])))
			return []ops.Value{d.Emit(ops.Mul, d.Emit(ops.Mm, g, y), x[0])}
		}},
		{"a draw, of which the mask is computed again", 1, func(b *graph.Builder, x []ops.Value) []ops.Value {
			y := b.Emit(ops.Mm, x[0], x[1])
			kept := b.Emit(ops.Div, b.Emit(ops.Bernoulli, y, 1.0), 0.5)
			loss := b.Emit(ops.Sum, b.Emit(ops.Mm, b.Emit(ops.Mul, y, kept), x[1]))
			d, g := backwardFrom(b, loss)
			return []ops.Value{loss, d.Emit(ops.Mul, d.Emit(ops.Mm, g, x[1]), kept)}
		}},
		{"an argument that no derivative reads itself", 1, func(b *graph.Builder, x []ops.Value) []ops.Value {
			y := b.Emit(ops.Mul, x[1], 0.5)
			loss := b.Emit(ops.Sum, b.Emit(ops.Mm, x[0], b.Emit(ops.Tanh, y)))
			d, g := backwardFrom(b, loss)
			return []ops.Value{loss, d.Emit(ops.Mul, d.Emit(ops.Mm, x[0], g), y)}
		}},
	} {
		rewrittenAlike(t, c.name, in, c.want, computeAgain, c.f)
	}
}

// TestOneGraphOfALoss wants logarithms of probabilities computed where the gradient reads them, of the logits, which are there: the
// loss picks from its own.
func TestOneGraphOfALoss(t *testing.T) {
	in := []*torch.Tensor{torch.Randn(4, 8), torch.Randn(8, 50), torch.NewTensor([]int{3, 0, 49, 7})}
	g := capture(t, in, func(b *graph.Builder, x []ops.Value) []ops.Value {
		logs := b.Emit(ops.LogSoftmax, b.Emit(ops.Mm, x[0], x[1]), 1)
		loss := b.Emit(ops.NllLoss, logs, x[2])
		d := &graph.Builder{G: b.G, NoGrad: true, Derivative: true}
		return []ops.Value{loss, d.Emit(ops.Mul, d.Emit(ops.Exp, logs), d.Emit(ops.FullLike, loss, 1.0))}
	})
	g.Untaped = true
	pure := pureOf(t, g, in)
	n := pure.Outputs()[1].(*graph.Node)
	for n.Op != ops.Sub {
		n = n.Inputs()[0]
	}
	if first := n.Inputs()[0]; first.Op != ops.Sub || first.NumUsers() != 1 || n.NumUsers() != 1 {
		t.Errorf("%s and what it is of are read by others as well:\n%s", n.Name, pure.Code())
	}
}

// pureOf is the pure graph that g is compiled as.
func pureOf(t *testing.T, g *graph.Graph, in []*torch.Tensor) (pure *graph.Graph) {
	t.Helper()
	if _, err := Compile(&Request{Graph: g, Example: values(in), Check: true, Compile: func(p Part) (Runnable, error) {
		pure = p.Graph
		return p.Graph.RunUntaped, nil
	}}); err != nil {
		t.Fatal(err)
	}
	return pure
}

// TestOneGraphComputesAgain wants that of a compiled graph, after its equal values were made one, and what derivatives alone have
// read no longer where it was.
func TestOneGraphComputesAgain(t *testing.T) {
	in := []*torch.Tensor{torch.Randn(32, 32), torch.Randn(32, 32)}
	g := capture(t, in, normStep)
	g.Untaped = true
	pure := pureOf(t, g, in)
	subs, products := 0, 0
	for _, n := range pure.Nodes() {
		switch n.Op {
		case ops.Sub:
			subs++
		case ops.Mm:
			products++
		}
	}
	if subs != 2 || products != 3 {
		t.Errorf("%d differences and %d products, want 2 and 3:\n%s", subs, products, pure.Code())
	}
}

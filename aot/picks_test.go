package aot

import (
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// What is read at one place of each row is computed there; what cannot be, or is picked in another way, stays.
func TestPickFirst(t *testing.T) {
	in := []*torch.Tensor{torch.Randn(4, 6), torch.NewTensor([][]int{{5}, {0}, {5}, {2}}), torch.Randn(4, 1), torch.Randn(6)}
	pick := func(b *graph.Builder, x []ops.Value, from ops.Value) []ops.Value {
		return []ops.Value{b.Emit(ops.Gather, from, sym.C(1), x[1])}
	}
	for _, c := range []struct {
		name string
		want int
		f    func(b *graph.Builder, x []ops.Value) []ops.Value
	}{
		{"a difference", 1, func(b *graph.Builder, x []ops.Value) []ops.Value { return pick(b, x, b.Emit(ops.Sub, x[0], x[2])) }},
		{"of a difference", 2, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return pick(b, x, b.Emit(ops.Sub, b.Emit(ops.Sub, x[0], x[2]), b.Emit(ops.Log, b.Emit(ops.Abs, x[2]))))
		}},
		{"with what else reads it", 1, func(b *graph.Builder, x []ops.Value) []ops.Value {
			y := b.Emit(ops.Mul, x[0], 2.0)
			return append(pick(b, x, y), b.Emit(ops.Sin, y))
		}},
		{"one number a column", 0, func(b *graph.Builder, x []ops.Value) []ops.Value { return pick(b, x, b.Emit(ops.Sub, x[0], x[3])) }},
		{"the end of a long chain, in which each is read twice", mostMoved, func(b *graph.Builder, x []ops.Value) []ops.Value {
			y := x[0]
			for range 100 {
				y = b.Emit(ops.Sub, b.Emit(ops.Add, y, y), y)
			}
			return pick(b, x, y)
		}},
		{"a result that would lie otherwise", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			in := func(v ops.Value, last int) ops.Value { return b.Emit(ops.Reshape, v, sym.Consts([]int{2, 2, last})) }
			row := b.Emit(ops.Transpose, in(x[2], 1), sym.C(0), sym.C(1))
			return []ops.Value{b.Emit(ops.Gather, b.Emit(ops.Sub, row, in(x[0], 6)), sym.C(2), in(x[1], 1))}
		}},
		{"an exponential", 0, func(b *graph.Builder, x []ops.Value) []ops.Value { return pick(b, x, b.Emit(ops.Exp, x[0])) }},
		{"several in a row", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			two := b.Emit(ops.Cat, []ops.Value{x[1], x[1]}, sym.C(1))
			return []ops.Value{b.Emit(ops.Gather, b.Emit(ops.Sub, x[0], x[2]), sym.C(1), two)}
		}},
		{"in some rows", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			some := b.Emit(ops.Slice, x[1], sym.C(0), sym.C(0), sym.C(2))
			return []ops.Value{b.Emit(ops.Gather, b.Emit(ops.Sub, x[0], x[2]), sym.C(1), some)}
		}},
	} {
		rewrittenAlike(t, c.name, in, c.want, pickFirst, c.f)
	}
}

// The sum of a row of zeros but for one number is that number.
func TestSumOneHot(t *testing.T) {
	in := []*torch.Tensor{torch.NewTensor([][]int{{5}, {0}, {5}, {2}}), torch.Randn(4, 1)}
	hot := func(b *graph.Builder, x []ops.Value, fill float64) ops.Value {
		return b.Emit(ops.ScatterAdd, b.Emit(ops.Full, sym.Consts([]int{4, 6}), fill), sym.C(1), x[0], x[1])
	}
	for _, c := range []struct {
		name string
		want int
		f    func(b *graph.Builder, x []ops.Value) []ops.Value
	}{
		{"of each row", 1, func(b *graph.Builder, x []ops.Value) []ops.Value {
			h := hot(b, x, 0)
			return []ops.Value{b.Emit(ops.Sub, h, b.Emit(ops.Sum, h, []int{-1}, true))}
		}},
		{"without the dimension", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			h := hot(b, x, 0)
			return []ops.Value{h, b.Emit(ops.Sum, h, []int{1})}
		}},
		{"of each column", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			h := hot(b, x, 0)
			return []ops.Value{h, b.Emit(ops.Sum, h, []int{0}, true)}
		}},
		{"of ones", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			h := hot(b, x, 1)
			return []ops.Value{h, b.Emit(ops.Sum, h, []int{1}, true)}
		}},
		{"read by nothing else", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Sum, hot(b, x, 0), []int{1}, true)}
		}},
	} {
		rewrittenAlike(t, c.name, in, c.want, sumOneHot, c.f)
	}
}

// rewrittenAlike runs a graph before and after a rewrite that is to change so much.
func rewrittenAlike(
	t *testing.T, name string, in []*torch.Tensor, want int, rewrite func(*graph.Graph) int,
	f func(b *graph.Builder, x []ops.Value) []ops.Value,
) {
	t.Run(name, func(t *testing.T) {
		g := capture(t, in, f)
		before, text := g.RunUntaped(values(in)), g.Code()
		if n := rewrite(g); n != want || n == 0 && g.Code() != text {
			t.Errorf("%d changes, want %d:\n%s", n, want, g.Code())
		}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		for i, v := range g.RunUntaped(values(in)) {
			same(t, name, v.(*torch.Tensor), before[i].(*torch.Tensor))
		}
	})
}

// TestLossOverClasses wants of a cross entropy the logits kept, which are there, and not what only the derivative reads; the
// forward graph writes no logarithms of probabilities, the backward graph adds up no zeros.
func TestLossOverClasses(t *testing.T) {
	hidden, weight, target := torch.Randn(4, 8), torch.Randn(8, 50), torch.NewTensor([]int{3, 0, 49, 7})
	parts := map[string]*graph.Graph{}
	hidden.RequiresGrad_()
	in := []*torch.Tensor{hidden, weight, target}
	_, err := Compile(&Request{
		Graph: capture(t, in, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.CrossEntropy, b.Emit(ops.Mm, x[0], x[1]), x[2])}
		}),
		Example: values(in), Check: true,
		Compile: func(p Part) (Runnable, error) {
			parts[p.Stage] = p.Graph
			return p.Graph.RunUntaped, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if forward := parts["forward"]; !keeps(forward, ops.Mm) || keeps(forward, ops.Exp, ops.Sub) {
		t.Errorf("forward:\n%s", forward.Code())
	}
	for _, n := range parts["forward"].Nodes() {
		if n.Op == ops.Sub && n.NumUsers() > 0 && n.Users()[0].Op == ops.Gather {
			t.Errorf("%s is computed whole:\n%s", n.Name, parts["forward"].Code())
		}
	}
	if backward := parts["backward"]; !has(backward, ops.Exp) || has(backward, ops.Sum) {
		t.Errorf("backward:\n%s", backward.Code())
	}
}

// keeps reports whether a result of g is of one of the operators.
func keeps(g *graph.Graph, ids ...ops.ID) bool {
	for _, a := range g.OutputNode().Args {
		if n, ok := a.(*graph.Node); ok {
			for _, id := range ids {
				if n.Op == id {
					return true
				}
			}
		}
	}
	return false
}

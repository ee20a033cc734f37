package aot

import (
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// A sum of products of few terms each becomes one product, with whatever else is added.
func TestSumProducts(t *testing.T) {
	const steps = 5
	var in []*torch.Tensor
	for range steps {
		in = append(in, torch.Randn(2, 24), torch.Randn(2, 20))
	}
	in = append(in, torch.Randn(24, 20), torch.Randn(40, 24), torch.Randn(40, 20))
	turn := func(b *graph.Builder, x ops.Value) ops.Value { return b.Emit(ops.T, x) }
	product := func(b *graph.Builder, x []ops.Value, i int) ops.Value {
		return b.Emit(ops.Mm, turn(b, x[2*i]), x[2*i+1])
	}
	sum := func(b *graph.Builder, parts ...ops.Value) ops.Value {
		s := parts[0]
		for _, p := range parts[1:] {
			s = b.Emit(ops.Add, s, p)
		}
		return s
	}
	all := func(b *graph.Builder, x []ops.Value) (list []ops.Value) {
		for i := range steps {
			list = append(list, product(b, x, i))
		}
		return list
	}
	for _, c := range []struct {
		name string
		want int
		f    func(b *graph.Builder, x []ops.Value) []ops.Value
	}{
		{"products", 4, func(b *graph.Builder, x []ops.Value) []ops.Value { return []ops.Value{sum(b, all(b, x)...)} }},
		{"and something else", 4, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{sum(b, append(all(b, x), x[2*steps])...)}
		}},
		{"turned around", 4, func(b *graph.Builder, x []ops.Value) []ops.Value {
			var list []ops.Value
			for _, p := range all(b, x) {
				list = append(list, turn(b, p))
			}
			return []ops.Value{sum(b, list...)}
		}},
		{"turned around and back", 4, func(b *graph.Builder, x []ops.Value) []ops.Value {
			var list []ops.Value
			for _, p := range all(b, x) {
				list = append(list, turn(b, turn(b, p)))
			}
			return []ops.Value{sum(b, list...)}
		}},
		{"one read elsewhere", 3, func(b *graph.Builder, x []ops.Value) []ops.Value {
			list := all(b, x)
			return []ops.Value{sum(b, list...), b.Emit(ops.Sin, list[1])}
		}},
		{"a partial sum with a second reader, then two more products", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			list := all(b, x)
			s := sum(b, list[:3]...)
			return []ops.Value{sum(b, s, list[3], list[4]), b.Emit(ops.Sin, s)}
		}},
		{"few", 0, func(b *graph.Builder, x []ops.Value) []ops.Value { return []ops.Value{sum(b, all(b, x)[:3]...)} }},
		{"many terms each", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			var list []ops.Value
			for range 4 {
				list = append(list, b.Emit(ops.Mm, turn(b, x[2*steps+1]), x[2*steps+2]))
			}
			return []ops.Value{sum(b, list...)}
		}},
		{"weighted", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			list := all(b, x)
			return []ops.Value{b.Emit(ops.Add, b.Emit(ops.Add, list[0], list[1], 2.0), b.Emit(ops.Add, list[2], list[3], 2.0), 3.0)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := capture(t, in, c.f)
			want := g.RunUntaped(values(in))
			if n := sumProducts(g); n != c.want {
				t.Errorf("%d products went, want %d:\n%s", n, c.want, g.Code())
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			for i, v := range g.RunUntaped(values(in)) {
				same(t, c.name, v.(*torch.Tensor), want[i].(*torch.Tensor))
			}
		})
	}
}

// What is concatenated anyway, in whatever order, is not concatenated again.
func TestSumProductsSharesConcatenation(t *testing.T) {
	var in []*torch.Tensor
	for range 4 {
		in = append(in, torch.Randn(2, 24), torch.Randn(2, 20))
	}
	g := capture(t, in, func(b *graph.Builder, x []ops.Value) []ops.Value {
		s := b.Emit(ops.Mm, b.Emit(ops.T, x[0]), x[1])
		for i := 1; i < 4; i++ {
			s = b.Emit(ops.Add, s, b.Emit(ops.Mm, b.Emit(ops.T, x[2*i]), x[2*i+1]))
		}
		whole := b.Emit(ops.Cat, []ops.Value{x[2], x[6], x[0], x[4]}, sym.C(0))
		return []ops.Value{s, b.Emit(ops.Sin, whole)}
	})
	sumProducts(g)
	cse(g)
	g.EliminateDead()
	cats := 0
	for _, n := range g.Nodes() {
		if n.Op == ops.Cat {
			cats++
		}
	}
	if cats != 2 {
		t.Errorf("%d concatenations, want 2:\n%s", cats, g.Code())
	}
}

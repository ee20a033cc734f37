package aot

import (
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// A scatter into zeros goes straight into its sum, where nothing else reads it; others stay.
func TestScatterIntoSum(t *testing.T) {
	in := []*torch.Tensor{torch.Randn(6, 3), torch.Randn(4, 3), torch.NewTensor([]int{5, 0, 5, 2})}
	zeros := func(b *graph.Builder, x []ops.Value, fill float64) ops.Value {
		return b.Emit(ops.FullLike, x[0], fill)
	}
	scatter := func(b *graph.Builder, x []ops.Value, into ops.Value) ops.Value {
		return b.Emit(ops.IndexAdd, into, sym.C(0), x[2], x[1])
	}
	for _, c := range []struct {
		name string
		want int
		f    func(b *graph.Builder, x []ops.Value) []ops.Value
	}{
		{"second", 1, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Add, b.Emit(ops.Sin, x[0]), scatter(b, x, zeros(b, x, 0)))}
		}},
		{"first, computed before what it is added to", 1, func(b *graph.Builder, x []ops.Value) []ops.Value {
			s := scatter(b, x, zeros(b, x, 0))
			return []ops.Value{b.Emit(ops.Add, s, b.Emit(ops.Sin, x[0]))}
		}},
		{"into ones", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Add, x[0], scatter(b, x, zeros(b, x, 1)))}
		}},
		{"read elsewhere", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			s := scatter(b, x, zeros(b, x, 0))
			return []ops.Value{b.Emit(ops.Add, x[0], s), b.Emit(ops.Sin, s)}
		}},
		{"weighted", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Add, x[0], scatter(b, x, zeros(b, x, 0)), 2.0)}
		}},
		{"broadcast", 0, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Add, b.Emit(ops.Select, x[0], sym.C(0), sym.C(0)), scatter(b, x, zeros(b, x, 0)))}
		}},
		{"two of them", 2, func(b *graph.Builder, x []ops.Value) []ops.Value {
			y := b.Emit(ops.Add, x[0], scatter(b, x, zeros(b, x, 0)))
			return []ops.Value{b.Emit(ops.Add, scatter(b, x, zeros(b, x, 0)), y)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := capture(t, in, c.f)
			want := g.RunUntaped(values(in))
			if n := scatterIntoSum(g); n != c.want {
				t.Errorf("%d sums went, want %d:\n%s", n, c.want, g.Code())
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

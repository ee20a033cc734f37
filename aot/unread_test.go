package aot

import (
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// A draw with a probability of its own takes its form from the tensor that empty_like was given; it draws
// the same numbers. A draw that reads its probabilities keeps what it reads, and so does one of another form.
func TestDrawLike(t *testing.T) {
	in := []*torch.Tensor{torch.Rand(3, 4), torch.Rand(4, 3).T()}
	type list = []ops.Value
	for _, c := range []struct {
		name string
		want int
		f    func(b *graph.Builder, x list) list
	}{
		{"a mask of dropout", 1, func(b *graph.Builder, x list) list {
			return list{b.Emit(ops.Mul, x[0], b.Emit(ops.Bernoulli, b.Emit(ops.EmptyLike, x[0]), 0.4))}
		}},
		{"turned, twice", 2, func(b *graph.Builder, x list) list {
			first := b.Emit(ops.Bernoulli, b.Emit(ops.EmptyLike, x[1]), 0.4)
			return list{first, b.Emit(ops.Bernoulli, b.Emit(ops.EmptyLike, x[1]), 0.6)}
		}},
		{"probabilities that it reads", 0, func(b *graph.Builder, x list) list {
			return list{b.Emit(ops.Bernoulli, b.Emit(ops.ZerosLike, x[0]))}
		}},
		{"another form", 0, func(b *graph.Builder, x list) list {
			y := b.Emit(ops.EmptyLike, b.Emit(ops.Slice, x[0], sym.C(1), sym.C(0), sym.C(2), sym.C(1)))
			return list{b.Emit(ops.Bernoulli, y, 0.4)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := capture(t, in, c.f)
			torch.ManualSeed(3)
			want := g.RunUntaped(values(in))
			if n := drawLike(g); n != c.want {
				t.Errorf("%d draws changed, want %d:\n%s", n, c.want, g.Code())
			}
			g.EliminateDead()
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			torch.ManualSeed(3)
			for i, v := range g.RunUntaped(values(in)) {
				same(t, c.name, v.(*torch.Tensor), want[i].(*torch.Tensor))
			}
		})
	}
}

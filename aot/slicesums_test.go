package aot

import (
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// Sums of slices that lie beside each other are one sum; what has another reader, another place or
// another layout for whoever reads it stays.
func TestSumSlices(t *testing.T) {
	in := []*torch.Tensor{torch.Randn(2, 12, 3), torch.Randn(2, 12, 3), torch.Randn(2, 8, 3), torch.Randn(1, 12, 3)}
	cut := func(b *graph.Builder, x ops.Value, from, to int) ops.Value {
		return b.Emit(ops.Slice, x, sym.C(1), sym.C(from), sym.C(to), sym.C(1))
	}
	type list = []ops.Value
	for _, c := range []struct {
		name string
		want int
		f    func(b *graph.Builder, x list) list
	}{
		{"two", 1, func(b *graph.Builder, x list) list {
			y := b.Emit(ops.Add, cut(b, x[0], 0, 4), cut(b, x[1], 0, 4))
			z := b.Emit(ops.Add, cut(b, x[0], 4, 9), cut(b, x[1], 4, 9))
			return list{b.Emit(ops.Sin, y), b.Emit(ops.Cos, z)}
		}},
		{"the other way round, moved, one computed before", 1, func(b *graph.Builder, x list) list {
			z := b.Emit(ops.Add, cut(b, x[2], 3, 5), cut(b, x[0], 7, 9))
			y := b.Emit(ops.Sin, b.Emit(ops.Add, cut(b, x[0], 4, 7), cut(b, x[2], 0, 3)))
			return list{y, b.Emit(ops.Cos, z)}
		}},
		{"gradients of three concatenations", 3, func(b *graph.Builder, x list) list {
			var parts list
			for i := range 3 {
				at := 4 * i
				s := b.Emit(ops.Add, cut(b, x[0], at, at+4), cut(b, x[1], at, at+4))
				if i < 2 {
					s = b.Emit(ops.Add, s, cut(b, x[2], at, at+4))
				}
				parts = append(parts, b.Emit(ops.Sin, s))
			}
			return parts
		}},
		{"a gap between them", 0, func(b *graph.Builder, x list) list {
			y := b.Emit(ops.Add, cut(b, x[0], 0, 4), cut(b, x[1], 0, 4))
			z := b.Emit(ops.Add, cut(b, x[0], 5, 9), cut(b, x[1], 5, 9))
			return list{b.Emit(ops.Sin, y), b.Emit(ops.Cos, z)}
		}},
		{"overlapping", 0, func(b *graph.Builder, x list) list {
			y := b.Emit(ops.Add, cut(b, x[0], 0, 4), cut(b, x[1], 0, 4))
			z := b.Emit(ops.Add, cut(b, x[0], 3, 9), cut(b, x[1], 3, 9))
			return list{b.Emit(ops.Sin, y), b.Emit(ops.Cos, z)}
		}},
		{"each from another place", 0, func(b *graph.Builder, x list) list {
			y := b.Emit(ops.Add, cut(b, x[0], 0, 4), cut(b, x[1], 0, 4))
			z := b.Emit(ops.Add, cut(b, x[0], 4, 9), cut(b, x[1], 5, 10))
			return list{b.Emit(ops.Sin, y), b.Emit(ops.Cos, z)}
		}},
		{"a slice that is read elsewhere", 0, func(b *graph.Builder, x list) list {
			s := cut(b, x[0], 0, 4)
			y := b.Emit(ops.Add, s, cut(b, x[1], 0, 4))
			z := b.Emit(ops.Add, cut(b, x[0], 4, 9), cut(b, x[1], 4, 9))
			return list{b.Emit(ops.Sin, y), b.Emit(ops.Cos, z), b.Emit(ops.Exp, s)}
		}},
		{"results, whose strides were promised", 0, func(b *graph.Builder, x list) list {
			y := b.Emit(ops.Add, cut(b, x[0], 0, 4), cut(b, x[1], 0, 4))
			z := b.Emit(ops.Add, cut(b, x[0], 4, 9), cut(b, x[1], 4, 9))
			return list{y, z}
		}},
		{"read as a view", 0, func(b *graph.Builder, x list) list {
			y := b.Emit(ops.Add, cut(b, x[0], 0, 4), cut(b, x[1], 0, 4))
			z := b.Emit(ops.Add, cut(b, x[0], 4, 9), cut(b, x[1], 4, 9))
			return list{b.Emit(ops.View, y, sym.Consts([]int{24})), b.Emit(ops.Cos, z)}
		}},
		{"weighted", 0, func(b *graph.Builder, x list) list {
			y := b.Emit(ops.Add, cut(b, x[0], 0, 4), cut(b, x[1], 0, 4), 2.0)
			z := b.Emit(ops.Add, cut(b, x[0], 4, 9), cut(b, x[1], 4, 9), 2.0)
			return list{b.Emit(ops.Sin, y), b.Emit(ops.Cos, z)}
		}},
		{"broadcast", 0, func(b *graph.Builder, x list) list {
			y := b.Emit(ops.Add, cut(b, x[0], 0, 4), cut(b, x[3], 0, 4))
			z := b.Emit(ops.Add, cut(b, x[0], 4, 9), cut(b, x[3], 4, 9))
			return list{b.Emit(ops.Sin, y), b.Emit(ops.Cos, z)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := capture(t, in, c.f)
			before := g.Code()
			want := g.RunUntaped(values(in))
			if n := sumSlices(g); n != c.want {
				t.Errorf("%d sums went, want %d:\n%s", n, c.want, g.Code())
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			if c.want == 0 && g.Code() != before {
				t.Errorf("it was\n%s\nand is\n%s", before, g.Code())
			}
			for i, v := range g.RunUntaped(values(in)) {
				same(t, c.name, v.(*torch.Tensor), want[i].(*torch.Tensor))
			}
		})
	}
}

package backends

import (
	"fmt"
	"math"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// TestScansAsEager compares running sums, products and extremes with eager along
// every dimension, with what is fused in front and after.
func TestScansAsEager(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		for _, d := range []ops.DType{ops.Float32, ops.Uint8} {
			g := newTestGraph("scan")
			var outs []ops.Value
			for _, shape := range [][]int{{37}, {5, 19}, {3, 9, 4}, {6, 1}} {
				for dim := range shape {
					outs = append(outs, scans(g, d, sym.C(dim), shape)...)
				}
			}
			m := g.outputs(outs...)
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(g.in), m.Run(g.in), 1e-6); err != nil {
				t.Errorf("%s: %v", d.Name(), err)
			}
		}
	})
}

// scans are running results along a dimension.
func scans(g *testGraph, d ops.DType, dim sym.Int, shape []int) []ops.Value {
	in := filled(d, 3, shape...)
	if d == ops.Float32 && len(shape) == 1 {
		in.SetAt(math.NaN(), 20)
		in.SetAt(in.At(4), 9)
	}
	x := g.input(in)
	double := g.Emit(ops.Add, x, x)
	outs := []ops.Value{
		g.Emit(ops.Mul, g.Emit(ops.Cumsum, double, dim), 2.0),
		g.Emit(ops.Cumprod, x, dim),
		g.Emit(ops.Sum, g.Emit(ops.Cumsum, x, dim), []sym.Int{dim}),
		g.Emit(ops.Flip, g.Emit(ops.Cumsum, g.Emit(ops.Flip, x, []sym.Int{dim}), dim), []sym.Int{dim}),
	}
	for _, o := range []ops.ID{ops.Cummax, ops.Cummin} {
		outs = append(outs, g.EmitN(o, double, dim)...)
	}
	return outs
}

// TestScattersAsEager compares what writes at positions that are data with eager,
// bit for bit: several elements for one place are taken in their order.
func TestScattersAsEager(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		for _, d := range []ops.DType{ops.Float32, ops.BFloat16, ops.Int64, ops.Uint8} {
			g := newTestGraph("scatter")
			names, outs := scatters(g, d)
			m := g.outputs(outs...)
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			got, want := run(g.in), m.Run(g.in)
			for i, name := range names {
				if err := sameValues(got[i:i+1], want[i:i+1], 0); err != nil {
					t.Errorf("%s of %s: %v", name, d.Name(), err)
				}
			}
		}
	})
}

// scatters has each operator, with something that reads its result.
func scatters(g *testGraph, d ops.DType) (names []string, outs []ops.Value) {
	positions := func(n int, shape ...int) *torch.Tensor {
		v := make([]int64, product(shape))
		for i := range v {
			v[i] = int64((i*5 + i*i/3) % n)
		}
		return torch.NewTensor(v).Reshape(shape...)
	}
	add := func(name string, f func(self ops.Value) ops.Value, shape ...int) {
		names = append(names, name)
		outs = append(outs, g.Emit(ops.Add, f(g.input(filled(d, 1, shape...))), 1.0))
	}
	src := func(shape ...int) ops.Value { return g.input(filled(d, 5, shape...)) }
	add("scatter rows", func(self ops.Value) ops.Value {
		return g.Emit(ops.Scatter, self, sym.C(0), g.input(positions(4, 9, 21)), src(9, 21))
	}, 4, 21)
	add("scatter columns", func(self ops.Value) ops.Value {
		return g.Emit(ops.Scatter, self, sym.C(1), g.input(positions(5, 21, 7)), src(23, 8))
	}, 23, 5)
	add("scatter along long rows", func(self ops.Value) ops.Value {
		return g.Emit(ops.Scatter, self, sym.C(1), g.input(positions(7, 3, 83)), src(3, 83))
	}, 3, 7)
	add("scatter_add along long rows", func(self ops.Value) ops.Value {
		x := src(3, 83)
		return g.Emit(ops.ScatterAdd, self, sym.C(1), g.input(positions(7, 3, 83)), g.Emit(ops.Add, x, x))
	}, 3, 7)
	add("scatter_add of one dimension", func(self ops.Value) ops.Value {
		x := src(83)
		return g.Emit(ops.ScatterAdd, self, sym.C(0), g.input(positions(7, 83)), g.Emit(ops.Mul, x, x))
	}, 7)
	add("index_put of one dimension", func(self ops.Value) ops.Value {
		return g.Emit(ops.IndexPut, self, []ops.Value{g.input(positions(30, 64))}, src(64), true)
	}, 30)
	add("scatter a number", func(self ops.Value) ops.Value {
		return g.Emit(ops.Scatter, self, sym.C(0), g.input(positions(30, 7)), 3.0)
	}, 30)
	add("scatter_add", func(self ops.Value) ops.Value {
		return g.Emit(ops.ScatterAdd, self, sym.C(1), g.input(positions(5, 19, 17)), src(19, 17))
	}, 19, 5)
	for _, how := range []string{"sum", "prod", "amax", "amin"} {
		for _, include := range []bool{true, false} {
			add(fmt.Sprintf("scatter_reduce %s %v", how, include), func(self ops.Value) ops.Value {
				return g.Emit(ops.ScatterReduce, self, sym.C(0), g.input(positions(4, 6, 21)), src(6, 21), how, include)
			}, 4, 21)
			add(fmt.Sprintf("scatter_reduce %s %v along long rows", how, include), func(self ops.Value) ops.Value {
				return g.Emit(ops.ScatterReduce, self, sym.C(1), g.input(positions(4, 6, 64)), src(6, 64), how, include)
			}, 6, 4)
		}
	}
	add("index_add", func(self ops.Value) ops.Value {
		args := []any{self, sym.C(0), g.input(positions(6, 11)), src(11, 19)}
		if d.IsFloat() {
			args = append(args, 2.0)
		}
		return g.Emit(ops.IndexAdd, args...)
	}, 6, 19)
	for _, accumulate := range []bool{true, false} {
		add(fmt.Sprintf("index_put rows %v", accumulate), func(self ops.Value) ops.Value {
			return g.Emit(ops.IndexPut, self, []ops.Value{g.input(positions(6, 3, 5))}, src(19), accumulate)
		}, 6, 19)
		add(fmt.Sprintf("index_put pairs %v", accumulate), func(self ops.Value) ops.Value {
			return g.Emit(ops.IndexPut, self, []ops.Value{g.input(positions(6, 13)), nil, g.input(positions(3, 13))},
				src(13, 9), accumulate)
		}, 6, 9, 3)
	}
	add("diagonal_scatter", func(self ops.Value) ops.Value {
		return g.Emit(ops.DiagonalScatter, self, src(5, 9), sym.C(-2), sym.C(0), sym.C(2))
	}, 11, 5, 12)
	return names, outs
}

func product(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

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

// divisions are the operators that divide whole numbers.
func divisions(g *testGraph, x, y ops.Value) []ops.Value {
	return []ops.Value{
		g.Emit(ops.Div, x, y, "floor"), g.Emit(ops.Div, x, y, "trunc"), g.Emit(ops.Remainder, x, y), g.Emit(ops.Fmod, x, y),
	}
}

// TestIntegerDivision: zero as a divisor panics as eager does, at any place of a
// vector, and the lowest number divided by -1 does not trap.
func TestIntegerDivision(t *testing.T) {
	lows := map[ops.DType]float64{ops.Int32: math.MinInt32, ops.Int64: math.MinInt64, ops.Uint8: 0}
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		for d, low := range lows {
			const n = 21
			xs, ys := make([]float64, n), make([]float64, n)
			for i := range n {
				xs[i], ys[i] = float64(11*i%17), float64(i%5+1)
				if d != ops.Uint8 && i%3 == 0 {
					xs[i], ys[i] = -xs[i], -ys[i]
				}
			}
			xs[5], ys[9] = low, 3
			if d != ops.Uint8 {
				ys[5] = -1
			}
			tensor := func(v []float64) *torch.Tensor { return torch.NewTensor(v).To(d) }
			for k := range 4 {
				g := newTestGraph(fmt.Sprintf("divide%d", k))
				m := g.outputs(divisions(g, g.input(tensor(xs)), g.input(tensor(ys)))[k])
				run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
				if err != nil {
					t.Fatal(err)
				}
				if err := sameValues(run(g.in), m.Run(g.in), 0); err != nil {
					t.Errorf("%s, operator %d: %v", d.Name(), k, err)
				}
				for _, at := range []int{0, 10, 20} {
					keep := ys[at]
					ys[at] = 0
					in := []torch.Value{g.in[0], tensor(ys)}
					ys[at] = keep
					want := panicText(func() { m.Run(in) })
					if got := panicText(func() { run(in) }); got != want || want == "" {
						t.Errorf("%s, operator %d, zero at %d: %q, want %q", d.Name(), k, at, got, want)
					}
				}
			}
		}
	})
}

// TestProductsOfOtherTypes: products of what the template does not compute are
// loops, in all forms.
func TestProductsOfOtherTypes(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		for _, d := range []ops.DType{ops.Float64, ops.Int64, ops.Int32} {
			g := newTestGraph("products")
			in := func(shape ...int) ops.Value { return g.input(filled(d, len(g.in), shape...)) }
			x, y, v := in(5, 6), in(6, 7), in(6)
			outs := []ops.Value{
				g.Emit(ops.Mm, x, y), g.Emit(ops.Matmul, x, v), g.Emit(ops.Matmul, v, y), g.Emit(ops.Matmul, v, v),
				g.Emit(ops.Bmm, in(3, 4, 6), in(3, 6, 2)), g.Emit(ops.Matmul, in(2, 1, 4, 6), in(3, 6, 5)),
				g.Emit(ops.Linear, in(2, 3, 6), in(4, 6), in(4)), g.Emit(ops.Addmm, in(7), x, y),
				g.Emit(ops.Mm, g.Emit(ops.Transpose, in(6, 5), sym.C(0), sym.C(1)), y),
			}
			m := g.outputs(outs...)
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(g.in), m.Run(g.in), 1e-12); err != nil {
				t.Errorf("%s: %v", d.Name(), err)
			}
		}
	})
}

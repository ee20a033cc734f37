package backends

import (
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// TestOneHot scatters one element for each row into one number: every type, along each dimension, with a shared source, into
// what is not zero, and where the row is longer than what is read of it.
func TestOneHot(t *testing.T) {
	index := torch.NewTensor([]int64{3, 0, 36, 36, 7})
	for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.Float16, ops.BFloat16, ops.Int64, ops.Int32, ops.Int8, ops.Uint8} {
		for _, c := range []struct {
			name string
			dim  int
			f    func(g *testGraph, idx, src ops.Value) ops.Value
		}{
			{"rows", 1, func(g *testGraph, idx, src ops.Value) ops.Value {
				return g.Emit(ops.ScatterAdd, g.Emit(ops.Full, sym.Consts([]int{5, 37}), 0.0, d), sym.C(1), idx, src)
			}},
			{"columns", 0, func(g *testGraph, idx, src ops.Value) ops.Value {
				return g.Emit(ops.ScatterAdd, g.Emit(ops.Full, sym.Consts([]int{37, 5}), 2.0, d), sym.C(0), idx, src)
			}},
			{"replaced", -1, func(g *testGraph, idx, src ops.Value) ops.Value {
				return g.Emit(ops.Scatter, g.Emit(ops.Full, sym.Consts([]int{5, 37}), 3.0, d), sym.C(-1), idx, src)
			}},
			{"replaced by a number", 1, func(g *testGraph, idx, _ ops.Value) ops.Value {
				return g.Emit(ops.Scatter, g.Emit(ops.Full, sym.Consts([]int{5, 37}), 3.0, d), sym.C(1), idx, 1.0)
			}},
			{"read by a sum", 1, func(g *testGraph, idx, src ops.Value) ops.Value {
				hot := g.Emit(ops.ScatterAdd, g.Emit(ops.Full, sym.Consts([]int{5, 37}), 0.0, d), sym.C(1), idx, src)
				return g.Emit(ops.Mul, hot, g.Emit(ops.Sum, hot, []int{1}, true))
			}},
			{"summed up by columns", 1, func(g *testGraph, idx, src ops.Value) ops.Value {
				hot := g.Emit(ops.ScatterAdd, g.Emit(ops.Full, sym.Consts([]int{5, 37}), 0.0, d), sym.C(1), idx, src)
				return g.Emit(ops.Sum, g.Emit(ops.Mul, hot, hot), []int{0}, true)
			}},
			{"not all rows", 1, func(g *testGraph, idx, src ops.Value) ops.Value {
				return g.Emit(ops.ScatterAdd, g.Emit(ops.Full, sym.Consts([]int{9, 37}), 0.0, d), sym.C(1), idx, src)
			}},
		} {
			t.Run(d.String()+" "+c.name, func(t *testing.T) {
				g := newTestGraph("hot")
				shape := sym.Consts([]int{5, 1})
				if c.dim == 0 {
					shape = sym.Consts([]int{1, 5})
				}
				idx := g.Emit(ops.Reshape, g.input(index), shape)
				src := g.Emit(ops.Reshape, g.input(filled(d, 3, 5)), shape)
				everywhere(t, g.outputs(c.f(g, idx, src)), g.in, 0)
			})
		}
	}
}

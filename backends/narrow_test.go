package backends

import (
	"math"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// TestNarrowTypes compares graphs over half precision and small integers with
// eager, bit for bit: every value that the program could see is rounded or
// wrapped although the kernel keeps it in a register.
func TestNarrowTypes(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		for _, d := range []ops.DType{ops.Float16, ops.BFloat16, ops.Int8, ops.Int16} {
			g := newTestGraph("narrow")
			x, y := g.input(narrowValues(d, 7, 21)), g.input(narrowValues(d, 5, 21))
			wide := g.input(filled(ops.Float32, 4, 5, 21))
			z := g.Emit(ops.Add, x, g.Emit(ops.Unsqueeze, g.Emit(ops.Select, y, sym.C(0), sym.C(1)), sym.C(0)))
			outs := []ops.Value{
				g.Emit(ops.Mul, g.Emit(ops.Mul, z, z), z), // each product is rounded or wrapped
				g.Emit(ops.Amax, x, sym.Consts([]int{1})),
				g.Emit(ops.Sum, x, sym.Consts([]int{0})),
				g.Emit(ops.To, wide, d),
				g.Emit(ops.Add, g.Emit(ops.To, wide, d), y),
				g.Emit(ops.To, g.Emit(ops.Sub, x, 3.0), ops.Float32),
				g.Emit(ops.Lt, x, g.Emit(ops.Neg, x)),
				g.Emit(ops.Transpose, g.Emit(ops.Abs, x), sym.C(0), sym.C(1)),
				g.Emit(ops.IndexSelect, x, sym.C(0), g.input(torch.NewTensor([]int{3, 0, 3}))),
				g.Emit(ops.Where, g.Emit(ops.Gt, x, 0.0), x, g.Emit(ops.Full, sym.Consts([]int{}), 0.1, d)),
			}
			if d.IsFloat() {
				outs = append(outs, g.Emit(ops.Div, x, 3.0), g.Emit(ops.Sqrt, g.Emit(ops.Abs, x)), g.Emit(ops.Relu, z))
			}
			m := g.outputs(outs...)
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(g.in), m.Run(g.in), 0); err != nil {
				t.Errorf("%s: %v", d.Name(), err)
			}
		}
	})
}

// narrowValues are numbers of all sizes, among them what is no number.
func narrowValues(d ops.DType, rows, cols int) *torch.Tensor {
	xs := make([]float64, rows*cols)
	for i := range xs {
		xs[i] = float64((i*37)%101-50) * math.Pow(2, float64(i%23-12))
	}
	if d.IsFloat() {
		xs[0], xs[5], xs[9], xs[30] = math.Inf(1), math.NaN(), math.Inf(-1), 65519
		xs[31], xs[32], xs[33] = 65520, 0x1p-25, 0x1.8p-24
	} else {
		for i := range xs {
			xs[i] = float64((i*37)%255 - 127)
		}
		xs[3] = -128
	}
	return torch.NewTensor(xs).Reshape(rows, cols).To(d)
}

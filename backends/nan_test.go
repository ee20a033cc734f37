package backends

import (
	"math"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// TestNaNWinsWhereverItStands folds rows with a NaN at each place: in every lane
// of a vector, in each copy of the body and in the rest of the row.
func TestNaNWinsWhereverItStands(t *testing.T) {
	const n = 35
	data := make([]float32, n*n)
	for i := range data {
		data[i] = float32(i%7) - 3
		if i%(n+1) == 0 {
			data[i] = float32(math.NaN())
		}
	}
	x := torch.NewTensor(data).Reshape(n, n)
	g := newTestGraph("nan")
	in := g.input(x)
	dim := []sym.Int{sym.C(1)}
	m := g.outputs(g.Emit(ops.Amax, in, dim), g.Emit(ops.Amin, in, dim), g.Emit(ops.Argmax, in, sym.C(1)))
	for _, lanes := range widthsOf(t) {
		run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		out := run(g.in)
		for row := range n {
			for k := range 2 {
				if v := out[k].(*torch.Tensor).Data()[row]; v == v {
					t.Errorf("lanes %d: extreme %d of row %d is %v, want NaN", lanes, k, row, v)
				}
			}
			if at := out[2].(*torch.Tensor).Data()[row]; at != float64(row) {
				t.Errorf("lanes %d: argmax of row %d is %v", lanes, row, at)
			}
		}
	}
}

package torch

import (
	"runtime"
	"slices"
	"testing"

	"tcdbg/ops"
	"tcdbg/torch/internal/kernels"
	"tcdbg/torch/internal/strided"
)

// TestRowsAroundTheCaches: rows of a large result are those of a small one, to
// the bit, for lengths that are and are not whole vectors.
func TestRowsAroundTheCaches(t *testing.T) {
	for _, n := range []int{256, 1023, 1<<15 + 1} {
		rows := strided.StreamSize/4/n + 2
		x := Arange(rows*n).Remainder(251).Div(100).To(ops.Float32).Reshape(rows, n)
		weight, bias := Arange(n).Div(n).To(ops.Float32), Arange(n).Div(-n).To(ops.Float32)
		for name, f := range map[string]func(x *Tensor) *Tensor{
			"softmax":     func(x *Tensor) *Tensor { return x.Softmax(1) },
			"log_softmax": func(x *Tensor) *Tensor { return x.LogSoftmax(1) },
			"layer_norm": func(x *Tensor) *Tensor {
				return LayerNorm(x, []int{n}, Option{Name: "weight", Value: weight}, Option{Name: "bias", Value: bias})
			},
		} {
			whole := f(x)
			large := strided.Slice[float32](&whole.array)
			const few = 3 // rows of a result that the caches hold
			for _, from := range []int{0, rows / 2, rows - few} {
				small := f(x.Narrow(0, from, few)).Float32s()
				if !slices.Equal(large[from*n:(from+few)*n], small) {
					t.Errorf("%s of rows of %d: rows from %d on differ", name, n, from)
				}
			}
			runtime.KeepAlive(whole)
		}
	}
}

// TestRowWriterChooses large results only, of rows that stay in L2.
func TestRowWriterChooses(t *testing.T) {
	for _, c := range []struct {
		total, n int
		beside   bool
	}{
		{strided.StreamSize / 4, 1024, true},
		{strided.StreamSize/4 - 1, 1024, false},
		{strided.StreamSize, 255, false},
		{strided.StreamSize, 1 << 15, true},
		{strided.StreamSize, 1<<15 + 1, false},
	} {
		w := kernels.NewRowWriter(0, c.total, c.n)
		o := make([]float32, c.n)
		if got := &w.Row(o)[0] != &o[0]; got != c.beside {
			t.Errorf("%d numbers in rows of %d: beside %v, want %v", c.total, c.n, got, c.beside)
		}
		w.Close()
	}
}

package torch

import (
	"math"
	"testing"

	"tcdbg/ops"
	"tcdbg/torch/internal/kernels"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// TestHalfRows: rows of half precision that are converted a part at a time give what the
// whole tensor gives in float32, rounded, for few and many rows, short ones and long.
func TestHalfRows(t *testing.T) {
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer simd.Force(l)()
			for _, d := range []DType{ops.BFloat16, ops.Float16} {
				for _, shape := range [][2]int{{1, 1}, {3, 7}, {5, 33}, {700, 65}, {2, 5000}, {40, 1030}} {
					x := Randn(shape[0], shape[1]).To(d)
					checkHalfRows(t, x, x)
				}
				x := Randn(70, 129).To(d)
				transposed := x.T().Contiguous().T() // not one row after the other
				checkHalfRows(t, x, transposed)
			}
		})
	}
}

// checkHalfRows compares functions of x with those of the same numbers in float32; the
// numbers of same are those of x.
func checkHalfRows(t *testing.T, x, same *Tensor) {
	t.Helper()
	n := x.array.Shape[1]
	wide := x.To(ops.Float32)
	weight, bias := Randn(n).To(x.array.DType), Randn(n).To(x.array.DType)
	norm := func(x *Tensor) *Tensor {
		return LayerNorm(x, []int{n}, Option{Name: "weight", Value: weight.To(x.array.DType)},
			Option{Name: "bias", Value: bias.To(x.array.DType)})
	}
	for name, f := range map[string]func(x *Tensor) *Tensor{
		"softmax":    func(x *Tensor) *Tensor { return x.Softmax(1) },
		"layer_norm": norm,
		"sum":        func(x *Tensor) *Tensor { return x.Sum() },
		"sum(0)":     func(x *Tensor) *Tensor { return x.Sum(Option{Name: "dim", Value: 0}) },
		"sum(1)":     func(x *Tensor) *Tensor { return x.Sum(Option{Name: "dim", Value: 1}) },
		"mean(1)":    func(x *Tensor) *Tensor { return x.Mean(Option{Name: "dim", Value: 1}) },
	} {
		want := f(wide).To(x.array.DType).Float64s()
		got := f(same)
		if got.array.DType != x.array.DType {
			t.Fatalf("%s is %v", name, got.array.DType)
		}
		unit := map[DType]float64{ops.BFloat16: 0x1p-8, ops.Float16: 0x1p-11}[x.array.DType]
		for i, v := range got.Float64s() {
			if math.Abs(v-want[i]) > 2*unit*math.Abs(want[i])+1e-7 { // a tie may fall the other way
				t.Fatalf("%s of %v %v: number %d is %v, want %v", name, x.array.DType, x.array.Shape, i, v, want[i])
			}
		}
	}
}

// TestHalfRowsAroundTheCaches: rows around the caches have every number.
func TestHalfRowsAroundTheCaches(t *testing.T) {
	const n = 513
	rows := strided.StreamSize/2/n + 3
	x := Arange(rows*n).Remainder(251).Div(100).To(ops.BFloat16).Reshape(rows, n)
	whole := x.Softmax(1)
	for _, from := range []int{0, rows / 2, rows - 2} {
		got, want := whole.Narrow(0, from, 2).Float64s(), x.Narrow(0, from, 2).Clone().Softmax(1).Float64s()
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("row %d on: number %d is %v, want %v", from, i, got[i], want[i])
			}
		}
	}
}

// TestHalfRowsTake: what HalfRows refuses it leaves to others.
func TestHalfRowsTake(t *testing.T) {
	x := Randn(4, 6).To(ops.BFloat16)
	none := func([]float32) {}
	for _, c := range []struct {
		name   string
		out, x *Tensor
		taken  bool
	}{
		{"rows", Empty(4, 6).To(ops.BFloat16), x, true},
		{"another format", Empty(4, 6).To(ops.Float16), x, false},
		{"float32", Empty(4, 6), Randn(4, 6), false},
		{"in place", x, x, false},
		{"transposed", Empty(6, 4).To(ops.BFloat16), x.T(), false},
	} {
		if got := kernels.HalfRows(&c.out.array, &c.x.array, c.x.array.Shape[1], 1, none); got != c.taken {
			t.Errorf("%s: taken %v, want %v", c.name, got, c.taken)
		}
	}
}

package torch

import (
	"slices"
	"testing"

	"tcdbg/ops"
)

// TestHalfSteps holds functions of few numbers of half precision against PyTorch's
// values, which rounding once would not give.
func TestHalfSteps(t *testing.T) {
	x := NewTensor([]float64{-8.5, -1.7656, -4.3125, -2.4062, -7.9375, 8.0625, 8.75, 8.9375, 8.25}).To(ops.BFloat16)
	want := []float64{0.1396484375, 0.330078125, 0.1982421875, 0.275390625, 0.14453125, 0.1435546875, 0.13671875, 0.134765625, 0.1416015625}
	if got := I0e(x).Float64s(); !slices.Equal(got, want) {
		t.Errorf("i0e is %v, want %v", got, want)
	}
	y := NewTensor([]float64{1.1348, 2.2, 0.3}).To(ops.Float16)
	few := Rsqrt(y).Float64s()
	for i, v := range y.Float64s() {
		root := NewTensor([]float64{v}).To(ops.Float16).Sqrt()
		if w := root.Reciprocal().Item(); few[i] != w {
			t.Errorf("rsqrt(%v) is %v, want one over the rounded root, %v", v, few[i], w)
		}
	}
	many := Rsqrt(y.Repeat(11)).Float64s()
	exact := y.To(ops.Float32).Rsqrt().To(ops.Float16).Float64s()
	if !slices.Equal(many[:3], exact) || slices.Equal(few, exact) {
		t.Errorf("rsqrt of 33 numbers is %v, of 3 %v; rounded once %v", many[:3], few, exact)
	}
}

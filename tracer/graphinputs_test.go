package tracer

import (
	"math"
	"testing"

	"tcdbg/ops"
	"tcdbg/torch"
)

// TestNoneNegative: whatever the type and the strides of a tensor, all of its numbers are looked at, and no others.
func TestNoneNegative(t *testing.T) {
	column := func(numbers ...float64) *torch.Tensor { // the second and the last
		return torch.NewTensor(numbers).Reshape(2, 2).T().Select(0, 1)
	}
	for _, c := range []struct {
		numbers []float64
		want    bool
		column  bool
	}{
		{[]float64{1, 0, 2, 3}, true, true},
		{[]float64{1, 2, 3, -1e-30}, false, false},
		{[]float64{-1, 2, -3, 4}, false, true},
		{[]float64{1, math.NaN(), 3, 4}, false, false},
		{[]float64{math.Copysign(0, -1), 0, math.Inf(1), 0}, true, true},
	} {
		for _, d := range []ops.DType{torch.Float32, torch.Float64, torch.Bfloat16} {
			if got := noneNegative(torch.NewTensor(c.numbers).To(d)); got != c.want {
				t.Errorf("%v as %v: %v", c.numbers, d, got)
			}
			if got := noneNegative(column(c.numbers...).To(d)); got != c.column {
				t.Errorf("the second and the last of %v as %v: %v", c.numbers, d, got)
			}
		}
		if got := noneNegative(column(c.numbers...)); got != c.column {
			t.Errorf("the second and the last of %v: %v", c.numbers, got)
		}
	}
}

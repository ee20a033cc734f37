package torch_test

import (
	"math"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// What folds complex numbers gives PyTorch's results and gradients. A complex
// number is two in the lists; the gradient of a complex result is that result.
func TestComplexReductions(t *testing.T) {
	for name, c := range map[string]struct {
		f          func(z *torch.Tensor) *torch.Tensor
		want, grad []float64
	}{
		"prod": {
			func(z *torch.Tensor) *torch.Tensor { return z.Prod(kw.Dim(1)) },
			[]float64{-3.75, -1.25, -0.84375, 1.45312},
			[]float64{3.125, 6.25, -25, 12.5, 4.6875, -1.5625, 0.08789, -1.40625, -1.50586, -0.75293, 5.64697, 0},
		},
		"var": {
			func(z *torch.Tensor) *torch.Tensor { return z.Var(kw.Dim([]int{1})) },
			[]float64{5.35417, 2.15104},
			[]float64{-0.16667, 1.58333, -1.66667, -0.16667, 1.83333, -1.41667, 0.41667, -1.08333, -1.20833, 0.16667, 0.79167, 0.91667},
		},
		"std": {
			func(z *torch.Tensor) *torch.Tensor { return z.Std() },
			[]float64{2.0429},
			[]float64{0.05507, 0.22028, -0.09178, 0.04895, 0.25087, -0.07343, -0.03059, -0.17133, -0.18968, -0.04895, 0.00612, 0.02448},
		},
		"norm": {
			func(z *torch.Tensor) *torch.Tensor { return torch.Norm(z, kw.P(3), kw.Dim([]int{1})) },
			[]float64{3.5028, 2.3446},
			[]float64{0.18224, 0.36449, -0.02278, 0.01139, 0.7732, -0.25773, 0.04557, -0.72907, -0.45761, -0.22881, 0.04548, 0},
		},
		"cumsum": {
			func(z *torch.Tensor) *torch.Tensor { return z.Cumsum(1) },
			[]float64{1, 2, 0.5, 2.25, 3.5, 1.25, 0.125, -2, -1.375, -2.75, -0.875, -2.75},
			[]float64{5, 5.5, 4, 3.5, 3.5, 1.25, -2.125, -7.5, -2.25, -5.5, -0.875, -2.75},
		},
		"addmm": {
			func(z *torch.Tensor) *torch.Tensor {
				x := z.Transpose(0, 1)
				return torch.Addmm(z.Matmul(x), z, x, kw.Beta(1i), kw.Alpha(2-1i))
			},
			[]float64{10.375, -4.5, 13.125, -4.5, 13.125, -4.5, -4.09375, 3.5},
			[]float64{48.0625, 1.75, -90.5, 65, 168.75, -21.5, -13.54688, -154, -16.6875, -37.40625, 167.3125, 5.5},
		},
	} {
		z := torch.NewTensor([][]complex64{{1 + 2i, -0.5 + 0.25i, 3 - 1i}, {0.125 - 2i, -1.5 - 0.75i, 0.5}}).RequiresGrad_()
		y := c.f(z)
		fiveDigits(t, name, c.want, y.Detach())
		cot := y.Detach()
		if !cot.DType().IsComplex() {
			cot = torch.OnesLike(cot)
		}
		y.Backward(kw.Gradient(cot))
		fiveDigits(t, name+" gradient", c.grad, z.Grad())
	}
}

// fiveDigits compares numbers that were written with five digits.
func fiveDigits(t *testing.T, name string, want []float64, got *torch.Tensor) {
	t.Helper()
	if got.DType().IsComplex() {
		got = torch.ViewAsReal(got)
	}
	list := got.Float64s()
	if len(list) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", name, len(list), len(want))
	}
	for i, w := range want {
		if math.Abs(list[i]-w) > 1e-4*(1+math.Abs(w)) {
			t.Errorf("%s: %v, want %v", name, list, want)
			return
		}
	}
}

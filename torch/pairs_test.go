package torch_test

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file compares what is computed at once with what the decomposition or a plain loop gives.

// TestDistancesWithoutGradients: the kernel and the decomposition, which gradients take, agree.
func TestDistancesWithoutGradients(t *testing.T) {
	torch.ManualSeed(0)
	for _, c := range []struct{ x, y []int }{
		{[]int{5, 3}, []int{7, 3}},
		{[]int{2, 1, 40, 33}, []int{3, 50, 33}},
		{[]int{4, 0}, []int{2, 0}},
		{[]int{0, 3}, []int{2, 3}},
		{[]int{2, 3}, []int{0, 3}},
	} {
		x, y := torch.Randn(c.x), torch.Randn(c.y)
		taped := x.Clone().RequiresGrad_()
		for _, p := range []float64{0, 1, 2, 3, math.Inf(1)} {
			if math.IsInf(p, 1) && x.Size(-1) == 0 {
				continue // which has no greatest difference
			}
			got, want := torch.Cdist(x, y, kw.P(p)), torch.Cdist(taped, y, kw.P(p))
			if !slices.Equal(got.Shape(), want.Shape()) {
				t.Fatalf("%v %v: shape %v, want %v", c, p, got.Shape(), want.Shape())
			}
			near(t, got, want.Float64s()...)
		}
	}
	same := torch.NewTensor([][]float32{{1e4, -3}, {1e4, -3}})
	near(t, torch.Cdist(same, same), 0, 0, 0, 0) // no difference of great products
}

// TestIsinByComparing: each element is compared with all others; NaN is among none.
func TestIsinByComparing(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	nan := math.NaN()
	for _, others := range []*torch.Tensor{
		torch.NewTensor([]float64{3, nan, 0, 5, math.Inf(1), 3}), torch.NewTensor([]int64{4, 4, 4}), torch.NewTensor([]float32{}),
		torch.NewTensor([]float32{2.5}), torch.Arange(1000).Mul(3),
	} {
		for _, d := range []torch.DType{torch.Float32, torch.Float64, torch.Int64, torch.Int16} {
			x := small(r, d, 9, 8).T()
			got, not := torch.Isin(x, others), torch.Isin(x, others, kw.Invert(true))
			for i, v := range x.Float64s() {
				want := 0.0
				if slices.Contains(others.Float64s(), v) {
					want = 1
				}
				if got.Float64s()[i] != want || not.Float64s()[i] != 1-want {
					t.Fatalf("%v of %v among %v: %v", v, d, others, got.Float64s()[i])
				}
			}
		}
	}
	great := torch.NewTensor([]int64{1 << 60, 1<<60 + 1})
	near(t, torch.Isin(great, torch.NewTensor([]int64{1<<60 + 1})), 0, 1)
}

// TestSumsOfExponentials: logarithms of running sums, along both dimensions, with infinities and NaN.
func TestSumsOfExponentials(t *testing.T) {
	inf := math.Inf(1)
	x := torch.NewTensor([][]float64{
		{-inf, -inf, 1, 200, 2}, {3, inf, 1, -inf, 0}, {0, 1, math.NaN(), 2, inf}, {-900, -901, -902, 5, -inf},
	}).To(torch.Float64)
	for _, dim := range []int{0, 1} {
		rows := x
		if dim == 0 {
			rows = x.T()
		}
		got := x.Logcumsumexp(dim)
		if dim == 0 {
			got = got.T()
		}
		var want []float64
		for _, row := range slices.Collect(slices.Chunk(rows.Float64s(), rows.Size(1))) {
			for i := range row {
				high, sum := slices.Max(row[:i+1]), 0.0
				for _, v := range row[:i+1] {
					sum += math.Exp(v - high)
				}
				if want = append(want, high+math.Log(sum)); math.IsInf(high, 0) {
					want[len(want)-1] = high
				}
			}
		}
		for i, v := range got.Float64s() {
			if v != want[i] && !(v != v && want[i] != want[i]) && !(math.Abs(v-want[i]) < 1e-12*math.Abs(want[i])) {
				t.Errorf("dimension %d, element %d: %v, want %v", dim, i, v, want[i])
			}
		}
	}
}

// TestExtremaOfColumns: along the first dimension the greatest number, its first place and NaN are those along rows.
func TestExtremaOfColumns(t *testing.T) {
	rowsOfAllKinds(t, func(t *testing.T, x *torch.Tensor) {
		if x.DType() == torch.Bool {
			return
		}
		x = torch.Cat([]*torch.Tensor{x, x.Flip(1), x.Flip(0)})
		rows := x.T().Contiguous()
		for name, c := range map[string][2]*torch.Tensor{
			"amax":   {x.Amax(kw.Dim([]int{0})), rows.Amax(kw.Dim([]int{1}))},
			"amin":   {x.Amin(kw.Dim([]int{0})), rows.Amin(kw.Dim([]int{1}))},
			"argmax": {x.Argmax(kw.Dim(0)), rows.Argmax(kw.Dim(1))},
			"argmin": {x.Argmin(kw.Dim(0)), rows.Argmin(kw.Dim(1))},
		} {
			if !sameNumbers(c[0].Float64s(), c[1].Float64s()) {
				t.Fatalf("%s: %v, want %v", name, c[0], c[1])
			}
		}
		for col, at := range x.Argmax(kw.Dim(0)).Int64s() {
			want := 0
			column := x.Select(1, col).Float64s()
			for i, v := range column {
				if b := column[want]; b == b && (v != v || v > b) {
					want = i
				}
			}
			if int(at) != want {
				t.Fatalf("argmax of column %d is %d, want %d", col, at, want)
			}
		}
	})
}

// TestRoundedAndClamped: to whole numbers, with the sign of zero, and between bounds.
func TestRoundedAndClamped(t *testing.T) {
	rowsOfAllKinds(t, func(t *testing.T, x *torch.Tensor) {
		if !x.DType().IsFloat() {
			return
		}
		clamped := x.Clamp(kw.Min(-1.5), kw.Max(2.0)).Float64s()
		for name, c := range map[string]struct {
			got *torch.Tensor
			f   func(float64) float64
		}{
			"floor": {x.Floor(), math.Floor}, "ceil": {x.Ceil(), math.Ceil}, "trunc": {x.Trunc(), math.Trunc},
			"round": {x.Round(), math.RoundToEven},
		} {
			for i, v := range x.Float64s() {
				if got := c.got.Float64s()[i : i+1]; !sameNumbers(got, []float64{c.f(v)}) {
					t.Fatalf("%s of %v is %v", name, v, got)
				}
				want := v
				if v < -1.5 {
					want = -1.5
				} else if v > 2 {
					want = 2
				}
				if !sameNumbers(clamped[i:i+1], []float64{want}) {
					t.Fatalf("%v clamped is %v", v, clamped[i])
				}
			}
		}
	})
}

// TestSoftmaxOfColumns: softmax along a dimension that is not the last is that of the turned array.
func TestSoftmaxOfColumns(t *testing.T) {
	torch.ManualSeed(1)
	for _, d := range []torch.DType{torch.Float32, torch.Float64, torch.Bfloat16} {
		x := torch.Randn(3, 50, 7).Mul(20).To(d)
		turned := x.Transpose(1, 2).Contiguous()
		tolerance := 1e-6
		if d == torch.Bfloat16 {
			tolerance = 1e-2
		}
		for name, c := range map[string][2]*torch.Tensor{
			"softmax": {x.Softmax(1), turned.Softmax(2)}, "log_softmax": {x.LogSoftmax(1), turned.LogSoftmax(2)},
		} {
			got, want := c[0].Transpose(1, 2).Float64s(), c[1].Float64s()
			for i := range got {
				if math.Abs(got[i]-want[i]) > tolerance*max(1, math.Abs(want[i])) {
					t.Fatalf("%s of %v: %v, want %v", name, d, got[i], want[i])
				}
			}
		}
	}
}

// TestNormOfSquares: norms of all and of some dimensions, densely stored and not.
func TestNormOfSquares(t *testing.T) {
	torch.ManualSeed(2)
	for _, x := range layouts(torch.Randn(7, 5, 40)) {
		for _, dims := range [][]int{nil, {0}, {-1}, {1, 2}, {0, 2}} {
			opts := []torch.Option{kw.Keepdim(true)}
			if dims != nil {
				opts = append(opts, kw.Dim(dims))
			}
			want := x.To(torch.Float64).Norm(opts...) // which the decomposition computes
			if got := x.Norm(opts...); !slices.Equal(got.Shape(), want.Shape()) {
				t.Fatalf("dimensions %v: shape %v, want %v", dims, got.Shape(), want.Shape())
			} else {
				near(t, got, want.Float64s()...)
			}
		}
	}
	if n := torch.NewTensor([]float32{3e19, 4e19}).Norm().Item(); !math.IsInf(n, 1) {
		t.Errorf("the norm of numbers whose squares are beyond float32 is %v", n)
	}
}

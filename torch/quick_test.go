package torch_test

import (
	"fmt"
	"math"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/internal/simd"
)

// pairsOf are the functions of two operands that have a short way.
var pairsOf = map[string]struct {
	call func(x *torch.Tensor, y any) *torch.Tensor
	want func(x, y float64) float64
}{
	"add": {func(x *torch.Tensor, y any) *torch.Tensor { return x.Add(y) }, func(x, y float64) float64 { return x + y }},
	"sub": {func(x *torch.Tensor, y any) *torch.Tensor { return x.Sub(y) }, func(x, y float64) float64 { return x - y }},
	"mul": {func(x *torch.Tensor, y any) *torch.Tensor { return x.Mul(y) }, func(x, y float64) float64 { return x * y }},
	"div": {func(x *torch.Tensor, y any) *torch.Tensor { return x.Div(y) }, func(x, y float64) float64 { return x / y }},
}

// TestPairsOfAllLayouts calls functions of two operands, short ways and long
// ones, on every level, with broadcast operands on either side.
func TestPairsOfAllLayouts(t *testing.T) {
	shapes := [][2][]int{
		{{5}, {5}},
		{{3, 4}, {3, 4}},
		{{3, 4}, {4}},
		{{3, 4}, {3, 1}},
		{{3, 1}, {3, 4}},
		{{1, 1}, {3, 40}},
		{{2, 3, 50}, {1, 3, 1}},
		{{2, 1, 50}, {2, 3, 1}},
		{{}, {}},
		{{}, {7}},
		{{0}, {0}},
		{{2, 0}, {1}},
		{{200, 300}, {200, 300}},
		{{200, 300}, {200, 1}},
		{{2, 2, 2, 2, 2}, {2, 2, 2, 2, 2}},
	}
	for _, l := range simd.Levels() {
		defer simd.Force(l)()
		for name, f := range pairsOf {
			for _, s := range shapes {
				x, y := torch.Randn(ints(s[0])...), torch.Randn(ints(s[1])...)
				want := f.call(x.To(torch.Float64), y.To(torch.Float64)) // another loop
				closeTo(t, f.call(x, y), want, 1e-6)
				for _, n := range []any{3, 0.25, true} {
					v := map[any]float64{3: 3, 0.25: 0.25, true: 1}[n]
					got := f.call(x, n)
					if got.DType() != torch.Float32 {
						t.Fatalf("%s with %v is %v", name, n, got.DType())
					}
					results := got.Float64s()
					for i, e := range x.Float64s() {
						if w := f.want(e, v); math.Abs(results[i]-w) > 1e-6*(1+math.Abs(w)) {
							t.Fatalf("%v: %s(%v, %v) is %v, want %v", l, name, e, n, results[i], w)
						}
					}
				}
			}
		}
	}
}

// TestShortWayRefuses holds what must not go the short way.
func TestShortWayRefuses(t *testing.T) {
	x := torch.Randn(3, 4)
	if got := x.Add(torch.Arange(4).To(torch.Float64)); got.DType() != torch.Float64 {
		t.Errorf("float32 + float64 is %v", got.DType())
	}
	if got := torch.Arange(4).Add(1); got.DType() != torch.Int64 {
		t.Errorf("int64 + int is %v", got.DType())
	}
	transposed := x.T().Add(x.T())
	if fmt.Sprint(transposed.Stride()) != "[1 4]" {
		t.Errorf("strides of a sum of transposed tensors are %v, want those of its operands", transposed.Stride())
	}
	closeTo(t, transposed, x.T().Mul(2), 1e-6)
	leaf := torch.Randn(3).RequiresGrad_()
	for _, y := range []*torch.Tensor{leaf.Mul(2), leaf.Exp(), torch.Randn(3).Add(leaf)} {
		if !y.RequiresGrad() {
			t.Error("the tape lost a call")
		}
	}
	torch.NoGrad(func() {
		if leaf.Mul(2).RequiresGrad() {
			t.Error("recorded without tape")
		}
	})
	if got := leaf.Detach().Mul(2); got.RequiresGrad() {
		t.Error("a detached tensor was recorded")
	}
	defer func() {
		if recover() == nil {
			t.Error("shapes that do not fit were added")
		}
	}()
	torch.Randn(3).Add(torch.Randn(4))
}

// TestSmallCallAllocates holds the price of a small call: the tensor, with all
// that it points to, and its numbers.
func TestSmallCallAllocates(t *testing.T) {
	x, y := torch.Randn(16), torch.Randn(16)
	if n := testing.AllocsPerRun(100, func() { x.Add(y) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

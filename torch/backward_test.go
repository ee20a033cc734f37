package torch_test

import (
	"math"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// A pass frees what it saved. A second one fails where it reads such a tensor and
// only there, as PyTorch's does.
func TestSecondPass(t *testing.T) {
	const secondTime = "Trying to backward through the graph a second time"
	type T = *torch.Tensor
	for _, c := range []struct {
		name  string
		f     func(x T) T
		again float64 // an element of the gradient after two passes; 0: refused
	}{
		{"add", func(x T) T { return x.Add(1).Sum() }, 2},
		{"views", func(x T) T { return x.T().Reshape(4).Mean() }, 0.5},
		{"expand", func(x T) T { return x.View(4, 1).Clone().Expand(4, 3).Sum() }, 6},
		{"cast", func(x T) T { return x.To(torch.Float32).Sum() }, 2},
		{"cat", func(x T) T { return torch.Cat([]T{x, x}).Sum() }, 4},
		{"number", func(x T) T { return x.Mul(2).Sum() }, 0},
		{"sin", func(x T) T { return x.Sin().Sum() }, 0},
		{"max", func(x T) T { return x.Max() }, 0},
		{"index", func(x T) T { return x.IndexSelect(0, torch.NewTensor([]int{0})).Sum() }, 0},
		{"in place", func(x T) T { y := x.Clone(); y.Mul_(2); return y.Sum() }, 0},
		{"part", func(x T) T { y := x.Clone(); y.Select(0, 0).Fill_(2); return y.Sum() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := leaf([][]float64{{1, 2}, {3, 4}})
			y := c.f(x)
			y.Backward()
			if c.again == 0 {
				Error(t, secondTime, func() { y.Backward() })
				return
			}
			y.Backward()
			if got := x.Grad().At(1, 1).Item(); got != c.again {
				t.Errorf("gradient %v, want %v", got, c.again)
			}
		})
	}
}

func TestGradWantsASeedForEachOutput(t *testing.T) {
	x := leaf([]float64{1, 2})
	Error(t, "got 2 tensors and 1 gradients", func() {
		torch.Grad([]*torch.Tensor{x.Sum(), x.Mean()}, []*torch.Tensor{x}, kw.GradOutputs([]*torch.Tensor{torch.NewTensor(1.0)}))
	})
}

// What chooses one of all elements gives equal ones equal parts of the gradient, and a
// NaN's to those that are NaN.
func TestGradientsOfEqualElements(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		choose func(x *torch.Tensor) *torch.Tensor
		x      []float64
		want   []float64
	}{
		{"max", func(x *torch.Tensor) *torch.Tensor { return x.Max() }, []float64{3, 1, 3}, []float64{1.5, 0, 1.5}},
		{"max of nan", func(x *torch.Tensor) *torch.Tensor { return x.Max() }, []float64{1, nan, 2, nan}, []float64{0, 1.5, 0, 1.5}},
		{"min of nan", func(x *torch.Tensor) *torch.Tensor { return x.Min() }, []float64{nan, 1, 1}, []float64{3, 0, 0}},
		{"median", func(x *torch.Tensor) *torch.Tensor { return x.Median() }, []float64{1, 2, 2, 1, 3}, []float64{0, 1.5, 1.5, 0, 0}},
		{"median of nan", func(x *torch.Tensor) *torch.Tensor { return x.Median() }, []float64{nan, nan}, []float64{1.5, 1.5}},
		{"nanmedian", func(x *torch.Tensor) *torch.Tensor { return x.Nanmedian() }, []float64{nan, 1, 1, 1}, []float64{0, 1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := leaf(c.x)
			c.choose(x).Mul(3).Backward()
			same(t, x.Grad(), c.want...)
		})
	}
}

// An element that include_self leaves out takes its share where it equals the extremum.
func TestGradientOfScatteredExtremum(t *testing.T) {
	self, src := leaf([]float64{2, 5}), leaf([]float64{2, 2, 1})
	out := self.ScatterReduce(0, torch.NewTensor([]int{0, 0, 0}), src, "amax", kw.IncludeSelf(false))
	out.Mul(3).Sum().Backward()
	same(t, self.Grad(), 0, 3)
	same(t, src.Grad(), 1, 1, 0)
}

// The gradient of a radius points along the result, which zero has no direction for.
func TestGradientOfPolar(t *testing.T) {
	abs, angle := leaf([]float64{0, -2}), leaf([]float64{1, 0})
	torch.ViewAsReal(torch.Polar(abs, angle)).Sum().Backward()
	same(t, abs.Grad(), 0, -1)
	same(t, angle.Grad(), 0, -2)
}

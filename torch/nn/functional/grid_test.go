package functional_test

import (
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/autograd"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// TestGridSampleCubicSlopes holds the slope of each cubic weight at one place to the
// last bit: PyTorch 2.15's, whose float32 slopes are up to 3e-6 from the true ones.
func TestGridSampleCubicSlopes(t *testing.T) {
	for k, want := range []float32{0.008777618408203125, -4.345032691955566, 5.336234092712402, -0.9999809265136719} {
		image := torch.Zeros(1, 1, 1, 1, 9) // the place is 4.3348, its neighbours are 3 to 6
		image.Select(-1, 3+k).Fill_(1)
		grid := torch.NewTensor([]float32{0.0837, 0, 0}).Reshape(1, 1, 1, 1, 3).Detach().RequiresGrad_()
		F.GridSample(image, grid, kw.Mode("bicubic"), kw.AlignCorners(true)).Sum().Backward()
		if got := float32(grid.Grad().Float64s()[0]); got != want {
			t.Errorf("the slope of neighbour %d is %v, PyTorch's %v", k, got, want)
		}
	}
}

// TestGridSampleCubicDerivatives compares three orders of derivative with differences.
func TestGridSampleCubicDerivatives(t *testing.T) {
	wave := func(scale float64, shape ...int) *torch.Tensor {
		n := 1
		for _, s := range shape {
			n *= s
		}
		return torch.Arange(n, kw.Dtype(torch.Float64)).Mul(1.7).Cos().Mul(scale).Reshape(shape...).Detach().RequiresGrad_()
	}
	for _, padding := range []string{"zeros", "border", "reflection"} {
		sample := func(in []*torch.Tensor) []*torch.Tensor {
			return []*torch.Tensor{F.GridSample(in[0], in[1], kw.Mode("bicubic"), kw.PaddingMode(padding), kw.AlignCorners(false))}
		}
		slope := func(in []*torch.Tensor) []*torch.Tensor {
			return torch.Grad([]*torch.Tensor{sample(in)[0].Sum()}, in[1:], kw.CreateGraph(true))
		}
		plane := []*torch.Tensor{wave(1, 1, 1, 3, 3), wave(0.9, 1, 1, 2, 2)}
		volume := []*torch.Tensor{wave(1, 1, 1, 2, 2, 2), wave(0.9, 1, 1, 1, 1, 3)}
		// Volumes take the weights of planes, once more.
		if !autograd.Gradcheck(sample, volume) || !autograd.Gradcheck(sample, plane) ||
			!autograd.Gradgradcheck(sample, plane, nil) || padding == "zeros" && !autograd.Gradgradcheck(slope, plane, nil) {
			t.Errorf("%s: the derivatives are wrong", padding)
		}
	}
}

// TestGridSampleUnnormalizesInOneRounding holds a place that two roundings put one
// bit lower: the weight of the second pixel is the place itself.
func TestGridSampleUnnormalizesInOneRounding(t *testing.T) {
	image := torch.Zeros(1, 1, 1, 23)
	image.Select(-1, 1).Fill_(1)
	grid := torch.NewTensor([]float32{-0.87718546, 0}).Reshape(1, 1, 1, 2)
	got := float32(F.GridSample(image, grid, kw.AlignCorners(false)).Float64s()[0])
	if want := float32(0.9123671650886536); got != want {
		t.Errorf("the place is %v, PyTorch's %v", got, want)
	}
}

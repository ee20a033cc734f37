package nn

import (
	"tcdbg/torch"
	F "tcdbg/torch/nn/functional"
)

// This file is the pools to a size of output. A size of -1 keeps that
// dimension as it is, as PyTorch's None does.

// AdaptiveAvgPool is what the pools of means to a size share.
type AdaptiveAvgPool struct {
	OutputSize []int `torch:"-"`

	pool func(x *torch.Tensor, size any) *torch.Tensor
}

// kept replaces the sizes of an output that are those of the input.
func kept(size []int, x *torch.Tensor) []int {
	for _, n := range size {
		if n < 0 {
			out := append([]int{}, size...)
			for i, n := range out {
				if n < 0 {
					out[i] = x.Size(i - len(out))
				}
			}
			return out
		}
	}
	return size
}

// Forward applies the layer.
func (a *AdaptiveAvgPool) Forward(x *torch.Tensor) *torch.Tensor {
	return a.pool(x, kept(a.OutputSize, x))
}

// AdaptiveAvgPool1d averages to a given output size.
type AdaptiveAvgPool1d struct{ AdaptiveAvgPool }

// NewAdaptiveAvgPool1d makes an AdaptiveAvgPool1d.
func NewAdaptiveAvgPool1d(size any) *AdaptiveAvgPool1d {
	return &AdaptiveAvgPool1d{AdaptiveAvgPool{tuple(size, 1), F.AdaptiveAvgPool1d}}
}

// AdaptiveAvgPool2d averages to a given output size.
type AdaptiveAvgPool2d struct{ AdaptiveAvgPool }

// NewAdaptiveAvgPool2d makes an AdaptiveAvgPool2d for an int or []int.
func NewAdaptiveAvgPool2d(size any) *AdaptiveAvgPool2d {
	return &AdaptiveAvgPool2d{AdaptiveAvgPool{tuple(size, 2), F.AdaptiveAvgPool2d}}
}

// AdaptiveAvgPool3d averages to a given output size.
type AdaptiveAvgPool3d struct{ AdaptiveAvgPool }

// NewAdaptiveAvgPool3d makes an AdaptiveAvgPool3d for an int or []int.
func NewAdaptiveAvgPool3d(size any) *AdaptiveAvgPool3d {
	return &AdaptiveAvgPool3d{AdaptiveAvgPool{tuple(size, 3), F.AdaptiveAvgPool3d}}
}

// AdaptiveMaxPool is what the pools of maxima to a size share.
type AdaptiveMaxPool struct {
	OutputSize []int `torch:"-"`

	pool  poolFunc
	place func(x *torch.Tensor, size any) (y, indices *torch.Tensor)
}

// Forward applies the layer.
func (a *AdaptiveMaxPool) Forward(x *torch.Tensor) *torch.Tensor {
	return a.pool(x, kept(a.OutputSize, x))
}

// ForwardWithIndices returns the places of the maxima too.
func (a *AdaptiveMaxPool) ForwardWithIndices(x *torch.Tensor) (y, indices *torch.Tensor) {
	return a.place(x, kept(a.OutputSize, x))
}

// AdaptiveMaxPool1d takes maxima to a given output size.
type AdaptiveMaxPool1d struct{ AdaptiveMaxPool }

// NewAdaptiveMaxPool1d makes an AdaptiveMaxPool1d.
func NewAdaptiveMaxPool1d(size any) *AdaptiveMaxPool1d {
	return &AdaptiveMaxPool1d{AdaptiveMaxPool{tuple(size, 1), F.AdaptiveMaxPool1d, F.AdaptiveMaxPool1dWithIndices}}
}

// AdaptiveMaxPool2d takes maxima to a given output size.
type AdaptiveMaxPool2d struct{ AdaptiveMaxPool }

// NewAdaptiveMaxPool2d makes an AdaptiveMaxPool2d for an int or []int.
func NewAdaptiveMaxPool2d(size any) *AdaptiveMaxPool2d {
	return &AdaptiveMaxPool2d{AdaptiveMaxPool{tuple(size, 2), F.AdaptiveMaxPool2d, F.AdaptiveMaxPool2dWithIndices}}
}

// AdaptiveMaxPool3d takes maxima to a given output size.
type AdaptiveMaxPool3d struct{ AdaptiveMaxPool }

// NewAdaptiveMaxPool3d makes an AdaptiveMaxPool3d for an int or []int.
func NewAdaptiveMaxPool3d(size any) *AdaptiveMaxPool3d {
	return &AdaptiveMaxPool3d{AdaptiveMaxPool{tuple(size, 3), F.AdaptiveMaxPool3d, F.AdaptiveMaxPool3dWithIndices}}
}

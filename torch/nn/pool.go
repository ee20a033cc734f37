package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// MaxPool is what the pools of maxima share.
type MaxPool struct {
	KernelSize, Stride, Padding, Dilation []int `torch:"-"`
	CeilMode                              bool
}

func newMaxPool(class string, n int, kernel any, opts []torch.Option) MaxPool {
	known(class, opts, "stride", "padding", "dilation", "ceil_mode")
	k := tuple(kernel, n)
	return MaxPool{
		KernelSize: k, Stride: strideOr(opts, k), Padding: tupleOption(opts, "padding", 0, n),
		Dilation: tupleOption(opts, "dilation", 1, n), CeilMode: option(opts, "ceil_mode", false),
	}
}

// strideOr is the stride of a pool; that of its windows where it is left out.
func strideOr(opts []torch.Option, kernel []int) []int {
	if s := optionAny(opts, "stride"); s != nil {
		return tuple(s, len(kernel))
	}
	return kernel
}

func (m *MaxPool) options() []torch.Option {
	return []torch.Option{kw.Stride(m.Stride), kw.Padding(m.Padding), kw.Dilation(m.Dilation), kw.CeilMode(m.CeilMode)}
}

// MaxPool1d takes the largest element of each window.
type MaxPool1d struct{ MaxPool }

// NewMaxPool1d makes a MaxPool1d. Options: kw.Stride (the kernel's size),
// kw.Padding(0), kw.Dilation(1), kw.CeilMode(false).
func NewMaxPool1d(kernel any, opts ...torch.Option) *MaxPool1d {
	return &MaxPool1d{newMaxPool("MaxPool1d", 1, kernel, opts)}
}

// Forward applies the layer.
func (m *MaxPool1d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.MaxPool1d(x, m.KernelSize, m.options()...)
}

// ForwardWithIndices returns the places of the maxima too.
func (m *MaxPool1d) ForwardWithIndices(x *torch.Tensor) (y, indices *torch.Tensor) {
	return F.MaxPool1dWithIndices(x, m.KernelSize, m.options()...)
}

// MaxPool2d takes the largest element of each window.
type MaxPool2d struct{ MaxPool }

// NewMaxPool2d makes a MaxPool2d; kernel is an int or a pair, options as
// NewMaxPool1d's.
func NewMaxPool2d(kernel any, opts ...torch.Option) *MaxPool2d {
	return &MaxPool2d{newMaxPool("MaxPool2d", 2, kernel, opts)}
}

// Forward applies the layer.
func (m *MaxPool2d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.MaxPool2d(x, m.KernelSize, m.options()...)
}

// ForwardWithIndices returns the places of the maxima too.
func (m *MaxPool2d) ForwardWithIndices(x *torch.Tensor) (y, indices *torch.Tensor) {
	return F.MaxPool2dWithIndices(x, m.KernelSize, m.options()...)
}

// MaxPool3d takes the largest element of each window.
type MaxPool3d struct{ MaxPool }

// NewMaxPool3d makes a MaxPool3d; options as NewMaxPool1d's.
func NewMaxPool3d(kernel any, opts ...torch.Option) *MaxPool3d {
	return &MaxPool3d{newMaxPool("MaxPool3d", 3, kernel, opts)}
}

// Forward applies the layer.
func (m *MaxPool3d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.MaxPool3d(x, m.KernelSize, m.options()...)
}

// AvgPool is what the pools of means share.
type AvgPool struct {
	KernelSize, Stride, Padding []int `torch:"-"`
	CeilMode, CountIncludePad   bool
	divisor                     any // nil: the number of elements
}

func newAvgPool(class string, n int, kernel any, opts []torch.Option) AvgPool {
	names := []string{"stride", "padding", "ceil_mode", "count_include_pad"}
	if n > 1 {
		names = append(names, "divisor_override")
	}
	known(class, opts, names...)
	k := tuple(kernel, n)
	return AvgPool{
		KernelSize: k, Stride: strideOr(opts, k), Padding: tupleOption(opts, "padding", 0, n), CeilMode: option(opts, "ceil_mode", false),
		CountIncludePad: option(opts, "count_include_pad", true), divisor: optionAny(opts, "divisor_override"),
	}
}

func (a *AvgPool) options() []torch.Option {
	out := []torch.Option{kw.Stride(a.Stride), kw.Padding(a.Padding), kw.CeilMode(a.CeilMode), kw.CountIncludePad(a.CountIncludePad)}
	if n, ok := a.divisor.(int); ok {
		out = append(out, kw.DivisorOverride(n))
	}
	return out
}

// AvgPool1d takes the mean of each window.
type AvgPool1d struct{ AvgPool }

// NewAvgPool1d makes an AvgPool1d. Options: kw.Stride (the kernel's size),
// kw.Padding(0), kw.CeilMode(false), kw.CountIncludePad(true).
func NewAvgPool1d(kernel any, opts ...torch.Option) *AvgPool1d {
	return &AvgPool1d{newAvgPool("AvgPool1d", 1, kernel, opts)}
}

// Forward applies the layer.
func (a *AvgPool1d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AvgPool1d(x, a.KernelSize, a.options()...)
}

// AvgPool2d takes the mean of each window.
type AvgPool2d struct{ AvgPool }

// NewAvgPool2d makes an AvgPool2d; options as NewAvgPool1d's, and
// kw.DivisorOverride.
func NewAvgPool2d(kernel any, opts ...torch.Option) *AvgPool2d {
	return &AvgPool2d{newAvgPool("AvgPool2d", 2, kernel, opts)}
}

// Forward applies the layer.
func (a *AvgPool2d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AvgPool2d(x, a.KernelSize, a.options()...)
}

// AvgPool3d takes the mean of each window.
type AvgPool3d struct{ AvgPool }

// NewAvgPool3d makes an AvgPool3d; options as NewAvgPool2d's.
func NewAvgPool3d(kernel any, opts ...torch.Option) *AvgPool3d {
	return &AvgPool3d{newAvgPool("AvgPool3d", 3, kernel, opts)}
}

// Forward applies the layer.
func (a *AvgPool3d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AvgPool3d(x, a.KernelSize, a.options()...)
}

// AdaptiveAvgPool1d averages to a given output size.
type AdaptiveAvgPool1d struct {
	OutputSize []int `torch:"-"`
}

// NewAdaptiveAvgPool1d makes an AdaptiveAvgPool1d.
func NewAdaptiveAvgPool1d(size any) *AdaptiveAvgPool1d { return &AdaptiveAvgPool1d{tuple(size, 1)} }

// Forward applies the layer.
func (a *AdaptiveAvgPool1d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AdaptiveAvgPool1d(x, a.OutputSize)
}

// AdaptiveAvgPool2d averages to a given output size.
type AdaptiveAvgPool2d struct {
	OutputSize []int `torch:"-"`
}

// NewAdaptiveAvgPool2d makes an AdaptiveAvgPool2d for an int or []int.
func NewAdaptiveAvgPool2d(size any) *AdaptiveAvgPool2d { return &AdaptiveAvgPool2d{tuple(size, 2)} }

// Forward applies the layer.
func (a *AdaptiveAvgPool2d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AdaptiveAvgPool2d(x, a.OutputSize)
}

// AdaptiveAvgPool3d averages to a given output size.
type AdaptiveAvgPool3d struct {
	OutputSize []int `torch:"-"`
}

// NewAdaptiveAvgPool3d makes an AdaptiveAvgPool3d for an int or []int.
func NewAdaptiveAvgPool3d(size any) *AdaptiveAvgPool3d { return &AdaptiveAvgPool3d{tuple(size, 3)} }

// Forward applies the layer.
func (a *AdaptiveAvgPool3d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AdaptiveAvgPool3d(x, a.OutputSize)
}

// AdaptiveMaxPool1d takes maxima to a given output size.
type AdaptiveMaxPool1d struct {
	OutputSize []int `torch:"-"`
}

// NewAdaptiveMaxPool1d makes an AdaptiveMaxPool1d.
func NewAdaptiveMaxPool1d(size any) *AdaptiveMaxPool1d { return &AdaptiveMaxPool1d{tuple(size, 1)} }

// Forward applies the layer.
func (a *AdaptiveMaxPool1d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AdaptiveMaxPool1d(x, a.OutputSize)
}

// AdaptiveMaxPool2d takes maxima to a given output size.
type AdaptiveMaxPool2d struct {
	OutputSize []int `torch:"-"`
}

// NewAdaptiveMaxPool2d makes an AdaptiveMaxPool2d for an int or []int.
func NewAdaptiveMaxPool2d(size any) *AdaptiveMaxPool2d { return &AdaptiveMaxPool2d{tuple(size, 2)} }

// Forward applies the layer.
func (a *AdaptiveMaxPool2d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AdaptiveMaxPool2d(x, a.OutputSize)
}

// AdaptiveMaxPool3d takes maxima to a given output size.
type AdaptiveMaxPool3d struct {
	OutputSize []int `torch:"-"`
}

// NewAdaptiveMaxPool3d makes an AdaptiveMaxPool3d for an int or []int.
func NewAdaptiveMaxPool3d(size any) *AdaptiveMaxPool3d { return &AdaptiveMaxPool3d{tuple(size, 3)} }

// Forward applies the layer.
func (a *AdaptiveMaxPool3d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AdaptiveMaxPool3d(x, a.OutputSize)
}

package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// MaxPool2d takes the largest element of each window.
type MaxPool2d struct {
	KernelSize, Stride, Padding, Dilation []int
	CeilMode                              bool
}

// NewMaxPool2d makes a MaxPool2d. Options: kw.Stride, kw.Padding,
// kw.Dilation, kw.CeilMode.
func NewMaxPool2d(kernel any, opts ...torch.Option) *MaxPool2d {
	known("MaxPool2d", opts, "stride", "padding", "dilation", "ceil_mode")
	k := tuple(kernel, 2)
	m := &MaxPool2d{KernelSize: k, Stride: k, Padding: tupleOption(opts, "padding", 0, 2), Dilation: tupleOption(opts, "dilation", 1, 2), CeilMode: option(opts, "ceil_mode", false)}
	if s := optionAny(opts, "stride"); s != nil {
		m.Stride = tuple(s, 2)
	}
	return m
}

// Forward applies the layer.
func (m *MaxPool2d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.MaxPool2d(x, m.KernelSize, kw.Stride(m.Stride), kw.Padding(m.Padding), kw.Dilation(m.Dilation), kw.CeilMode(m.CeilMode))
}

// MaxPool1d takes the largest element of each window.
type MaxPool1d struct {
	KernelSize, Stride, Padding, Dilation []int
	CeilMode                              bool
}

// NewMaxPool1d makes a MaxPool1d; options as NewMaxPool2d's.
func NewMaxPool1d(kernel any, opts ...torch.Option) *MaxPool1d {
	known("MaxPool1d", opts, "stride", "padding", "dilation", "ceil_mode")
	k := tuple(kernel, 1)
	m := &MaxPool1d{KernelSize: k, Stride: k, Padding: tupleOption(opts, "padding", 0, 1), Dilation: tupleOption(opts, "dilation", 1, 1), CeilMode: option(opts, "ceil_mode", false)}
	if s := optionAny(opts, "stride"); s != nil {
		m.Stride = tuple(s, 1)
	}
	return m
}

// Forward applies the layer.
func (m *MaxPool1d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.MaxPool1d(x, m.KernelSize, kw.Stride(m.Stride), kw.Padding(m.Padding), kw.Dilation(m.Dilation), kw.CeilMode(m.CeilMode))
}

// AvgPool2d takes the mean of each window.
type AvgPool2d struct {
	KernelSize, Stride, Padding []int
	CeilMode, CountIncludePad   bool
}

// NewAvgPool2d makes an AvgPool2d. Options: kw.Stride, kw.Padding,
// kw.CeilMode, kw.CountIncludePad.
func NewAvgPool2d(kernel any, opts ...torch.Option) *AvgPool2d {
	known("AvgPool2d", opts, "stride", "padding", "ceil_mode", "count_include_pad")
	k := tuple(kernel, 2)
	m := &AvgPool2d{KernelSize: k, Stride: k, Padding: tupleOption(opts, "padding", 0, 2), CeilMode: option(opts, "ceil_mode", false), CountIncludePad: option(opts, "count_include_pad", true)}
	if s := optionAny(opts, "stride"); s != nil {
		m.Stride = tuple(s, 2)
	}
	return m
}

// Forward applies the layer.
func (m *AvgPool2d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AvgPool2d(x, m.KernelSize, kw.Stride(m.Stride), kw.Padding(m.Padding), kw.CeilMode(m.CeilMode), kw.CountIncludePad(m.CountIncludePad))
}

// AdaptiveAvgPool2d averages to a given output size.
type AdaptiveAvgPool2d struct{ OutputSize []int }

// NewAdaptiveAvgPool2d makes an AdaptiveAvgPool2d for an int or []int.
func NewAdaptiveAvgPool2d(size any) *AdaptiveAvgPool2d { return &AdaptiveAvgPool2d{tuple(size, 2)} }

// Forward applies the layer.
func (a *AdaptiveAvgPool2d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.AdaptiveAvgPool2d(x, a.OutputSize)
}

// Upsample resizes images.
type Upsample struct{ options []torch.Option }

// NewUpsample makes an Upsample; options as F.Interpolate's.
func NewUpsample(opts ...torch.Option) *Upsample { return &Upsample{opts} }

// Forward applies the layer.
func (u *Upsample) Forward(x *torch.Tensor) *torch.Tensor { return F.Interpolate(x, u.options...) }

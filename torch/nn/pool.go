package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file is pooling. The pools of a family share their settings and Forward;
// each has its functional operator.

type (
	poolFunc  = func(x *torch.Tensor, size any, opts ...torch.Option) *torch.Tensor
	placeFunc = func(x *torch.Tensor, size any, opts ...torch.Option) (y, indices *torch.Tensor)
)

// MaxPool is what the pools of maxima share.
type MaxPool struct {
	KernelSize, Stride, Padding, Dilation []int `torch:"-"`
	CeilMode                              bool

	pool  poolFunc
	place placeFunc
}

func newMaxPool(class string, n int, pool poolFunc, place placeFunc, kernel any, opts []torch.Option) MaxPool {
	known(class, opts, "stride", "padding", "dilation", "ceil_mode")
	k := tuple(kernel, n)
	return MaxPool{
		KernelSize: k, Stride: strideOr(opts, k), Padding: tupleOption(opts, "padding", 0, n),
		Dilation: tupleOption(opts, "dilation", 1, n), CeilMode: option(opts, "ceil_mode", false), pool: pool, place: place,
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

// Forward applies the layer.
func (m *MaxPool) Forward(x *torch.Tensor) *torch.Tensor {
	return m.pool(x, m.KernelSize, m.options()...)
}

// ForwardWithIndices returns the places of the maxima too.
func (m *MaxPool) ForwardWithIndices(x *torch.Tensor) (y, indices *torch.Tensor) {
	return m.place(x, m.KernelSize, m.options()...)
}

// MaxPool1d takes the largest element of each window.
type MaxPool1d struct{ MaxPool }

// NewMaxPool1d makes a MaxPool1d. Options: kw.Stride (the kernel's size),
// kw.Padding(0), kw.Dilation(1), kw.CeilMode(false).
func NewMaxPool1d(kernel any, opts ...torch.Option) *MaxPool1d {
	return &MaxPool1d{newMaxPool("MaxPool1d", 1, F.MaxPool1d, F.MaxPool1dWithIndices, kernel, opts)}
}

// MaxPool2d takes the largest element of each window.
type MaxPool2d struct{ MaxPool }

// NewMaxPool2d makes a MaxPool2d; kernel is an int or a pair, options as
// NewMaxPool1d's.
func NewMaxPool2d(kernel any, opts ...torch.Option) *MaxPool2d {
	return &MaxPool2d{newMaxPool("MaxPool2d", 2, F.MaxPool2d, F.MaxPool2dWithIndices, kernel, opts)}
}

// MaxPool3d takes the largest element of each window.
type MaxPool3d struct{ MaxPool }

// NewMaxPool3d makes a MaxPool3d; options as NewMaxPool1d's.
func NewMaxPool3d(kernel any, opts ...torch.Option) *MaxPool3d {
	return &MaxPool3d{newMaxPool("MaxPool3d", 3, F.MaxPool3d, F.MaxPool3dWithIndices, kernel, opts)}
}

// MaxUnpool puts maxima back where they came from, zeros elsewhere.
type MaxUnpool struct {
	KernelSize, Stride, Padding []int `torch:"-"`

	unpool func(x, indices *torch.Tensor, size any, opts ...torch.Option) *torch.Tensor
}

func newMaxUnpool(
	class string, n int, unpool func(x, indices *torch.Tensor, size any, opts ...torch.Option) *torch.Tensor,
	kernel any, opts []torch.Option,
) *MaxUnpool {
	known(class, opts, "stride", "padding")
	k := tuple(kernel, n)
	return &MaxUnpool{k, strideOr(opts, k), tupleOption(opts, "padding", 0, n), unpool}
}

// NewMaxUnpool1d undoes MaxPool1d. Options: kw.Stride (the kernel's size),
// kw.Padding(0).
func NewMaxUnpool1d(kernel any, opts ...torch.Option) *MaxUnpool {
	return newMaxUnpool("MaxUnpool1d", 1, F.MaxUnpool1d, kernel, opts)
}

// NewMaxUnpool2d undoes MaxPool2d; options as NewMaxUnpool1d's.
func NewMaxUnpool2d(kernel any, opts ...torch.Option) *MaxUnpool {
	return newMaxUnpool("MaxUnpool2d", 2, F.MaxUnpool2d, kernel, opts)
}

// NewMaxUnpool3d undoes MaxPool3d; options as NewMaxUnpool1d's.
func NewMaxUnpool3d(kernel any, opts ...torch.Option) *MaxUnpool {
	return newMaxUnpool("MaxUnpool3d", 3, F.MaxUnpool3d, kernel, opts)
}

// Forward takes what ForwardWithIndices returned. Where several sizes pool to
// the same one, outputSize says which is meant.
func (m *MaxUnpool) Forward(x, indices *torch.Tensor, outputSize ...int) *torch.Tensor {
	opts := []torch.Option{kw.Stride(m.Stride), kw.Padding(m.Padding)}
	if len(outputSize) > 0 {
		opts = append(opts, kw.OutputSize(outputSize))
	}
	return m.unpool(x, indices, m.KernelSize, opts...)
}

// AvgPool is what the pools of means share.
type AvgPool struct {
	KernelSize, Stride, Padding []int `torch:"-"`
	CeilMode, CountIncludePad   bool

	divisor any // nil: the number of elements
	pool    poolFunc
}

func newAvgPool(class string, n int, pool poolFunc, kernel any, opts []torch.Option) AvgPool {
	names := []string{"stride", "padding", "ceil_mode", "count_include_pad"}
	if n > 1 {
		names = append(names, "divisor_override")
	}
	known(class, opts, names...)
	k := tuple(kernel, n)
	return AvgPool{
		KernelSize: k, Stride: strideOr(opts, k), Padding: tupleOption(opts, "padding", 0, n), CeilMode: option(opts, "ceil_mode", false),
		CountIncludePad: option(opts, "count_include_pad", true), divisor: optionAny(opts, "divisor_override"), pool: pool,
	}
}

// Forward applies the layer.
func (a *AvgPool) Forward(x *torch.Tensor) *torch.Tensor {
	opts := []torch.Option{kw.Stride(a.Stride), kw.Padding(a.Padding), kw.CeilMode(a.CeilMode), kw.CountIncludePad(a.CountIncludePad)}
	if n, ok := a.divisor.(int); ok {
		opts = append(opts, kw.DivisorOverride(n))
	}
	return a.pool(x, a.KernelSize, opts...)
}

// AvgPool1d takes the mean of each window.
type AvgPool1d struct{ AvgPool }

// NewAvgPool1d makes an AvgPool1d. Options: kw.Stride (the kernel's size),
// kw.Padding(0), kw.CeilMode(false), kw.CountIncludePad(true).
func NewAvgPool1d(kernel any, opts ...torch.Option) *AvgPool1d {
	return &AvgPool1d{newAvgPool("AvgPool1d", 1, F.AvgPool1d, kernel, opts)}
}

// AvgPool2d takes the mean of each window.
type AvgPool2d struct{ AvgPool }

// NewAvgPool2d makes an AvgPool2d; options as NewAvgPool1d's, and
// kw.DivisorOverride.
func NewAvgPool2d(kernel any, opts ...torch.Option) *AvgPool2d {
	return &AvgPool2d{newAvgPool("AvgPool2d", 2, F.AvgPool2d, kernel, opts)}
}

// AvgPool3d takes the mean of each window.
type AvgPool3d struct{ AvgPool }

// NewAvgPool3d makes an AvgPool3d; options as NewAvgPool2d's.
func NewAvgPool3d(kernel any, opts ...torch.Option) *AvgPool3d {
	return &AvgPool3d{newAvgPool("AvgPool3d", 3, F.AvgPool3d, kernel, opts)}
}

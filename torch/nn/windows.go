package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file is modules of windows: cut out, put together, and pooled by a norm
// or at random places.

// Unfold cuts windows out of images, each as one column.
type Unfold struct {
	KernelSize, Dilation, Padding, Stride []int `torch:"-"`
}

// NewUnfold makes an Unfold. Options: kw.Dilation(1), kw.Padding(0),
// kw.Stride(1).
func NewUnfold(kernel any, opts ...torch.Option) *Unfold {
	known("Unfold", opts, "dilation", "padding", "stride")
	return &Unfold{
		tuple(kernel, 2), tupleOption(opts, "dilation", 1, 2), tupleOption(opts, "padding", 0, 2),
		tupleOption(opts, "stride", 1, 2),
	}
}

// Forward applies the layer.
func (u *Unfold) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Unfold(x, u.KernelSize, kw.Dilation(u.Dilation), kw.Padding(u.Padding), kw.Stride(u.Stride))
}

// Fold adds windows up to images.
type Fold struct {
	OutputSize, KernelSize, Dilation, Padding, Stride []int `torch:"-"`
}

// NewFold makes a Fold; options as NewUnfold's.
func NewFold(size, kernel any, opts ...torch.Option) *Fold {
	known("Fold", opts, "dilation", "padding", "stride")
	return &Fold{
		tuple(size, 2), tuple(kernel, 2), tupleOption(opts, "dilation", 1, 2), tupleOption(opts, "padding", 0, 2),
		tupleOption(opts, "stride", 1, 2),
	}
}

// Forward applies the layer.
func (f *Fold) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Fold(x, f.OutputSize, f.KernelSize, kw.Dilation(f.Dilation), kw.Padding(f.Padding), kw.Stride(f.Stride))
}

// LPPool is the norm of each window: LPPool1d, LPPool2d, LPPool3d.
type LPPool struct {
	NormType           float64
	KernelSize, Stride []int `torch:"-"`
	CeilMode           bool

	pool func(x *torch.Tensor, p float64, size any, opts ...torch.Option) *torch.Tensor
}

func newLPPool(
	class string, n int, pool func(x *torch.Tensor, p float64, size any, opts ...torch.Option) *torch.Tensor, p float64,
	kernel any, opts []torch.Option,
) *LPPool {
	known(class, opts, "stride", "ceil_mode")
	k := tuple(kernel, n)
	return &LPPool{p, k, strideOr(opts, k), option(opts, "ceil_mode", false), pool}
}

// NewLPPool1d pools by the p-norm. Options: kw.Stride (the kernel's size),
// kw.CeilMode(false).
func NewLPPool1d(p float64, kernel any, opts ...torch.Option) *LPPool {
	return newLPPool("LPPool1d", 1, F.LpPool1d, p, kernel, opts)
}

// NewLPPool2d pools images; options as NewLPPool1d's.
func NewLPPool2d(p float64, kernel any, opts ...torch.Option) *LPPool {
	return newLPPool("LPPool2d", 2, F.LpPool2d, p, kernel, opts)
}

// NewLPPool3d pools volumes; options as NewLPPool1d's.
func NewLPPool3d(p float64, kernel any, opts ...torch.Option) *LPPool {
	return newLPPool("LPPool3d", 3, F.LpPool3d, p, kernel, opts)
}

// Forward applies the layer.
func (l *LPPool) Forward(x *torch.Tensor) *torch.Tensor {
	return l.pool(x, l.NormType, l.KernelSize, kw.Stride(l.Stride), kw.CeilMode(l.CeilMode))
}

// FractionalMaxPool takes maxima of windows at random places:
// FractionalMaxPool2d, FractionalMaxPool3d.
type FractionalMaxPool struct {
	RandomSamples *torch.Tensor `torch:"_random_samples,buffer"` // nil: drawn at each call
	KernelSize    []int         `torch:"-"`

	opts  []torch.Option
	pool  poolFunc
	place placeFunc
}

func newFractionalMaxPool(class string, n int, pool poolFunc, place placeFunc, kernel any, opts []torch.Option) *FractionalMaxPool {
	known(class, opts, "output_size", "output_ratio", "random_samples")
	size, ratio := optionAny(opts, "output_size"), optionAny(opts, "output_ratio")
	if (size == nil) == (ratio == nil) {
		panic(&torch.Error{
			Op: class, Kind: "ValueError",
			Msg: class + " requires specifying either an output size, or a pooling ratio, and not both",
		})
	}
	f := &FractionalMaxPool{KernelSize: tuple(kernel, n), pool: pool, place: place}
	for _, o := range opts {
		if o.Name == "random_samples" {
			f.RandomSamples = o.Value.(*torch.Tensor)
		} else {
			f.opts = append(f.opts, o)
		}
	}
	return f
}

// NewFractionalMaxPool2d pools to kw.OutputSize, or to kw.OutputRatio of the
// input's size. Option: kw.RandomSamples, numbers of [0, 1) for each example,
// channel and dimension.
func NewFractionalMaxPool2d(kernel any, opts ...torch.Option) *FractionalMaxPool {
	return newFractionalMaxPool("FractionalMaxPool2d", 2, F.FractionalMaxPool2d, F.FractionalMaxPool2dWithIndices, kernel, opts)
}

// NewFractionalMaxPool3d pools volumes; options as NewFractionalMaxPool2d's.
func NewFractionalMaxPool3d(kernel any, opts ...torch.Option) *FractionalMaxPool {
	return newFractionalMaxPool("FractionalMaxPool3d", 3, F.FractionalMaxPool3d, F.FractionalMaxPool3dWithIndices, kernel, opts)
}

func (f *FractionalMaxPool) options() []torch.Option {
	if f.RandomSamples == nil {
		return f.opts
	}
	return append([]torch.Option{kw.RandomSamples(f.RandomSamples)}, f.opts...)
}

// Forward applies the layer.
func (f *FractionalMaxPool) Forward(x *torch.Tensor) *torch.Tensor {
	return f.pool(x, f.KernelSize, f.options()...)
}

// ForwardWithIndices returns the places of the maxima too.
func (f *FractionalMaxPool) ForwardWithIndices(x *torch.Tensor) (y, indices *torch.Tensor) {
	return f.place(x, f.KernelSize, f.options()...)
}

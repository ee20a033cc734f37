package nn

import (
	"strconv"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is modules that learn their input's size from the first input.

// Lazy is a module that is made at the first call: until then it has no
// parameters and no state, afterwards those of Module.
type Lazy[M Module] struct {
	Training
	Module M `torch:",flat"`

	start func(x *torch.Tensor) M // nil once Module is there
}

// lazily is a Lazy whose module, of a class with such options, start makes. A device
// that is not there is refused now.
func lazily[M Module](opts []torch.Option, start func(x *torch.Tensor) M) *Lazy[M] {
	parameter(opts, 0)
	return &Lazy[M]{start: start}
}

// Forward makes the module, if this is the first call, and applies it.
func (l *Lazy[M]) Forward(x *torch.Tensor) *torch.Tensor {
	if l.start != nil {
		l.Module, l.start = l.start(x), nil
		if t, ok := any(l.Module).(trainable); ok {
			t.SetTraining(l.IsTraining())
		}
	}
	return l.Module.Forward(x)
}

// Made reports whether the module is there.
func (l *Lazy[M]) Made() bool { return l.start == nil }

// NewLazyLinear makes a Linear to out features; options as NewLinear's.
func NewLazyLinear(out int, opts ...torch.Option) *Lazy[*Linear] {
	known("LazyLinear", opts, "bias", "dtype", "device")
	return lazily(opts, func(x *torch.Tensor) *Linear { return NewLinear(x.Size(-1), out, opts...) })
}

// channels is the number of channels before n dimensions.
func channels(class string, n int, x *torch.Tensor) int {
	checkDims(class, strconv.Itoa(n+1)+"D or "+strconv.Itoa(n+2)+"D", x, n+1, n+2)
	return x.Size(-n - 1)
}

// lazyConv is a convolution over n dimensions that make makes.
func lazyConv[M Module](
	class string, n, out int, kernel any, opts []torch.Option,
	make func(in, out int, kernel any, opts ...torch.Option) M,
) *Lazy[M] {
	return lazily(opts, func(x *torch.Tensor) M { return make(channels(class, n, x), out, kernel, opts...) })
}

// NewLazyConv1d makes a Conv1d to out channels; options as NewConv1d's.
func NewLazyConv1d(out int, kernel any, opts ...torch.Option) *Lazy[*Conv1d] {
	return lazyConv("LazyConv1d", 1, out, kernel, opts, NewConv1d)
}

// NewLazyConv2d makes a Conv2d to out channels; options as NewConv2d's.
func NewLazyConv2d(out int, kernel any, opts ...torch.Option) *Lazy[*Conv2d] {
	return lazyConv("LazyConv2d", 2, out, kernel, opts, NewConv2d)
}

// NewLazyConv3d makes a Conv3d to out channels; options as NewConv3d's.
func NewLazyConv3d(out int, kernel any, opts ...torch.Option) *Lazy[*Conv3d] {
	return lazyConv("LazyConv3d", 3, out, kernel, opts, NewConv3d)
}

// NewLazyConvTranspose1d makes a ConvTranspose1d; options as its.
func NewLazyConvTranspose1d(out int, kernel any, opts ...torch.Option) *Lazy[*ConvTranspose1d] {
	return lazyConv("LazyConvTranspose1d", 1, out, kernel, opts, NewConvTranspose1d)
}

// NewLazyConvTranspose2d makes a ConvTranspose2d; options as its.
func NewLazyConvTranspose2d(out int, kernel any, opts ...torch.Option) *Lazy[*ConvTranspose2d] {
	return lazyConv("LazyConvTranspose2d", 2, out, kernel, opts, NewConvTranspose2d)
}

// NewLazyConvTranspose3d makes a ConvTranspose3d; options as its.
func NewLazyConvTranspose3d(out int, kernel any, opts ...torch.Option) *Lazy[*ConvTranspose3d] {
	return lazyConv("LazyConvTranspose3d", 3, out, kernel, opts, NewConvTranspose3d)
}

// lazyNorm is a normalisation of the channels of a batch, which are in
// dimension 1.
func lazyNorm[M Module](class string, opts []torch.Option, make func(features int, opts ...torch.Option) M) *Lazy[M] {
	known(class, opts, "eps", "momentum", "affine", "track_running_stats", "bias", "dtype", "device")
	return lazily(opts, func(x *torch.Tensor) M { return make(x.Size(1), opts...) })
}

// NewLazyBatchNorm1d makes a BatchNorm1d; options as its.
func NewLazyBatchNorm1d(opts ...torch.Option) *Lazy[*BatchNorm1d] {
	return lazyNorm("LazyBatchNorm1d", opts, NewBatchNorm1d)
}

// NewLazyBatchNorm2d makes a BatchNorm2d; options as its.
func NewLazyBatchNorm2d(opts ...torch.Option) *Lazy[*BatchNorm2d] {
	return lazyNorm("LazyBatchNorm2d", opts, NewBatchNorm2d)
}

// NewLazyBatchNorm3d makes a BatchNorm3d; options as its.
func NewLazyBatchNorm3d(opts ...torch.Option) *Lazy[*BatchNorm3d] {
	return lazyNorm("LazyBatchNorm3d", opts, NewBatchNorm3d)
}

// tracked puts the defaults of PyTorch's lazy instance normalisations after
// opts.
func tracked(opts []torch.Option) []torch.Option {
	return append(append([]torch.Option{}, opts...), kw.Affine(true), kw.TrackRunningStats(true))
}

// NewLazyInstanceNorm1d makes an InstanceNorm1d; options as its, but that weights
// and running statistics are there unless told otherwise.
func NewLazyInstanceNorm1d(opts ...torch.Option) *Lazy[*InstanceNorm1d] {
	return lazyNorm("LazyInstanceNorm1d", tracked(opts), NewInstanceNorm1d)
}

// NewLazyInstanceNorm2d makes an InstanceNorm2d; options as its, but that weights
// and running statistics are there unless told otherwise.
func NewLazyInstanceNorm2d(opts ...torch.Option) *Lazy[*InstanceNorm2d] {
	return lazyNorm("LazyInstanceNorm2d", tracked(opts), NewInstanceNorm2d)
}

// NewLazyInstanceNorm3d makes an InstanceNorm3d; options as its, but that weights
// and running statistics are there unless told otherwise.
func NewLazyInstanceNorm3d(opts ...torch.Option) *Lazy[*InstanceNorm3d] {
	return lazyNorm("LazyInstanceNorm3d", tracked(opts), NewInstanceNorm3d)
}

package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// LayerNorm normalises over the last dimensions.
type LayerNorm struct {
	Weight, Bias    *torch.Tensor // nil without affine transformation
	NormalizedShape []int
	Eps             float64
}

// NewLayerNorm makes a LayerNorm over an int or []int. Options: kw.Eps(1e-5),
// kw.ElementwiseAffine(false), kw.Bias(false).
func NewLayerNorm(shape any, opts ...torch.Option) *LayerNorm {
	known("LayerNorm", opts, "eps", "elementwise_affine", "bias", "dtype", "device")
	l := &LayerNorm{NormalizedShape: sizes(shape), Eps: option(opts, "eps", 1e-5)}
	if option(opts, "elementwise_affine", true) {
		l.Weight = Ones_(parameter(opts, l.NormalizedShape...))
		if option(opts, "bias", true) {
			l.Bias = Zeros_(parameter(opts, l.NormalizedShape...))
		}
	}
	return l
}

// sizes reads an int or []int.
func sizes(v any) []int {
	if n, ok := v.(int); ok {
		return []int{n}
	}
	return v.([]int)
}

// Forward applies the layer.
func (l *LayerNorm) Forward(x *torch.Tensor) *torch.Tensor {
	return F.LayerNorm(x, l.NormalizedShape, kw.Weight(l.Weight), kw.Bias(l.Bias), kw.Eps(l.Eps))
}

// RMSNorm divides by the root of the mean square over the last dimensions.
type RMSNorm struct {
	Weight          *torch.Tensor
	NormalizedShape []int
	Eps             float64 // 0: the smallest step of the dtype
}

// NewRMSNorm makes an RMSNorm. Options: kw.Eps, kw.ElementwiseAffine.
func NewRMSNorm(shape any, opts ...torch.Option) *RMSNorm {
	known("RMSNorm", opts, "eps", "elementwise_affine", "dtype", "device")
	l := &RMSNorm{NormalizedShape: sizes(shape), Eps: option(opts, "eps", 0.0)}
	if option(opts, "elementwise_affine", true) {
		l.Weight = Ones_(parameter(opts, l.NormalizedShape...))
	}
	return l
}

// Forward applies the layer.
func (l *RMSNorm) Forward(x *torch.Tensor) *torch.Tensor {
	if l.Eps == 0 {
		return F.RmsNorm(x, l.NormalizedShape, kw.Weight(l.Weight))
	}
	return F.RmsNorm(x, l.NormalizedShape, kw.Weight(l.Weight), kw.Eps(l.Eps))
}

// GroupNorm normalises groups of channels.
type GroupNorm struct {
	Weight, Bias *torch.Tensor
	NumGroups    int
	Eps          float64
}

// NewGroupNorm makes a GroupNorm. Options: kw.Eps, kw.Affine.
func NewGroupNorm(groups, channels int, opts ...torch.Option) *GroupNorm {
	known("GroupNorm", opts, "eps", "affine", "dtype", "device")
	g := &GroupNorm{NumGroups: groups, Eps: option(opts, "eps", 1e-5)}
	if option(opts, "affine", true) {
		g.Weight, g.Bias = Ones_(parameter(opts, channels)), Zeros_(parameter(opts, channels))
	}
	return g
}

// Forward applies the layer.
func (g *GroupNorm) Forward(x *torch.Tensor) *torch.Tensor {
	return F.GroupNorm(x, g.NumGroups, kw.Weight(g.Weight), kw.Bias(g.Bias), kw.Eps(g.Eps))
}

// BatchNorm is what the batch normalisations of all dimensions share.
type BatchNorm struct {
	Training
	Weight, Bias      *torch.Tensor
	RunningMean       *torch.Tensor `torch:"running_mean,buffer"`
	RunningVar        *torch.Tensor `torch:"running_var,buffer"`
	NumBatchesTracked *torch.Tensor `torch:"num_batches_tracked,buffer"`
	Eps, Momentum     float64
}

func newBatchNorm(name string, features int, opts []torch.Option) BatchNorm {
	known(name, opts, "eps", "momentum", "affine", "track_running_stats", "dtype", "device")
	b := BatchNorm{Eps: option(opts, "eps", 1e-5), Momentum: option(opts, "momentum", 0.1)}
	if option(opts, "affine", true) {
		b.Weight, b.Bias = Ones_(parameter(opts, features)), Zeros_(parameter(opts, features))
	}
	if option(opts, "track_running_stats", true) {
		args := append([]any{features}, factory(opts)...)
		b.RunningMean, b.RunningVar = torch.Zeros(args...), torch.Ones(args...)
		b.NumBatchesTracked = torch.NewTensor(0)
	}
	return b
}

func (b *BatchNorm) apply(x *torch.Tensor) *torch.Tensor {
	training := b.IsTraining() || b.RunningMean == nil
	if b.IsTraining() && b.NumBatchesTracked != nil {
		b.NumBatchesTracked.Add_(1)
	}
	return F.BatchNorm(x, b.RunningMean, b.RunningVar, kw.Weight(b.Weight), kw.Bias(b.Bias), kw.Training(training), kw.Momentum(b.Momentum), kw.Eps(b.Eps))
}

// BatchNorm1d normalises features over a batch.
type BatchNorm1d struct{ BatchNorm }

// NewBatchNorm1d makes a BatchNorm1d. Options: kw.Eps, kw.Momentum, kw.Affine,
// kw.TrackRunningStats.
func NewBatchNorm1d(features int, opts ...torch.Option) *BatchNorm1d {
	return &BatchNorm1d{newBatchNorm("BatchNorm1d", features, opts)}
}

// Forward applies the layer.
func (b *BatchNorm1d) Forward(x *torch.Tensor) *torch.Tensor {
	checkDims("BatchNorm1d", "2D or 3D", x, 2, 3)
	return b.apply(x)
}

// BatchNorm2d normalises the channels of images over a batch.
type BatchNorm2d struct{ BatchNorm }

// NewBatchNorm2d makes a BatchNorm2d; options as NewBatchNorm1d's.
func NewBatchNorm2d(features int, opts ...torch.Option) *BatchNorm2d {
	return &BatchNorm2d{newBatchNorm("BatchNorm2d", features, opts)}
}

// Forward applies the layer.
func (b *BatchNorm2d) Forward(x *torch.Tensor) *torch.Tensor {
	checkDims("BatchNorm2d", "4D", x, 4, 4)
	return b.apply(x)
}

func checkDims(module, want string, x *torch.Tensor, low, high int) {
	if n := x.Dim(); n < low || n > high {
		panic(&torch.Error{Op: module, Kind: "ValueError", Msg: "expected " + want + " input (got " + itoa(n) + "D input)"})
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

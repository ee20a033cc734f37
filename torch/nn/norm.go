package nn

import (
	"fmt"
	"strconv"

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

// NewGroupNorm makes a GroupNorm. Options: kw.Eps(1e-5), kw.Affine(true),
// kw.Bias(true).
func NewGroupNorm(groups, channels int, opts ...torch.Option) *GroupNorm {
	known("GroupNorm", opts, "eps", "affine", "bias", "dtype", "device")
	if channels%groups != 0 {
		panic(&torch.Error{
			Op: "GroupNorm", Kind: "ValueError",
			Msg: fmt.Sprintf("num_channels (%d) must be divisible by num_groups (%d)", channels, groups),
		})
	}
	g := &GroupNorm{NumGroups: groups, Eps: option(opts, "eps", 1e-5)}
	if option(opts, "affine", true) {
		g.Weight = Ones_(parameter(opts, channels))
		if option(opts, "bias", true) {
			g.Bias = Zeros_(parameter(opts, channels))
		}
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
	cumulative        bool // the running statistics are plain means
}

func newBatchNorm(name string, features int, opts []torch.Option) BatchNorm {
	known(name, opts, "eps", "momentum", "affine", "track_running_stats", "bias", "dtype", "device")
	b := BatchNorm{Eps: option(opts, "eps", 1e-5), Momentum: 0.1}
	for _, o := range opts {
		if o.Name == "momentum" && o.Value == nil {
			b.cumulative = true
		} else if o.Name == "momentum" {
			b.Momentum = option(opts, "momentum", 0.1)
		}
	}
	if option(opts, "affine", true) {
		b.Weight = Ones_(parameter(opts, features))
		if option(opts, "bias", true) {
			b.Bias = Zeros_(parameter(opts, features))
		}
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
		if b.cumulative {
			b.Momentum = 1 / b.NumBatchesTracked.Item()
		}
	}
	return F.BatchNorm(
		x, b.RunningMean, b.RunningVar, kw.Weight(b.Weight), kw.Bias(b.Bias), kw.Training(training),
		kw.Momentum(b.Momentum), kw.Eps(b.Eps),
	)
}

// BatchNorm1d normalises features over a batch.
type BatchNorm1d struct{ BatchNorm }

// NewBatchNorm1d makes a BatchNorm1d. Options: kw.Eps, kw.Momentum, kw.Affine,
// kw.TrackRunningStats, kw.Bias. kw.Momentum(nil) keeps the plain mean of all
// batches.
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

// BatchNorm3d normalises the channels of volumes over a batch.
type BatchNorm3d struct{ BatchNorm }

// NewBatchNorm3d makes a BatchNorm3d; options as NewBatchNorm1d's.
func NewBatchNorm3d(features int, opts ...torch.Option) *BatchNorm3d {
	return &BatchNorm3d{newBatchNorm("BatchNorm3d", features, opts)}
}

// Forward applies the layer.
func (b *BatchNorm3d) Forward(x *torch.Tensor) *torch.Tensor {
	checkDims("BatchNorm3d", "5D", x, 5, 5)
	return b.apply(x)
}

// NewSyncBatchNorm makes a batch normalisation over any number of dimensions.
// There are no process groups here, and without one PyTorch's is the same.
// Options: as NewBatchNorm1d's.
func NewSyncBatchNorm(features int, opts ...torch.Option) *SyncBatchNorm {
	return &SyncBatchNorm{newBatchNorm("SyncBatchNorm", features, opts)}
}

// SyncBatchNorm is the batch normalisation of one process.
type SyncBatchNorm struct{ BatchNorm }

// Forward applies the layer.
func (b *SyncBatchNorm) Forward(x *torch.Tensor) *torch.Tensor {
	if x.Dim() < 2 {
		panic(&torch.Error{
			Op: "SyncBatchNorm", Kind: "ValueError",
			Msg: "expected at least 2D input (got " + strconv.Itoa(x.Dim()) + "D input)",
		})
	}
	return b.apply(x)
}

// InstanceNorm is what the instance normalisations of all dimensions share:
// each channel of each example is normalised by itself.
type InstanceNorm struct {
	BatchNorm
	class string
	dims  int
}

func newInstanceNorm(class string, dims, features int, opts []torch.Option) InstanceNorm {
	defaults := []torch.Option{kw.Affine(option(opts, "affine", false)), kw.TrackRunningStats(option(opts, "track_running_stats", false))}
	return InstanceNorm{newBatchNorm(class, features, append(defaults, opts...)), class, dims}
}

// Forward applies the layer, to a batch or to one example.
func (n *InstanceNorm) Forward(x *torch.Tensor) *torch.Tensor {
	low := n.dims + 1
	checkDims(n.class, strconv.Itoa(low)+"D or "+strconv.Itoa(low+1)+"D", x, low, low+1)
	single := x.Dim() == low
	if single {
		x = x.Unsqueeze(0)
	}
	own := n.IsTraining() || n.RunningMean == nil
	y := F.InstanceNorm(x, kw.RunningMean(n.RunningMean), kw.RunningVar(n.RunningVar), kw.Weight(n.Weight), kw.Bias(n.Bias),
		kw.UseInputStats(own), kw.Momentum(n.Momentum), kw.Eps(n.Eps))
	if single {
		y = y.Squeeze(0)
	}
	return y
}

// InstanceNorm1d normalises [batch, channel, length].
type InstanceNorm1d struct{ InstanceNorm }

// NewInstanceNorm1d makes an InstanceNorm1d. Options: kw.Eps(1e-5),
// kw.Momentum(0.1), kw.Affine(false), kw.TrackRunningStats(false).
func NewInstanceNorm1d(features int, opts ...torch.Option) *InstanceNorm1d {
	return &InstanceNorm1d{newInstanceNorm("InstanceNorm1d", 1, features, opts)}
}

// InstanceNorm2d normalises images.
type InstanceNorm2d struct{ InstanceNorm }

// NewInstanceNorm2d makes an InstanceNorm2d; options as NewInstanceNorm1d's.
func NewInstanceNorm2d(features int, opts ...torch.Option) *InstanceNorm2d {
	return &InstanceNorm2d{newInstanceNorm("InstanceNorm2d", 2, features, opts)}
}

// InstanceNorm3d normalises volumes.
type InstanceNorm3d struct{ InstanceNorm }

// NewInstanceNorm3d makes an InstanceNorm3d; options as NewInstanceNorm1d's.
func NewInstanceNorm3d(features int, opts ...torch.Option) *InstanceNorm3d {
	return &InstanceNorm3d{newInstanceNorm("InstanceNorm3d", 3, features, opts)}
}

// LocalResponseNorm divides by a sum over neighbouring channels.
type LocalResponseNorm struct {
	Size           int
	Alpha, Beta, K float64
}

// NewLocalResponseNorm makes a LocalResponseNorm. Options: kw.Alpha(1e-4),
// kw.Beta(0.75), kw.K(1.0).
func NewLocalResponseNorm(size int, opts ...torch.Option) *LocalResponseNorm {
	known("LocalResponseNorm", opts, "alpha", "beta", "k")
	return &LocalResponseNorm{size, option(opts, "alpha", 1e-4), option(opts, "beta", 0.75), option(opts, "k", 1.0)}
}

// Forward applies the layer.
func (l *LocalResponseNorm) Forward(x *torch.Tensor) *torch.Tensor {
	return F.LocalResponseNorm(x, l.Size, kw.Alpha(l.Alpha), kw.Beta(l.Beta), kw.K(l.K))
}

func checkDims(module, want string, x *torch.Tensor, low, high int) {
	if n := x.Dim(); n < low || n > high {
		panic(&torch.Error{Op: module, Kind: "ValueError", Msg: "expected " + want + " input (got " + strconv.Itoa(n) + "D input)"})
	}
}

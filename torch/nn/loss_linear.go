package nn

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file is losses with weights of their own: heads of many classes.

// LinearCrossEntropyLoss is a linear layer and the cross entropy of its logits.
type LinearCrossEntropyLoss struct {
	Weight *torch.Tensor `torch:"weight,buffer"` // of classes; nil without
	Linear *Linear

	opts []torch.Option
}

// NewLinearCrossEntropyLoss makes a LinearCrossEntropyLoss. Options:
// kw.Bias(false), kw.Weight of the classes, kw.IgnoreIndex, kw.Reduction,
// kw.LabelSmoothing, kw.Dtype, kw.Device.
func NewLinearCrossEntropyLoss(in, classes int, opts ...torch.Option) *LinearCrossEntropyLoss {
	known("LinearCrossEntropyLoss", opts, "bias", "weight", "ignore_index", "reduction", "label_smoothing", "dtype", "device")
	layer := []torch.Option{kw.Bias(option(opts, "bias", false))}
	l := &LinearCrossEntropyLoss{}
	for _, o := range opts {
		switch o.Name {
		case "dtype", "device":
			layer = append(layer, o)
		case "weight":
			l.Weight = o.Value.(*torch.Tensor)
		case "ignore_index", "reduction", "label_smoothing":
			l.opts = append(l.opts, o)
		}
	}
	l.Linear = NewLinear(in, classes, layer...)
	return l
}

// Forward computes the loss of inputs [batch, feature] (or one without batch)
// and classes.
func (l *LinearCrossEntropyLoss) Forward(input, target *torch.Tensor) *torch.Tensor {
	opts := append([]torch.Option{}, l.opts...)
	if l.Linear.Bias != nil {
		opts = append(opts, kw.LinearBias(l.Linear.Bias))
	}
	if l.Weight != nil {
		opts = append(opts, kw.Weight(l.Weight))
	}
	return F.LinearCrossEntropy(input, l.Linear.Weight, target, opts...)
}

// AdaptiveLogSoftmaxWithLoss is a softmax of many classes, ordered by falling
// frequency: the head has the frequent ones and one entry for each cluster of
// the others, whose layers are the smaller the rarer they are.
type AdaptiveLogSoftmaxWithLoss struct {
	Head *Linear
	Tail []*Sequential

	cutoffs []int // the first class of each cluster, and the number of classes
	classes int
}

// NewAdaptiveLogSoftmaxWithLoss makes one whose clusters begin at cutoffs.
// Options: kw.DivValue(4.0), kw.HeadBias(false), kw.Dtype, kw.Device.
func NewAdaptiveLogSoftmaxWithLoss(in, classes int, cutoffs []int, opts ...torch.Option) *AdaptiveLogSoftmaxWithLoss {
	const class = "AdaptiveLogSoftmaxWithLoss"
	known(class, opts, "div_value", "head_bias", "dtype", "device")
	if !rising(cutoffs, classes) {
		panic(&torch.Error{
			Op: class, Kind: "ValueError",
			Msg: "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is " +
				"between 1 and n_classes-1",
		})
	}
	div := option(opts, "div_value", 4.0)
	var where []torch.Option
	for _, o := range opts {
		if o.Name == "dtype" || o.Name == "device" {
			where = append(where, o)
		}
	}
	with := func(bias bool) []torch.Option { return append([]torch.Option{kw.Bias(bias)}, where...) }
	a := &AdaptiveLogSoftmaxWithLoss{cutoffs: append(append([]int{}, cutoffs...), classes), classes: classes}
	a.Head = NewLinear(in, cutoffs[0]+len(cutoffs), with(option(opts, "head_bias", false))...)
	shrink := 1.0
	for i := range cutoffs {
		shrink *= div
		size := int(float64(in) / shrink)
		a.Tail = append(
			a.Tail,
			NewSequential(NewLinear(in, size, with(false)...), NewLinear(size, a.cutoffs[i+1]-a.cutoffs[i], with(false)...)),
		)
	}
	return a
}

// rising reports whether v goes up from at least 1 to less than n.
func rising(v []int, n int) bool {
	last := 0
	for _, c := range v {
		if c <= last || c >= n {
			return false
		}
		last = c
	}
	return len(v) > 0
}

// Forward returns the log probability of each target, and the mean loss.
func (a *AdaptiveLogSoftmaxWithLoss) Forward(input, target *torch.Tensor) (output, loss *torch.Tensor) {
	if input.Dim() == 1 {
		output, loss = a.Forward(input.Unsqueeze(0), target.Unsqueeze(0))
		return output.Squeeze(0), loss
	}
	if target.Dim() != 1 || target.Size(0) != input.Size(0) {
		panic(&torch.Error{
			Op: "AdaptiveLogSoftmaxWithLoss", Kind: "RuntimeError",
			Msg: "Input and target should have the same size in the batch dimension.",
		})
	}
	if low, high := target.Min().ItemInt(), target.Max().ItemInt(); low < 0 || high >= a.classes {
		panic(&torch.Error{
			Op: "AdaptiveLogSoftmaxWithLoss", Kind: "RuntimeError",
			Msg: fmt.Sprintf("Target values should be in [0, %d], but values in range [%d, %d] were found. ", a.classes-1, low, high),
		})
	}
	head := a.Head.Forward(input).LogSoftmax(1)
	output = head.Gather(1, target.Clamp(kw.Max(a.cutoffs[0]-1)).Unsqueeze(1)).Squeeze(1)
	for i, tail := range a.Tail {
		low, high := a.cutoffs[i], a.cutoffs[i+1]
		inside := target.Ge(low).LogicalAnd(target.Lt(high))
		rows := inside.Nonzero().Squeeze(1)
		if rows.Numel() == 0 {
			continue
		}
		own := tail.Forward(input.IndexSelect(0, rows)).LogSoftmax(1).Gather(1,
			target.IndexSelect(0, rows).Sub(low).Unsqueeze(1)).Squeeze(1)
		cluster := head.Select(1, a.cutoffs[0]+i).IndexSelect(0, rows)
		output = output.IndexCopy(0, rows, own.Add(cluster))
	}
	return output, output.Neg().Mean()
}

// LogProb is the log probabilities of all classes.
func (a *AdaptiveLogSoftmaxWithLoss) LogProb(input *torch.Tensor) *torch.Tensor {
	head := a.Head.Forward(input).LogSoftmax(1)
	parts := []*torch.Tensor{head.Narrow(1, 0, a.cutoffs[0])}
	for i, tail := range a.Tail {
		parts = append(parts, tail.Forward(input).LogSoftmax(1).Add(head.Narrow(1, a.cutoffs[0]+i, 1)))
	}
	return torch.Cat(parts, kw.Dim(1))
}

// Predict is the likeliest class of each example.
func (a *AdaptiveLogSoftmaxWithLoss) Predict(input *torch.Tensor) *torch.Tensor {
	return a.LogProb(input).Argmax(kw.Dim(1))
}

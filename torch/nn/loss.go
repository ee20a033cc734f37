package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// Loss is a function of a prediction and a target.
type Loss struct {
	Weight    *torch.Tensor `torch:"weight,buffer"` // of classes; nil without
	PosWeight *torch.Tensor `torch:"pos_weight,buffer"`

	name string
	f    func(input, target *torch.Tensor, opts ...torch.Option) *torch.Tensor
	opts []torch.Option
}

// newLoss makes a Loss; weights are part of its state.
func newLoss(name string, f func(input, target *torch.Tensor, opts ...torch.Option) *torch.Tensor, opts []torch.Option) *Loss {
	l := &Loss{name: name, f: f}
	for _, o := range opts {
		t, isTensor := o.Value.(*torch.Tensor)
		switch {
		case isTensor && o.Name == "weight":
			l.Weight = t
		case isTensor && o.Name == "pos_weight":
			l.PosWeight = t
		default:
			l.opts = append(l.opts, o)
		}
	}
	return l
}

// Forward computes the loss.
func (l *Loss) Forward(input, target *torch.Tensor) *torch.Tensor {
	if l.Weight == nil && l.PosWeight == nil {
		return l.f(input, target, l.opts...)
	}
	opts := append([]torch.Option{}, l.opts...)
	if l.Weight != nil {
		opts = append(opts, kw.Weight(l.Weight))
	}
	if l.PosWeight != nil {
		opts = append(opts, kw.PosWeight(l.PosWeight))
	}
	return l.f(input, target, opts...)
}

// NewMSELoss is the mean squared error. Option: kw.Reduction("mean").
func NewMSELoss(opts ...torch.Option) *Loss {
	known("MSELoss", opts, "reduction")
	return newLoss("MSELoss", F.MseLoss, opts)
}

// NewL1Loss is the mean absolute error.
func NewL1Loss(opts ...torch.Option) *Loss {
	known("L1Loss", opts, "reduction")
	return newLoss("L1Loss", F.L1Loss, opts)
}

// NewCrossEntropyLoss is the cross entropy of logits and classes or class
// probabilities. Options: kw.Weight, kw.IgnoreIndex, kw.Reduction,
// kw.LabelSmoothing.
func NewCrossEntropyLoss(opts ...torch.Option) *Loss {
	known("CrossEntropyLoss", opts, "weight", "ignore_index", "reduction", "label_smoothing")
	return newLoss("CrossEntropyLoss", F.CrossEntropy, opts)
}

// NewNLLLoss is the negative log likelihood.
func NewNLLLoss(opts ...torch.Option) *Loss {
	known("NLLLoss", opts, "weight", "ignore_index", "reduction")
	return newLoss("NLLLoss", F.NllLoss, opts)
}

// NewBCELoss is the binary cross entropy of probabilities.
func NewBCELoss(opts ...torch.Option) *Loss {
	known("BCELoss", opts, "weight", "reduction")
	return newLoss("BCELoss", F.BinaryCrossEntropy, opts)
}

// NewBCEWithLogitsLoss is the binary cross entropy of logits.
func NewBCEWithLogitsLoss(opts ...torch.Option) *Loss {
	known("BCEWithLogitsLoss", opts, "weight", "reduction", "pos_weight")
	return newLoss("BCEWithLogitsLoss", F.BinaryCrossEntropyWithLogits, opts)
}

// NewSmoothL1Loss is quadratic near zero and linear beyond.
func NewSmoothL1Loss(opts ...torch.Option) *Loss {
	known("SmoothL1Loss", opts, "reduction", "beta")
	return newLoss("SmoothL1Loss", F.SmoothL1Loss, opts)
}

// NewHuberLoss is SmoothL1Loss scaled by delta.
func NewHuberLoss(opts ...torch.Option) *Loss {
	known("HuberLoss", opts, "reduction", "delta")
	return newLoss("HuberLoss", F.HuberLoss, opts)
}

// NewKLDivLoss is the Kullback-Leibler divergence.
func NewKLDivLoss(opts ...torch.Option) *Loss {
	known("KLDivLoss", opts, "reduction", "log_target")
	return newLoss("KLDivLoss", F.KlDiv, opts)
}

// NewPoissonNLLLoss is the negative log likelihood of Poisson counts. Options:
// kw.LogInput(true), kw.Full(false), kw.Eps(1e-8), kw.Reduction.
func NewPoissonNLLLoss(opts ...torch.Option) *Loss {
	known("PoissonNLLLoss", opts, "log_input", "full", "eps", "reduction")
	return newLoss("PoissonNLLLoss", F.PoissonNllLoss, opts)
}

// NewSoftMarginLoss is the logistic loss of targets 1 and -1.
func NewSoftMarginLoss(opts ...torch.Option) *Loss {
	known("SoftMarginLoss", opts, "reduction")
	return newLoss("SoftMarginLoss", F.SoftMarginLoss, opts)
}

// NewMultiLabelSoftMarginLoss is the binary cross entropy of logits, averaged
// over the classes.
func NewMultiLabelSoftMarginLoss(opts ...torch.Option) *Loss {
	known("MultiLabelSoftMarginLoss", opts, "weight", "reduction")
	return newLoss("MultiLabelSoftMarginLoss", F.MultilabelSoftMarginLoss, opts)
}

// NewHingeEmbeddingLoss is small for distances of pairs of label 1 and large
// below a margin for those of -1. Options: kw.Margin(1.0), kw.Reduction.
func NewHingeEmbeddingLoss(opts ...torch.Option) *Loss {
	known("HingeEmbeddingLoss", opts, "margin", "reduction")
	return newLoss("HingeEmbeddingLoss", F.HingeEmbeddingLoss, opts)
}

// Loss3 is a function of three tensors.
type Loss3 struct {
	name string
	f    func(a, b, c *torch.Tensor, opts ...torch.Option) *torch.Tensor
	opts []torch.Option
}

// Forward computes the loss.
func (l *Loss3) Forward(a, b, c *torch.Tensor) *torch.Tensor { return l.f(a, b, c, l.opts...) }

// NewGaussianNLLLoss is the negative log likelihood of targets under means and
// variances: Forward(input, target, variance). Options: kw.Full(false),
// kw.Eps(1e-6), kw.Reduction.
func NewGaussianNLLLoss(opts ...torch.Option) *Loss3 {
	known("GaussianNLLLoss", opts, "full", "eps", "reduction")
	return &Loss3{"GaussianNLLLoss", func(a, b, c *torch.Tensor, opts ...torch.Option) *torch.Tensor {
		return F.GaussianNllLoss(a, b, c, opts...)
	}, opts}
}

// NewCosineEmbeddingLoss is small for pairs of label 1 that point the same way.
// Options: kw.Margin(0.0), kw.Reduction.
func NewCosineEmbeddingLoss(opts ...torch.Option) *Loss3 {
	known("CosineEmbeddingLoss", opts, "margin", "reduction")
	return &Loss3{"CosineEmbeddingLoss", F.CosineEmbeddingLoss, opts}
}

// NewMarginRankingLoss is small where the label says rightly which of two is
// greater. Options: kw.Margin(0.0), kw.Reduction.
func NewMarginRankingLoss(opts ...torch.Option) *Loss3 {
	known("MarginRankingLoss", opts, "margin", "reduction")
	return &Loss3{"MarginRankingLoss", F.MarginRankingLoss, opts}
}

// NewTripletMarginLoss wants the positive nearer to the anchor than the
// negative, by a margin. Options: kw.Margin(1.0), kw.P(2.0), kw.Eps(1e-6),
// kw.Swap(false), kw.Reduction.
func NewTripletMarginLoss(opts ...torch.Option) *Loss3 {
	known("TripletMarginLoss", opts, "margin", "p", "eps", "swap", "reduction")
	return &Loss3{"TripletMarginLoss", F.TripletMarginLoss, opts}
}

// NewMultiMarginLoss is the hinge loss of classes. Options: kw.P(1),
// kw.Margin(1.0), kw.Weight, kw.Reduction.
func NewMultiMarginLoss(opts ...torch.Option) *Loss {
	known("MultiMarginLoss", opts, "p", "margin", "weight", "reduction")
	return newLoss("MultiMarginLoss", F.MultiMarginLoss, opts)
}

// NewMultiLabelMarginLoss is the hinge loss of several classes for each example.
func NewMultiLabelMarginLoss(opts ...torch.Option) *Loss {
	known("MultiLabelMarginLoss", opts, "reduction")
	return newLoss("MultiLabelMarginLoss", F.MultilabelMarginLoss, opts)
}

// CTCLoss is the negative log likelihood of sequences without alignment.
type CTCLoss struct{ opts []torch.Option }

// NewCTCLoss makes a CTCLoss. Options: kw.Blank(0), kw.Reduction,
// kw.ZeroInfinity(false).
func NewCTCLoss(opts ...torch.Option) *CTCLoss {
	known("CTCLoss", opts, "blank", "reduction", "zero_infinity")
	return &CTCLoss{opts}
}

// Forward takes log probabilities [time, batch, class], the classes of the
// targets, and the lengths of both.
func (l *CTCLoss) Forward(logProbs, targets, inputLengths, targetLengths *torch.Tensor) *torch.Tensor {
	return F.CtcLoss(logProbs, targets, inputLengths, targetLengths, l.opts...)
}

// NewTripletMarginWithDistanceLoss is TripletMarginLoss by a distance of one's
// own. Options: kw.DistanceFunction (PairwiseDistance), kw.Margin(1.0),
// kw.Swap(false), kw.Reduction.
func NewTripletMarginWithDistanceLoss(opts ...torch.Option) *Loss3 {
	const class = "TripletMarginWithDistanceLoss"
	known(class, opts, "distance_function", "margin", "swap", "reduction")
	if margin := option(opts, "margin", 1.0); !(margin > 0) {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: "TripletMarginWithDistanceLoss: expected margin to be greater than 0"})
	}
	return &Loss3{class, F.TripletMarginWithDistanceLoss, opts}
}

package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// Loss is a function of a prediction and a target.
type Loss struct {
	name string
	f    func(input, target *torch.Tensor, opts ...torch.Option) *torch.Tensor
	opts []torch.Option
}

// Forward computes the loss.
func (l *Loss) Forward(input, target *torch.Tensor) *torch.Tensor {
	return l.f(input, target, l.opts...)
}

// NewMSELoss is the mean squared error. Option: kw.Reduction("mean").
func NewMSELoss(opts ...torch.Option) *Loss {
	known("MSELoss", opts, "reduction")
	return &Loss{"MSELoss", F.MseLoss, opts}
}

// NewL1Loss is the mean absolute error.
func NewL1Loss(opts ...torch.Option) *Loss {
	known("L1Loss", opts, "reduction")
	return &Loss{"L1Loss", F.L1Loss, opts}
}

// NewCrossEntropyLoss is the cross entropy of logits and classes or class
// probabilities. Options: kw.Weight, kw.IgnoreIndex, kw.Reduction,
// kw.LabelSmoothing.
func NewCrossEntropyLoss(opts ...torch.Option) *Loss {
	known("CrossEntropyLoss", opts, "weight", "ignore_index", "reduction", "label_smoothing")
	return &Loss{"CrossEntropyLoss", F.CrossEntropy, opts}
}

// NewNLLLoss is the negative log likelihood.
func NewNLLLoss(opts ...torch.Option) *Loss {
	known("NLLLoss", opts, "weight", "ignore_index", "reduction")
	return &Loss{"NLLLoss", F.NllLoss, opts}
}

// NewBCELoss is the binary cross entropy of probabilities.
func NewBCELoss(opts ...torch.Option) *Loss {
	known("BCELoss", opts, "weight", "reduction")
	return &Loss{"BCELoss", F.BinaryCrossEntropy, opts}
}

// NewBCEWithLogitsLoss is the binary cross entropy of logits.
func NewBCEWithLogitsLoss(opts ...torch.Option) *Loss {
	known("BCEWithLogitsLoss", opts, "weight", "reduction", "pos_weight")
	return &Loss{"BCEWithLogitsLoss", F.BinaryCrossEntropyWithLogits, opts}
}

// NewSmoothL1Loss is quadratic near zero and linear beyond.
func NewSmoothL1Loss(opts ...torch.Option) *Loss {
	known("SmoothL1Loss", opts, "reduction", "beta")
	return &Loss{"SmoothL1Loss", F.SmoothL1Loss, opts}
}

// NewHuberLoss is SmoothL1Loss scaled by delta.
func NewHuberLoss(opts ...torch.Option) *Loss {
	known("HuberLoss", opts, "reduction", "delta")
	return &Loss{"HuberLoss", F.HuberLoss, opts}
}

// NewKLDivLoss is the Kullback-Leibler divergence.
func NewKLDivLoss(opts ...torch.Option) *Loss {
	known("KLDivLoss", opts, "reduction", "log_target")
	return &Loss{"KLDivLoss", F.KlDiv, opts}
}

// NewPoissonNLLLoss is the negative log likelihood of Poisson counts. Options:
// kw.LogInput(true), kw.Full(false), kw.Eps(1e-8), kw.Reduction.
func NewPoissonNLLLoss(opts ...torch.Option) *Loss {
	known("PoissonNLLLoss", opts, "log_input", "full", "eps", "reduction")
	return &Loss{"PoissonNLLLoss", F.PoissonNllLoss, opts}
}

// NewSoftMarginLoss is the logistic loss of targets 1 and -1.
func NewSoftMarginLoss(opts ...torch.Option) *Loss {
	known("SoftMarginLoss", opts, "reduction")
	return &Loss{"SoftMarginLoss", F.SoftMarginLoss, opts}
}

// NewMultiLabelSoftMarginLoss is the binary cross entropy of logits, averaged
// over the classes.
func NewMultiLabelSoftMarginLoss(opts ...torch.Option) *Loss {
	known("MultiLabelSoftMarginLoss", opts, "weight", "reduction")
	return &Loss{"MultiLabelSoftMarginLoss", F.MultilabelSoftMarginLoss, opts}
}

// NewHingeEmbeddingLoss is small for distances of pairs of label 1 and large
// below a margin for those of -1. Options: kw.Margin(1.0), kw.Reduction.
func NewHingeEmbeddingLoss(opts ...torch.Option) *Loss {
	known("HingeEmbeddingLoss", opts, "margin", "reduction")
	return &Loss{"HingeEmbeddingLoss", F.HingeEmbeddingLoss, opts}
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

// CosineSimilarity compares the directions of vectors.
type CosineSimilarity struct {
	Dim int
	Eps float64
}

// NewCosineSimilarity makes a CosineSimilarity. Options: kw.Dim(1),
// kw.Eps(1e-8).
func NewCosineSimilarity(opts ...torch.Option) *CosineSimilarity {
	known("CosineSimilarity", opts, "dim", "eps")
	return &CosineSimilarity{option(opts, "dim", 1), option(opts, "eps", 1e-8)}
}

// Forward compares a and b.
func (c *CosineSimilarity) Forward(a, b *torch.Tensor) *torch.Tensor {
	return F.CosineSimilarity(a, b, kw.Dim(c.Dim), kw.Eps(c.Eps))
}

// PairwiseDistance is the distance of vectors.
type PairwiseDistance struct {
	P, Eps  float64
	Keepdim bool
}

// NewPairwiseDistance makes a PairwiseDistance. Options: kw.P(2.0),
// kw.Eps(1e-6), kw.Keepdim(false).
func NewPairwiseDistance(opts ...torch.Option) *PairwiseDistance {
	known("PairwiseDistance", opts, "p", "eps", "keepdim")
	return &PairwiseDistance{option(opts, "p", 2.0), option(opts, "eps", 1e-6), option(opts, "keepdim", false)}
}

// Forward measures from a to b.
func (d *PairwiseDistance) Forward(a, b *torch.Tensor) *torch.Tensor {
	return F.PairwiseDistance(a, b, kw.P(d.P), kw.Eps(d.Eps), kw.Keepdim(d.Keepdim))
}

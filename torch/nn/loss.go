package nn

import (
	"tcdbg/torch"
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

package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// function is a function of nn.functional.
type function func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor

// Activation is an element-wise function with settings, which may write its
// result over its input.
type Activation struct {
	Inplace bool
	f       function
}

// newActivation reads kw.Inplace beside the options that f has.
func newActivation(class string, opts []torch.Option, f function, names ...string) Activation {
	known(class, opts, append(names, "inplace")...)
	return Activation{option(opts, "inplace", false), f}
}

// Forward applies the function.
func (a *Activation) Forward(x *torch.Tensor) *torch.Tensor {
	if a.Inplace {
		return a.f(x, kw.Inplace(true))
	}
	return a.f(x)
}

// ReLU is max(x, 0).
type ReLU struct{ Inplace bool }

// NewReLU makes a ReLU. Option: kw.Inplace(true).
func NewReLU(opts ...torch.Option) *ReLU {
	known("ReLU", opts, "inplace")
	return &ReLU{option(opts, "inplace", false)}
}

// Forward applies the function.
func (r *ReLU) Forward(x *torch.Tensor) *torch.Tensor {
	if r.Inplace {
		return x.Relu_()
	}
	return F.Relu(x)
}

// ReLU6 is min(max(x, 0), 6).
type ReLU6 struct{ Activation }

// NewReLU6 makes a ReLU6. Option: kw.Inplace(true).
func NewReLU6(opts ...torch.Option) *ReLU6 {
	return &ReLU6{newActivation("ReLU6", opts, F.Relu6)}
}

// SiLU is x*sigmoid(x).
type SiLU struct{ Activation }

// NewSiLU makes a SiLU. Option: kw.Inplace(true).
func NewSiLU(opts ...torch.Option) *SiLU {
	return &SiLU{newActivation("SiLU", opts, F.Silu)}
}

// Mish is x*tanh(softplus(x)).
type Mish struct{ Activation }

// NewMish makes a Mish. Option: kw.Inplace(true).
func NewMish(opts ...torch.Option) *Mish {
	return &Mish{newActivation("Mish", opts, F.Mish)}
}

// Hardswish is x*relu6(x+3)/6.
type Hardswish struct{ Activation }

// NewHardswish makes a Hardswish. Option: kw.Inplace(true).
func NewHardswish(opts ...torch.Option) *Hardswish {
	return &Hardswish{newActivation("Hardswish", opts, F.Hardswish)}
}

// Hardsigmoid is relu6(x+3)/6.
type Hardsigmoid struct{ Activation }

// NewHardsigmoid makes a Hardsigmoid. Option: kw.Inplace(true).
func NewHardsigmoid(opts ...torch.Option) *Hardsigmoid {
	return &Hardsigmoid{newActivation("Hardsigmoid", opts, F.Hardsigmoid)}
}

// Hardtanh cuts its input to a range.
type Hardtanh struct {
	Activation
	MinVal, MaxVal float64
}

// NewHardtanh makes a Hardtanh. Options: kw.MinVal(-1.0), kw.MaxVal(1.0),
// kw.Inplace(true).
func NewHardtanh(opts ...torch.Option) *Hardtanh {
	low, high := option(opts, "min_val", -1.0), option(opts, "max_val", 1.0)
	if !(low < high) {
		panic(&torch.Error{Op: "Hardtanh", Kind: "AssertionError", Msg: "max_val must be larger than min_val"})
	}
	return &Hardtanh{newActivation("Hardtanh", opts, func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor {
		return F.Hardtanh(x, append(opts, kw.MinVal(low), kw.MaxVal(high))...)
	}, "min_val", "max_val"), low, high}
}

// LeakyReLU is x above zero and a small slope below.
type LeakyReLU struct {
	Activation
	NegativeSlope float64
}

// NewLeakyReLU makes a LeakyReLU. Options: kw.NegativeSlope(0.01),
// kw.Inplace(true).
func NewLeakyReLU(opts ...torch.Option) *LeakyReLU {
	slope := option(opts, "negative_slope", 0.01)
	return &LeakyReLU{newActivation("LeakyReLU", opts, func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor {
		return F.LeakyRelu(x, append(opts, kw.NegativeSlope(slope))...)
	}, "negative_slope"), slope}
}

// ELU is x above zero and alpha*(exp(x)-1) below.
type ELU struct {
	Activation
	Alpha float64
}

// NewELU makes an ELU. Options: kw.Alpha(1.0), kw.Inplace(true).
func NewELU(opts ...torch.Option) *ELU {
	alpha := option(opts, "alpha", 1.0)
	return &ELU{newActivation("ELU", opts, func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor {
		return F.Elu(x, append(opts, kw.Alpha(alpha))...)
	}, "alpha"), alpha}
}

// CELU is ELU with a slope that has no jump.
type CELU struct {
	Activation
	Alpha float64
}

// NewCELU makes a CELU. Options: kw.Alpha(1.0), kw.Inplace(true).
func NewCELU(opts ...torch.Option) *CELU {
	alpha := option(opts, "alpha", 1.0)
	return &CELU{newActivation("CELU", opts, func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor {
		return F.Celu(x, append(opts, kw.Alpha(alpha))...)
	}, "alpha"), alpha}
}

// SELU is a scaled ELU that keeps mean and variance.
type SELU struct{ Activation }

// NewSELU makes a SELU. Option: kw.Inplace(true).
func NewSELU(opts ...torch.Option) *SELU {
	return &SELU{newActivation("SELU", opts, F.Selu)}
}

// Threshold keeps what is above a threshold and replaces the rest.
type Threshold struct {
	Activation
	Threshold, Value float64
}

// NewThreshold makes a Threshold. Option: kw.Inplace(true).
func NewThreshold(threshold, value float64, opts ...torch.Option) *Threshold {
	return &Threshold{newActivation("Threshold", opts, func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor {
		return F.Threshold(x, threshold, value, opts...)
	}), threshold, value}
}

// GELU is x times the normal distribution function of x.
type GELU struct{ Approximate string }

// NewGELU makes a GELU. Option: kw.Approximate("none" or "tanh").
func NewGELU(opts ...torch.Option) *GELU {
	known("GELU", opts, "approximate")
	return &GELU{option(opts, "approximate", "none")}
}

// Forward applies the function.
func (g *GELU) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Gelu(x, kw.Approximate(g.Approximate))
}

// Softplus is a smooth ReLU.
type Softplus struct{ Beta, Threshold float64 }

// NewSoftplus makes a Softplus. Options: kw.Beta(1.0), kw.Threshold(20.0).
func NewSoftplus(opts ...torch.Option) *Softplus {
	known("Softplus", opts, "beta", "threshold")
	return &Softplus{option(opts, "beta", 1.0), option(opts, "threshold", 20.0)}
}

// Forward applies the function.
func (s *Softplus) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Softplus(x, kw.Beta(s.Beta), kw.Threshold(s.Threshold))
}

// Softshrink moves its input towards zero by lambda.
type Softshrink struct{ Lambd float64 }

// NewSoftshrink makes a Softshrink. Option: kw.Lambd(0.5).
func NewSoftshrink(opts ...torch.Option) *Softshrink {
	known("Softshrink", opts, "lambd")
	return &Softshrink{option(opts, "lambd", 0.5)}
}

// Forward applies the function.
func (s *Softshrink) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Softshrink(x, kw.Lambd(s.Lambd))
}

// Hardshrink replaces what is within lambda of zero by zero.
type Hardshrink struct{ Lambd float64 }

// NewHardshrink makes a Hardshrink. Option: kw.Lambd(0.5).
func NewHardshrink(opts ...torch.Option) *Hardshrink {
	known("Hardshrink", opts, "lambd")
	return &Hardshrink{option(opts, "lambd", 0.5)}
}

// Forward applies the function.
func (h *Hardshrink) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Hardshrink(x, kw.Lambd(h.Lambd))
}

// PReLU is a LeakyReLU whose slope is learnt.
type PReLU struct {
	Weight        *torch.Tensor
	NumParameters int
}

// NewPReLU makes a PReLU of one slope. Options: kw.NumParameters(n), one for
// each channel; kw.Init(0.25), kw.Dtype, kw.Device.
func NewPReLU(opts ...torch.Option) *PReLU {
	known("PReLU", opts, "num_parameters", "init", "dtype", "device")
	n := option(opts, "num_parameters", 1)
	return &PReLU{Constant_(parameter(opts, n), option(opts, "init", 0.25)), n}
}

// Forward applies the function.
func (p *PReLU) Forward(x *torch.Tensor) *torch.Tensor { return F.Prelu(x, p.Weight) }

// GLU multiplies one half of a dimension by the sigmoid of the other.
type GLU struct{ Dim int }

// NewGLU makes a GLU. Option: kw.Dim(-1).
func NewGLU(opts ...torch.Option) *GLU {
	known("GLU", opts, "dim")
	return &GLU{option(opts, "dim", -1)}
}

// Forward applies the function.
func (g *GLU) Forward(x *torch.Tensor) *torch.Tensor { return F.Glu(x, kw.Dim(g.Dim)) }

// Softmax normalises exponentials along a dimension.
type Softmax struct{ Dim int }

// NewSoftmax makes a Softmax.
func NewSoftmax(dim int) *Softmax { return &Softmax{dim} }

// Forward applies the function.
func (s *Softmax) Forward(x *torch.Tensor) *torch.Tensor { return x.Softmax(s.Dim) }

// LogSoftmax is the logarithm of Softmax.
type LogSoftmax struct{ Dim int }

// NewLogSoftmax makes a LogSoftmax.
func NewLogSoftmax(dim int) *LogSoftmax { return &LogSoftmax{dim} }

// Forward applies the function.
func (s *LogSoftmax) Forward(x *torch.Tensor) *torch.Tensor { return x.LogSoftmax(s.Dim) }

// Softmin is Softmax of the negated input.
type Softmin struct{ Dim int }

// NewSoftmin makes a Softmin.
func NewSoftmin(dim int) *Softmin { return &Softmin{dim} }

// Forward applies the function.
func (s *Softmin) Forward(x *torch.Tensor) *torch.Tensor { return F.Softmin(x, s.Dim) }

// Softmax2d is Softmax over the channels of images.
type Softmax2d struct{}

// NewSoftmax2d makes a Softmax2d.
func NewSoftmax2d() *Softmax2d { return &Softmax2d{} }

// Forward applies the function.
func (*Softmax2d) Forward(x *torch.Tensor) *torch.Tensor {
	checkDims("Softmax2d", "3D or 4D", x, 3, 4)
	return x.Softmax(-3)
}

// Sigmoid is 1/(1+exp(-x)).
type Sigmoid struct{}

// NewSigmoid makes a Sigmoid.
func NewSigmoid() *Sigmoid { return &Sigmoid{} }

// Forward applies the function.
func (*Sigmoid) Forward(x *torch.Tensor) *torch.Tensor { return x.Sigmoid() }

// LogSigmoid is the logarithm of Sigmoid.
type LogSigmoid struct{}

// NewLogSigmoid makes a LogSigmoid.
func NewLogSigmoid() *LogSigmoid { return &LogSigmoid{} }

// Forward applies the function.
func (*LogSigmoid) Forward(x *torch.Tensor) *torch.Tensor { return F.Logsigmoid(x) }

// Tanh is the hyperbolic tangent.
type Tanh struct{}

// NewTanh makes a Tanh.
func NewTanh() *Tanh { return &Tanh{} }

// Forward applies the function.
func (*Tanh) Forward(x *torch.Tensor) *torch.Tensor { return x.Tanh() }

// Tanhshrink is x - tanh(x).
type Tanhshrink struct{}

// NewTanhshrink makes a Tanhshrink.
func NewTanhshrink() *Tanhshrink { return &Tanhshrink{} }

// Forward applies the function.
func (*Tanhshrink) Forward(x *torch.Tensor) *torch.Tensor { return F.Tanhshrink(x) }

// Softsign is x/(1+|x|).
type Softsign struct{}

// NewSoftsign makes a Softsign.
func NewSoftsign() *Softsign { return &Softsign{} }

// Forward applies the function.
func (*Softsign) Forward(x *torch.Tensor) *torch.Tensor { return F.Softsign(x) }

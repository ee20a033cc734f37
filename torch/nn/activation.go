package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

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

// GELU is x times the normal distribution function of x.
type GELU struct{ Approximate string }

// NewGELU makes a GELU. Option: kw.Approximate("tanh").
func NewGELU(opts ...torch.Option) *GELU {
	known("GELU", opts, "approximate")
	return &GELU{option(opts, "approximate", "none")}
}

// Forward applies the function.
func (g *GELU) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Gelu(x, kw.Approximate(g.Approximate))
}

// SiLU is x*sigmoid(x).
type SiLU struct{ Inplace bool }

// NewSiLU makes a SiLU. Option: kw.Inplace(true).
func NewSiLU(opts ...torch.Option) *SiLU {
	known("SiLU", opts, "inplace")
	return &SiLU{option(opts, "inplace", false)}
}

// Forward applies the function.
func (s *SiLU) Forward(x *torch.Tensor) *torch.Tensor { return F.Silu(x) }

// Sigmoid is 1/(1+exp(-x)).
type Sigmoid struct{}

// NewSigmoid makes a Sigmoid.
func NewSigmoid() *Sigmoid { return &Sigmoid{} }

// Forward applies the function.
func (*Sigmoid) Forward(x *torch.Tensor) *torch.Tensor { return x.Sigmoid() }

// Tanh is the hyperbolic tangent.
type Tanh struct{}

// NewTanh makes a Tanh.
func NewTanh() *Tanh { return &Tanh{} }

// Forward applies the function.
func (*Tanh) Forward(x *torch.Tensor) *torch.Tensor { return x.Tanh() }

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

// LeakyReLU is max(x, 0) plus a small slope below zero.
type LeakyReLU struct{ NegativeSlope float64 }

// NewLeakyReLU makes a LeakyReLU with PyTorch's default slope 0.01 where slope
// is left out.
func NewLeakyReLU(slope ...float64) *LeakyReLU {
	if len(slope) > 0 {
		return &LeakyReLU{slope[0]}
	}
	return &LeakyReLU{0.01}
}

// Forward applies the function.
func (l *LeakyReLU) Forward(x *torch.Tensor) *torch.Tensor {
	return F.LeakyRelu(x, kw.NegativeSlope(l.NegativeSlope))
}

// ELU is x above zero and alpha*(exp(x)-1) below.
type ELU struct{ Alpha float64 }

// NewELU makes an ELU. Option: kw.Alpha(1.0).
func NewELU(opts ...torch.Option) *ELU {
	known("ELU", opts, "alpha")
	return &ELU{option(opts, "alpha", 1.0)}
}

// Forward applies the function.
func (e *ELU) Forward(x *torch.Tensor) *torch.Tensor { return F.Elu(x, kw.Alpha(e.Alpha)) }

// Hardswish is x*relu6(x+3)/6.
type Hardswish struct{ Inplace bool }

// NewHardswish makes a Hardswish. Option: kw.Inplace(true).
func NewHardswish(opts ...torch.Option) *Hardswish {
	known("Hardswish", opts, "inplace")
	return &Hardswish{option(opts, "inplace", false)}
}

// Forward applies the function.
func (*Hardswish) Forward(x *torch.Tensor) *torch.Tensor { return F.Hardswish(x) }

// Hardsigmoid is relu6(x+3)/6.
type Hardsigmoid struct{}

// NewHardsigmoid makes a Hardsigmoid.
func NewHardsigmoid() *Hardsigmoid { return &Hardsigmoid{} }

// Forward applies the function.
func (*Hardsigmoid) Forward(x *torch.Tensor) *torch.Tensor { return F.Hardsigmoid(x) }

// ReLU6 is min(max(x, 0), 6).
type ReLU6 struct{ Inplace bool }

// NewReLU6 makes a ReLU6. Option: kw.Inplace(true).
func NewReLU6(opts ...torch.Option) *ReLU6 {
	known("ReLU6", opts, "inplace")
	return &ReLU6{option(opts, "inplace", false)}
}

// Forward applies the function.
func (*ReLU6) Forward(x *torch.Tensor) *torch.Tensor { return F.Relu6(x) }

// Softplus is a smooth ReLU.
type Softplus struct{ Beta, Threshold float64 }

// NewSoftplus makes a Softplus.
func NewSoftplus() *Softplus { return &Softplus{1, 20} }

// Forward applies the function.
func (s *Softplus) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Softplus(x, kw.Beta(s.Beta), kw.Threshold(s.Threshold))
}

// Mish is x*tanh(softplus(x)).
type Mish struct{}

// NewMish makes a Mish.
func NewMish() *Mish { return &Mish{} }

// Forward applies the function.
func (*Mish) Forward(x *torch.Tensor) *torch.Tensor { return F.Mish(x) }

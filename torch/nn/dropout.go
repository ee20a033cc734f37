package nn

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// Dropout zeroes elements with probability P while training and scales the
// others by 1/(1-P).
type Dropout struct {
	Training
	P float64
}

// NewDropout makes a Dropout with PyTorch's default 0.5 where p is left out.
func NewDropout(p ...float64) *Dropout { return &Dropout{P: probability("Dropout", p)} }

// probability is an optional probability; 0.5 where it is left out.
func probability(class string, p []float64) float64 {
	if len(p) == 0 {
		return 0.5
	}
	if !(p[0] >= 0 && p[0] <= 1) {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf("dropout probability has to be between 0 and 1, but got %v", p[0])})
	}
	return p[0]
}

// Forward applies the layer.
func (d *Dropout) Forward(x *torch.Tensor) *torch.Tensor {
	if !d.IsTraining() || d.P == 0 {
		return x
	}
	return F.Dropout(x, kw.P(d.P))
}

// FeatureDropout is Dropout of whole channels: Dropout1d, Dropout2d, Dropout3d.
type FeatureDropout struct {
	Training
	P     float64
	class string
	dims  int
	f     func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor
}

// NewDropout1d zeroes channels of [batch, channel, length] or [channel, length].
func NewDropout1d(p ...float64) *FeatureDropout {
	return &FeatureDropout{P: probability("Dropout1d", p), class: "Dropout1d", dims: 1, f: F.Dropout1d}
}

// NewDropout2d zeroes channels of images.
func NewDropout2d(p ...float64) *FeatureDropout {
	return &FeatureDropout{P: probability("Dropout2d", p), class: "Dropout2d", dims: 2, f: F.Dropout2d}
}

// NewDropout3d zeroes channels of volumes.
func NewDropout3d(p ...float64) *FeatureDropout {
	return &FeatureDropout{P: probability("Dropout3d", p), class: "Dropout3d", dims: 3, f: F.Dropout3d}
}

// Forward applies the layer.
func (d *FeatureDropout) Forward(x *torch.Tensor) *torch.Tensor {
	checkDims(d.class, itoa(d.dims+1)+"D or "+itoa(d.dims+2)+"D", x, d.dims+1, d.dims+2)
	return d.f(x, kw.P(d.P), kw.Training(d.IsTraining()))
}

// AlphaDropout is dropout that keeps mean and variance of what SELUs give; of
// single elements, or of whole channels.
type AlphaDropout struct {
	Training
	P        float64
	channels bool
}

// NewAlphaDropout drops single elements.
func NewAlphaDropout(p ...float64) *AlphaDropout {
	return &AlphaDropout{P: probability("AlphaDropout", p)}
}

// NewFeatureAlphaDropout drops whole channels.
func NewFeatureAlphaDropout(p ...float64) *AlphaDropout {
	return &AlphaDropout{P: probability("FeatureAlphaDropout", p), channels: true}
}

// Forward applies the layer.
func (d *AlphaDropout) Forward(x *torch.Tensor) *torch.Tensor {
	if d.channels {
		return F.FeatureAlphaDropout(x, kw.P(d.P), kw.Training(d.IsTraining()))
	}
	return F.AlphaDropout(x, kw.P(d.P), kw.Training(d.IsTraining()))
}

// RReLU is x above zero and x times a random slope below.
type RReLU struct {
	Training
	Lower, Upper float64
	Inplace      bool
}

// NewRReLU makes an RReLU. Options: kw.Lower(1.0/8), kw.Upper(1.0/3),
// kw.Inplace(true).
func NewRReLU(opts ...torch.Option) *RReLU {
	known("RReLU", opts, "lower", "upper", "inplace")
	return &RReLU{Lower: option(opts, "lower", 1.0/8), Upper: option(opts, "upper", 1.0/3), Inplace: option(opts, "inplace", false)}
}

// Forward applies the function.
func (r *RReLU) Forward(x *torch.Tensor) *torch.Tensor {
	f := func(x *torch.Tensor) *torch.Tensor {
		return F.Rrelu(x, kw.Lower(r.Lower), kw.Upper(r.Upper), kw.Training(r.IsTraining()))
	}
	return (&Activation{r.Inplace, f}).Forward(x)
}

package nn

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// Linear is y = x W^T + b.
type Linear struct {
	Weight, Bias            *torch.Tensor // Bias is nil without one
	InFeatures, OutFeatures int
}

// NewLinear makes a Linear. Options: kw.Bias(false), kw.Dtype, kw.Device.
func NewLinear(in, out int, opts ...torch.Option) *Linear {
	known("Linear", opts, "bias", "dtype", "device")
	l := &Linear{Weight: parameter(opts, out, in), InFeatures: in, OutFeatures: out}
	if option(opts, "bias", true) {
		l.Bias = parameter(opts, out)
	}
	l.ResetParameters()
	return l
}

// ResetParameters draws the weights again.
func (l *Linear) ResetParameters() {
	KaimingUniform_(l.Weight, kw.A(math.Sqrt(5)))
	if l.Bias != nil {
		bound := 0.0
		if l.InFeatures > 0 {
			bound = 1 / math.Sqrt(float64(l.InFeatures))
		}
		Uniform_(l.Bias, -bound, bound)
	}
}

// Forward applies the layer.
func (l *Linear) Forward(x *torch.Tensor) *torch.Tensor {
	if l.Bias == nil {
		return F.Linear(x, l.Weight)
	}
	return F.Linear(x, l.Weight, kw.Bias(l.Bias))
}

// Identity returns its input.
type Identity struct{}

// NewIdentity makes an Identity.
func NewIdentity() *Identity { return &Identity{} }

// Forward returns x.
func (*Identity) Forward(x *torch.Tensor) *torch.Tensor { return x }

// Flatten joins dimensions; by default all but the first.
type Flatten struct{ StartDim, EndDim int }

// NewFlatten makes a Flatten. Options: kw.StartDim(1), kw.EndDim(-1).
func NewFlatten(opts ...torch.Option) *Flatten {
	known("Flatten", opts, "start_dim", "end_dim")
	return &Flatten{option(opts, "start_dim", 1), option(opts, "end_dim", -1)}
}

// Forward applies the layer.
func (f *Flatten) Forward(x *torch.Tensor) *torch.Tensor {
	return x.Flatten(kw.StartDim(f.StartDim), kw.EndDim(f.EndDim))
}

// Bilinear is y = x1^T A x2 + b.
type Bilinear struct {
	Weight, Bias *torch.Tensor // Bias is nil without one
}

// NewBilinear makes a Bilinear. Options: kw.Bias(true), kw.Dtype, kw.Device.
func NewBilinear(in1, in2, out int, opts ...torch.Option) *Bilinear {
	known("Bilinear", opts, "bias", "dtype", "device")
	b := &Bilinear{Weight: parameter(opts, out, in1, in2)}
	bound := 1 / math.Sqrt(float64(in1))
	Uniform_(b.Weight, -bound, bound)
	if option(opts, "bias", true) {
		b.Bias = Uniform_(parameter(opts, out), -bound, bound)
	}
	return b
}

// Forward applies the layer.
func (b *Bilinear) Forward(x1, x2 *torch.Tensor) *torch.Tensor {
	return F.Bilinear(x1, x2, b.Weight, kw.Bias(b.Bias))
}

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

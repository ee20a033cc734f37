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
}

// NewDropout1d zeroes channels of [batch, channel, length] or [channel, length].
func NewDropout1d(p ...float64) *FeatureDropout { return newFeatureDropout("Dropout1d", 1, p) }

// NewDropout2d zeroes channels of images.
func NewDropout2d(p ...float64) *FeatureDropout { return newFeatureDropout("Dropout2d", 2, p) }

// NewDropout3d zeroes channels of volumes.
func NewDropout3d(p ...float64) *FeatureDropout { return newFeatureDropout("Dropout3d", 3, p) }

func newFeatureDropout(class string, dims int, p []float64) *FeatureDropout {
	return &FeatureDropout{P: probability(class, p), class: class, dims: dims}
}

// Forward applies the layer.
func (d *FeatureDropout) Forward(x *torch.Tensor) *torch.Tensor {
	checkDims(d.class, itoa(d.dims+1)+"D or "+itoa(d.dims+2)+"D", x, d.dims+1, d.dims+2)
	if !d.IsTraining() || d.P == 0 {
		return x
	}
	if d.P == 1 {
		return x.Mul(0)
	}
	single := x.Dim() == d.dims+1 // PyTorch draws as for a batch of one
	if single {
		x = x.Unsqueeze(0)
	}
	size := []int{x.Size(0), x.Size(1)}
	for range d.dims {
		size = append(size, 1)
	}
	noise := torch.Empty(size, kw.Dtype(x.DType())).Bernoulli_(1 - d.P).Div_(1 - d.P)
	x = x.Mul(noise)
	if single {
		x = x.Squeeze(0)
	}
	return x
}

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
func NewDropout(p ...float64) *Dropout {
	d := &Dropout{P: 0.5}
	if len(p) > 0 {
		d.P = p[0]
	}
	if d.P < 0 || d.P > 1 {
		panic(&torch.Error{Op: "Dropout", Kind: "ValueError", Msg: fmt.Sprintf("dropout probability has to be between 0 and 1, but got %v", d.P)})
	}
	return d
}

// Forward applies the layer.
func (d *Dropout) Forward(x *torch.Tensor) *torch.Tensor {
	if !d.IsTraining() || d.P == 0 {
		return x
	}
	return F.Dropout(x, kw.P(d.P))
}

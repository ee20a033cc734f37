package functional

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// GumbelSoftmax draws from the distributions that logits stand for so that the
// draw has a derivative: probabilities, or with kw.Hard(true) zeros and a one in
// the result and those probabilities in the derivative. Options: kw.Tau(1.0),
// which makes the draw harder the nearer it is to 0; kw.Dim(-1).
func GumbelSoftmax(logits *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	tau, hard, dim := 1.0, false, -1
	for _, o := range opts {
		switch o.Name {
		case "tau":
			tau = number("gumbel_softmax", o)
		case "hard":
			hard = truth("gumbel_softmax", o)
		case "dim":
			dim = o.Value.(int)
		case "eps": // PyTorch takes it and does nothing with it
		default:
			unexpected("gumbel_softmax", o)
		}
	}
	soft := logits.Add(gumbel(logits)).Div(tau).Softmax(dim)
	if !hard {
		return soft
	}
	_, likeliest := soft.MaxDim(dim, kw.Keepdim(true))
	one := torch.ZerosLike(logits).Scatter(dim, likeliest, 1.0)
	return one.Sub(soft.Detach()).Add(soft)
}

// gumbel draws a number of Gumbel's distribution for each element: minus the
// logarithm of an exponential one, which PyTorch draws in double precision.
func gumbel(x *torch.Tensor) *torch.Tensor {
	u := torch.Empty(x.Shape(), kw.Dtype(torch.Float64), kw.Device(x.Device())).Uniform_()
	return u.Neg_().Log1p_().Neg_().To(x.DType()).Log().Neg()
}

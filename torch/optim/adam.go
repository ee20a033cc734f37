package optim

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// Adam is the adaptive-moment method; weight decay is added to the gradient.
type Adam struct{ *base }

// NewAdam makes an Adam over []*torch.Tensor or []Group. Options: kw.Lr(1e-3),
// kw.Betas([2]float64{0.9, 0.999}), kw.Eps(1e-8), kw.WeightDecay(0),
// kw.Amsgrad(false), kw.Maximize(false).
func NewAdam(params any, opts ...torch.Option) *Adam {
	d := Group{Lr: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	return &Adam{newBase("Adam", params, d, opts, adamSettings(), func(b *base, g *Group, p, grad *torch.Tensor) {
		adam(b, g, p, decayed(g, p, grad))
	})}
}

// AdamW is Adam whose weight decay shrinks the parameters themselves.
type AdamW struct{ *base }

// NewAdamW makes an AdamW. Options: those of NewAdam, with a weight decay of 0.01.
func NewAdamW(params any, opts ...torch.Option) *AdamW {
	d := Group{Lr: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 1e-2}
	return &AdamW{newBase("AdamW", params, d, opts, adamSettings(), func(b *base, g *Group, p, grad *torch.Tensor) {
		p.Mul_(1 - g.Lr*g.WeightDecay)
		adam(b, g, p, grad)
	})}
}

func adamSettings() []setting {
	return common(betas(), epsilon(), flag("amsgrad", func(g *Group) *bool { return &g.Amsgrad }))
}

// adam is the step that Adam and AdamW share, in PyTorch's order of operations.
func adam(b *base, g *Group, p, grad *torch.Tensor) {
	m, v := b.moment(p, "exp_avg"), b.moment(p, "exp_avg_sq")
	m.Lerp_(grad, 1-g.Beta1)
	v.Mul_(g.Beta2).Addcmul_(grad, grad, kw.Value(1-g.Beta2))
	step := float64(b.steps[p])
	correct1 := 1 - math.Pow(g.Beta1, step)
	correct2 := math.Sqrt(1 - math.Pow(g.Beta2, step))
	if g.Amsgrad {
		top := b.moment(p, "max_exp_avg_sq")
		top.Copy_(torch.Maximum(top, v))
		v = top
	}
	denominator := v.Sqrt().Div_(correct2).Add_(g.Eps)
	p.Addcdiv_(m, denominator, kw.Value(-g.Lr/correct1))
}

// decayed is the gradient with the weight decay of L2 regularisation.
func decayed(g *Group, p, grad *torch.Tensor) *torch.Tensor {
	if g.WeightDecay == 0 {
		return grad
	}
	return grad.Add(p, kw.Alpha(g.WeightDecay))
}

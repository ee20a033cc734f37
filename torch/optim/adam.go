package optim

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

// Adam is the adaptive-moment method; weight decay is added to the gradient.
type Adam struct{ *base }

// NewAdam makes an Adam over []*torch.Tensor or []Group. Options: kw.Lr(1e-3),
// kw.Betas([2]float64{0.9, 0.999}), kw.Eps(1e-8), kw.WeightDecay(0),
// kw.Amsgrad(false), kw.Maximize(false).
func NewAdam(params any, opts ...torch.Option) *Adam {
	d := Group{Lr: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	return &Adam{newBase("Adam", params, d, opts, adamSettings(),
		rule{moments: adamMoments, update: func(g *Group, s *slot, grad *torch.Tensor) {
			adam(g, s, decayed(g, s.p, grad))
		}})}
}

// AdamW is Adam whose weight decay shrinks the parameters themselves.
type AdamW struct{ *base }

// NewAdamW makes an AdamW. Options: those of NewAdam, with a weight decay of 0.01.
func NewAdamW(params any, opts ...torch.Option) *AdamW {
	d := Group{Lr: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 1e-2}
	return &AdamW{newBase("AdamW", params, d, opts, adamSettings(),
		rule{moments: adamMoments, update: func(g *Group, s *slot, grad *torch.Tensor) {
			g.pace().shrink(s.p, g.WeightDecay)
			adam(g, s, grad)
		}})}
}

func adamSettings() []setting {
	return common(betas(), epsilon(), flag("amsgrad", func(g *Group) *bool { return &g.Amsgrad }))
}

func adamMoments(g *Group) []string {
	if g.Amsgrad {
		return []string{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}
	}
	return []string{"exp_avg", "exp_avg_sq"}
}

// adam is the step that Adam and AdamW share, in PyTorch's order of operations.
func adam(g *Group, s *slot, grad *torch.Tensor) {
	m, v := s.moment("exp_avg"), s.moment("exp_avg_sq")
	m.Lerp_(grad, 1-g.Beta1)
	v.Mul_(g.Beta2).Addcmul_(grad, grad, kw.Value(1-g.Beta2))
	if g.Amsgrad {
		top := s.moment("max_exp_avg_sq")
		top.Copy_(torch.Maximum(top, v))
		v = top
	}
	if compiler.IsCompiling() {
		adamInGraph(g, s, m, v)
		return
	}
	step := s.steps()
	correct1 := 1 - math.Pow(g.Beta1, step)
	correct2 := math.Sqrt(1 - math.Pow(g.Beta2, step))
	denominator := v.Sqrt().Div_(correct2).Add_(g.Eps)
	s.p.Addcdiv_(m, denominator, kw.Value(-g.rate()/correct1))
}

// adamInGraph is the end of adam with the number of steps left in its tensor,
// so that one graph serves every step. In float64 the corrections are those of
// the numbers above.
func adamInGraph(g *Group, s *slot, m, v *torch.Tensor) {
	step := s.step.To(torch.Float64)
	correct1 := remaining(g.Beta1, step)
	correct2 := remaining(g.Beta2, step).Sqrt()
	denominator := v.Sqrt().Div_(correct2).Add_(g.Eps)
	s.p.Addcdiv_(m, denominator.Mul_(g.pace().under(correct1)))
}

// remaining is 1 - beta^step.
func remaining(beta float64, step *torch.Tensor) *torch.Tensor {
	return step.Mul(math.Log(beta)).Expm1().Neg()
}

// decayed is the gradient with the weight decay of L2 regularisation.
func decayed(g *Group, p, grad *torch.Tensor) *torch.Tensor {
	if g.WeightDecay == 0 {
		return grad
	}
	return grad.Add(p, kw.Alpha(g.WeightDecay))
}

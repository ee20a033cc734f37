package optim

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

// This file is Adam's relatives: Adamax, NAdam, RAdam.

// Adamax is Adam with the greatest gradient in place of the mean square.
type Adamax struct{ *base }

// NewAdamax makes an Adamax. Options: kw.Lr(2e-3), kw.Betas([2]float64{0.9, 0.999}),
// kw.Eps(1e-8), kw.WeightDecay(0), kw.Maximize(false).
func NewAdamax(params any, opts ...torch.Option) *Adamax {
	d := Group{Lr: 2e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	return &Adamax{newBase("Adamax", params, d, opts, common(betas(), epsilon()), rule{moments: adamaxMoments, update: adamax})}
}

func adamaxMoments(*Group) []string { return []string{"exp_avg", "exp_inf"} }

func adamax(g *Group, s *slot, grad *torch.Tensor) {
	p := s.p
	grad = decayed(g, p, grad)
	mean, top := s.moment("exp_avg"), s.moment("exp_inf")
	mean.Lerp_(grad, 1-g.Beta1)
	top.Copy_(torch.Maximum(top.Mul_(g.Beta2), grad.Abs().Add_(g.Eps)))
	if compiler.IsCompiling() {
		correct := remaining(g.Beta1, s.step.To(torch.Float64))
		p.Addcdiv_(mean, top.Mul(g.pace().under(correct)))
		return
	}
	correct := 1 - math.Pow(g.Beta1, s.steps())
	p.Addcdiv_(mean, top, kw.Value(-g.rate()/correct))
}

// decoupled are the settings of the relatives that can shrink the parameters
// themselves, as AdamW does.
func decoupled(more ...setting) []setting {
	own := flag("decoupled_weight_decay", func(g *Group) *bool { return &g.DecoupledWeightDecay })
	return common(append([]setting{betas(), epsilon(), own}, more...)...)
}

// shrunk is the gradient after weight decay of either kind.
func shrunk(g *Group, p, grad *torch.Tensor) *torch.Tensor {
	if g.DecoupledWeightDecay {
		g.pace().shrink(p, g.WeightDecay)
		return grad
	}
	return decayed(g, p, grad)
}

// NAdam is Adam with Nesterov's momentum.
type NAdam struct{ *base }

// NewNAdam makes an NAdam. Options: kw.Lr(2e-3), kw.Betas([2]float64{0.9, 0.999}),
// kw.Eps(1e-8), kw.WeightDecay(0), kw.MomentumDecay(4e-3),
// kw.DecoupledWeightDecay(false), kw.Maximize(false).
func NewNAdam(params any, opts ...torch.Option) *NAdam {
	d := Group{Lr: 2e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, MomentumDecay: 4e-3}
	keys := decoupled(number("momentum_decay", func(g *Group) *float64 { return &g.MomentumDecay }))
	return &NAdam{newBase("NAdam", params, d, opts, keys, rule{moments: meanAndSquare, update: nadam, begin: beginNAdam})}
}

func beginNAdam(_ *Group, s *slot) { s.counter("mu_product", 1) }

func meanAndSquare(*Group) []string { return []string{"exp_avg", "exp_avg_sq"} }

func nadam(g *Group, s *slot, grad *torch.Tensor) {
	p := s.p
	grad = shrunk(g, p, grad)
	mean, square, product := s.moment("exp_avg"), s.moment("exp_avg_sq"), s.state["mu_product"]
	mean.Lerp_(grad, 1-g.Beta1)
	square.Mul_(g.Beta2).Addcmul_(grad, grad, kw.Value(1-g.Beta2))
	if compiler.IsCompiling() {
		nadamInGraph(g, s, grad)
		return
	}
	step := s.steps()
	momentum := func(step float64) float64 { return g.Beta1 * (1 - 0.5*math.Pow(nesterovDecay, step*g.MomentumDecay)) }
	now, next := momentum(step), momentum(step+1)
	product.Mul_(now)
	denominator := square.Div(1 - math.Pow(g.Beta2, step)).Sqrt_().Add_(g.Eps)
	so := product.Item()
	p.Addcdiv_(grad, denominator, kw.Value(-g.rate()*(1-now)/(1-so)))
	p.Addcdiv_(mean, denominator, kw.Value(-g.rate()*next/(1-so*next)))
}

// nesterovDecay is the base of the power by which NAdam's momentum nears beta1.
const nesterovDecay = 0.96

// nadamInGraph is the end of nadam with its numbers left in their tensors.
func nadamInGraph(g *Group, s *slot, grad *torch.Tensor) {
	mean, square, product := s.moment("exp_avg"), s.moment("exp_avg_sq"), s.state["mu_product"]
	step, lr := s.step.To(torch.Float64), g.pace()
	momentum := func(step *torch.Tensor) *torch.Tensor {
		return step.Mul(g.MomentumDecay * math.Log(nesterovDecay)).Exp().Mul(-0.5 * g.Beta1).Add(g.Beta1)
	}
	now, next := momentum(step), momentum(step.Add(1))
	product.Mul_(now)
	denominator := square.Div(remaining(g.Beta2, step)).Sqrt_().Add_(g.Eps)
	so := product.To(torch.Float64)
	s.p.Addcdiv_(grad, denominator.Mul(lr.under(so.Neg().Add(1).Div(now.Neg().Add(1)))))
	s.p.Addcdiv_(mean, denominator.Mul(lr.under(so.Mul(next).Neg().Add(1).Div(next))))
}

// RAdam is Adam that waits with its adaptive steps until the mean of squares is
// to be trusted.
type RAdam struct{ *base }

// NewRAdam makes an RAdam. Options: kw.Lr(1e-3), kw.Betas([2]float64{0.9, 0.999}),
// kw.Eps(1e-8), kw.WeightDecay(0), kw.DecoupledWeightDecay(false),
// kw.Maximize(false).
func NewRAdam(params any, opts ...torch.Option) *RAdam {
	d := Group{Lr: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	return &RAdam{newBase("RAdam", params, d, opts, decoupled(), rule{moments: meanAndSquare, update: radam})}
}

func radam(g *Group, s *slot, grad *torch.Tensor) {
	p := s.p
	grad = shrunk(g, p, grad)
	mean, square := s.moment("exp_avg"), s.moment("exp_avg_sq")
	mean.Lerp_(grad, 1-g.Beta1)
	square.Mul_(g.Beta2).Addcmul_(grad, grad, kw.Value(1-g.Beta2))
	if compiler.IsCompiling() {
		radamInGraph(g, s)
		return
	}
	step := s.steps()
	past := math.Pow(g.Beta2, step)
	corrected := mean.Div(1 - math.Pow(g.Beta1, step))
	// How many gradients the mean of squares stands for, at last and now.
	most := 2/(1-g.Beta2) - 1
	length := most - 2*step*past/(1-past)
	if length <= 5 {
		p.Add_(corrected.Mul(g.rate()), kw.Alpha(-1.0))
		return
	}
	rectified := math.Sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
	adaptive := square.Sqrt().Add_(g.Eps).Reciprocal().Mul_(math.Sqrt(1 - past))
	p.Add_(corrected.Mul(g.rate()).Mul_(adaptive).Mul_(rectified), kw.Alpha(-1.0))
}

// radamInGraph is the end of radam with the number of steps left in its tensor:
// both kinds of step are computed, and the length chooses.
func radamInGraph(g *Group, s *slot) {
	mean, square := s.moment("exp_avg"), s.moment("exp_avg_sq")
	step := s.step.To(torch.Float64)
	rest := remaining(g.Beta2, step)
	corrected := mean.Div(remaining(g.Beta1, step))
	most := 2/(1-g.Beta2) - 1
	length := step.Mul(rest.Neg().Add(1)).Mul(2).Div(rest).Neg().Add(most)
	rectified := length.Sub(4).Mul(length.Sub(2)).Mul(most).Div(length.Mul((most - 4) * (most - 2))).Sqrt()
	adaptive := square.Sqrt().Add_(g.Eps).Reciprocal().Mul_(rest.Sqrt()).Mul_(rectified)
	g.pace().add(s.p, corrected.Mul(torch.Where(length.Gt(5), adaptive, torch.OnesLike(adaptive))))
}

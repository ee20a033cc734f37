package optim

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

// SGD is gradient descent, with momentum if wanted.
type SGD struct{ *base }

// NewSGD makes an SGD over []*torch.Tensor or []Group. Options: kw.Lr(1e-3),
// kw.Momentum(0), kw.Dampening(0), kw.WeightDecay(0), kw.Nesterov(false),
// kw.Maximize(false).
func NewSGD(params any, opts ...torch.Option) *SGD {
	keys := common(
		momentum(),
		number("dampening", func(g *Group) *float64 { return &g.Dampening }),
		flag("nesterov", func(g *Group) *bool { return &g.Nesterov }),
	)
	s := &SGD{newBase("SGD", params, Group{Lr: 1e-3}, opts, keys, rule{moments: sgdMoments, update: sgd})}
	for _, g := range s.groups {
		if g.Nesterov && (g.Momentum <= 0 || g.Dampening != 0) {
			panic(&torch.Error{Op: "SGD", Kind: "ValueError", Msg: "Nesterov momentum requires a momentum and zero dampening"})
		}
	}
	return s
}

// sgdMoments: the buffer is the first gradient at first, which comes to the same
// as zeros unless it is damped.
func sgdMoments(g *Group) []string {
	if g.Momentum != 0 && g.Dampening == 0 {
		return []string{"momentum_buffer"}
	}
	return nil
}

func sgd(g *Group, s *slot, grad *torch.Tensor) {
	grad = decayed(g, s.p, grad)
	if g.Momentum != 0 {
		buf := s.state["momentum_buffer"]
		if buf == nil {
			buf = s.moment("momentum_buffer")
			buf.Copy_(grad)
		} else {
			buf.Mul_(g.Momentum).Add_(grad, kw.Alpha(1-g.Dampening))
		}
		if g.Nesterov {
			grad = grad.Add(buf, kw.Alpha(g.Momentum))
		} else {
			grad = buf
		}
	}
	g.pace().add(s.p, grad)
}

// ASGD is gradient descent with falling steps, which also keeps the mean of the
// parameters, as "ax" of its state.
type ASGD struct{ *base }

// NewASGD makes an ASGD. Options: kw.Lr(1e-2), kw.Lambd(1e-4), kw.Alpha(0.75),
// kw.T0(1e6), kw.WeightDecay(0), kw.Maximize(false).
func NewASGD(params any, opts ...torch.Option) *ASGD {
	keys := common(
		number("lambd", func(g *Group) *float64 { return &g.Lambd }),
		number("alpha", func(g *Group) *float64 { return &g.Alpha }),
		number("t0", func(g *Group) *float64 { return &g.T0 }),
	)
	return &ASGD{newBase("ASGD", params, Group{Lr: 1e-2, Lambd: 1e-4, Alpha: 0.75, T0: 1e6}, opts, keys,
		rule{update: asgd, begin: beginASGD})}
}

func beginASGD(g *Group, s *slot) {
	s.moment("ax")
	s.counter("eta", g.rate())
	s.counter("mu", 1)
}

func asgd(g *Group, s *slot, grad *torch.Tensor) {
	p := s.p
	grad = decayed(g, p, grad)
	mean, size, share := s.state["ax"], s.state["eta"], s.state["mu"]
	if compiler.IsCompiling() {
		asgdInGraph(g, s, grad)
		return
	}
	eta := size.Item()
	p.Mul_(1-g.Lambd*eta).Add_(grad, kw.Alpha(-eta))
	if mu := share.Item(); mu == 1 {
		mean.Copy_(p)
	} else {
		mean.Add_(p.Sub(mean).Mul_(mu))
	}
	step := s.steps()
	lr := g.rate()
	size.Fill_(lr / math.Pow(1+g.Lambd*lr*step, g.Alpha))
	share.Fill_(1 / max(1, step-g.T0))
}

// asgdInGraph is the end of asgd with its numbers left in their tensors.
func asgdInGraph(g *Group, s *slot, grad *torch.Tensor) {
	p, mean, size, share := s.p, s.state["ax"], s.state["eta"], s.state["mu"]
	p.Mul_(size.To(torch.Float64).Mul(-g.Lambd).Add(1)).Sub_(grad.Mul(size))
	mean.Add_(p.Sub(mean).Mul_(share))
	step, lr := s.step.To(torch.Float64), g.pace().value()
	size.Copy_(lr.Div(step.Mul(lr).Mul(g.Lambd).Add(1).Pow(g.Alpha)))
	share.Copy_(step.Sub(g.T0).Clamp(kw.Min(1)).Reciprocal())
}

package optim

import (
	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

// This file holds the optimizers that scale each step by the size of past
// gradients, other than Adam's family.

// RMSprop divides by a running average of the gradients' magnitude.
type RMSprop struct{ *base }

// NewRMSprop makes an RMSprop. Options: kw.Lr(1e-2), kw.Alpha(0.99),
// kw.Eps(1e-8), kw.WeightDecay(0), kw.Momentum(0), kw.Centered(false),
// kw.Maximize(false).
func NewRMSprop(params any, opts ...torch.Option) *RMSprop {
	keys := common(
		momentum(), epsilon(),
		number("alpha", func(g *Group) *float64 { return &g.Alpha }),
		flag("centered", func(g *Group) *bool { return &g.Centered }),
	)
	return &RMSprop{
		newBase("RMSprop", params, Group{Lr: 1e-2, Alpha: 0.99, Eps: 1e-8}, opts, keys, rule{moments: rmspropMoments, update: rmsprop}),
	}
}

func rmspropMoments(g *Group) []string {
	names := []string{"square_avg"}
	if g.Centered {
		names = append(names, "grad_avg")
	}
	if g.Momentum > 0 {
		names = append(names, "momentum_buffer")
	}
	return names
}

func rmsprop(g *Group, s *slot, grad *torch.Tensor) {
	p := s.p
	grad = decayed(g, p, grad)
	square := s.moment("square_avg")
	square.Mul_(g.Alpha).Addcmul_(grad, grad, kw.Value(1-g.Alpha))
	var avg *torch.Tensor
	if g.Centered {
		mean := s.moment("grad_avg")
		mean.Lerp_(grad, 1-g.Alpha)
		avg = square.Addcmul(mean, mean, kw.Value(-1.0)).Sqrt_()
	} else {
		avg = square.Sqrt()
	}
	avg.Add_(g.Eps)
	if g.Momentum > 0 {
		buf := s.moment("momentum_buffer")
		buf.Mul_(g.Momentum).Addcdiv_(grad, avg)
		g.pace().add(p, buf)
		return
	}
	g.pace().addcdiv(p, grad, avg)
}

// Adagrad divides by the root of the sum of all squared gradients.
type Adagrad struct{ *base }

// NewAdagrad makes an Adagrad. Options: kw.Lr(1e-2), kw.LrDecay(0),
// kw.WeightDecay(0), kw.InitialAccumulatorValue(0), kw.Eps(1e-10),
// kw.Maximize(false).
func NewAdagrad(params any, opts ...torch.Option) *Adagrad {
	keys := common(
		epsilon(),
		number("lr_decay", func(g *Group) *float64 { return &g.LrDecay }),
		number("initial_accumulator_value", func(g *Group) *float64 { return &g.InitialAccumulatorValue }),
	)
	a := &Adagrad{newBase("Adagrad", params, Group{Lr: 1e-2, Eps: 1e-10}, opts, keys, rule{update: adagrad})}
	torch.NoGrad(func() {
		for _, g := range a.groups {
			g.fillSlots()
			for _, s := range g.slots {
				a.begin(g, s)
				s.moment("sum").Fill_(g.InitialAccumulatorValue)
			}
		}
	})
	return a
}

func adagrad(g *Group, s *slot, grad *torch.Tensor) {
	p := s.p
	grad = decayed(g, p, grad)
	sum := s.moment("sum")
	sum.Addcmul_(grad, grad, kw.Value(1.0))
	lr := g.pace()
	switch {
	case g.LrDecay == 0:
	case compiler.IsCompiling():
		lr = pace{tensor: lr.value().Div(s.step.To(torch.Float64).Sub(1).Mul(g.LrDecay).Add(1))}
	default:
		lr.number /= 1 + (s.steps()-1)*g.LrDecay
	}
	lr.addcdiv(p, grad, sum.Sqrt().Add_(g.Eps))
}

// Adadelta scales each step by the ratio of past steps to past gradients.
type Adadelta struct{ *base }

// NewAdadelta makes an Adadelta. Options: kw.Lr(1.0), kw.Rho(0.9), kw.Eps(1e-6),
// kw.WeightDecay(0), kw.Maximize(false).
func NewAdadelta(params any, opts ...torch.Option) *Adadelta {
	keys := common(epsilon(), number("rho", func(g *Group) *float64 { return &g.Rho }))
	return &Adadelta{
		newBase("Adadelta", params, Group{Lr: 1, Rho: 0.9, Eps: 1e-6}, opts, keys, rule{moments: adadeltaMoments, update: adadelta}),
	}
}

func adadeltaMoments(*Group) []string { return []string{"square_avg", "acc_delta"} }

func adadelta(g *Group, s *slot, grad *torch.Tensor) {
	p := s.p
	grad = decayed(g, p, grad)
	square, steps := s.moment("square_avg"), s.moment("acc_delta")
	square.Mul_(g.Rho).Addcmul_(grad, grad, kw.Value(1-g.Rho))
	step := steps.Add(g.Eps).Sqrt_().Div_(square.Add(g.Eps).Sqrt_()).Mul_(grad)
	steps.Mul_(g.Rho).Addcmul_(step, step, kw.Value(1-g.Rho))
	g.pace().add(p, step)
}

// Rprop goes by the signs of gradients alone: a step grows while the sign stays
// and shrinks when it turns.
type Rprop struct{ *base }

// NewRprop makes an Rprop. Options: kw.Lr(1e-2), the first step;
// kw.Etas([2]float64{0.5, 1.2}), kw.StepSizes([2]float64{1e-6, 50}),
// kw.Maximize(false).
func NewRprop(params any, opts ...torch.Option) *Rprop {
	keys := []setting{
		rate(), maximize(),
		pair("etas", func(g *Group) *float64 { return &g.EtaMinus }, func(g *Group) *float64 { return &g.EtaPlus }),
		pair("step_sizes", func(g *Group) *float64 { return &g.StepMin }, func(g *Group) *float64 { return &g.StepMax }),
	}
	d := Group{Lr: 1e-2, EtaMinus: 0.5, EtaPlus: 1.2, StepMin: 1e-6, StepMax: 50}
	return &Rprop{newBase("Rprop", params, d, opts, keys, rule{update: rprop, begin: beginRprop})}
}

func beginRprop(g *Group, s *slot) {
	s.moment("prev")
	s.remembered("step_size", func() *torch.Tensor { return torch.FullLike(s.p, g.rate()) })
}

func rprop(g *Group, s *slot, grad *torch.Tensor) {
	p := s.p
	last, size := s.state["prev"], s.state["step_size"]
	agreement := grad.Mul(last).Sign()
	factor := torch.Where(agreement.Gt(0), g.EtaPlus, torch.Where(agreement.Lt(0), g.EtaMinus, torch.OnesLike(p)))
	size.Mul_(factor).Clamp_(kw.Min(g.StepMin), kw.Max(g.StepMax))
	grad = torch.Where(agreement.Lt(0), torch.ZerosLike(grad), grad) // where the sign changed, this step waits
	p.Addcmul_(grad.Sign(), size, kw.Value(-1.0))
	last.Copy_(grad)
}

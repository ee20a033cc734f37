package optim

import (
	"tcdbg/torch"
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
	return &RMSprop{newBase("RMSprop", params, Group{Lr: 1e-2, Alpha: 0.99, Eps: 1e-8}, opts, keys, rmsprop)}
}

func rmsprop(b *base, g *Group, p, grad *torch.Tensor) {
	grad = decayed(g, p, grad)
	square := b.moment(p, "square_avg")
	square.Mul_(g.Alpha).Addcmul_(grad, grad, kw.Value(1-g.Alpha))
	var avg *torch.Tensor
	if g.Centered {
		mean := b.moment(p, "grad_avg")
		mean.Lerp_(grad, 1-g.Alpha)
		avg = square.Addcmul(mean, mean, kw.Value(-1.0)).Sqrt_()
	} else {
		avg = square.Sqrt()
	}
	avg.Add_(g.Eps)
	if g.Momentum > 0 {
		buf := b.moment(p, "momentum_buffer")
		buf.Mul_(g.Momentum).Addcdiv_(grad, avg)
		p.Add_(buf, kw.Alpha(-g.Lr))
		return
	}
	p.Addcdiv_(grad, avg, kw.Value(-g.Lr))
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
	a := &Adagrad{newBase("Adagrad", params, Group{Lr: 1e-2, Eps: 1e-10}, opts, keys, adagrad)}
	torch.NoGrad(func() {
		for _, g := range a.groups {
			for _, p := range g.Params {
				a.moment(p, "sum").Fill_(g.InitialAccumulatorValue)
			}
		}
	})
	return a
}

func adagrad(b *base, g *Group, p, grad *torch.Tensor) {
	grad = decayed(g, p, grad)
	sum := b.moment(p, "sum")
	sum.Addcmul_(grad, grad, kw.Value(1.0))
	lr := g.Lr / (1 + float64(b.steps[p]-1)*g.LrDecay)
	p.Addcdiv_(grad, sum.Sqrt().Add_(g.Eps), kw.Value(-lr))
}

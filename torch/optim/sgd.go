package optim

import (
	"tcdbg/torch"
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
	s := &SGD{newBase("SGD", params, Group{Lr: 1e-3}, opts, keys, sgd)}
	for _, g := range s.groups {
		if g.Nesterov && (g.Momentum <= 0 || g.Dampening != 0) {
			panic(&torch.Error{Op: "SGD", Kind: "ValueError", Msg: "Nesterov momentum requires a momentum and zero dampening"})
		}
	}
	return s
}

func sgd(b *base, g *Group, p, grad *torch.Tensor) {
	grad = decayed(g, p, grad)
	if g.Momentum != 0 {
		first := b.steps[p] == 1
		buf := b.moment(p, "momentum_buffer")
		if first {
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
	p.Add_(grad, kw.Alpha(-g.Lr))
}

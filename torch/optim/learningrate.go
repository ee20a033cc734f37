package optim

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

// This file is the learning rate, a number or a tensor. A number is a constant of
// a compiled step, so that each new value compiles it again; a tensor is an input.

// rate is the setting lr.
func rate() setting {
	return setting{"lr", func(g *Group) any {
		if g.LrTensor != nil {
			return g.LrTensor
		}
		return g.Lr
	}, setLr}
}

func setLr(g *Group, v any) {
	switch v := v.(type) {
	case float64:
		g.Lr, g.LrTensor = v, nil
	case int:
		g.Lr, g.LrTensor = float64(v), nil
	case *torch.Tensor:
		if v.Numel() != 1 {
			panic(&torch.Error{Op: "optim", Kind: "ValueError", Msg: "Tensor lr must be 1-element"})
		}
		g.LrTensor = v
	default:
		panic(&torch.Error{Op: "optim", Kind: "TypeError", Msg: fmt.Sprintf("keyword lr must be a number or a tensor, not %T", v)})
	}
}

// rate is the learning rate as a number.
func (g *Group) rate() float64 {
	if g.LrTensor != nil {
		return g.LrTensor.Item()
	}
	return g.Lr
}

// setRate changes the learning rate; a tensor stays the same one.
func (g *Group) setRate(v float64) {
	if g.LrTensor == nil {
		g.Lr = v
		return
	}
	torch.NoGrad(func() { g.LrTensor.Fill_(v) })
}

// pace is the learning rate of one step: the number, or, where the step is being
// compiled, the tensor that the graph reads.
type pace struct {
	number float64
	tensor *torch.Tensor // float64 without dimensions; nil: the number
}

func (g *Group) pace() pace {
	if g.LrTensor != nil && compiler.IsCompiling() {
		return pace{tensor: g.LrTensor.Detach().Reshape().To(torch.Float64)}
	}
	return pace{number: g.rate()}
}

// times is k learning rates.
func (l pace) times(k float64) pace {
	if l.tensor != nil {
		return pace{tensor: l.tensor.Mul(k)}
	}
	return pace{number: l.number * k}
}

// value is the learning rate as a tensor, for a graph.
func (l pace) value() *torch.Tensor {
	if l.tensor != nil {
		return l.tensor
	}
	return torch.Full([]int{}, l.number, kw.Dtype(torch.Float64))
}

// add goes one step along d: downwards.
func (l pace) add(p, d *torch.Tensor) {
	if l.tensor != nil {
		p.Sub_(d.Mul(l.tensor))
		return
	}
	p.Add_(d, kw.Alpha(-l.number))
}

// addcdiv goes one step along a/b.
func (l pace) addcdiv(p, a, b *torch.Tensor) {
	if l.tensor != nil {
		p.Sub_(a.Div(b).Mul_(l.tensor))
		return
	}
	p.Addcdiv_(a, b, kw.Value(-l.number))
}

// under is x/-lr: a quotient's denominator grows by it as its step shrinks.
func (l pace) under(x *torch.Tensor) *torch.Tensor {
	if l.tensor != nil {
		return x.Div(l.tensor.Neg())
	}
	return x.Div(-l.number)
}

// shrink is weight decay of the parameters themselves.
func (l pace) shrink(p *torch.Tensor, decay float64) {
	if l.tensor != nil {
		p.Mul_(l.tensor.Mul(-decay).Add(1))
		return
	}
	p.Mul_(1 - l.number*decay)
}

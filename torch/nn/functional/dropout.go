package functional

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

// This file is what draws numbers: dropouts of single elements, of whole
// channels and of self-normalising nets, and RReLU. Each draws what PyTorch
// draws.

// drop is the settings of a dropout.
type drop struct {
	p    float64
	off  bool // there is nothing to draw
	over bool // the result is written over the input
}

// dropOf reads kw.P(0.5), kw.Training, which is training where it is left out,
// and kw.Inplace(false).
func dropOf(class string, training bool, opts []torch.Option) drop {
	d := drop{p: 0.5, off: !training}
	for _, o := range opts {
		switch o.Name {
		case "p":
			d.p = number(class, o)
		case "training":
			d.off = !truth(class, o)
		case "inplace":
			d.over = truth(class, o)
		default:
			unexpected(class, o)
		}
	}
	if !(d.p >= 0 && d.p <= 1) {
		panic(&torch.Error{
			Op: class, Kind: "ValueError",
			Msg: fmt.Sprintf("dropout probability has to be between 0 and 1, but got %v", d.p),
		})
	}
	d.off = d.off || d.p == 0
	return d
}

// apply is what f makes of x, or x itself where nothing is to be drawn.
func (d drop) apply(x *torch.Tensor, f func(x *torch.Tensor) *torch.Tensor) *torch.Tensor {
	if d.off {
		return x
	}
	return overInput(d.over, x, func(x *torch.Tensor) *torch.Tensor {
		if d.p == 1 {
			return x.Mul(0)
		}
		return f(x)
	})
}

// overInput writes what f makes of x over x where that is wanted. The derivative
// of f must not read x.
func overInput(over bool, x *torch.Tensor, f func(x *torch.Tensor) *torch.Tensor) *torch.Tensor {
	if !over {
		return f(x)
	}
	return x.Copy_(f(x))
}

// truth is the value of an option that is a bool.
func truth(class string, o torch.Option) bool {
	v, ok := o.Value.(bool)
	if !ok {
		panic(&torch.Error{
			Op: class, Kind: "TypeError",
			Msg: fmt.Sprintf("%s(): argument '%s' must be bool, not %T", class, o.Name, o.Value),
		})
	}
	return v
}

// number is the value of an option that is a number.
func number(class string, o torch.Option) float64 {
	switch v := o.Value.(type) {
	case float64:
		return v
	case int:
		return float64(v)
	}
	panic(&torch.Error{Op: class, Kind: "TypeError", Msg: fmt.Sprintf("%s(): argument '%s' must be float, not %T", class, o.Name, o.Value)})
}

func unexpected(class string, o torch.Option) {
	panic(&torch.Error{Op: class, Kind: "TypeError", Msg: fmt.Sprintf("%s() got an unexpected keyword argument '%s'", class, o.Name)})
}

// keeps draws one number for each element, or for each channel of each example:
// 1 with probability 1-p, else 0.
func keeps(x *torch.Tensor, p float64, channels bool) *torch.Tensor {
	if !channels {
		return torch.EmptyLike(x).Bernoulli_(1 - p)
	}
	size := make([]int, x.Dim())
	for i := range size {
		size[i] = 1
		if i < 2 {
			size[i] = x.Size(i)
		}
	}
	return torch.Empty(size, kw.Dtype(x.DType()), kw.Device(x.Device())).Bernoulli_(1 - p)
}

// ofChannels zeroes whole channels of examples of dims dimensions after the
// channels. An input without batch is a batch of one.
func ofChannels(class string, dims int, x *torch.Tensor, opts []torch.Option) *torch.Tensor {
	d := dropOf(class, true, opts)
	return d.apply(x, func(x *torch.Tensor) *torch.Tensor {
		if x.Dim() != dims+1 {
			return dropChannels(x, d.p)
		}
		return dropChannels(x.Unsqueeze(0), d.p).Squeeze(0)
	})
}

func dropChannels(x *torch.Tensor, p float64) *torch.Tensor {
	return x.Mul(keeps(x, p, true).Div_(1 - p))
}

// Dropout1d zeroes channels of [batch, channel, length] or [channel, length].
// Options: kw.P(0.5), kw.Training(true), kw.Inplace(false).
func Dropout1d(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	return ofChannels("dropout1d", 1, input, opts)
}

// Dropout2d zeroes channels of images; options as Dropout1d's.
func Dropout2d(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	return ofChannels("dropout2d", 2, input, opts)
}

// Dropout3d zeroes channels of volumes; options as Dropout1d's.
func Dropout3d(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	return ofChannels("dropout3d", 3, input, opts)
}

// seluFloor is what SELU sends the most negative numbers to, its sign flipped:
// scale times alpha.
const seluFloor = 1.7580993408473766

// alphaDrop sends what is not kept to SELU's floor, and moves and scales all so
// that mean and variance stay.
func alphaDrop(x *torch.Tensor, p float64, channels bool) *torch.Tensor {
	keep := keeps(x, p, channels)
	a := 1 / math.Sqrt((seluFloor*seluFloor*p+1)*(1-p))
	shift := keep.Add(-1).Mul_(seluFloor * a).Add_(seluFloor * a * p)
	return x.Mul(keep.Mul_(a)).Add(shift)
}

// AlphaDropout is dropout for nets of SELUs. Options: kw.P(0.5),
// kw.Training(false), kw.Inplace(false).
func AlphaDropout(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	d := dropOf("alpha_dropout", false, opts)
	return d.apply(input, func(x *torch.Tensor) *torch.Tensor { return alphaDrop(x, d.p, false) })
}

// FeatureAlphaDropout is AlphaDropout of whole channels; options as
// AlphaDropout's.
func FeatureAlphaDropout(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	d := dropOf("feature_alpha_dropout", false, opts)
	return d.apply(input, func(x *torch.Tensor) *torch.Tensor { return alphaDrop(x, d.p, true) })
}

// Rrelu is x above zero; below, x times a slope between kw.Lower(1.0/8) and
// kw.Upper(1.0/3): drawn for each element with kw.Training(true), else their
// middle. kw.Inplace(true) writes the result over the input.
func Rrelu(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	lower, upper, training, over := 1.0/8, 1.0/3, false, false
	for _, o := range opts {
		switch o.Name {
		case "lower":
			lower = number("rrelu", o)
		case "upper":
			upper = number("rrelu", o)
		case "training":
			training = truth("rrelu", o)
		case "inplace":
			over = truth("rrelu", o)
		default:
			unexpected("rrelu", o)
		}
	}
	if !training {
		return LeakyRelu(input, kw.NegativeSlope((lower+upper)/2), kw.Inplace(over))
	}
	return overInput(over, input, func(x *torch.Tensor) *torch.Tensor {
		below := x.Detach().Le(0)
		return torch.Where(below, x.Mul(slopes(x, below, lower, upper)), x)
	})
}

// Rrelu_ is Rrelu over its input.
func Rrelu_(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	return Rrelu(input, append(opts[:len(opts):len(opts)], kw.Inplace(true))...)
}

// slopes draws a number for every element that is below zero. A compiled
// function draws one for every element, as PyTorch's does: how many there are
// is not known there.
func slopes(x, below *torch.Tensor, lower, upper float64) *torch.Tensor {
	if compiler.IsCompiling() {
		return torch.EmptyLike(x).Uniform_(lower, upper)
	}
	count := below.Sum().ItemInt()
	if count == 0 {
		return torch.OnesLike(x)
	}
	drawn := torch.Empty(count, kw.Dtype(torch.Float64)).Uniform_(lower, upper)
	return torch.OnesLike(x).MaskedScatter(below, drawn.To(x.DType()))
}

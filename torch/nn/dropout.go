package nn

import (
	"fmt"
	"strconv"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// Drop is what dropouts share: the probability of zeroing, while training, and
// whether the result is written over the input.
type Drop struct {
	Training
	P       float64
	Inplace bool
	class   string
	f       function
}

// newDrop reads p, a number or kw.P, which is 0.5 where it is left out, and
// kw.Inplace(true).
func newDrop(class string, f function, args []any) Drop {
	d := Drop{P: 0.5, class: class, f: f}
	for i, a := range args {
		if o, ok := a.(torch.Option); ok && o.Name == "inplace" {
			d.Inplace = option([]torch.Option{o}, "inplace", false)
			continue
		} else if ok {
			known(class, []torch.Option{o}, "p")
		} else if i > 0 {
			panic(&torch.Error{
				Op: class, Kind: "TypeError",
				Msg: fmt.Sprintf("%s.__init__() takes a probability and options, not %v", class, args),
			})
		} else {
			a = kw.P(a)
		}
		d.P = option([]torch.Option{a.(torch.Option)}, "p", 0.5)
	}
	if !(d.P >= 0 && d.P <= 1) {
		panic(&torch.Error{
			Op: class, Kind: "ValueError",
			Msg: fmt.Sprintf("dropout probability has to be between 0 and 1, but got %v", d.P),
		})
	}
	return d
}

// Forward applies the layer.
func (d *Drop) Forward(x *torch.Tensor) *torch.Tensor {
	if d.Inplace {
		return d.f(x, kw.P(d.P), kw.Training(d.IsTraining()), kw.Inplace(true))
	}
	return d.f(x, kw.P(d.P), kw.Training(d.IsTraining()))
}

// Dropout zeroes elements with probability P while training and scales the
// others by 1/(1-P).
type Dropout struct{ Drop }

// NewDropout makes a Dropout with PyTorch's default 0.5 where p is left out.
// Option: kw.Inplace(true).
func NewDropout(args ...any) *Dropout { return &Dropout{newDrop("Dropout", F.Dropout, args)} }

// Forward applies the layer.
func (d *Dropout) Forward(x *torch.Tensor) *torch.Tensor {
	if !d.IsTraining() || d.P == 0 {
		return x
	}
	return d.Drop.Forward(x)
}

// FeatureDropout is Dropout of whole channels: Dropout1d, Dropout2d, Dropout3d.
type FeatureDropout struct {
	Drop
	dims int
}

// NewDropout1d zeroes channels of [batch, channel, length] or [channel, length];
// arguments as NewDropout's.
func NewDropout1d(args ...any) *FeatureDropout {
	return &FeatureDropout{newDrop("Dropout1d", F.Dropout1d, args), 1}
}

// NewDropout2d zeroes channels of images; arguments as NewDropout's.
func NewDropout2d(args ...any) *FeatureDropout {
	return &FeatureDropout{newDrop("Dropout2d", F.Dropout2d, args), 2}
}

// NewDropout3d zeroes channels of volumes; arguments as NewDropout's.
func NewDropout3d(args ...any) *FeatureDropout {
	return &FeatureDropout{newDrop("Dropout3d", F.Dropout3d, args), 3}
}

// Forward applies the layer.
func (d *FeatureDropout) Forward(x *torch.Tensor) *torch.Tensor {
	checkDims(d.class, strconv.Itoa(d.dims+1)+"D or "+strconv.Itoa(d.dims+2)+"D", x, d.dims+1, d.dims+2)
	return d.Drop.Forward(x)
}

// AlphaDropout is dropout that keeps mean and variance of what SELUs give; of
// single elements, or of whole channels.
type AlphaDropout struct{ Drop }

// NewAlphaDropout drops single elements; arguments as NewDropout's.
func NewAlphaDropout(args ...any) *AlphaDropout {
	return &AlphaDropout{newDrop("AlphaDropout", F.AlphaDropout, args)}
}

// NewFeatureAlphaDropout drops whole channels; arguments as NewDropout's.
func NewFeatureAlphaDropout(args ...any) *AlphaDropout {
	return &AlphaDropout{newDrop("FeatureAlphaDropout", F.FeatureAlphaDropout, args)}
}

// RReLU is x above zero and x times a random slope below.
type RReLU struct {
	Training
	Lower, Upper float64
	Inplace      bool
}

// NewRReLU makes an RReLU. Options: kw.Lower(1.0/8), kw.Upper(1.0/3),
// kw.Inplace(true).
func NewRReLU(opts ...torch.Option) *RReLU {
	known("RReLU", opts, "lower", "upper", "inplace")
	return &RReLU{Lower: option(opts, "lower", 1.0/8), Upper: option(opts, "upper", 1.0/3), Inplace: option(opts, "inplace", false)}
}

// Forward applies the function.
func (r *RReLU) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Rrelu(x, kw.Lower(r.Lower), kw.Upper(r.Upper), kw.Training(r.IsTraining()), kw.Inplace(r.Inplace))
}

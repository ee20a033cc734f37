package models

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// SqueezeNet is a small network of fire modules.
type SqueezeNet struct {
	Features, Classifier *nn.Sequential
}

// SqueezeNet1_0 makes a SqueezeNet 1.0. Options: kw.NumClasses(1000),
// kw.Dropout(0.5).
func SqueezeNet1_0(opts ...torch.Option) *SqueezeNet {
	return newSqueezeNet(nn.NewSequential(
		nn.NewConv2d(3, 96, 7, kw.Stride(2)), nn.NewReLU(kw.Inplace(true)), shrink(),
		newFire(96, 16, 64), newFire(128, 16, 64), newFire(128, 32, 128), shrink(),
		newFire(256, 32, 128), newFire(256, 48, 192), newFire(384, 48, 192), newFire(384, 64, 256), shrink(),
		newFire(512, 64, 256),
	), opts)
}

// SqueezeNet1_1 makes a SqueezeNet 1.1, which computes less; options as
// SqueezeNet1_0's.
func SqueezeNet1_1(opts ...torch.Option) *SqueezeNet {
	return newSqueezeNet(nn.NewSequential(
		nn.NewConv2d(3, 64, 3, kw.Stride(2)), nn.NewReLU(kw.Inplace(true)), shrink(),
		newFire(64, 16, 64), newFire(128, 16, 64), shrink(),
		newFire(128, 32, 128), newFire(256, 32, 128), shrink(),
		newFire(256, 48, 192), newFire(384, 48, 192), newFire(384, 64, 256), newFire(512, 64, 256),
	), opts)
}

func shrink() nn.Module { return nn.NewMaxPool2d(3, kw.Stride(2), kw.CeilMode(true)) }

func newSqueezeNet(features *nn.Sequential, opts []torch.Option) *SqueezeNet {
	s := read("SqueezeNet", opts, "num_classes", "dropout")
	final := nn.NewConv2d(512, s.whole("num_classes", 1000), 1)
	m := &SqueezeNet{
		features,
		nn.NewSequential(nn.NewDropout(s.number("dropout", 0.5)), final, nn.NewReLU(kw.Inplace(true)), nn.NewAdaptiveAvgPool2d(1)),
	}
	nn.Walk(m, func(_ string, part any) {
		c, ok := part.(*nn.Conv2d)
		switch {
		case !ok:
			return
		case c == final:
			nn.Normal_(c.Weight, 0, 0.01)
		default:
			nn.KaimingUniform_(c.Weight)
		}
		nn.Zeros_(c.Bias)
	})
	return m
}

// Forward takes float32[batch, 3, height, width] to float32[batch, classes].
func (m *SqueezeNet) Forward(x *torch.Tensor) *torch.Tensor {
	return flat(m.Classifier.Forward(m.Features.Forward(x)))
}

// Fire squeezes the channels and expands them by 1x1 and 3x3 convolutions.
type Fire struct {
	Squeeze           *nn.Conv2d
	SqueezeActivation *nn.ReLU
	Expand1x1         *nn.Conv2d `torch:"expand1x1"`
	Expand1x1Act      *nn.ReLU   `torch:"expand1x1_activation"`
	Expand3x3         *nn.Conv2d `torch:"expand3x3"`
	Expand3x3Act      *nn.ReLU   `torch:"expand3x3_activation"`
}

// newFire makes a Fire that gives expand channels by each of its two ways.
func newFire(in, squeeze, expand int) *Fire {
	return &Fire{
		nn.NewConv2d(in, squeeze, 1), nn.NewReLU(kw.Inplace(true)),
		nn.NewConv2d(squeeze, expand, 1), nn.NewReLU(kw.Inplace(true)),
		nn.NewConv2d(squeeze, expand, 3, kw.Padding(1)), nn.NewReLU(kw.Inplace(true)),
	}
}

// Forward applies the module.
func (f *Fire) Forward(x *torch.Tensor) *torch.Tensor {
	x = f.SqueezeActivation.Forward(f.Squeeze.Forward(x))
	return torch.Cat([]*torch.Tensor{
		f.Expand1x1Act.Forward(f.Expand1x1.Forward(x)),
		f.Expand3x3Act.Forward(f.Expand3x3.Forward(x)),
	}, kw.Dim(1))
}

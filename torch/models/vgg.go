package models

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// VGG is a plain stack of 3x3 convolutions and three linear layers.
type VGG struct {
	Features   *nn.Sequential
	Avgpool    *nn.AdaptiveAvgPool2d
	Classifier *nn.Sequential
}

// pool stands for a pooling layer in a VGG's list of channels.
const pool = 0

// VGG11 makes a VGG-11.
func VGG11() *VGG {
	return newVGG([]int{64, pool, 128, pool, 256, 256, pool, 512, 512, pool, 512, 512, pool})
}

// VGG16 makes a VGG-16.
func VGG16() *VGG {
	return newVGG([]int{64, 64, pool, 128, 128, pool, 256, 256, 256, pool, 512, 512, 512, pool, 512, 512, 512, pool})
}

func newVGG(channels []int) *VGG {
	features := nn.NewSequential()
	in := 3
	for _, c := range channels {
		if c == pool {
			features.Append(nn.NewMaxPool2d(2, kw.Stride(2)))
			continue
		}
		features.Append(nn.NewConv2d(in, c, 3, kw.Padding(1)))
		features.Append(nn.NewReLU(kw.Inplace(true)))
		in = c
	}
	m := &VGG{features, nn.NewAdaptiveAvgPool2d(7), nn.NewSequential(
		nn.NewLinear(512*7*7, 4096), nn.NewReLU(kw.Inplace(true)), nn.NewDropout(),
		nn.NewLinear(4096, 4096), nn.NewReLU(kw.Inplace(true)), nn.NewDropout(),
		nn.NewLinear(4096, 1000),
	)}
	kaimingFanOut(m.Features)
	nn.Walk(m.Classifier, func(_ string, part any) {
		if l, ok := part.(*nn.Linear); ok {
			nn.Normal_(l.Weight, 0, 0.01)
			nn.Zeros_(l.Bias)
		}
	})
	return m
}

// Forward takes float32[batch, 3, height, width] to float32[batch, 1000].
func (m *VGG) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Classifier.Forward(flat(m.Avgpool.Forward(m.Features.Forward(x))))
}

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

// VGG11 makes a VGG-11; options as NewVGG's.
func VGG11(opts ...torch.Option) *VGG {
	return NewVGG([]int{64, pool, 128, pool, 256, 256, pool, 512, 512, pool, 512, 512, pool}, opts...)
}

// VGG13 makes a VGG-13.
func VGG13(opts ...torch.Option) *VGG {
	return NewVGG([]int{64, 64, pool, 128, 128, pool, 256, 256, pool, 512, 512, pool, 512, 512, pool}, opts...)
}

// VGG16 makes a VGG-16.
func VGG16(opts ...torch.Option) *VGG {
	return NewVGG([]int{64, 64, pool, 128, 128, pool, 256, 256, 256, pool, 512, 512, 512, pool, 512, 512, 512, pool}, opts...)
}

// VGG19 makes a VGG-19.
func VGG19(opts ...torch.Option) *VGG {
	return NewVGG([]int{
		64, 64, pool, 128, 128, pool, 256, 256, 256, 256, pool, 512, 512, 512, 512, pool, 512, 512, 512, 512,
		pool,
	}, opts...)
}

// NewVGG makes a VGG whose convolutions have the given numbers of channels; 0
// stands for a pooling layer. Options: kw.BatchNorm(true), which torchvision
// names vgg11_bn; kw.Dropout(0.5), kw.NumClasses(1000).
func NewVGG(channels []int, opts ...torch.Option) *VGG {
	s := read("VGG", opts, "batch_norm", "dropout", "num_classes")
	drop, norm := s.number("dropout", 0.5), s.flag("batch_norm")
	features := nn.NewSequential()
	in := 3
	for _, c := range channels {
		if c == pool {
			features.Append(nn.NewMaxPool2d(2, kw.Stride(2)))
			continue
		}
		features.Append(nn.NewConv2d(in, c, 3, kw.Padding(1)))
		if norm {
			features.Append(nn.NewBatchNorm2d(c))
		}
		features.Append(nn.NewReLU(kw.Inplace(true)))
		in = c
	}
	m := &VGG{features, nn.NewAdaptiveAvgPool2d(7), nn.NewSequential(
		nn.NewLinear(in*7*7, 4096), nn.NewReLU(kw.Inplace(true)), nn.NewDropout(drop),
		nn.NewLinear(4096, 4096), nn.NewReLU(kw.Inplace(true)), nn.NewDropout(drop),
		nn.NewLinear(4096, s.whole("num_classes", 1000)),
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

// Forward takes float32[batch, 3, height, width] to float32[batch, classes].
func (m *VGG) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Classifier.Forward(flat(m.Avgpool.Forward(m.Features.Forward(x))))
}

package models

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// DenseNet is a network whose layers read the results of all before them.
type DenseNet struct {
	Features   *nn.NamedSequential
	Classifier *nn.Linear
}

// DenseNet121 makes a DenseNet-121; options as NewDenseNet's.
func DenseNet121(opts ...torch.Option) *DenseNet {
	return NewDenseNet(32, []int{6, 12, 24, 16}, 64, opts...)
}

// DenseNet161 makes a DenseNet-161.
func DenseNet161(opts ...torch.Option) *DenseNet {
	return NewDenseNet(48, []int{6, 12, 36, 24}, 96, opts...)
}

// DenseNet169 makes a DenseNet-169.
func DenseNet169(opts ...torch.Option) *DenseNet {
	return NewDenseNet(32, []int{6, 12, 32, 32}, 64, opts...)
}

// DenseNet201 makes a DenseNet-201.
func DenseNet201(opts ...torch.Option) *DenseNet {
	return NewDenseNet(32, []int{6, 12, 48, 32}, 64, opts...)
}

// NewDenseNet makes a DenseNet whose layers add growth channels each, from first
// ones on; blocks has the number of layers of each block. Options: kw.BnSize(4),
// channels between a layer's convolutions in units of growth; kw.DropRate(0),
// kw.NumClasses(1000).
func NewDenseNet(growth int, blocks []int, first int, opts ...torch.Option) *DenseNet {
	s := read("DenseNet", opts, "bn_size", "drop_rate", "num_classes")
	size, drop := s.whole("bn_size", 4), s.number("drop_rate", 0)
	f := nn.NewNamedSequential()
	f.AddModule("conv0", conv(3, first, 7, 2, 3))
	f.AddModule("norm0", nn.NewBatchNorm2d(first))
	f.AddModule("relu0", nn.NewReLU(kw.Inplace(true)))
	f.AddModule("pool0", nn.NewMaxPool2d(3, kw.Stride(2), kw.Padding(1)))
	channels := first
	for i, layers := range blocks {
		f.AddModule(fmt.Sprintf("denseblock%d", i+1), newDenseBlock(layers, channels, growth, size, drop))
		channels += layers * growth
		if i != len(blocks)-1 {
			f.AddModule(fmt.Sprintf("transition%d", i+1), newTransition(channels, channels/2))
			channels /= 2
		}
	}
	f.AddModule("norm5", nn.NewBatchNorm2d(channels))
	m := &DenseNet{f, nn.NewLinear(channels, s.whole("num_classes", 1000))}
	nn.Walk(m, func(_ string, part any) {
		if c, ok := part.(*nn.Conv2d); ok {
			nn.KaimingNormal_(c.Weight)
		}
	})
	nn.Zeros_(m.Classifier.Bias)
	return m
}

// Forward takes float32[batch, 3, height, width] to float32[batch, classes].
func (m *DenseNet) Forward(x *torch.Tensor) *torch.Tensor {
	y := m.Features.Forward(x).Relu_()
	return m.Classifier.Forward(flat(globalPool(y)))
}

// DenseBlock is layers whose results are joined, each reading all before it.
type DenseBlock struct{ Layers []*DenseLayer }

func newDenseBlock(layers, in, growth, size int, drop float64) *DenseBlock {
	b := &DenseBlock{}
	for i := range layers {
		b.Layers = append(b.Layers, newDenseLayer(in+i*growth, growth, size, drop))
	}
	return b
}

// Parts lists the layers under torchvision's names.
func (b *DenseBlock) Parts() []torch.Field {
	out := make([]torch.Field, len(b.Layers))
	for i, l := range b.Layers {
		out[i] = torch.Field{Name: fmt.Sprintf("denselayer%d", i+1), Value: l}
	}
	return out
}

// Forward applies the block.
func (b *DenseBlock) Forward(x *torch.Tensor) *torch.Tensor {
	features := []*torch.Tensor{x}
	for _, l := range b.Layers {
		features = append(features, l.Forward(torch.Cat(features, kw.Dim(1))))
	}
	return torch.Cat(features, kw.Dim(1))
}

// DenseLayer is a 1x1 and a 3x3 convolution, each after a normalisation.
type DenseLayer struct {
	Norm1   *nn.BatchNorm2d
	Relu1   *nn.ReLU
	Conv1   *nn.Conv2d
	Norm2   *nn.BatchNorm2d
	Relu2   *nn.ReLU
	Conv2   *nn.Conv2d
	Dropout *nn.Dropout
}

func newDenseLayer(in, growth, width int, drop float64) *DenseLayer {
	return &DenseLayer{
		nn.NewBatchNorm2d(in), nn.NewReLU(kw.Inplace(true)), conv(in, width*growth, 1, 1, 0),
		nn.NewBatchNorm2d(width * growth), nn.NewReLU(kw.Inplace(true)), conv(width*growth, growth, 3, 1, 1),
		nn.NewDropout(drop),
	}
}

// Forward applies the layer to the joined results of those before it.
func (l *DenseLayer) Forward(x *torch.Tensor) *torch.Tensor {
	x = l.Conv1.Forward(l.Relu1.Forward(l.Norm1.Forward(x)))
	return l.Dropout.Forward(l.Conv2.Forward(l.Relu2.Forward(l.Norm2.Forward(x))))
}

func newTransition(in, out int) *nn.NamedSequential {
	return nn.NewNamedSequential(
		nn.NamedModule{Name: "norm", Module: nn.NewBatchNorm2d(in)},
		nn.NamedModule{Name: "relu", Module: nn.NewReLU(kw.Inplace(true))},
		nn.NamedModule{Name: "conv", Module: conv(in, out, 1, 1, 0)},
		nn.NamedModule{Name: "pool", Module: nn.NewAvgPool2d(2, kw.Stride(2))},
	)
}

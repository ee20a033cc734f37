package models

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

// ResNet is a residual network for images.
type ResNet struct {
	Conv1                          *nn.Conv2d
	Bn1                            *nn.BatchNorm2d
	Relu                           *nn.ReLU
	Maxpool                        *nn.MaxPool2d
	Layer1, Layer2, Layer3, Layer4 *nn.Sequential
	Avgpool                        *nn.AdaptiveAvgPool2d
	Fc                             *nn.Linear
}

// ResNet18 makes a ResNet-18.
func ResNet18() *ResNet { return newResNet(newBasicBlock, 1, [4]int{2, 2, 2, 2}) }

// ResNet34 makes a ResNet-34.
func ResNet34() *ResNet { return newResNet(newBasicBlock, 1, [4]int{3, 4, 6, 3}) }

// ResNet50 makes a ResNet-50.
func ResNet50() *ResNet { return newResNet(newBottleneck, 4, [4]int{3, 4, 6, 3}) }

// ResNet101 makes a ResNet-101.
func ResNet101() *ResNet { return newResNet(newBottleneck, 4, [4]int{3, 4, 23, 3}) }

// makeBlock makes a block from in channels to width times the expansion;
// downsample, which may be nil, brings the input to the same shape.
type makeBlock func(in, width, stride int, downsample *nn.Sequential) nn.Module

func newResNet(block makeBlock, expansion int, depth [4]int) *ResNet {
	m := &ResNet{
		Conv1: conv(3, 64, 7, 2, 3), Bn1: nn.NewBatchNorm2d(64), Relu: nn.NewReLU(kw.Inplace(true)),
		Maxpool: nn.NewMaxPool2d(3, kw.Stride(2), kw.Padding(1)),
		Avgpool: nn.NewAdaptiveAvgPool2d(1),
	}
	in := 64
	for i, layer := range []**nn.Sequential{&m.Layer1, &m.Layer2, &m.Layer3, &m.Layer4} {
		width, stride := 64<<i, 1
		if i > 0 {
			stride = 2
		}
		*layer = newResLayer(block, in, width, expansion, stride, depth[i])
		in = width * expansion
	}
	m.Fc = nn.NewLinear(in, 1000)
	kaimingFanOut(m)
	return m
}

func newResLayer(block makeBlock, in, width, expansion, stride, depth int) *nn.Sequential {
	out := width * expansion
	var down *nn.Sequential
	if stride != 1 || in != out {
		down = nn.NewSequential(conv(in, out, 1, stride, 0), nn.NewBatchNorm2d(out))
	}
	s := nn.NewSequential(block(in, width, stride, down))
	for range depth - 1 {
		s.Append(block(out, width, 1, nil))
	}
	return s
}

// conv is a convolution without bias.
func conv(in, out, kernel, stride, padding int) *nn.Conv2d {
	return nn.NewConv2d(in, out, kernel, kw.Stride(stride), kw.Padding(padding), kw.Bias(false))
}

// kaimingFanOut draws the convolutions anew as torchvision does for ResNets.
func kaimingFanOut(m any) {
	nn.Walk(m, func(_ string, part any) {
		if c, ok := part.(*nn.Conv2d); ok {
			nn.KaimingNormal_(c.Weight, kw.Mode("fan_out"), kw.Nonlinearity("relu"))
			if c.Bias != nil {
				nn.Zeros_(c.Bias)
			}
		}
	})
}

// Forward takes float32[batch, 3, height, width] to float32[batch, 1000].
func (m *ResNet) Forward(x *torch.Tensor) *torch.Tensor {
	x = m.Maxpool.Forward(m.Relu.Forward(m.Bn1.Forward(m.Conv1.Forward(x))))
	x = m.Layer1.Forward(x)
	x = m.Layer2.Forward(x)
	x = m.Layer3.Forward(x)
	x = m.Layer4.Forward(x)
	return m.Fc.Forward(flat(m.Avgpool.Forward(x)))
}

// flat joins all dimensions but the first.
func flat(x *torch.Tensor) *torch.Tensor { return x.Flatten(kw.StartDim(1)) }

// globalPool is the mean over height and width, which stay as 1.
func globalPool(x *torch.Tensor) *torch.Tensor { return F.AdaptiveAvgPool2d(x, 1) }

// BasicBlock is two convolutions beside a shortcut.
type BasicBlock struct {
	Conv1      *nn.Conv2d
	Bn1        *nn.BatchNorm2d
	Relu       *nn.ReLU
	Conv2      *nn.Conv2d
	Bn2        *nn.BatchNorm2d
	Downsample *nn.Sequential
}

func newBasicBlock(in, width, stride int, down *nn.Sequential) nn.Module {
	return &BasicBlock{
		conv(in, width, 3, stride, 1), nn.NewBatchNorm2d(width), nn.NewReLU(kw.Inplace(true)),
		conv(width, width, 3, 1, 1), nn.NewBatchNorm2d(width), down,
	}
}

// Forward applies the block.
func (b *BasicBlock) Forward(x *torch.Tensor) *torch.Tensor {
	y := b.Relu.Forward(b.Bn1.Forward(b.Conv1.Forward(x)))
	y = b.Bn2.Forward(b.Conv2.Forward(y))
	return b.Relu.Forward(y.Add_(shortcut(b.Downsample, x)))
}

func shortcut(down *nn.Sequential, x *torch.Tensor) *torch.Tensor {
	if down == nil {
		return x
	}
	return down.Forward(x)
}

// Bottleneck is a 3x3 convolution between two of 1x1, beside a shortcut.
type Bottleneck struct {
	Conv1      *nn.Conv2d
	Bn1        *nn.BatchNorm2d
	Conv2      *nn.Conv2d
	Bn2        *nn.BatchNorm2d
	Conv3      *nn.Conv2d
	Bn3        *nn.BatchNorm2d
	Relu       *nn.ReLU
	Downsample *nn.Sequential
}

func newBottleneck(in, width, stride int, down *nn.Sequential) nn.Module {
	return &Bottleneck{
		conv(in, width, 1, 1, 0), nn.NewBatchNorm2d(width),
		conv(width, width, 3, stride, 1), nn.NewBatchNorm2d(width),
		conv(width, 4*width, 1, 1, 0), nn.NewBatchNorm2d(4 * width),
		nn.NewReLU(kw.Inplace(true)), down,
	}
}

// Forward applies the block.
func (b *Bottleneck) Forward(x *torch.Tensor) *torch.Tensor {
	y := b.Relu.Forward(b.Bn1.Forward(b.Conv1.Forward(x)))
	y = b.Relu.Forward(b.Bn2.Forward(b.Conv2.Forward(y)))
	y = b.Bn3.Forward(b.Conv3.Forward(y))
	return b.Relu.Forward(y.Add_(shortcut(b.Downsample, x)))
}

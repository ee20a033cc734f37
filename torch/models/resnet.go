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

// ResNetBlock is the kind of block of which a ResNet is built.
type ResNetBlock int

// The blocks.
const (
	BasicBlocks ResNetBlock = iota // two 3x3 convolutions
	Bottlenecks                    // a 3x3 convolution between two of 1x1
)

// expansion is the number of channels of a block's result in units of its width.
func (b ResNetBlock) expansion() int {
	if b == Bottlenecks {
		return 4
	}
	return 1
}

// ResNet18 makes a ResNet-18; options as NewResNet's.
func ResNet18(opts ...torch.Option) *ResNet {
	return NewResNet(BasicBlocks, []int{2, 2, 2, 2}, opts...)
}

// ResNet34 makes a ResNet-34.
func ResNet34(opts ...torch.Option) *ResNet {
	return NewResNet(BasicBlocks, []int{3, 4, 6, 3}, opts...)
}

// ResNet50 makes a ResNet-50.
func ResNet50(opts ...torch.Option) *ResNet {
	return NewResNet(Bottlenecks, []int{3, 4, 6, 3}, opts...)
}

// ResNet101 makes a ResNet-101.
func ResNet101(opts ...torch.Option) *ResNet {
	return NewResNet(Bottlenecks, []int{3, 4, 23, 3}, opts...)
}

// ResNet152 makes a ResNet-152.
func ResNet152(opts ...torch.Option) *ResNet {
	return NewResNet(Bottlenecks, []int{3, 8, 36, 3}, opts...)
}

// ResNeXt50_32x4d makes a ResNeXt-50 of 32 groups.
func ResNeXt50_32x4d(opts ...torch.Option) *ResNet {
	return ResNet50(or(opts, kw.Groups(32), kw.WidthPerGroup(4))...)
}

// ResNeXt101_32x8d makes a ResNeXt-101 of 32 groups.
func ResNeXt101_32x8d(opts ...torch.Option) *ResNet {
	return ResNet101(or(opts, kw.Groups(32), kw.WidthPerGroup(8))...)
}

// WideResNet50_2 makes a ResNet-50 whose bottlenecks are twice as wide.
func WideResNet50_2(opts ...torch.Option) *ResNet {
	return ResNet50(or(opts, kw.WidthPerGroup(128))...)
}

// WideResNet101_2 makes a ResNet-101 whose bottlenecks are twice as wide.
func WideResNet101_2(opts ...torch.Option) *ResNet {
	return ResNet101(or(opts, kw.WidthPerGroup(128))...)
}

// NewResNet makes a ResNet whose four stages have as many blocks as layers says.
// Options: kw.NumClasses(1000), kw.ZeroInitResidual(false), kw.Groups(1),
// kw.WidthPerGroup(64).
func NewResNet(block ResNetBlock, layers []int, opts ...torch.Option) *ResNet {
	s := read("ResNet", opts, "num_classes", "zero_init_residual", "groups", "width_per_group")
	shape := resShape{block, s.whole("groups", 1), s.whole("width_per_group", 64)}
	if len(layers) != 4 {
		refuse("ResNet", "ValueError", "layers must name the blocks of 4 stages, not of %d", len(layers))
	}
	if block == BasicBlocks && (shape.groups != 1 || shape.widthPerGroup != 64) {
		refuse("ResNet", "ValueError", "BasicBlock only supports groups=1 and base_width=64")
	}
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
		*layer = shape.layer(in, width, stride, layers[i])
		in = width * block.expansion()
	}
	m.Fc = nn.NewLinear(in, s.whole("num_classes", 1000))
	kaimingFanOut(m)
	if s.flag("zero_init_residual") {
		zeroLastNorms(m)
	}
	return m
}

// zeroLastNorms lets every block start as the identity.
func zeroLastNorms(m any) {
	nn.Walk(m, func(_ string, part any) {
		switch b := part.(type) {
		case *BasicBlock:
			nn.Zeros_(b.Bn2.Weight)
		case *Bottleneck:
			nn.Zeros_(b.Bn3.Weight)
		}
	})
}

// resShape is what all blocks of a ResNet have in common.
type resShape struct {
	block                 ResNetBlock
	groups, widthPerGroup int
}

func (r resShape) layer(in, width, stride, depth int) *nn.Sequential {
	out := width * r.block.expansion()
	var down *nn.Sequential
	if stride != 1 || in != out {
		down = nn.NewSequential(conv(in, out, 1, stride, 0), nn.NewBatchNorm2d(out))
	}
	s := nn.NewSequential(r.newBlock(in, width, stride, down))
	for range depth - 1 {
		s.Append(r.newBlock(out, width, 1, nil))
	}
	return s
}

// newBlock makes a block from in channels to width times the expansion;
// downsample, which may be nil, brings the input to the same shape.
func (r resShape) newBlock(in, width, stride int, downsample *nn.Sequential) nn.Module {
	if r.block == Bottlenecks {
		return newBottleneck(in, width*r.widthPerGroup/64*r.groups, 4*width, stride, r.groups, downsample)
	}
	return newBasicBlock(in, width, stride, downsample)
}

// conv is a convolution without bias.
func conv(in, out, kernel, stride, padding int) *nn.Conv2d {
	return nn.NewConv2d(in, out, kernel, kw.Stride(stride), kw.Padding(padding), kw.Bias(false))
}

// kaimingFanOut draws the convolutions again as torchvision does for ResNets.
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

// Forward takes float32[batch, 3, height, width] to float32[batch, classes].
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

// newBottleneck makes a Bottleneck whose 3x3 convolution has width channels.
func newBottleneck(in, width, out, stride, groups int, down *nn.Sequential) nn.Module {
	return &Bottleneck{
		conv(in, width, 1, 1, 0), nn.NewBatchNorm2d(width),
		nn.NewConv2d(width, width, 3, kw.Stride(stride), kw.Padding(1), kw.Groups(groups), kw.Bias(false)), nn.NewBatchNorm2d(width),
		conv(width, out, 1, 1, 0), nn.NewBatchNorm2d(out),
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

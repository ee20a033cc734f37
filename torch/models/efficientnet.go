package models

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// EfficientNet is a network of MBConv blocks.
type EfficientNet struct {
	Features   *nn.Sequential
	Avgpool    *nn.AdaptiveAvgPool2d
	Classifier *nn.Sequential
}

// EfficientNetB0 makes an EfficientNet-B0.
func EfficientNetB0() *EfficientNet {
	stages := []struct{ expand, kernel, stride, in, out, layers int }{
		{1, 3, 1, 32, 16, 1},
		{6, 3, 2, 16, 24, 2},
		{6, 5, 2, 24, 40, 2},
		{6, 3, 2, 40, 80, 3},
		{6, 5, 1, 80, 112, 3},
		{6, 5, 2, 112, 192, 4},
		{6, 3, 1, 192, 320, 1},
	}
	total := 0
	for _, s := range stages {
		total += s.layers
	}
	f := nn.NewSequential(convNormAct(3, 32, 3, 2, 1, batchNorm, silu))
	done := 0
	for _, s := range stages {
		stage := nn.NewSequential()
		in, stride := s.in, s.stride
		for range s.layers {
			drop := 0.2 * float64(done) / float64(total)
			stage.Append(newMBConv(in, s.out, s.expand, s.kernel, stride, drop))
			in, stride = s.out, 1
			done++
		}
		f.Append(stage)
	}
	f.Append(convNormAct(320, 1280, 1, 1, 1, batchNorm, silu))
	head := nn.NewLinear(1280, 1000)
	m := &EfficientNet{f, nn.NewAdaptiveAvgPool2d(1), nn.NewSequential(nn.NewDropout(0.2), head)}
	kaimingFanOut(m)
	uniformFanOut(head)
	return m
}

func batchNorm(n int) nn.Module { return nn.NewBatchNorm2d(n) }

// Forward takes float32[batch, 3, height, width] to float32[batch, 1000].
func (m *EfficientNet) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Classifier.Forward(flat(m.Avgpool.Forward(m.Features.Forward(x))))
}

// MBConv expands, convolves each channel, squeezes and excites, projects.
type MBConv struct {
	Block           *nn.Sequential
	StochasticDepth *StochasticDepth
	residual        bool
}

func newMBConv(in, out, expand, kernel, stride int, drop float64) *MBConv {
	s, width := nn.NewSequential(), in*expand
	if width != in {
		s.Append(convNormAct(in, width, 1, 1, 1, batchNorm, silu))
	}
	s.Append(convNormAct(width, width, kernel, stride, width, batchNorm, silu))
	s.Append(newSqueezeExcitation(width, max(1, in/4), silu(), nn.NewSigmoid()))
	s.Append(convNormAct(width, out, 1, 1, 1, batchNorm, nil))
	return &MBConv{s, &StochasticDepth{P: drop}, stride == 1 && in == out}
}

// Forward applies the block.
func (b *MBConv) Forward(x *torch.Tensor) *torch.Tensor {
	y := b.Block.Forward(x)
	if b.residual {
		y = b.StochasticDepth.Forward(y).Add(x)
	}
	return y
}

// ConvNeXt is a convolutional network built like a transformer.
type ConvNeXt struct {
	Features   *nn.Sequential
	Avgpool    *nn.AdaptiveAvgPool2d
	Classifier *nn.Sequential
}

// ConvNeXtTiny makes a ConvNeXt-tiny.
func ConvNeXtTiny() *ConvNeXt {
	channels, layers := []int{96, 192, 384, 768}, []int{3, 3, 9, 3}
	f := nn.NewSequential(nn.NewSequential(
		nn.NewConv2d(3, channels[0], 4, kw.Stride(4)), newLayerNorm2d(channels[0]),
	))
	done := 0
	for i, n := range layers {
		stage := nn.NewSequential()
		for range n {
			stage.Append(newCNBlock(channels[i], 0.1*float64(done)/17))
			done++
		}
		f.Append(stage)
		if i+1 < len(channels) {
			f.Append(nn.NewSequential(newLayerNorm2d(channels[i]), nn.NewConv2d(channels[i], channels[i+1], 2, kw.Stride(2))))
		}
	}
	m := &ConvNeXt{f, nn.NewAdaptiveAvgPool2d(1), nn.NewSequential(
		newLayerNorm2d(768), nn.NewFlatten(), nn.NewLinear(768, 1000),
	)}
	nn.Walk(m, func(_ string, part any) {
		switch p := part.(type) {
		case *nn.Conv2d:
			truncatedNormal(p.Weight, 0.02)
			nn.Zeros_(p.Bias)
		case *nn.Linear:
			truncatedNormal(p.Weight, 0.02)
			nn.Zeros_(p.Bias)
		}
	})
	return m
}

// Forward takes float32[batch, 3, height, width] to float32[batch, 1000].
func (m *ConvNeXt) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Classifier.Forward(m.Avgpool.Forward(m.Features.Forward(x)))
}

// LayerNorm2d normalises the channels of each pixel.
type LayerNorm2d struct{ nn.LayerNorm }

func newLayerNorm2d(channels int) *LayerNorm2d {
	return &LayerNorm2d{*nn.NewLayerNorm(channels, kw.Eps(1e-6))}
}

// Forward applies the layer to [batch, channel, height, width].
func (l *LayerNorm2d) Forward(x *torch.Tensor) *torch.Tensor {
	return l.LayerNorm.Forward(x.Permute(0, 2, 3, 1)).Permute(0, 3, 1, 2)
}

// permute reorders dimensions.
type permute []int

func (p permute) Forward(x *torch.Tensor) *torch.Tensor { return x.Permute(p...) }

// CNBlock is ConvNeXt's residual block: a 7x7 convolution of each channel and
// a perceptron for each pixel.
type CNBlock struct {
	LayerScale      *torch.Tensor
	Block           *nn.Sequential
	StochasticDepth *StochasticDepth
}

func newCNBlock(dim int, drop float64) *CNBlock {
	return &CNBlock{
		LayerScale: torch.Ones(dim, 1, 1).Mul(1e-6).RequiresGrad_(),
		Block: nn.NewSequential(
			nn.NewConv2d(dim, dim, 7, kw.Padding(3), kw.Groups(dim)),
			permute{0, 2, 3, 1},
			nn.NewLayerNorm(dim, kw.Eps(1e-6)),
			nn.NewLinear(dim, 4*dim),
			nn.NewGELU(),
			nn.NewLinear(4*dim, dim),
			permute{0, 3, 1, 2},
		),
		StochasticDepth: &StochasticDepth{P: drop},
	}
}

// Forward applies the block.
func (b *CNBlock) Forward(x *torch.Tensor) *torch.Tensor {
	return b.StochasticDepth.Forward(b.LayerScale.Mul(b.Block.Forward(x))).Add(x)
}

// truncatedNormal fills t with normal numbers cut at two either side.
func truncatedNormal(t *torch.Tensor, std float64) { nn.TruncNormal_(t, 0, std, -2, 2) }

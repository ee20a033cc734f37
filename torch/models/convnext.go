package models

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// ConvNeXt is a convolutional network built like a transformer.
type ConvNeXt struct {
	Features   *nn.Sequential
	Avgpool    *nn.AdaptiveAvgPool2d
	Classifier *nn.Sequential
}

// ConvNeXtTiny makes a ConvNeXt-tiny; options as NewConvNeXt's.
func ConvNeXtTiny(opts ...torch.Option) *ConvNeXt {
	return NewConvNeXt([]int{96, 192, 384, 768}, []int{3, 3, 9, 3}, or(opts, kw.StochasticDepthProb(0.1))...)
}

// ConvNeXtSmall makes a ConvNeXt-small.
func ConvNeXtSmall(opts ...torch.Option) *ConvNeXt {
	return NewConvNeXt([]int{96, 192, 384, 768}, []int{3, 3, 27, 3}, or(opts, kw.StochasticDepthProb(0.4))...)
}

// ConvNeXtBase makes a ConvNeXt-base.
func ConvNeXtBase(opts ...torch.Option) *ConvNeXt {
	return NewConvNeXt([]int{128, 256, 512, 1024}, []int{3, 3, 27, 3}, or(opts, kw.StochasticDepthProb(0.5))...)
}

// NewConvNeXt makes a ConvNeXt whose stages have the given numbers of channels
// and blocks. Options: kw.StochasticDepthProb(0), kw.LayerScale(1e-6),
// kw.NumClasses(1000).
func NewConvNeXt(channels, layers []int, opts ...torch.Option) *ConvNeXt {
	s := read("ConvNeXt", opts, "stochastic_depth_prob", "layer_scale", "num_classes")
	drop, scale := s.number("stochastic_depth_prob", 0), s.number("layer_scale", 1e-6)
	if len(channels) != len(layers) || len(layers) == 0 {
		refuse("ConvNeXt", "ValueError", "%d stages have channels and %d have layers", len(channels), len(layers))
	}
	total := 0
	for _, n := range layers {
		total += n
	}
	f := nn.NewSequential(nn.NewSequential(
		nn.NewConv2d(3, channels[0], 4, kw.Stride(4)), newLayerNorm2d(channels[0]),
	))
	done := 0
	for i, n := range layers {
		stage := nn.NewSequential()
		for range n {
			stage.Append(newCNBlock(channels[i], scale, drop*float64(done)/max(1, float64(total-1))))
			done++
		}
		f.Append(stage)
		if i+1 < len(channels) {
			f.Append(nn.NewSequential(newLayerNorm2d(channels[i]), nn.NewConv2d(channels[i], channels[i+1], 2, kw.Stride(2))))
		}
	}
	last := channels[len(channels)-1]
	m := &ConvNeXt{f, nn.NewAdaptiveAvgPool2d(1), nn.NewSequential(
		newLayerNorm2d(last), nn.NewFlatten(), nn.NewLinear(last, s.whole("num_classes", 1000)),
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

// Forward takes float32[batch, 3, height, width] to float32[batch, classes].
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

func newCNBlock(dim int, scale, drop float64) *CNBlock {
	return &CNBlock{
		LayerScale: torch.Ones(dim, 1, 1).Mul(scale).RequiresGrad_(),
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

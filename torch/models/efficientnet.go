package models

import (
	"math"

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

// EfficientNetB0 makes an EfficientNet-B0; options as NewEfficientNet's.
func EfficientNetB0(opts ...torch.Option) *EfficientNet {
	return NewEfficientNet(or(opts, kw.Dropout(0.2))...)
}

// EfficientNetB1 makes an EfficientNet-B1.
func EfficientNetB1(opts ...torch.Option) *EfficientNet {
	return NewEfficientNet(or(opts, kw.DepthMult(1.1), kw.Dropout(0.2))...)
}

// EfficientNetB2 makes an EfficientNet-B2.
func EfficientNetB2(opts ...torch.Option) *EfficientNet {
	return NewEfficientNet(or(opts, kw.WidthMult(1.1), kw.DepthMult(1.2), kw.Dropout(0.3))...)
}

// EfficientNetB3 makes an EfficientNet-B3.
func EfficientNetB3(opts ...torch.Option) *EfficientNet {
	return NewEfficientNet(or(opts, kw.WidthMult(1.2), kw.DepthMult(1.4), kw.Dropout(0.3))...)
}

// EfficientNetB4 makes an EfficientNet-B4.
func EfficientNetB4(opts ...torch.Option) *EfficientNet {
	return NewEfficientNet(or(opts, kw.WidthMult(1.4), kw.DepthMult(1.8), kw.Dropout(0.4))...)
}

// NewEfficientNet scales EfficientNet-B0's stages. Options: kw.WidthMult(1.0),
// kw.DepthMult(1.0), kw.Dropout(0.2), kw.StochasticDepthProb(0.2),
// kw.NumClasses(1000).
func NewEfficientNet(opts ...torch.Option) *EfficientNet {
	o := read("EfficientNet", opts, "width_mult", "depth_mult", "dropout", "stochastic_depth_prob", "num_classes")
	width, depth := o.number("width_mult", 1), o.number("depth_mult", 1)
	channels := func(n int) int { return divisible(float64(n)*width, 8) }
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
	for i := range stages {
		s := &stages[i]
		s.in, s.out, s.layers = channels(s.in), channels(s.out), int(math.Ceil(float64(s.layers)*depth))
		total += s.layers
	}
	f := nn.NewSequential(convNormAct(3, stages[0].in, 3, 2, 1, batchNorm, silu))
	done := 0
	for _, s := range stages {
		stage := nn.NewSequential()
		in, stride := s.in, s.stride
		for range s.layers {
			drop := o.number("stochastic_depth_prob", 0.2) * float64(done) / float64(total)
			stage.Append(newMBConv(in, s.out, s.expand, s.kernel, stride, drop))
			in, stride = s.out, 1
			done++
		}
		f.Append(stage)
	}
	last := stages[len(stages)-1].out
	f.Append(convNormAct(last, 4*last, 1, 1, 1, batchNorm, silu))
	head := nn.NewLinear(4*last, o.whole("num_classes", 1000))
	m := &EfficientNet{f, nn.NewAdaptiveAvgPool2d(1), nn.NewSequential(nn.NewDropout(o.number("dropout", 0.2)), head)}
	kaimingFanOut(m)
	uniformFanOut(head)
	return m
}

func batchNorm(n int) nn.Module { return nn.NewBatchNorm2d(n) }

// Forward takes float32[batch, 3, height, width] to float32[batch, classes].
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

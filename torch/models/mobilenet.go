package models

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// MobileNetV3 is a small network of inverted residuals.
type MobileNetV3 struct {
	Features   *nn.Sequential
	Avgpool    *nn.AdaptiveAvgPool2d
	Classifier *nn.Sequential
}

// invertedRow describes one inverted residual of MobileNetV3.
type invertedRow struct {
	in, kernel, expanded, out int
	squeeze, hardswish        bool
	stride                    int
}

// MobileNetV3Small makes a MobileNetV3-small. Options: kw.WidthMult(1.0),
// kw.Dropout(0.2), kw.NumClasses(1000).
func MobileNetV3Small(opts ...torch.Option) *MobileNetV3 {
	return newMobileNetV3([]invertedRow{
		{16, 3, 16, 16, true, false, 2},
		{16, 3, 72, 24, false, false, 2},
		{24, 3, 88, 24, false, false, 1},
		{24, 5, 96, 40, true, true, 2},
		{40, 5, 240, 40, true, true, 1},
		{40, 5, 240, 40, true, true, 1},
		{40, 5, 120, 48, true, true, 1},
		{48, 5, 144, 48, true, true, 1},
		{48, 5, 288, 96, true, true, 2},
		{96, 5, 576, 96, true, true, 1},
		{96, 5, 576, 96, true, true, 1},
	}, 1024, opts)
}

// MobileNetV3Large makes a MobileNetV3-large; options as MobileNetV3Small's.
func MobileNetV3Large(opts ...torch.Option) *MobileNetV3 {
	return newMobileNetV3([]invertedRow{
		{16, 3, 16, 16, false, false, 1},
		{16, 3, 64, 24, false, false, 2},
		{24, 3, 72, 24, false, false, 1},
		{24, 5, 72, 40, true, false, 2},
		{40, 5, 120, 40, true, false, 1},
		{40, 5, 120, 40, true, false, 1},
		{40, 3, 240, 80, false, true, 2},
		{80, 3, 200, 80, false, true, 1},
		{80, 3, 184, 80, false, true, 1},
		{80, 3, 184, 80, false, true, 1},
		{80, 3, 480, 112, true, true, 1},
		{112, 3, 672, 112, true, true, 1},
		{112, 5, 672, 160, true, true, 2},
		{160, 5, 960, 160, true, true, 1},
		{160, 5, 960, 160, true, true, 1},
	}, 1280, opts)
}

func hardswish() nn.Module { return nn.NewHardswish(kw.Inplace(true)) }
func relu() nn.Module      { return nn.NewReLU(kw.Inplace(true)) }
func silu() nn.Module      { return nn.NewSiLU(kw.Inplace(true)) }

// mobileNorm is the normalisation of MobileNetV3.
func mobileNorm(n int) nn.Module { return nn.NewBatchNorm2d(n, kw.Eps(0.001), kw.Momentum(0.01)) }

func newMobileNetV3(rows []invertedRow, hidden int, opts []torch.Option) *MobileNetV3 {
	o := read("MobileNetV3", opts, "width_mult", "dropout", "num_classes")
	width := o.number("width_mult", 1)
	channels := func(n int) int { return divisible(float64(n)*width, 8) }
	for i := range rows {
		r := &rows[i]
		r.in, r.expanded, r.out = channels(r.in), channels(r.expanded), channels(r.out)
	}
	hidden = channels(hidden)
	f := nn.NewSequential(convNormAct(3, rows[0].in, 3, 2, 1, mobileNorm, hardswish))
	for _, r := range rows {
		f.Append(newMobileBlock(r))
	}
	last := rows[len(rows)-1].out
	f.Append(convNormAct(last, 6*last, 1, 1, 1, mobileNorm, hardswish))
	m := &MobileNetV3{f, nn.NewAdaptiveAvgPool2d(1), nn.NewSequential(
		nn.NewLinear(6*last, hidden), hardswish(), nn.NewDropout(o.number("dropout", 0.2)),
		nn.NewLinear(hidden, o.whole("num_classes", 1000)),
	)}
	nn.Walk(m, func(_ string, part any) {
		switch p := part.(type) {
		case *nn.Conv2d:
			nn.KaimingNormal_(p.Weight, kw.Mode("fan_out"))
			if p.Bias != nil {
				nn.Zeros_(p.Bias)
			}
		case *nn.Linear:
			nn.Normal_(p.Weight, 0, 0.01)
			nn.Zeros_(p.Bias)
		}
	})
	return m
}

// Forward takes float32[batch, 3, height, width] to float32[batch, classes].
func (m *MobileNetV3) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Classifier.Forward(flat(m.Avgpool.Forward(m.Features.Forward(x))))
}

// convNormAct is convolution, normalisation and activation; act may be nil.
// The padding keeps the size at stride 1.
func convNormAct(in, out, kernel, stride, groups int, norm func(int) nn.Module, act func() nn.Module) *nn.Sequential {
	s := nn.NewSequential(
		nn.NewConv2d(in, out, kernel, kw.Stride(stride), kw.Padding((kernel-1)/2), kw.Groups(groups), kw.Bias(false)),
		norm(out),
	)
	if act != nil {
		s.Append(act())
	}
	return s
}

// MobileBlock is an inverted residual: expand, convolve each channel, squeeze
// and excite, project.
type MobileBlock struct {
	Block    *nn.Sequential
	residual bool
}

func newMobileBlock(r invertedRow) *MobileBlock {
	act := relu
	if r.hardswish {
		act = hardswish
	}
	s := nn.NewSequential()
	if r.expanded != r.in {
		s.Append(convNormAct(r.in, r.expanded, 1, 1, 1, mobileNorm, act))
	}
	s.Append(convNormAct(r.expanded, r.expanded, r.kernel, r.stride, r.expanded, mobileNorm, act))
	if r.squeeze {
		s.Append(newSqueezeExcitation(r.expanded, divisible(float64(r.expanded)/4, 8), relu(), nn.NewHardsigmoid()))
	}
	s.Append(convNormAct(r.expanded, r.out, 1, 1, 1, mobileNorm, nil))
	return &MobileBlock{s, r.stride == 1 && r.in == r.out}
}

// divisible rounds v to a multiple of n that is not less than 90% of v.
func divisible(v float64, n int) int {
	out := max(n, int(v+float64(n)/2)/n*n)
	if float64(out) < 0.9*v {
		out += n
	}
	return out
}

// Forward applies the block.
func (b *MobileBlock) Forward(x *torch.Tensor) *torch.Tensor {
	y := b.Block.Forward(x)
	if b.residual {
		y = y.Add(x)
	}
	return y
}

// SqueezeExcitation scales each channel by a function of the channels' means.
type SqueezeExcitation struct {
	Avgpool         *nn.AdaptiveAvgPool2d
	Fc1             *nn.Conv2d `torch:"fc1"`
	Fc2             *nn.Conv2d `torch:"fc2"`
	Activation      nn.Module
	ScaleActivation nn.Module
}

func newSqueezeExcitation(in, squeeze int, act, scale nn.Module) *SqueezeExcitation {
	return &SqueezeExcitation{nn.NewAdaptiveAvgPool2d(1), nn.NewConv2d(in, squeeze, 1), nn.NewConv2d(squeeze, in, 1), act, scale}
}

// Forward applies the module.
func (s *SqueezeExcitation) Forward(x *torch.Tensor) *torch.Tensor {
	w := s.Activation.Forward(s.Fc1.Forward(s.Avgpool.Forward(x)))
	return x.Mul(s.ScaleActivation.Forward(s.Fc2.Forward(w)))
}

// StochasticDepth drops whole residual branches by row while training.
type StochasticDepth struct {
	nn.Training
	P float64
}

// Forward zeroes rows of x with probability P and scales the others by 1/(1-P).
func (s *StochasticDepth) Forward(x *torch.Tensor) *torch.Tensor {
	if !s.IsTraining() || s.P == 0 {
		return x
	}
	size := []int{x.Size(0)}
	for range x.Dim() - 1 {
		size = append(size, 1)
	}
	keep := 1 - s.P
	noise := torch.Empty(size, kw.Dtype(x.DType())).Bernoulli_(keep)
	if keep > 0 {
		noise.Div_(keep)
	}
	return x.Mul(noise)
}

// uniformFanOut is torchvision's rule for the linear layers of EfficientNet.
func uniformFanOut(l *nn.Linear) {
	bound := 1 / math.Sqrt(float64(l.OutFeatures))
	nn.Uniform_(l.Weight, -bound, bound)
	nn.Zeros_(l.Bias)
}

package models

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is rotary positions, and how they are stretched for longer texts
// than a model was trained on.

// RopeScaling stretches rotary positions. Type is empty for none, "linear" (all
// angles grow Factor times slower), "dynamic" (the more so the longer the text is
// than MaxPositionEmbeddings) or "llama3" (slow angles as linear, fast ones not
// at all, between them a mixture).
type RopeScaling struct {
	Type                          string
	Factor                        float64
	LowFreqFactor, HighFreqFactor float64 // llama3: where slow ends and fast begins
	OriginalMaxPositionEmbeddings int     // llama3
}

// check refuses kinds that are not known, and settings that make no sense.
func (r RopeScaling) check() {
	switch r.Type {
	case "", "default":
		return
	case "linear", "dynamic":
	case "llama3":
		if r.OriginalMaxPositionEmbeddings <= 0 || !(r.HighFreqFactor > r.LowFreqFactor) {
			refuse(
				"LlamaModel", "ValueError",
				"rope_scaling of type llama3 needs original_max_position_embeddings, and a high_freq_factor above low_freq_factor",
			)
		}
	default:
		refuse("LlamaModel", "NotImplementedError", "rope_scaling of type '%s' is not supported: linear, dynamic and llama3 are", r.Type)
	}
	if !(r.Factor >= 1) {
		refuse("LlamaModel", "ValueError", "rope_scaling's factor must be at least 1, got %v", r.Factor)
	}
}

// rotary turns pairs of elements of queries and keys by angles that grow with
// the position.
type rotary struct{ cos, sin *torch.Tensor }

// newRotary is for time positions after past ones of a text x. Angles are computed in float32; what is made of them has x's type, as
// the queries and keys that they turn.
func newRotary(c LlamaConfig, past, time int, x *torch.Tensor) rotary {
	device := x.Device()
	position := torch.Arange(past, past+time, kw.Device(device)).To(torch.Float32)
	angle := torch.Outer(position, frequencies(c, past+time, device))
	angle = torch.Cat([]*torch.Tensor{angle, angle}, kw.Dim(-1))
	return rotary{angle.Cos().To(x.DType()), angle.Sin().To(x.DType())}
}

// frequencies are the angles by which one position turns each pair, for a text
// of a length.
func frequencies(c LlamaConfig, length int, device torch.Device) *torch.Tensor {
	dim, scaling := c.headDim(), c.RopeScaling
	exponent := torch.Arange(0, dim, 2, kw.Device(device)).To(torch.Float32).Div(float64(dim))
	base := c.RopeTheta
	if scaling.Type == "dynamic" {
		base *= stretch(scaling.Factor, length, c.MaxPositionEmbeddings, dim)
	}
	f := torch.Reciprocal(torch.Pow(base, exponent))
	switch scaling.Type {
	case "linear":
		return f.Div(scaling.Factor)
	case "llama3":
		waves := f.Mul(float64(scaling.OriginalMaxPositionEmbeddings) / (2 * math.Pi)) // in the text it was trained on
		fast := waves.Sub(scaling.LowFreqFactor).Div(scaling.HighFreqFactor-scaling.LowFreqFactor).Clamp(kw.Min(0.0), kw.Max(1.0))
		return f.Mul(fast).Add(f.Mul(fast.Neg().Add(1)).Div(scaling.Factor))
	}
	return f
}

// stretch is how much the base grows for a text longer than most.
func stretch(factor float64, length, most, dim int) float64 {
	if most == 0 {
		most = 2048
	}
	if length <= most {
		return 1
	}
	return math.Pow(factor*float64(length)/float64(most)-(factor-1), float64(dim)/float64(dim-2))
}

// turn applies the rotation to [batch, heads, time, dim].
func (r rotary) turn(x *torch.Tensor) *torch.Tensor {
	half := x.Size(3) / 2
	swapped := torch.Cat([]*torch.Tensor{x.Narrow(3, half, half).Neg(), x.Narrow(3, 0, half)}, kw.Dim(-1))
	return x.Mul(r.cos).Add(swapped.Mul(r.sin))
}

package modeltest

import (
	"math"
	"strings"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is the formula for weights and inputs, so that none need shipping.

// u is element j of tensor k: a hash of both in [-1, 1).
func u(k, j int) float32 {
	z := uint64(k)<<32 + uint64(j) + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float32(float64(z>>40)/(1<<23) - 1)
}

// rule says how the values of a tensor of the state come about: each is
// scale*u + shift (u/scale for matrices), of |u| if abs is set. ok is false for tensors that keep
// what they have.
func rule(name string, shape []int) (scale, shift float32, abs, ok bool) {
	switch {
	case strings.HasSuffix(name, "running_mean"):
		return 0.1, 0, false, true
	case strings.HasSuffix(name, "running_var"):
		return 0.5, 1, true, true
	case strings.HasSuffix(name, "bias"):
		return 0.1, 0, false, true
	case len(shape) >= 2:
		n := 1
		for _, s := range shape[1:] {
			n *= s
		}
		return float32(math.Sqrt(float64(n))), 0, false, true
	case strings.HasSuffix(name, "weight"):
		return 0.1, 1, false, true
	}
	return 0, 0, false, false
}

// Fill sets a tensor of the state, number k under its name.
func Fill(k int, name string, t *torch.Tensor) {
	shape := t.Shape()
	scale, shift, abs, ok := rule(name, shape)
	if !ok || !t.DType().IsFloat() || name == "_random_samples" {
		return
	}
	v := floats(t)
	matrix := len(shape) >= 2 && !strings.HasSuffix(name, "bias")
	for j := range v {
		x := u(k, j)
		if abs && x < 0 {
			x = -x
		}
		if matrix {
			v[j] = x / scale
		} else {
			v[j] = scale*x + shift
		}
	}
	t.Storage().Bump()
}

// floats is the memory of a contiguous float32 tensor.
func floats(t *torch.Tensor) []float32 {
	return unsafe.Slice((*float32)(t.Ptr()), t.Numel())
}

// Input is input number i: numbers of [-1, 1), or token ids below vocab.
func Input(i int, shape []int, vocab int) *torch.Tensor {
	if vocab == 0 {
		t := torch.Empty(shape)
		v := floats(t)
		for j := range v {
			v[j] = u(1000+i, j)
		}
		return t
	}
	t := torch.Empty(shape, kw.Dtype(torch.Int64))
	v := unsafe.Slice((*int64)(t.Ptr()), t.Numel())
	for j := range v {
		x := float32(math.Floor(float64((u(1000+i, j) + 1) / 2 * float32(vocab))))
		v[j] = min(int64(x), int64(vocab-1))
	}
	return t
}

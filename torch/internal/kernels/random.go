package kernels

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/rng"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file fills arrays with random numbers.

// drawn is room for the numbers of t in type A, and what stores them: t's own memory
// where it has this type and layout.
func drawn[A any](t *strided.Array, d ops.DType) (s []A, store func()) {
	t = inMemoryOrder(t)
	if t.DType == d && t.IsContiguous() {
		return unsafe.Slice((*A)(t.Ptr()), t.Numel()), func() {}
	}
	s = make([]A, t.Numel())
	return s, func() { strided.Store(t, s, d) }
}

// inMemoryOrder is t with its dimensions from the largest stride to the smallest, the
// order in which PyTorch fills a tensor.
func inMemoryOrder(t *strided.Array) *strided.Array {
	if t.IsContiguous() {
		return t
	}
	order := make([]int, len(t.Shape))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Stride[b], t.Stride[a]) })
	v := strided.Over(t.Storage, t.DType, nil, nil, t.Offset)
	for _, i := range order {
		v.Shape, v.Stride = append(v.Shape, t.Shape[i]), append(v.Stride, t.Stride[i])
	}
	return v
}

// fillUniform fills t with numbers of [from, to).
func fillUniform(t *strided.Array, from, to float64) {
	if t.DType == ops.Float64 {
		s, store := drawn[float64](t, ops.Float64)
		rng.Default().Uniforms(s, from, to)
		store()
		return
	}
	s, store := drawn[float32](t, ops.Float32)
	scale, base := float32(to-from), float32(from)
	if ops.OpMath(t.DType) == ops.Float32 {
		scale = float32(to) - float32(from)
	}
	end, near := strided.RoundTo(t.DType, float32(to)), float32(math.Inf(1))
	if t.DType == ops.Float16 || t.DType == ops.BFloat16 {
		near = roundsTo(end)
	}
	rng.Default().UniformFloats(s, scale, base, near, func(v float32) bool { return strided.RoundTo(t.DType, v) == end })
	store()
}

// roundsTo is a number below which none becomes end in half precision, whose normal
// numbers are at most a 128th apart.
func roundsTo(end float32) float32 {
	const normal = 0x1p-14 // of float16; those of bfloat16 begin below
	if math.Abs(float64(end)) < normal {
		return float32(math.Inf(-1))
	}
	return end - float32(math.Abs(float64(end)))/64
}

// FillNormal fills t with normal numbers: few of them one by one.
func FillNormal(t *strided.Array, mean, std float64) {
	switch {
	case t.Numel() < simd.NormalBlock || !t.IsContiguous():
		s, store := drawn[float64](t, ops.Float64)
		rng.Default().NormalsOneByOne(s, mean, std)
		store()
	case t.DType == ops.Float64:
		s, store := drawn[float64](t, ops.Float64)
		rng.Default().Normals(s, mean, std)
		store()
	default:
		s, store := drawn[float32](t, ops.Float32)
		rng.Default().NormalFloats(s, float32(mean), float32(std), t.DType != ops.Float32)
		store()
	}
}

// fillIntegers fills t with integers of [low, high).
func fillIntegers(t *strided.Array, low, high int64) {
	s, store := drawn[int64](t, ops.Int64)
	rng.Default().Integers(s, low, high)
	store()
}

// fillBernoulli fills t with ones of probability p.
func fillBernoulli(t *strided.Array, p float64) {
	s, store := drawn[float32](t, ops.Float32)
	rng.Default().Bernoullis(s, p)
	store()
}

// fillEachBernoulli draws each element with its own probability.
func fillEachBernoulli(t, chance *strided.Array) {
	if t.DType == ops.Float32 && chance.DType == ops.Float32 && t.IsContiguous() && chance.IsContiguous() {
		s, _ := drawn[float32](t, ops.Float32)
		p, _ := drawn[float32](chance, ops.Float32)
		rng.Default().BernoulliFloats(s, p)
		return
	}
	p := chance.Float64s()
	s := make([]float32, len(p))
	rng.Default().BernoulliEach(s, p, t.DType == ops.Float64)
	strided.Store(t, s, ops.Float32)
}

// fillExponential fills t with exponentially distributed numbers of a rate.
func fillExponential(t *strided.Array, rate float64) {
	if t.DType == ops.Float32 {
		s, store := drawn[float32](t, ops.Float32)
		rng.Exponentials(rng.Default(), s, rate)
		store()
		return
	}
	s, store := drawn[float64](t, ops.Float64)
	rng.Exponentials(rng.Default(), s, rate)
	store()
}

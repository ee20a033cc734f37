package torch

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/simd"
)

// This file is what other packages ask of generators.

// DefaultGenerator is the generator that functions draw from.
func DefaultGenerator() *Generator { return defaultGenerator() }

// Int63 draws an integer of 63 bits, as Tensor.random_ does for one int64.
func (g *Generator) Int63() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(g.random64() &^ (1 << 63))
}

// Perm draws a permutation of 0 to n-1, as torch.randperm does.
func (g *Generator) Perm(n int) []int {
	out, order := make([]int, n), make([]int64, n)
	g.permute(order)
	for i, v := range order {
		out[i] = int(v)
	}
	return out
}

// Integers draws count numbers of [low, high), as torch.randint does.
func (g *Generator) Integers(low, high, count int) []int {
	t := newTensor(ops.Int64, []int{count})
	g.fillIntegers(t, int64(low), int64(high))
	return t.Ints()
}

// Uniform draws count numbers of [0, 1) in double precision.
func (g *Generator) Uniform(count int) []float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]float64, count)
	g.draw(count, 2, func(at int, words []uint32) {
		for i := range len(words) / 2 {
			out[at+i] = simd.Double(words[2*i:])
		}
	})
	return out
}

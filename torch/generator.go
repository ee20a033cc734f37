package torch

import (
	"sync"

	"tcdbg/torch/internal/kernels"
	"tcdbg/torch/internal/rng"
)

// This file is the generators of random numbers.

// Generator is a source of random numbers. It is safe for concurrent use.
type Generator struct{ source *rng.Source }

var defaultGenerator = sync.OnceValue(func() *Generator { return &Generator{rng.Default()} })

// NewGenerator returns a generator with a seed. Options: kw.Device, which can only be
// the CPU.
func NewGenerator(seed int64, opts ...Option) *Generator {
	checkGenerator(opts)
	return &Generator{rng.New(seed)}
}

// DefaultGenerator is the generator that functions draw from.
func DefaultGenerator() *Generator { return defaultGenerator() }

// ManualSeed restarts the generator.
func (g *Generator) ManualSeed(seed int64) *Generator {
	g.source.Seed(seed)
	return g
}

// ManualSeed seeds the default generator.
func ManualSeed(seed int64) *Generator { return defaultGenerator().ManualSeed(seed) }

// InitialSeed is the seed of the default generator.
func InitialSeed() int64 { return rng.Default().InitialSeed() }

// Int63 draws an integer of 63 bits, as Tensor.random_ does for one int64.
func (g *Generator) Int63() int64 { return g.source.Int63() }

// Perm draws a permutation of 0 to n-1, as torch.randperm does.
func (g *Generator) Perm(n int) []int {
	order := make([]int64, n)
	g.source.Permute(order)
	return toInts(order)
}

// Integers draws count numbers of [low, high), as torch.randint does.
func (g *Generator) Integers(low, high, count int) []int {
	s := make([]int64, count)
	g.source.Integers(s, int64(low), int64(high))
	return toInts(s)
}

func toInts(in []int64) []int {
	out := make([]int, len(in))
	for i, v := range in {
		out[i] = int(v)
	}
	return out
}

// Uniform draws count numbers of [0, 1) in double precision.
func (g *Generator) Uniform(count int) []float64 {
	out := make([]float64, count)
	g.source.Units(out)
	return out
}

// NormalOf returns normal numbers of a mean and a standard deviation.
func NormalOf(mean, std float64, size []int, opts ...Option) *Tensor {
	args := []any{size}
	for _, o := range opts {
		args = append(args, o)
	}
	t := Empty(args...)
	kernels.FillNormal(&t.array, mean, std)
	return t
}

package torch

import (
	"math"
	"sync"

	"tcdbg/torch/internal/simd"
)

// This file is PyTorch's CPU generator: a Mersenne Twister (mt19937) and the
// distributions as PyTorch draws them from it, number by number.

const (
	twisterSize = simd.TwisterSize
	initialSeed = 67280421310721
)

// Generator is a source of random numbers. It is safe for concurrent use.
type Generator struct {
	mu     sync.Mutex
	seed   uint64
	state  [twisterSize]uint32
	left   int
	next   int
	line   []uint32 // room for the words of stream
	normal float64  // second value of the last Box-Muller pair
	cached bool
}

var defaultGenerator = sync.OnceValue(func() *Generator { return NewGenerator(initialSeed) })

// NewGenerator returns a generator with a seed. Options: kw.Device, which can only be
// the CPU.
func NewGenerator(seed int64, opts ...Option) *Generator {
	checkGenerator(opts)
	g := &Generator{}
	g.ManualSeed(seed)
	return g
}

// ManualSeed restarts the generator.
func (g *Generator) ManualSeed(seed int64) *Generator {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seed = uint64(seed)
	g.state[0] = uint32(g.seed)
	for i := 1; i < twisterSize; i++ {
		g.state[i] = 1812433253*(g.state[i-1]^g.state[i-1]>>30) + uint32(i)
	}
	g.left, g.next, g.cached = 1, 0, false
	return g
}

// ManualSeed seeds the default generator.
func ManualSeed(seed int64) *Generator { return defaultGenerator().ManualSeed(seed) }

// InitialSeed is the seed of the default generator.
func InitialSeed() int64 { return int64(defaultGenerator().seed) }

func (g *Generator) refill() {
	line := make([]uint32, 2*twisterSize)
	copy(line, g.state[:])
	simd.Active().Twist(line)
	copy(g.state[:], line[twisterSize:])
	g.left, g.next = twisterSize, 0
}

// random draws 32 bits. The caller holds the lock.
func (g *Generator) random() uint32 {
	if g.left--; g.left == 0 {
		g.refill()
	}
	y := g.state[g.next]
	g.next++
	return simd.Temper(y)
}

func (g *Generator) random64() uint64 {
	hi := g.random()
	return uint64(hi)<<32 | uint64(g.random())
}

// double draws from [0, 1).
func (g *Generator) double() float64 { return float64(g.random64()&(1<<53-1)) / (1 << 53) }

// gauss draws one standard normal number in double precision.
func (g *Generator) gauss() float64 {
	if g.cached {
		g.cached = false
		return g.normal
	}
	u1, u2 := g.double(), g.double()
	r, theta := math.Sqrt(-2*math.Log1p(-u2)), 2*math.Pi*u1
	g.normal, g.cached = r*math.Sin(theta), true
	return r * math.Cos(theta)
}

// blockNormal makes 16 uniform numbers normal ones.
func blockNormal(s []float64, mean, std float64) {
	for j := range 8 {
		u1, u2 := 1-s[j], s[j+8]
		r := math.Sqrt(-2 * logUnit(u1))
		sin, cos := sinCosTurn(2 * math.Pi * u2)
		s[j], s[j+8] = r*cos*std+mean, r*sin*std+mean
	}
}

// NormalOf returns normal numbers of a mean and a standard deviation.
func NormalOf(mean, std float64, size []int, opts ...Option) *Tensor {
	args := []any{size}
	for _, o := range opts {
		args = append(args, o)
	}
	t := Empty(args...)
	defaultGenerator().fillNormal(t, mean, std)
	return t
}

package torch

import (
	"math"
	"sync"

	"tcdbg/internal/ops"
)

// This file is PyTorch's CPU generator: a Mersenne Twister (mt19937) and the
// distributions as PyTorch draws them from it, number by number.

const (
	twisterSize   = 624
	twisterShift  = 397
	initialSeed   = 67280421310721
	twisterMatrix = 0x9908b0df
)

// Generator is a source of random numbers. It is safe for concurrent use.
type Generator struct {
	mu     sync.Mutex
	seed   uint64
	state  [twisterSize]uint32
	left   int
	next   int
	normal float64 // second value of the last Box-Muller pair
	cached bool
}

var defaultGenerator = sync.OnceValue(func() *Generator { return NewGenerator(initialSeed) })

// NewGenerator returns a generator with a seed.
func NewGenerator(seed int64) *Generator {
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

func twist(u, v uint32) uint32 {
	t := (u&0x80000000 | v&0x7fffffff) >> 1
	if v&1 != 0 {
		t ^= twisterMatrix
	}
	return t
}

func (g *Generator) refill() {
	s := &g.state
	for i := range twisterSize {
		s[i] = s[(i+twisterShift)%twisterSize] ^ twist(s[i], s[(i+1)%twisterSize])
	}
	g.left, g.next = twisterSize, 0
}

// random draws 32 bits. The caller holds the lock.
func (g *Generator) random() uint32 {
	if g.left--; g.left == 0 {
		g.refill()
	}
	y := g.state[g.next]
	g.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (g *Generator) random64() uint64 {
	hi := g.random()
	return uint64(hi)<<32 | uint64(g.random())
}

// uniform draws from [0, 1) with the precision of d.
func (g *Generator) uniform(d DType) float64 {
	switch d {
	case ops.Float64:
		return float64(g.random64()&(1<<53-1)) / (1 << 53)
	case ops.Float16:
		return float64(g.random()&(1<<11-1)) / (1 << 11)
	case ops.BFloat16:
		return float64(g.random()&(1<<8-1)) / (1 << 8)
	}
	return float64(g.random()&(1<<24-1)) / (1 << 24)
}

// gauss draws one standard normal number in double precision.
func (g *Generator) gauss() float64 {
	if g.cached {
		g.cached = false
		return g.normal
	}
	u1, u2 := g.uniform(ops.Float64), g.uniform(ops.Float64)
	r, theta := math.Sqrt(-2*math.Log1p(-u2)), 2*math.Pi*u1
	g.normal, g.cached = r*math.Sin(theta), true
	return r * math.Cos(theta)
}

// fillUniform fills t with numbers of [from, to).
func (g *Generator) fillUniform(t *Tensor, from, to float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := t.Numel()
	if t.dtype == ops.Float64 {
		s := make([]float64, n)
		for i := range s {
			s[i] = g.uniform(ops.Float64)*(to-from) + from
		}
		finish(t, s, ops.Float64)
		return
	}
	s := make([]float32, n)
	scale, base := float32(to-from), float32(from)
	if ops.OpMath(t.dtype) == ops.Float32 {
		scale = float32(to) - float32(from)
	}
	for i := range s {
		s[i] = float32(float32(g.uniform(t.dtype))*scale) + base
	}
	finish(t, s, ops.Float32)
}

// fillNormal fills t with normal numbers: small tensors one by one, larger
// ones in blocks of 16, the last of which is drawn anew when it is incomplete.
func (g *Generator) fillNormal(t *Tensor, mean, std float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := t.Numel()
	s := make([]float64, n)
	if n < 16 || !t.IsContiguous() {
		for i := range s {
			s[i] = g.gauss()*std + mean
		}
		finish(t, s, ops.Float64)
		return
	}
	for i := range s {
		s[i] = g.uniform(t.dtype)
	}
	for i := 0; i+16 <= n; i += 16 {
		blockNormal(s[i:i+16], t.dtype, mean, std)
	}
	if n%16 != 0 {
		last := s[n-16:]
		for i := range last {
			last[i] = g.uniform(t.dtype)
		}
		blockNormal(last, t.dtype, mean, std)
	}
	finish(t, s, ops.Float64)
}

// blockNormal turns 16 uniform numbers into normal ones.
func blockNormal(s []float64, d DType, mean, std float64) {
	for j := range 8 {
		u1, u2 := 1-s[j], s[j+8]
		if d == ops.Float64 {
			r, theta := math.Sqrt(-2*math.Log(u1)), 2*math.Pi*u2
			s[j], s[j+8] = r*math.Cos(theta)*std+mean, r*math.Sin(theta)*std+mean
			continue
		}
		r := float32(math.Sqrt(float64(-2 * float32(math.Log(u1)))))
		theta := float64(float32(2*math.Pi) * float32(u2))
		s[j] = float64(float32(float32(r*float32(math.Cos(theta)))*float32(std)) + float32(mean))
		s[j+8] = float64(float32(float32(r*float32(math.Sin(theta)))*float32(std)) + float32(mean))
	}
}

// fillIntegers fills t with integers of [low, high).
func (g *Generator) fillIntegers(t *Tensor, low, high int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := make([]int64, t.Numel())
	span := uint64(high - low)
	for i := range s {
		if span >= 1<<28 {
			s[i] = int64(g.random64()%span) + low
		} else {
			s[i] = int64(uint64(g.random())%span) + low
		}
	}
	finish(t, s, ops.Int64)
}

// permutation is a random order of 0..n-1.
func (g *Generator) permutation(n int) []int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := make([]int64, n)
	for i := range s {
		s[i] = int64(i)
	}
	for i := 0; i < n-1; i++ {
		z := int(g.random() % uint32(n-i))
		s[i], s[i+z] = s[i+z], s[i]
	}
	return s
}

// fillBernoulli fills t with ones of probability p, a double for each element,
// as PyTorch does but on Intel's processors, where it leaves this to MKL.
func (g *Generator) fillBernoulli(t *Tensor, p float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := make([]float32, t.Numel())
	for i := range s {
		if g.uniform(ops.Float64) < p {
			s[i] = 1
		}
	}
	finish(t, s, ops.Float32)
}

// fillEachBernoulli draws each element with its own probability.
func (g *Generator) fillEachBernoulli(t *Tensor, p []float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := make([]float32, len(p))
	for i, q := range p {
		if g.uniform(t.dtype) < q {
			s[i] = 1
		}
	}
	finish(t, s, ops.Float32)
}

// fillExponential fills t with exponentially distributed numbers of a rate, a double
// for each element, as PyTorch does but on Intel's processors, where it leaves this
// to MKL.
func (g *Generator) fillExponential(t *Tensor, rate float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := make([]float64, t.Numel())
	for i := range s {
		s[i] = -math.Log1p(-g.uniform(ops.Float64)) / rate
	}
	finish(t, s, ops.Float64)
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

package rng

import (
	"math"
	"sync"

	"tcdbg/torch/internal/simd"
)

// This file is the generator and what is drawn from it number by number.

const (
	twisterSize = simd.TwisterSize
	initialSeed = 67280421310721
)

// Source is a source of random numbers. Its exported methods are safe for concurrent use.
type Source struct {
	mu     sync.Mutex
	seed   uint64
	state  [twisterSize]uint32
	left   int
	next   int
	line   []uint32 // room for the words of stream
	normal float64  // second value of the last Box-Muller pair
	cached bool
}

// Default is the source that functions draw from.
var Default = sync.OnceValue(func() *Source { return New(initialSeed) })

// New returns a source with a seed.
func New(seed int64) *Source {
	g := &Source{}
	g.Seed(seed)
	return g
}

// Seed restarts the source.
func (g *Source) Seed(seed int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seed = uint64(seed)
	g.state[0] = uint32(g.seed)
	for i := 1; i < twisterSize; i++ {
		g.state[i] = 1812433253*(g.state[i-1]^g.state[i-1]>>30) + uint32(i)
	}
	g.left, g.next, g.cached = 1, 0, false
}

// InitialSeed is the seed that the source was restarted with.
func (g *Source) InitialSeed() int64 { return int64(g.seed) }

// Snapshot returns a source that goes on as g would.
func (g *Source) Snapshot() *Source {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &Source{seed: g.seed, state: g.state, left: g.left, next: g.next, normal: g.normal, cached: g.cached}
}

// Restore makes g go on as the source of a snapshot would, which stays as it is.
func (g *Source) Restore(s *Source) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seed, g.state, g.left, g.next, g.normal, g.cached = s.seed, s.state, s.left, s.next, s.normal, s.cached
}

// Int63 draws an integer of 63 bits.
func (g *Source) Int63() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(g.random64() &^ (1 << 63))
}

// refill makes the next words of the state.
func (g *Source) refill() {
	line := make([]uint32, 2*twisterSize)
	copy(line, g.state[:])
	simd.Active().Twist(line)
	copy(g.state[:], line[twisterSize:])
	g.left, g.next = twisterSize, 0
}

// random draws 32 bits. The caller holds the lock.
func (g *Source) random() uint32 {
	if g.left--; g.left == 0 {
		g.refill()
	}
	y := g.state[g.next]
	g.next++
	return simd.Temper(y)
}

func (g *Source) random64() uint64 {
	hi := g.random()
	return uint64(hi)<<32 | uint64(g.random())
}

// double draws from [0, 1).
func (g *Source) double() float64 { return float64(g.random64()&(1<<53-1)) / (1 << 53) }

// gauss draws one standard normal number in double precision.
func (g *Source) gauss() float64 {
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

package rng

import (
	"slices"
	"testing"
)

// TestCheapDrawsInParts draws more numbers at once than one thread makes alone, and the same ones in parts that it does.
func TestCheapDrawsInParts(t *testing.T) {
	const n = farWords + 77
	for name, draw := range map[string]func(g *Source, s []float32){
		"bernoulli": func(g *Source, s []float32) { g.Bernoullis(s, 0.7) },
		"uniform":   func(g *Source, s []float32) { g.UniformFloats(s, 1, 0, 2, func(float32) bool { return false }) },
	} {
		whole, parts := make([]float32, n), make([]float32, n)
		g, h := New(5), New(5)
		draw(g, whole)
		for rest, size := parts, 1; len(rest) > 0; size = min(3*size+1, farWords/2-1) {
			draw(h, rest[:min(size, len(rest))])
			rest = rest[min(size, len(rest)):]
		}
		if !slices.Equal(whole, parts) || g.Int63() != h.Int63() {
			t.Errorf("%s: other numbers in parts", name)
		}
	}
}

package simd

import (
	"math"
	"testing"
	"time"
)

// This file measures the loops on numbers that lie in the first level of cache.

// BenchmarkUnary reports the best time of many rounds, which other programs do not touch.
func BenchmarkUnary(b *testing.B) {
	const n = 2048
	src, dst := random(n, 1), make([]float32, n)
	half, to := make([]uint16, n), make([]uint16, n)
	for i, x := range src {
		half[i] = uint16(math.Float32bits(x) >> 16)
	}
	for f, name := range []string{"neg", "abs", "relu", "sqrt", "exp", "sigmoid", "silu", "tanh", "erf", "gelu", "geluTanh"} {
		b.Run(name, func(b *testing.B) { bestRound(b, n, func() { Best.Unary(Unary(f), dst, src) }) })
		if Best.Halves() {
			b.Run(name+"/bfloat", func(b *testing.B) { bestRound(b, n, func() { Best.HalfUnary(Unary(f), BFloat, to, half) }) })
		}
	}
	b.Run("largest", func(b *testing.B) { bestRound(b, n, func() { Best.Largest(src) }) })
	b.Run("expSum", func(b *testing.B) { bestRound(b, n, func() { Best.ExpSum(dst, src, 1) }) })
	b.Run("mulScalar", func(b *testing.B) { bestRound(b, n, func() { Best.WithScalar(Mul, dst, src, 2) }) })
	b.Run("sum", func(b *testing.B) { bestRound(b, n, func() { Best.Sum(src) }) })
	b.Run("multiplyAdds", func(b *testing.B) { bestRound(b, 14*100, func() { Best.PeakFlops(100) }) }) // instructions
	b.Run("deviation", func(b *testing.B) { bestRound(b, n, func() { Best.Deviation(src, 1) }) })
}

// bestRound is the time of f for each of n numbers.
func bestRound(b *testing.B, n int, f func()) {
	best := math.Inf(1)
	for b.Loop() {
		start := time.Now()
		for range 8 {
			f()
		}
		best = min(best, time.Since(start).Seconds())
	}
	b.ReportMetric(best*1e9/float64(8*n), "ns/number")
}

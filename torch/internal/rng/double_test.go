package rng

import (
	"math"
	"testing"
)

// units are n doubles of [0, 1).
func units(n int) []float64 {
	s := make([]float64, n)
	New(5).Units(s)
	return s
}

// TestDoublesOfDraws: logarithm, sine and cosine of what is drawn are those of package
// math, but for the last bit of few.
func TestDoublesOfDraws(t *testing.T) {
	const n = 1 << 20
	other := 0
	compare := func(name string, x, got, want, scale float64) {
		if got == want {
			return
		}
		other++
		if !(math.Abs(got-want) <= 2.3e-16*math.Max(math.Abs(want), scale)) {
			t.Errorf("%s(%v) = %v, want %v", name, x, got, want)
		}
	}
	numbers := append(units(n), 0, 1-0x1p-53, 0x1p-53, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1-math.Sqrt2/2)
	for _, u := range numbers {
		compare("log", 1-u, logUnit(1-u), math.Log(1-u), 0)
		theta := 2 * math.Pi * u
		sin, cos := sinCosTurn(theta)
		compare("sin", theta, sin, math.Sin(theta), 0)
		compare("cos", theta, cos, math.Cos(theta), 0)
	}
	if other > n/100 {
		t.Errorf("%d of %d differ", other, 3*n)
	}
}

// BenchmarkDoubles is the cost of each function.
func BenchmarkDoubles(b *testing.B) {
	x := units(4096)
	for name, f := range map[string]func(u float64) float64{
		"log":    func(u float64) float64 { return logUnit(1 - u) },
		"sincos": func(u float64) float64 { s, c := sinCosTurn(2 * math.Pi * u); return s + c },
	} {
		b.Run(name, func(b *testing.B) {
			sum := 0.0
			for b.Loop() {
				for _, u := range x {
					sum += f(u)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/number")
		})
	}
}

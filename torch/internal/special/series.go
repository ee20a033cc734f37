package special

import (
	"math"
	"sync"
)

// This file is exp(-|x|) I0(x) as PyTorch evaluates it in half precision, where every
// step rounds.

// halfSeries is exp(-x) I0(x) as two Chebyshev series: of x up to 8, and of 1/x
// beyond, the latter over the square root of x.
type halfSeries struct {
	near, far []float64 // the highest term first
}

var bessel0Series = sync.OnceValue(func() halfSeries {
	return halfSeries{
		near: chebyshevTerms(30, func(y float64) float64 { return BesselI0e(4 * (y + 1)) }),
		far:  chebyshevTerms(25, waning(BesselI0e)),
	}
})

// waning is f over 8 up to infinity as a function over [-1, 1], times the root of its argument.
func waning(f func(float64) float64) func(float64) float64 {
	return func(y float64) float64 {
		x := 16 / (y + 1)
		return math.Sqrt(x) * f(x)
	}
}

// chebyshevTerms are the n first coefficients of f over [-1, 1], the highest first.
func chebyshevTerms(n int, f func(float64) float64) []float64 {
	const points = 64
	out := make([]float64, n)
	for j := range points {
		at := math.Pi * (float64(j) + 0.5) / points
		v := f(math.Cos(at))
		for k := range out {
			out[n-1-k] += 2.0 / points * v * math.Cos(float64(k)*at)
		}
	}
	return out
}

// at evaluates the series at x >= 0 by Clenshaw's recurrence, every step rounded.
func (s halfSeries) at(x float32, round func(float32) float32) float32 {
	if x <= 8 {
		return clenshaw(s.near, round(round(x/2)-2), round)
	}
	return round(clenshaw(s.far, round(round(32/x)-2), round) / float32(math.Sqrt(float64(x))))
}

// clenshaw sums a Chebyshev series by its recurrence.
func clenshaw(terms []float64, y float32, round func(float32) float32) float32 {
	var b0, b1, b2 float32
	for i, t := range terms {
		if i > 0 {
			b2, b1 = b1, b0
			b0 = round(round(y*b1) - b2)
		}
		b0 = round(b0 + round(float32(t)))
	}
	return round(0.5 * round(b0-b2))
}

// BesselI0eRounded is exp(-|x|) I0(x), every step rounded.
func BesselI0eRounded(x float32, round func(float32) float32) float32 {
	return bessel0Series().at(float32(math.Abs(float64(x))), round)
}

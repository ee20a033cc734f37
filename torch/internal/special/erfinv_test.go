package special

import (
	"math"
	"testing"
)

// TestErfinvIsRounded: erfinv of float32 is the nearest number to the function in double
// precision, on every piece, around their ends, and at numbers that have no polynomial.
func TestErfinvIsRounded(t *testing.T) {
	in := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 1.5, float32(math.NaN()), float32(math.Inf(1)), 1e-45, -1e-38, 1e-20}
	for bits := math.Float32bits(0x1p-20); bits <= math.Float32bits(1); bits += 211 {
		in = append(in, math.Float32frombits(bits), -math.Float32frombits(bits))
	}
	for bits := math.Float32bits(1 - 0x1p-10); bits <= math.Float32bits(1); bits++ {
		in = append(in, math.Float32frombits(bits))
	}
	out := make([]float32, len(in))
	Erfinvs(out, in)
	wrong := 0
	for i, x := range in {
		want := float32(math.Erfinv(float64(x)))
		if math.Float32bits(out[i]) != math.Float32bits(want) && !(out[i] != out[i] && want != want) {
			if wrong++; wrong < 10 {
				t.Errorf("erfinv(%v) = %v, want %v", x, out[i], want)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d are not the nearest number", wrong, len(in))
	}
}

// BenchmarkErfinv is a call of many numbers on one thread.
func BenchmarkErfinv(b *testing.B) {
	x, o := make([]float32, 1<<16), make([]float32, 1<<16)
	for i := range x {
		x[i] = float32(i)/(1<<15) - 1
	}
	b.SetBytes(int64(4 * len(x)))
	for b.Loop() {
		Erfinvs(o, x)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/number")
}

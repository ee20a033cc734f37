package cpp

import (
	"math"
	"testing"
)

// TestPartsOf: by the two parts every quotient is rounded as a division rounds it, and no divisor has parts for which that is not so.
func TestPartsOf(t *testing.T) {
	for _, c := range []float64{3, -3, 6, 7, 10, 49, 127, 196, 0.75, 1000, 3136, 1048575} {
		high, low, ok := partsOf(c)
		if !ok {
			t.Errorf("%g has no parts", c)
			continue
		}
		for m := uint32(0x3f800000); m < 0x40000000; m += 5 {
			x := math.Float32frombits(m)
			small := float32(float64(x) * low) // exact, then rounded once
			if got, want := float32(math.FMA(float64(x), high, float64(small))), x/float32(c); got != want {
				t.Fatalf("%g / %g is %g, want %g", x, c, got, want)
			}
		}
	}
	for _, c := range []float64{0, 1, -2, 0.25, 0.1, math.Pi, 1e20, 1e-20, math.Inf(1), math.NaN(), 1<<21 + 1} {
		if high, low, ok := partsOf(c); ok {
			t.Errorf("%g has parts %g and %g", c, high, low)
		}
	}
}

package ops

import (
	"math"
	"testing"
)

// TestLogBelowNormal: the logarithms of powers of two are multiples of one number, down to
// the least number there is.
func TestLogBelowNormal(t *testing.T) {
	for e := -1074; e <= 1023; e++ {
		x := math.Ldexp(1, e)
		if got, want := LogOf(x), float64(e)*math.Ln2; math.Abs(got-want) > 4e-16*math.Abs(want) {
			t.Errorf("LogOf(2**%d) is %v, want %v", e, got, want)
		}
	}
	for x, want := range map[float64]float64{0: math.Inf(-1), math.Inf(1): math.Inf(1)} {
		if got := LogOf(x); got != want {
			t.Errorf("LogOf(%v) is %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{-5e-324, -1, math.Inf(-1), math.NaN()} {
		if got := LogOf(x); !math.IsNaN(got) {
			t.Errorf("LogOf(%v) is %v", x, got)
		}
	}
}

// TestAtan2Signs: the angle has the sign of y, also where y/x is too small for a number.
func TestAtan2Signs(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	for _, c := range []struct{ y, x, want float64 }{
		{-5e-324, 1e300, negativeZero},
		{5e-324, 1e300, 0},
		{-5e-324, -1e300, -math.Pi},
		{5e-324, -1e300, math.Pi},
		{-1e-300, -1e100, -math.Pi},
		{1e-300, -1e100, math.Pi},
		{negativeZero, -1, -math.Pi},
		{0, -1, math.Pi},
		{negativeZero, 1, negativeZero},
		{-1, 0, -math.Pi / 2},
		{1, negativeZero, math.Pi / 2},
		{math.Inf(-1), math.Inf(-1), -3 * math.Pi / 4},
		{-1, math.Inf(-1), -math.Pi},
	} {
		if got := Atan2Of(c.y, c.x); got != c.want || math.Signbit(got) != math.Signbit(c.want) {
			t.Errorf("Atan2Of(%v, %v) is %v, want %v", c.y, c.x, got, c.want)
		}
	}
	if got := Atan2Of(math.NaN(), 1); !math.IsNaN(got) {
		t.Errorf("Atan2Of(NaN, 1) is %v", got)
	}
}

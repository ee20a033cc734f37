package special

import "math"

// Erfcx is exp(x^2) erfc(x).
func Erfcx(x float64) float64 {
	if x < 10 {
		return math.Exp(x*x) * math.Erfc(x)
	}
	// Laplace's continued fraction.
	t := 0.0
	for k := 60; k > 0; k-- {
		t = float64(k) / 2 / (x + t)
	}
	return 1 / (math.Sqrt(math.Pi) * (x + t))
}

// LogNdtr is the logarithm of the normal distribution function.
func LogNdtr(x float64) float64 {
	t := x * math.Sqrt2 / 2
	if x < -1 {
		return math.Log(Erfcx(-t)/2) - t*t
	}
	return math.Log1p(-math.Erfc(t) / 2)
}

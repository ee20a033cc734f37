package ops

import "math"

// This file is functions of float64 that differ from Go's where Go's are wrong. Eager
// kernels and the plain executor share them; C++ kernels call the C library's, which agree.

// LogOf is the natural logarithm. Go's takes a number below the normal ones for the least
// normal one on some processors.
func LogOf(x float64) float64 {
	const leastNormal, up = 0x1p-1022, 54
	if x > 0 && x < leastNormal {
		return math.Log(x*(1<<up)) - up*math.Ln2
	}
	return math.Log(x)
}

// Atan2Of is the angle of the point (x, y). Go's takes the sign of a quotient that is too
// small for a float64 for that of zero.
func Atan2Of(y, x float64) float64 {
	a := math.Atan2(y, x)
	if math.IsNaN(a) {
		return a
	}
	return math.Copysign(a, y)
}

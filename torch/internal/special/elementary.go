package special

import "math"

// Logaddexp is the logarithm of the sum of two exponentials.
func Logaddexp(x, y float64) float64 {
	if math.IsInf(x, 0) && x == y {
		return x
	}
	return math.Max(x, y) + math.Log1p(math.Exp(-math.Abs(x-y)))
}

// Log2 is the logarithm to the base 2, exact for powers of two.
func Log2(x float64) float64 {
	frac, exp := math.Frexp(x)
	if frac == 0.5 { // exact for powers of two
		return float64(exp - 1)
	}
	return math.Log2(x)
}

// Sigmoid is the logistic function.
func Sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Xlogy is x log(y), zero where x is.
func Xlogy(x, y float64) float64 {
	if x == 0 && !math.IsNaN(y) {
		return 0
	}
	return x * math.Log(y)
}

// Xlog1py is x log(1+y), zero where x is.
func Xlog1py(x, y float64) float64 {
	if x == 0 && !math.IsNaN(y) {
		return 0
	}
	return x * math.Log1p(y)
}

// Logaddexp2 is Logaddexp to the base 2.
func Logaddexp2(x, y float64) float64 {
	if math.IsInf(x, 0) && x == y {
		return x
	}
	return math.Max(x, y) + math.Log1p(math.Exp2(-math.Abs(x-y)))/math.Ln2
}

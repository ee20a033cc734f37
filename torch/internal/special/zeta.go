package special

import "math"

// Digamma is the logarithmic derivative of the gamma function.
func Digamma(x float64) float64 {
	if x == 0 {
		return math.Copysign(math.Inf(1), -x)
	}
	if x < 0 {
		if x == math.Trunc(x) {
			return math.NaN()
		}
		_, frac := math.Modf(x)
		return Digamma(1-x) - math.Pi/math.Tan(math.Pi*frac)
	}
	sum := 0.0
	for x < 10 {
		sum -= 1 / x
		x++
	}
	if x == 10 {
		return sum + 2.25175258906672110764
	}
	y := 0.0
	if x < 1e17 {
		z := 1 / (x * x)
		y = z * (1.0/12 - z*(1.0/120-z*(1.0/252-z*(1.0/240-z*(1.0/132-z*(691.0/32760-z/12))))))
	}
	return sum + math.Log(x) - 0.5/x - y
}

// This file holds special functions that package math lacks.

// Zeta is the Hurwitz zeta function, the sum of (n+q)^-x.
func Zeta(x, q float64) float64 {
	switch {
	case x == 1:
		return math.Inf(1)
	case x < 1:
		return math.NaN()
	case q <= 0 && q == math.Floor(q):
		return math.Inf(1)
	case q <= 0 && x != math.Floor(x):
		return math.NaN()
	}
	const eps = 1.11022302462515654042e-16
	sum := math.Pow(q, -x)
	a, b := q, 0.0
	for i := 0; i < 9 || a <= 9; i++ {
		a++
		b = math.Pow(a, -x)
		sum += b
		if -eps*sum < b && b < eps*sum {
			return sum
		}
	}
	sum += b*a/(x-1) - 0.5*b
	// Euler-Maclaurin: (2k)!/B(2k)
	terms := [...]float64{
		12, -720, 30240, -1209600, 47900160, -1.8924375803183791606e9, 7.47242496e10, -2.950130727918164224e12,
		1.1646782814350067249e14, -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18,
	}
	f, k := 1.0, 0.0
	for _, t := range terms {
		f *= x + k
		b /= a
		step := f * b / t
		sum += step
		if math.Abs(step/sum) < eps {
			break
		}
		k++
		f *= x + k
		b /= a
		k++
	}
	return sum
}

// Polygamma is the n-th derivative of digamma.
func Polygamma(n int, x float64) float64 {
	if n == 0 {
		return Digamma(x)
	}
	if n == 1 && x < 0 && x != math.Floor(x) { // reflection
		s := math.Sin(math.Pi * x)
		return -Polygamma(1, 1-x) + math.Pi*math.Pi/(s*s)
	}
	g, _ := math.Lgamma(float64(n) + 1)
	sign := 1.0
	if n%2 == 0 {
		sign = -1
	}
	return sign * math.Exp(g) * Zeta(float64(n)+1, x)
}

// Trigamma is polygamma(1, x) as PyTorch evaluates it: reflection costs digits
// near the negative integers, and its series gives ten of float64.
func Trigamma[T float32 | float64](x T) T {
	sign, sum := T(1), T(0)
	if x < 0.5 {
		s := T(math.Sin(float64(T(math.Pi) * x)))
		sign, sum = -1, -T(T(math.Pi)*T(math.Pi))/T(s*s) //nolint:unconvert // the conversions keep the products from being fused
		x = 1 - x
	}
	for range 6 {
		sum += 1 / T(x*x) //nolint:unconvert // the conversions keep the products from being fused
		x++
	}
	ixx := 1 / T(x*x)                                       //nolint:unconvert // the conversions keep the products from being fused
	tail := ixx * (1.0/6 - T(ixx*(1.0/30-T(ixx*(1.0/42))))) //nolint:unconvert // the conversions keep the products from being fused
	return sign * (sum + (1+1/T(2*x)+tail)/x)               //nolint:unconvert // the conversions keep the products from being fused
}

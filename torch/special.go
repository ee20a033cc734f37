package torch

import (
	"math"
)

// This file holds special functions that package math lacks.

// zeta is the Hurwitz zeta function, the sum of (n+q)^-x.
func zeta(x, q float64) float64 {
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
	terms := [...]float64{12, -720, 30240, -1209600, 47900160, -1.8924375803183791606e9, 7.47242496e10, -2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18}
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

// polygamma is the n-th derivative of digamma.
func polygamma(n int, x float64) float64 {
	if n == 0 {
		return digamma(x)
	}
	if n == 1 && x < 0 && x != math.Floor(x) { // reflection
		s := math.Sin(math.Pi * x)
		return -polygamma(1, 1-x) + math.Pi*math.Pi/(s*s)
	}
	g, _ := math.Lgamma(float64(n) + 1)
	sign := 1.0
	if n%2 == 0 {
		sign = -1
	}
	return sign * math.Exp(g) * zeta(float64(n)+1, x)
}

// trigamma is polygamma(1, x) as PyTorch evaluates it: reflection costs digits
// near the negative integers, and its series gives ten of float64.
func trigamma[T float32 | float64](x T) T {
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

// besselI0e is exp(-|x|) I0(x), by the integral over half a turn: the
// trapezoidal rule converges exponentially there.
func besselI0e(x float64) float64 { return besselIe(x, 0) }

// besselI1e is exp(-|x|) I1(x).
func besselI1e(x float64) float64 { return besselIe(x, 1) }

func besselIe(x float64, order int) float64 {
	a := math.Abs(x)
	n := 32 + int(4*math.Sqrt(a))
	if a > 1e6 { // asymptotic: the integral gets narrow
		v := 1 / math.Sqrt(2*math.Pi*a)
		if order == 1 {
			return math.Copysign(v*(1-3/(8*a)), x)
		}
		return v * (1 + 1/(8*a))
	}
	if math.IsNaN(x) {
		return x
	}
	sum := 0.0
	for i := 0; i <= n; i++ {
		theta := math.Pi * float64(i) / float64(n)
		w := 1.0
		if i == 0 || i == n {
			w = 0.5
		}
		v := math.Exp(a * (math.Cos(theta) - 1))
		if order == 1 {
			v *= math.Cos(theta)
		}
		sum += w * v
	}
	v := sum / float64(n)
	if order == 1 && x < 0 {
		v = -v
	}
	return v
}

// erfcx is exp(x^2) erfc(x).
func erfcx(x float64) float64 {
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

// logNdtr is the logarithm of the normal distribution function.
func logNdtr(x float64) float64 {
	t := x * math.Sqrt2 / 2
	if x < -1 {
		return math.Log(erfcx(-t)/2) - t*t
	}
	return math.Log1p(-math.Erfc(t) / 2)
}

func xlogy(x, y float64) float64 {
	if x == 0 && !math.IsNaN(y) {
		return 0
	}
	return x * math.Log(y)
}

func xlog1py(x, y float64) float64 {
	if x == 0 && !math.IsNaN(y) {
		return 0
	}
	return x * math.Log1p(y)
}

func logaddexp2(x, y float64) float64 {
	if math.IsInf(x, 0) && x == y {
		return x
	}
	return math.Max(x, y) + math.Log1p(math.Exp2(-math.Abs(x-y)))/math.Ln2
}

// igamma is the regularised lower incomplete gamma function.
func igamma(a, x float64) float64 {
	switch {
	case x < 0 || a < 0: // the limits below count before a NaN does
		return math.NaN()
	case a == 0:
		if x > 0 {
			return 1
		}
		return math.NaN()
	case x == 0:
		return 0
	case math.IsInf(a, 1):
		if math.IsInf(x, 1) {
			return math.NaN()
		}
		return 0
	case math.IsInf(x, 1):
		return 1
	case math.IsNaN(a + x):
		return math.NaN()
	case a > gammaUniform:
		return gammaNearNormal(a, x)
	case x > a+1:
		return 1 - gammaFraction(a, x)
	}
	return gammaSeries(a, x)
}

// igammac is 1 - igamma.
func igammac(a, x float64) float64 {
	if a > 0 && x > a+1 && a <= gammaUniform && !math.IsInf(x, 1) {
		return gammaFraction(a, x)
	}
	return 1 - igamma(a, x)
}

// gammaUniform is where series take too many terms: from here on the first terms
// of the uniform expansion are exact enough.
const gammaUniform = 1e6

// gammaNearNormal is igamma of a large a: nearly a normal distribution, in
// eta with eta^2/2 = x/a - 1 - log(x/a).
func gammaNearNormal(a, x float64) float64 {
	mu := (x - a) / a
	half := mu - math.Log1p(mu)
	if math.Abs(mu) < 0.1 { // the difference would cancel
		half = 0
		for k, p := 2.0, mu*mu; k < 20; k, p = k+1, -p*mu {
			half += p / k
		}
	}
	eta := math.Copysign(math.Sqrt(2*half), mu)
	c0 := -1.0/3 + eta*(1.0/12+eta*(-2.0/135+eta*(1.0/864+eta/2835)))
	c1 := -1.0/540 - eta/288
	if half*a > 745 { // nothing is left of the correction
		return 0.5 * math.Erfc(-eta*math.Sqrt(a/2))
	}
	return 0.5*math.Erfc(-eta*math.Sqrt(a/2)) - math.Exp(-a*half)/math.Sqrt(2*math.Pi*a)*(c0+c1/a)
}

func gammaScale(a, x float64) float64 {
	g, _ := math.Lgamma(a)
	return math.Exp(a*math.Log(x) - x - g)
}

func gammaSeries(a, x float64) float64 {
	term := 1 / a
	sum := term
	for n := 1.0; n < 10000; n++ {
		term *= x / (a + n)
		sum += term
		if term < sum*1e-17 {
			break
		}
	}
	return sum * gammaScale(a, x)
}

func gammaFraction(a, x float64) float64 {
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for i := 1.0; i < 10000; i++ {
		an := -i * (i - a)
		b += 2
		d = 1 / (an*d + b)
		c = b + an/c
		h *= d * c
		if math.Abs(d*c-1) < 1e-16 {
			break
		}
	}
	return h * gammaScale(a, x)
}

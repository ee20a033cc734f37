package special

import "math"

// Igamma is the regularised lower incomplete gamma function.
func Igamma(a, x float64) float64 {
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

// Igammac is 1 - igamma.
func Igammac(a, x float64) float64 {
	if a > 0 && x > a+1 && a <= gammaUniform && !math.IsInf(x, 1) {
		return gammaFraction(a, x)
	}
	return 1 - Igamma(a, x)
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

// gammaFraction is the continued fraction by Lentz's method.
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

// Lgamma is the logarithm of the gamma function's absolute value.
func Lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

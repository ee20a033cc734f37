package special

import "math"

// besselLimit is beyond what I of any order can say in float64.
const besselLimit = 720

// BesselI0 is the modified Bessel function of the first kind of order 0.
func BesselI0(x float64) float64 {
	if math.Abs(x) > besselLimit {
		return math.Inf(1)
	}
	return math.Exp(math.Abs(x)) * BesselI0e(x)
}

// BesselI1 is that of order 1.
func BesselI1(x float64) float64 {
	if math.Abs(x) > besselLimit {
		return math.Copysign(math.Inf(1), x)
	}
	return math.Exp(math.Abs(x)) * BesselI1e(x)
}

// Unscaled takes the factor exp(x) away.
func Unscaled(x, scaled float64) float64 {
	if math.IsInf(scaled, 0) || scaled != scaled {
		return scaled
	}
	return math.Exp(-x) * scaled
}

// BesselKe is exp(x) K_v(x): the integral of exp(-x (cosh t - 1)) cosh(v t)
// over t > 0. The trapezoidal rule converges exponentially there; its step
// must shrink as the integrand narrows with x.
func BesselKe(v, x float64) float64 {
	switch {
	case x != x || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(1)
	case math.IsInf(x, 1):
		return 0
	case x < 1e-9 && v == 0:
		return -math.Log(x/2) - 0.57721566490153286
	case x < 1e-9 && v == 1:
		return 1 / x
	}
	h := math.Min(0.125, 0.6/math.Sqrt(x))
	sum := 0.5
	for t := h; ; t += h {
		s := math.Sinh(t / 2)
		e := 2 * x * s * s // x (cosh t - 1)
		term := math.Exp(-e) * math.Cosh(v*t)
		sum += term
		if e-v*t > 45 {
			return sum * h
		}
	}
}

// SphericalJ0 is sin(x)/x.
func SphericalJ0(x float64) float64 {
	switch {
	case math.IsInf(x, 0):
		return 0
	case math.Abs(x) < 0.5:
		y := x * x
		return 1 - y/6*(1-y/20*(1-y/42*(1-y/72*(1-y/110*(1-y/156)))))
	}
	return math.Sin(x) / x
}

// BesselI0e is exp(-|x|) I0(x), by the integral over half a turn: the
// trapezoidal rule converges exponentially there.
func BesselI0e(x float64) float64 { return besselIe(x, 0) }

// BesselI1e is exp(-|x|) I1(x).
func BesselI1e(x float64) float64 { return besselIe(x, 1) }

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

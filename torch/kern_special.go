package torch

import (
	"math"
	"math/cmplx"

	"tcdbg/internal/ops"
)

// This file holds modified Bessel functions, Airy's, and the orthogonal polynomials.

func specialKernels() map[ops.ID]kernel {
	table := map[ops.ID]kernel{}
	for id, f := range map[ops.ID]func(float64) float64{
		ops.BesselJ0: besselJ(0), ops.BesselJ1: besselJ(1), ops.BesselY0: besselY(0), ops.BesselY1: besselY(1),
		ops.ModifiedBesselI0:       besselI0,
		ops.ModifiedBesselI1:       besselI1,
		ops.ModifiedBesselK0:       func(x float64) float64 { return unscaled(x, besselKe(0, x)) },
		ops.ModifiedBesselK1:       func(x float64) float64 { return unscaled(x, besselKe(1, x)) },
		ops.ScaledModifiedBesselK0: func(x float64) float64 { return besselKe(0, x) },
		ops.ScaledModifiedBesselK1: func(x float64) float64 { return besselKe(1, x) },
		ops.SphericalBesselJ0:      sphericalJ0, ops.AiryAi: airyAi,
	} {
		table[id] = (&pwKernel{loops: floats(f)}).run
	}
	polynomial := func(id ops.ID, f64 func(x float64, n int) float64, f32 func(x float32, n int) float32) {
		var s loopSet
		s[ops.Float64] = each2(func(x, n float64) float64 { return f64(x, degree(n)) })
		s[ops.Float32] = each2(func(x, n float32) float32 { return f32(x, degree(float64(n))) })
		table[id] = (&pwKernel{loops: &s}).run
	}
	polynomial(ops.ChebyshevT, chebyshev[float64](chebT), chebyshev[float32](chebT))
	polynomial(ops.ChebyshevU, chebyshev[float64](chebU), chebyshev[float32](chebU))
	polynomial(ops.ChebyshevV, chebyshev[float64](chebV), chebyshev[float32](chebV))
	polynomial(ops.ChebyshevW, chebyshev[float64](chebW), chebyshev[float32](chebW))
	polynomial(ops.ShiftedChebyshevT, shifted(chebyshev[float64](chebT)), shifted(chebyshev[float32](chebT)))
	polynomial(ops.ShiftedChebyshevU, shifted(chebyshev[float64](chebU)), shifted(chebyshev[float32](chebU)))
	polynomial(ops.ShiftedChebyshevV, shifted(chebyshev[float64](chebV)), shifted(chebyshev[float32](chebV)))
	polynomial(ops.ShiftedChebyshevW, shifted(chebyshev[float64](chebW)), shifted(chebyshev[float32](chebW)))
	polynomial(ops.HermiteH, hermiteH[float64], hermiteH[float32])
	polynomial(ops.HermiteHe, hermiteHe[float64], hermiteHe[float32])
	polynomial(ops.LaguerreL, laguerre[float64], laguerre[float32])
	polynomial(ops.LegendreP, legendre[float64], legendre[float32])
	return table
}

// besselLimit is beyond what I of any order can say in float64.
const besselLimit = 720

func besselI0(x float64) float64 {
	if math.Abs(x) > besselLimit {
		return math.Inf(1)
	}
	return math.Exp(math.Abs(x)) * besselI0e(x)
}

func besselI1(x float64) float64 {
	if math.Abs(x) > besselLimit {
		return math.Copysign(math.Inf(1), x)
	}
	return math.Exp(math.Abs(x)) * besselI1e(x)
}

// unscaled takes the factor exp(x) away.
func unscaled(x, scaled float64) float64 {
	if math.IsInf(scaled, 0) || scaled != scaled {
		return scaled
	}
	return math.Exp(-x) * scaled
}

// besselKe is exp(x) K_v(x): the integral of exp(-x (cosh t - 1)) cosh(v t)
// over t > 0. The trapezoidal rule converges exponentially there; its step
// must shrink as the integrand narrows with x.
func besselKe(v, x float64) float64 {
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

func sphericalJ0(x float64) float64 {
	switch {
	case math.IsInf(x, 0):
		return 0
	case math.Abs(x) < 0.5:
		y := x * x
		return 1 - y/6*(1-y/20*(1-y/42*(1-y/72*(1-y/110*(1-y/156)))))
	}
	return math.Sin(x) / x
}

// airyAi is Airy's function: its series near zero, else K of order 1/3, of a
// real argument on the right and of an imaginary one on the left.
func airyAi(x float64) float64 {
	switch {
	case math.IsInf(x, 0) || x != x:
		return math.NaN()
	case x > 103.892:
		return 0
	case math.Abs(x) < 1:
		return airySeries(x)
	}
	a := math.Abs(x)
	z := 2.0 / 3 * a * math.Sqrt(a)
	if x > 0 {
		return math.Sqrt(x/3) / math.Pi * math.Exp(-z) * besselKe(1.0/3, z)
	}
	if z > airyWaves {
		return airyWave(a, z)
	}
	turn := cmplx.Exp(complex(0, math.Pi/3))
	w := complex(math.Sqrt(a/3)/math.Pi, 0) * cmplx.Exp(complex(0, math.Pi/6)) * besselKImaginary(1.0/3, z)
	return 2 * real(turn*w)
}

// airyWaves is the phase from which on the expansion in waves has all digits; the
// integral loses them, the faster it turns.
const airyWaves = 300

// airyWave is Ai(-a) of a large a, with z two thirds of a^1.5.
func airyWave(a, z float64) float64 {
	const u1, u2, u3, u4, u5 = 5.0 / 72, 385.0 / 10368, 85085.0 / 2239488, 37182145.0 / 644972544, 5391411025.0 / 46438023168
	r := 1 / (z * z)
	sin, cos := math.Sincos(z - math.Pi/4)
	return (cos*(1-r*(u2-r*u4)) + sin/z*(u1-r*(u3-r*u5))) / math.Sqrt(math.Pi*math.Sqrt(a))
}

// airySeries sums the two power series of Ai.
func airySeries(x float64) float64 {
	const ai0, dai0 = 0.355028053887817239, 0.258819403792806798
	x3 := x * x * x
	f, g, sf, sg := 1.0, x, 1.0, x
	for k := 1.0; k < 30; k++ {
		f *= x3 / ((3*k - 1) * 3 * k)
		g *= x3 / (3 * k * (3*k + 1))
		sf, sg = sf+f, sg+g
	}
	return ai0*sf - dai0*sg
}

// besselKImaginary is K_v(iy) for y > 0: half the integral of
// exp(-iy cosh t - v t) along a path that bends into the half plane where it
// decays on both sides.
func besselKImaginary(v, y float64) complex128 {
	const h, bend = 1.0 / 32, math.Pi / 4
	var sum complex128
	for i := -400; i <= 400; i++ {
		s := float64(i) * h
		th := math.Tanh(s)
		t := complex(s, -bend*th)
		e := complex(0, -y)*cmplx.Cosh(t) - complex(v, 0)*t
		if real(e) < -60 {
			continue
		}
		sum += cmplx.Exp(e) * complex(1, -bend*(1-th*th))
	}
	return sum * complex(h/2, 0)
}

// degree is the degree that a number stands for: its integer part.
func degree(n float64) int {
	if n != n || n <= -1 || n >= 1<<63 { // what no integer holds becomes the least one
		return -1
	}
	return int(n)
}

// chebyshevKind says how a kind of Chebyshev polynomials starts, what it is on
// the ends of [-1, 1], and from which degree on it is taken by angles inside.
type chebyshevKind struct {
	first  func(x float64) float64 // degree 1
	plus   func(n float64) float64 // at 1
	minus  func(n float64) float64 // at -1, but for the sign (-1)^n
	angles func(x, n float64) float64
	above  int
}

var (
	chebT = chebyshevKind{
		first: func(x float64) float64 { return x }, plus: func(float64) float64 { return 1 }, minus: func(float64) float64 { return 1 },
		angles: func(x, n float64) float64 { return math.Cos(n * math.Acos(x)) }, above: 6,
	}
	chebU = chebyshevKind{
		first: func(x float64) float64 { return x + x }, plus: func(n float64) float64 { return n + 1 }, minus: func(n float64) float64 { return n + 1 },
		angles: func(x, n float64) float64 {
			if s := math.Sin(math.Acos(x)); s != 0 {
				return math.Sin((n+1)*math.Acos(x)) / s
			}
			return (n + 1) * math.Cos((n+1)*math.Acos(x)) / x
		}, above: 8,
	}
	chebV = chebyshevKind{
		first: func(x float64) float64 { return x + x - 1 }, plus: func(float64) float64 { return 1 }, minus: func(n float64) float64 { return n + n + 1 },
		angles: func(x, n float64) float64 {
			if s := math.Sin(math.Acos(x) / 2); s != 1 {
				return math.Cos((n+0.5)*math.Acos(x)) / math.Cos(math.Acos(x)/2)
			}
			return n + n + 1
		}, above: 8,
	}
	chebW = chebyshevKind{
		first: func(x float64) float64 { return x + x + 1 }, plus: func(n float64) float64 { return n + n + 1 }, minus: func(float64) float64 { return 1 },
		angles: func(x, n float64) float64 {
			if math.Cos(math.Acos(x)/2) != 1 {
				return math.Sin((n+0.5)*math.Acos(x)) / math.Sin(math.Acos(x)/2)
			}
			return n + n + 1
		}, above: 8,
	}
)

// chebyshev evaluates a kind by its recurrence, rounding as T does.
func chebyshev[T float32 | float64](k chebyshevKind) func(x T, n int) T {
	return func(x T, n int) T {
		switch {
		case n < 0:
			return 0
		case x == 1:
			return T(k.plus(float64(n)))
		case x == -1:
			if n%2 == 0 {
				return T(k.minus(float64(n)))
			}
			return T(-k.minus(float64(n)))
		case n > k.above && x > -1 && x < 1:
			return T(k.angles(float64(x), float64(n)))
		case n == 0:
			return 1
		}
		return recur(T(1), T(k.first(float64(x))), n, func(p, q T, _ int) T { return T((x+x)*q) - p }) //nolint:unconvert // the conversions keep the products from being fused
	}
}

// recur runs a recurrence of three terms from degrees 0 and 1 up to n.
func recur[T float32 | float64](p, q T, n int, next func(p, q T, k int) T) T {
	for k := 2; k <= n && q == q; k++ {
		p, q = q, next(p, q, k)
	}
	return q
}

// shifted evaluates a polynomial of [-1, 1] on [0, 1].
func shifted[T float32 | float64](f func(x T, n int) T) func(x T, n int) T {
	return func(x T, n int) T { return f(x+x-1, n) }
}

func hermiteH[T float32 | float64](x T, n int) T {
	switch {
	case n < 0:
		return 0
	case n == 0:
		return 1
	case n > hermiteLimit[T]():
		return T(math.NaN())
	}
	return recur(T(1), x+x, n, func(p, q T, k int) T { return T((x+x)*q) - T(T(2*(k-1))*p) }) //nolint:unconvert // the conversions keep the products from being fused
}

func hermiteHe[T float32 | float64](x T, n int) T {
	switch {
	case n < 0:
		return 0
	case n == 0:
		return 1
	case n > hermiteLimit[T]():
		return T(math.NaN())
	}
	return recur(T(1), x, n, func(p, q T, k int) T { return T(x*q) - T(T(k-1)*p) }) //nolint:unconvert // the conversions keep the products from being fused
}

// hermiteLimit is the degree from which on PyTorch gives no value.
func hermiteLimit[T float32 | float64]() int {
	if T(math.MaxFloat32)*2 == T(math.Inf(1)) {
		return 128
	}
	return 512
}

func laguerre[T float32 | float64](x T, n int) T {
	switch {
	case n < 0:
		return 0
	case x == 0 || n == 0:
		return 1
	}
	return recur(T(1), 1-x, n, func(p, q T, k int) T { return (T((T(2*(k-1)+1)-x)*q) - T(T(k-1)*p)) / T(k) }) //nolint:unconvert // the conversions keep the products from being fused
}

func legendre[T float32 | float64](x T, n int) T {
	switch {
	case n < 0:
		return 0
	case x == 1 || x == -1:
		if x > 0 || n%2 == 0 {
			return 1
		}
		return -1
	case n == 0:
		return 1
	}
	return recur(T(1), x, n, func(p, q T, k int) T { return (T(T(T(2*(k-1)+1)*x)*q) - T(T(k-1)*p)) / T(k) }) //nolint:unconvert // the conversions keep the products from being fused
}

package special

import "math"

// This file holds the orthogonal polynomials, by their recurrences of three terms.

// Degree is the degree that a number stands for: its integer part.
func Degree(n float64) int {
	if n != n || n <= -1 || n >= 1<<63 { // what no integer holds becomes the least one
		return -1
	}
	return int(n)
}

// ChebyshevKind says how a kind of Chebyshev polynomials starts, what it is on
// the ends of [-1, 1], and from which degree on it is taken by angles inside.
type ChebyshevKind struct {
	first  func(x float64) float64 // degree 1
	plus   func(n float64) float64 // at 1
	minus  func(n float64) float64 // at -1, but for the sign (-1)^n
	angles func(x, n float64) float64
	above  int
}

// The four kinds of Chebyshev polynomials.
var (
	ChebyshevT = ChebyshevKind{
		first: func(x float64) float64 { return x }, plus: func(float64) float64 { return 1 }, minus: func(float64) float64 { return 1 },
		angles: func(x, n float64) float64 { return math.Cos(n * math.Acos(x)) }, above: 6,
	}
	ChebyshevU = ChebyshevKind{
		first: func(x float64) float64 { return x + x }, plus: func(n float64) float64 { return n + 1 },
		minus: func(n float64) float64 { return n + 1 },
		angles: func(x, n float64) float64 {
			if s := math.Sin(math.Acos(x)); s != 0 {
				return math.Sin((n+1)*math.Acos(x)) / s
			}
			return (n + 1) * math.Cos((n+1)*math.Acos(x)) / x
		}, above: 8,
	}
	ChebyshevV = ChebyshevKind{
		first: func(x float64) float64 { return x + x - 1 }, plus: func(float64) float64 { return 1 },
		minus: func(n float64) float64 { return n + n + 1 },
		angles: func(x, n float64) float64 {
			if s := math.Sin(math.Acos(x) / 2); s != 1 {
				return math.Cos((n+0.5)*math.Acos(x)) / math.Cos(math.Acos(x)/2)
			}
			return n + n + 1
		}, above: 8,
	}
	ChebyshevW = ChebyshevKind{
		first: func(x float64) float64 { return x + x + 1 }, plus: func(n float64) float64 { return n + n + 1 },
		minus: func(float64) float64 { return 1 },
		angles: func(x, n float64) float64 {
			if math.Cos(math.Acos(x)/2) != 1 {
				return math.Sin((n+0.5)*math.Acos(x)) / math.Sin(math.Acos(x)/2)
			}
			return n + n + 1
		}, above: 8,
	}
)

// Chebyshev evaluates a kind by its recurrence, rounding as T does.
func Chebyshev[T float32 | float64](k ChebyshevKind) func(x T, n int) T {
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
		//nolint:unconvert // the conversions keep the products from being fused
		return recur(T(1), T(k.first(float64(x))), n, func(p, q T, _ int) T { return T((x+x)*q) - p })
	}
}

// recur runs a recurrence of three terms from degrees 0 and 1 up to n.
func recur[T float32 | float64](p, q T, n int, next func(p, q T, k int) T) T {
	for k := 2; k <= n && q == q; k++ {
		p, q = q, next(p, q, k)
	}
	return q
}

// Shifted evaluates a polynomial of [-1, 1] on [0, 1].
func Shifted[T float32 | float64](f func(x T, n int) T) func(x T, n int) T {
	return func(x T, n int) T { return f(x+x-1, n) }
}

// HermiteH is the physicist's Hermite polynomial of degree n.
func HermiteH[T float32 | float64](x T, n int) T {
	switch {
	case n < 0:
		return 0
	case n == 0:
		return 1
	case n > hermiteLimit[T]():
		return T(math.NaN())
	}
	//nolint:unconvert // the conversions keep the products from being fused
	return recur(T(1), x+x, n, func(p, q T, k int) T { return T((x+x)*q) - T(T(2*(k-1))*p) })
}

// HermiteHe is the probabilist's Hermite polynomial of degree n.
func HermiteHe[T float32 | float64](x T, n int) T {
	switch {
	case n < 0:
		return 0
	case n == 0:
		return 1
	case n > hermiteLimit[T]():
		return T(math.NaN())
	}
	//nolint:unconvert // the conversions keep the products from being fused
	return recur(T(1), x, n, func(p, q T, k int) T { return T(x*q) - T(T(k-1)*p) })
}

// hermiteLimit is the degree from which on PyTorch gives no value.
func hermiteLimit[T float32 | float64]() int {
	if T(math.MaxFloat32)*2 == T(math.Inf(1)) {
		return 128
	}
	return 512
}

// Laguerre is the Laguerre polynomial of degree n.
func Laguerre[T float32 | float64](x T, n int) T {
	switch {
	case n < 0:
		return 0
	case x == 0 || n == 0:
		return 1
	}
	//nolint:unconvert // the conversions keep the products from being fused
	return recur(T(1), 1-x, n, func(p, q T, k int) T { return (T((T(2*(k-1)+1)-x)*q) - T(T(k-1)*p)) / T(k) })
}

// Legendre is the Legendre polynomial of degree n.
func Legendre[T float32 | float64](x T, n int) T {
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
	//nolint:unconvert // the conversions keep the products from being fused
	return recur(T(1), x, n, func(p, q T, k int) T { return (T(T(T(2*(k-1)+1)*x)*q) - T(T(k-1)*p)) / T(k) })
}

package main

import "math"

// This file finds the coefficients of the polynomials in the vector functions.

// fit returns the coefficients, lowest power first, of the polynomial of a
// degree that equals f at the Chebyshev points between lo and hi, which is
// within a small factor of the best one. The polynomial's variable runs from
// -1 to 1 between lo and hi.
func fit(f func(float64) float64, lo, hi float64, degree int) []float64 {
	n := degree + 1
	rows := make([][]float64, n)
	for i := range rows {
		t := math.Cos(math.Pi * (2*float64(i) + 1) / (2 * float64(n)))
		row := make([]float64, n+1)
		row[0] = 1
		for p := 1; p < n; p++ {
			row[p] = row[p-1] * t
		}
		row[n] = f((lo+hi)/2 + (hi-lo)/2*t)
		rows[i] = row
	}
	return solve(rows)
}

// solve is Gaussian elimination with pivots; each row ends in its right side.
func solve(rows [][]float64) []float64 {
	n := len(rows)
	for c := range n {
		best := c
		for r := c + 1; r < n; r++ {
			if math.Abs(rows[r][c]) > math.Abs(rows[best][c]) {
				best = r
			}
		}
		rows[c], rows[best] = rows[best], rows[c]
		for r := c + 1; r < n; r++ {
			q := rows[r][c] / rows[c][c]
			for i := c; i <= n; i++ {
				rows[r][i] -= q * rows[c][i]
			}
		}
	}
	out := make([]float64, n)
	for c := n - 1; c >= 0; c-- {
		sum := rows[c][n]
		for i := c + 1; i < n; i++ {
			sum -= rows[c][i] * out[i]
		}
		out[c] = sum / rows[c][c]
	}
	return out
}

// plainVariable rewrites a polynomial of fit in the variable that f has.
func plainVariable(c []float64, lo, hi float64) []float64 {
	// t = a*x + b; Horner's scheme on polynomials.
	a, b := 2/(hi-lo), -(hi+lo)/(hi-lo)
	out := make([]float64, len(c))
	for i := len(c) - 1; i >= 0; i-- {
		for p := len(out) - 1; p >= 0; p-- {
			out[p] *= b
			if p > 0 {
				out[p] += out[p-1] * a
			}
		}
		out[0] += c[i]
	}
	return out
}

// The functions that the vector code approximates.

// expRest is (e^x - 1 - x) / x^2.
func expRest(x float64) float64 {
	if math.Abs(x) < 1e-3 {
		return 0.5 + x/6 + x*x/24
	}
	return (math.Expm1(x) - x) / (x * x)
}

// erfcx is e^(x^2) erfc(x), for x of at least 0.
func erfcx(x float64) float64 {
	if x < 8 {
		return math.Erfc(x) * math.Exp(x*x)
	}
	sum, term := 1.0, 1.0 // the asymptotic series
	for i := 1; i < 12; i++ {
		term *= -float64(2*i-1) / (2 * x * x)
		sum += term
	}
	return sum / (x * math.Sqrt(math.Pi))
}

// erfOfSquare is erf(x)/x - 1 as a function of x^2.
func erfOfSquare(s float64) float64 {
	if s < 1e-8 {
		return 2/math.Sqrt(math.Pi)*(1-s/3) - 1
	}
	return math.Erf(math.Sqrt(s))/math.Sqrt(s) - 1
}

// geluFar is where the normal distribution's share is 0 or 1 in float32.
const geluFar = 5.3

// geluForm is how gelu is cut into polynomials at a width: the middle of the first is at
// first, the others follow.
type geluForm struct {
	pieces, degree int
	first, step    float64
}

// geluForms have as many pieces as one instruction finds coefficients for. Small margins
// keep what is at an end from being rounded to a piece that is not there; few bits keep
// the distance from first exact.
var geluForms = map[width]geluForm{
	avx512: {pieces: 16, degree: 4, step: geluFar / (16 - 0.75)},
	avx2:   {pieces: 4, degree: 7, step: 341.0 / 256, first: 170.0 / 256},
}

// polynomials for (share-1/2)/x, each around its middle.
func (f geluForm) polynomials() [][]float64 {
	q := func(x float64) float64 { return (erfOfSquare(x*x/2) + 1) / (2 * math.Sqrt2) }
	out, half := make([][]float64, f.pieces), f.step/2
	for i := range out {
		middle := float64(float32(f.first)) + float64(i)*float64(float32(f.step))
		out[i] = plainVariable(fit(func(r float64) float64 { return q(middle + r) }, -half, half, f.degree), -half, half)
	}
	return out
}

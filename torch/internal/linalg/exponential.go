package linalg

import "math"

// Exp is the exponential by scaling and squaring: it halves the matrix until it is
// small, sums Taylor's series and squares the result back.
func Exp(m Matrix) Matrix {
	norm := 0.0
	for i := range m.Rows {
		sum := 0.0
		for _, v := range m.Row(i) {
			sum += math.Abs(v)
		}
		norm = math.Max(norm, sum)
	}
	if norm != norm || math.IsInf(norm, 0) {
		out := New(m.Rows, m.Cols)
		for i := range out.Data {
			out.Data[i] = math.NaN()
		}
		return out
	}
	halvings := 0
	for norm > 0.5 {
		norm /= 2
		halvings++
	}
	x := m.Clone()
	for i := range x.Data {
		x.Data[i] = math.Ldexp(x.Data[i], -halvings)
	}
	sum, term := Identity(m.Rows), Identity(m.Rows)
	for k := 1; k <= 18; k++ {
		term = term.Times(x)
		for i := range term.Data {
			term.Data[i] /= float64(k)
			sum.Data[i] += term.Data[i]
		}
	}
	for range halvings {
		sum = sum.Times(sum)
	}
	return sum
}

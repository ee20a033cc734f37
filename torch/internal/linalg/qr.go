package linalg

import "math"

// QR factors by reflections I - tau v v^T, whose v are below the
// diagonal (their first element, one, is left out); R is on and above it.
func QR(m Matrix) (f Matrix, tau []float64) {
	f = m.Clone()
	tau = make([]float64, min(m.Rows, m.Cols))
	dots := make([]float64, m.Cols)
	for c := range tau {
		norm := 0.0
		for i := c + 1; i < m.Rows; i++ {
			norm = math.Hypot(norm, f.At(i, c))
		}
		if norm == 0 {
			continue
		}
		head := f.At(c, c)
		beta := -math.Copysign(math.Hypot(head, norm), head)
		tau[c] = (beta - head) / beta
		for i := c + 1; i < m.Rows; i++ {
			f.Set(i, c, f.At(i, c)/(head-beta))
		}
		f.Set(c, c, beta)
		reflect(f, c+1, f, c, tau[c], dots)
	}
	return f, tau
}

// reflect applies the reflection that column c of f holds below row c to the columns of
// m from a first one on. It goes through m by rows, as they lie in memory; dots is room
// for a row.
func reflect(m Matrix, first int, f Matrix, c int, tau float64, dots []float64) {
	if first >= m.Cols {
		return
	}
	dots = append(dots[:0], m.Row(c)[first:]...)
	for i := c + 1; i < m.Rows; i++ {
		v := f.At(i, c)
		row := m.Row(i)[first:][:len(dots)]
		for j := range dots {
			dots[j] += v * row[j]
		}
	}
	row := m.Row(c)[first:][:len(dots)]
	for j := range dots {
		dots[j] *= tau
		row[j] -= dots[j]
	}
	for i := c + 1; i < m.Rows; i++ {
		v := f.At(i, c)
		row := m.Row(i)[first:][:len(dots)]
		for j := range dots {
			row[j] -= v * dots[j]
		}
	}
}

// Reflections multiplies out the first cols columns of the product of the
// reflections that f and tau hold.
func Reflections(f Matrix, tau []float64, cols int) Matrix {
	q := New(f.Rows, cols)
	for i := range min(f.Rows, cols) {
		q.Set(i, i, 1)
	}
	dots := make([]float64, cols)
	for c := len(tau) - 1; c >= 0; c-- { // the columns before c are still those of one
		reflect(q, c, f, c, tau[c], dots)
	}
	return q
}

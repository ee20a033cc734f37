package torch

import (
	"math"
)

// This file holds the factorizations by elimination and by reflections, and
// the exponential of a matrix.

// cholesky factors the lower triangle of m into L L^T. bad is the order of the
// first leading minor that is not positive, 0 for none.
func cholesky(m realMatrix) (l realMatrix, bad int) {
	n := m.rows
	l = newMatrix(n, n)
	for i := range n {
		li := l.row(i)
		for j := 0; j <= i; j++ {
			lj := l.row(j)
			sum := m.at(i, j)
			for p := range j {
				sum -= li[p] * lj[p]
			}
			if i != j {
				li[j] = sum / lj[j]
				continue
			}
			if !(sum > 0) {
				return l, i + 1
			}
			li[i] = math.Sqrt(sum)
		}
	}
	return l, 0
}

// lu is a factorization with row exchanges: row i of the product is row
// order[i] of the matrix.
type lu struct {
	f        realMatrix
	order    []int
	sign     float64
	singular int // the first zero pivot, counted from 1
}

// factorLU eliminates with the greatest pivot of each column.
func factorLU(m realMatrix) *lu {
	n := m.rows
	f := &lu{f: m.clone(), order: make([]int, n), sign: 1}
	for i := range f.order {
		f.order[i] = i
	}
	for c := range n {
		best := c
		for i := c + 1; i < n; i++ {
			if math.Abs(f.f.at(i, c)) > math.Abs(f.f.at(best, c)) {
				best = i
			}
		}
		if best != c {
			x, y := f.f.row(best), f.f.row(c)
			for j := range x {
				x[j], y[j] = y[j], x[j]
			}
			f.order[best], f.order[c] = f.order[c], f.order[best]
			f.sign = -f.sign
		}
		top := f.f.row(c)
		if top[c] == 0 {
			if f.singular == 0 {
				f.singular = c + 1
			}
			continue
		}
		for i := c + 1; i < n; i++ {
			r := f.f.row(i)
			q := r[c] / top[c]
			r[c] = q
			if q == 0 {
				continue
			}
			for j := c + 1; j < n; j++ {
				r[j] -= q * top[j]
			}
		}
	}
	return f
}

// solve solves for the columns of y.
func (f *lu) solve(y realMatrix) realMatrix {
	x := newMatrix(y.rows, y.cols)
	for i, from := range f.order {
		copy(x.row(i), y.row(from))
	}
	substitute(f.f, x, false, true)
	substitute(f.f, x, true, false)
	return x
}

// substitute solves with one triangle of m, in place.
func substitute(m, x realMatrix, upper, unit bool) {
	n := m.rows
	for step := range n {
		i, from, to := step, 0, step
		if upper {
			i = n - 1 - step
			from, to = i+1, n
		}
		xi, mi := x.row(i), m.row(i)
		for p := from; p < to; p++ {
			if q := mi[p]; q != 0 {
				for j, v := range x.row(p) {
					xi[j] -= q * v
				}
			}
		}
		if !unit {
			for j := range xi {
				xi[j] /= mi[i]
			}
		}
	}
}

func (f *lu) det() float64 {
	d := f.sign
	for i := range f.f.rows {
		d *= f.f.at(i, i)
	}
	return d
}

// logDet is the sign of the determinant and the logarithm of its size.
func (f *lu) logDet() (sign, log float64) {
	sign = f.sign
	for i := range f.f.rows {
		p := f.f.at(i, i)
		switch {
		case p == 0:
			return 0, math.Inf(-1)
		case p < 0:
			sign = -sign
		}
		log += math.Log(math.Abs(p))
	}
	return sign, log
}

// householder factors by reflections I - tau v v^T, whose v stand below the
// diagonal (their first element, one, is left out); R stands on and above it.
func householder(m realMatrix) (f realMatrix, tau []float64) {
	f = m.clone()
	tau = make([]float64, min(m.rows, m.cols))
	dots := make([]float64, m.cols)
	for c := range tau {
		norm := 0.0
		for i := c + 1; i < m.rows; i++ {
			norm = math.Hypot(norm, f.at(i, c))
		}
		if norm == 0 {
			continue
		}
		head := f.at(c, c)
		beta := -math.Copysign(math.Hypot(head, norm), head)
		tau[c] = (beta - head) / beta
		for i := c + 1; i < m.rows; i++ {
			f.set(i, c, f.at(i, c)/(head-beta))
		}
		f.set(c, c, beta)
		mirror(f, c+1, f, c, tau[c], dots)
	}
	return f, tau
}

// mirror applies the reflection that column c of f holds below row c to the columns of
// m from a first one on. It goes through m by rows, as they lie in memory; dots is room
// for a row.
func mirror(m realMatrix, first int, f realMatrix, c int, tau float64, dots []float64) {
	if first >= m.cols {
		return
	}
	dots = append(dots[:0], m.row(c)[first:]...)
	for i := c + 1; i < m.rows; i++ {
		v := f.at(i, c)
		row := m.row(i)[first:][:len(dots)]
		for j := range dots {
			dots[j] += v * row[j]
		}
	}
	row := m.row(c)[first:][:len(dots)]
	for j := range dots {
		dots[j] *= tau
		row[j] -= dots[j]
	}
	for i := c + 1; i < m.rows; i++ {
		v := f.at(i, c)
		row := m.row(i)[first:][:len(dots)]
		for j := range dots {
			row[j] -= v * dots[j]
		}
	}
}

// reflections multiplies out the first cols columns of the product of the
// reflections that f and tau hold.
func reflections(f realMatrix, tau []float64, cols int) realMatrix {
	q := newMatrix(f.rows, cols)
	for i := range min(f.rows, cols) {
		q.set(i, i, 1)
	}
	dots := make([]float64, cols)
	for c := len(tau) - 1; c >= 0; c-- { // the columns before c are still those of one
		mirror(q, c, f, c, tau[c], dots)
	}
	return q
}

// exponential halves the matrix until it is small, sums the series and squares
// the result back.
func exponential(m realMatrix) realMatrix {
	norm := 0.0
	for i := range m.rows {
		sum := 0.0
		for _, v := range m.row(i) {
			sum += math.Abs(v)
		}
		norm = math.Max(norm, sum)
	}
	if norm != norm || math.IsInf(norm, 0) {
		out := newMatrix(m.rows, m.cols)
		for i := range out.a {
			out.a[i] = math.NaN()
		}
		return out
	}
	halvings := 0
	for norm > 0.5 {
		norm /= 2
		halvings++
	}
	x := m.clone()
	for i := range x.a {
		x.a[i] = math.Ldexp(x.a[i], -halvings)
	}
	sum, term := identity(m.rows), identity(m.rows)
	for k := 1; k <= 18; k++ {
		term = term.times(x)
		for i := range term.a {
			term.a[i] /= float64(k)
			sum.a[i] += term.a[i]
		}
	}
	for range halvings {
		sum = sum.times(sum)
	}
	return sum
}

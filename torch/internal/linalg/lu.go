package linalg

import "math"

// LU is a factorization with row exchanges: row i of the product is row
// order[i] of the matrix.
type LU struct {
	f        Matrix
	order    []int
	sign     float64
	Singular int // the first zero pivot, counted from 1
}

// FactorLU eliminates with the greatest pivot of each column.
func FactorLU(m Matrix) *LU {
	n := m.Rows
	f := &LU{f: m.Clone(), order: make([]int, n), sign: 1}
	for i := range f.order {
		f.order[i] = i
	}
	for first := 0; first < n; first += panel {
		end := min(first+panel, n)
		used := f.factorPanel(first, end)
		for i := first + 1; i < n; i++ {
			row, q := f.f.Row(i), [panel]float64{}
			for p := range min(i, end) - first {
				if used[p] {
					q[p] = -row[first+p]
				}
			}
			f.f.addRowsTo(row, end, first, q[:end-first])
		}
	}
	return f
}

// panel is how many columns are eliminated before the others see of it: an element is then read once for all.
const panel = 4

// factorPanel eliminates in some columns alone, with whole rows exchanged, and reports which have a pivot.
func (f *LU) factorPanel(first, end int) (used [panel]bool) {
	n := f.f.Rows
	for c := first; c < end; c++ {
		best := c
		for i := c + 1; i < n; i++ {
			if math.Abs(f.f.At(i, c)) > math.Abs(f.f.At(best, c)) {
				best = i
			}
		}
		if best != c {
			x, y := f.f.Row(best), f.f.Row(c)
			for j := range x {
				x[j], y[j] = y[j], x[j]
			}
			f.order[best], f.order[c] = f.order[c], f.order[best]
			f.sign = -f.sign
		}
		top := f.f.Row(c)
		if top[c] == 0 {
			if f.Singular == 0 {
				f.Singular = c + 1
			}
			continue
		}
		used[c-first] = true
		for i := c + 1; i < n; i++ {
			r := f.f.Row(i)
			q := r[c] / top[c]
			r[c] = q
			if q == 0 {
				continue
			}
			for j := c + 1; j < end; j++ {
				r[j] -= q * top[j]
			}
		}
	}
	return used
}

// Solve solves for the columns of y.
func (f *LU) Solve(y Matrix) Matrix {
	x := New(y.Rows, y.Cols)
	for i, from := range f.order {
		copy(x.Row(i), y.Row(from))
	}
	Substitute(f.f, x, false, true)
	Substitute(f.f, x, true, false)
	return x
}

// Substitute solves with one triangle of m, in place.
func Substitute(m, x Matrix, upper, unit bool) {
	n := m.Rows
	for step := range n {
		i, from, to := step, 0, step
		if upper {
			i = n - 1 - step
			from, to = i+1, n
		}
		xi, mi := x.Row(i), m.Row(i)
		for p := from; p < to; p += panel {
			q := [panel]float64{}
			for k, v := range mi[p:min(p+panel, to)] {
				q[k] = -v
			}
			x.addRowsTo(xi, 0, p, q[:min(panel, to-p)])
		}
		if !unit {
			for j := range xi {
				xi[j] /= mi[i]
			}
		}
	}
}

// Det is the determinant.
func (f *LU) Det() float64 {
	d := f.sign
	for i := range f.f.Rows {
		d *= f.f.At(i, i)
	}
	return d
}

// LogDet is the sign of the determinant and the logarithm of its size.
func (f *LU) LogDet() (sign, log float64) {
	sign = f.sign
	for i := range f.f.Rows {
		p := f.f.At(i, i)
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

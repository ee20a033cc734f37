package linalg

import (
	"math"
	"slices"

	"tcdbg/torch/internal/order"
)

// This file holds Jacobi's methods for eigenvalues and singular values:
// rotations of two rows at a time, which find small values as exactly as
// great ones.

const jacobiSweeps = 60

// SymmetricEigen returns the eigenvalues of the symmetric matrix that one
// triangle of m gives, in rising order, and their vectors as columns.
func SymmetricEigen(m Matrix, upper bool) ([]float64, Matrix) {
	n := m.Rows
	a := New(n, n)
	for i := range n {
		for j := 0; j <= i; j++ {
			v := m.At(i, j)
			if upper {
				v = m.At(j, i)
			}
			a.Set(i, j, v)
			a.Set(j, i, v)
		}
	}
	exponent := scaleDown(a)
	find := jacobiEigen
	if n > jacobiSize {
		find = tridiagonalEigen
	}
	values, v := find(a) // rows are the vectors
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(x, y int) int { return order.Floats(values[x], values[y]) })
	sorted, vectors := make([]float64, n), New(n, n)
	for j, from := range places {
		sorted[j] = math.Ldexp(values[from], exponent)
		for i, x := range v.Row(from) {
			vectors.Set(i, j, x)
		}
	}
	return sorted, vectors
}

// jacobiEigen replaces the symmetric matrix a, returns its eigenvalues in no order and their vectors as rows.
func jacobiEigen(a Matrix) ([]float64, Matrix) {
	v := Identity(a.Rows)
	for range jacobiSweeps {
		if !sweepSymmetric(a, v) {
			break
		}
	}
	values := make([]float64, a.Rows)
	for i := range values {
		values[i] = a.At(i, i)
	}
	return values, v
}

// sweepSymmetric rotates every pair once; false when all were diagonal.
func sweepSymmetric(a, v Matrix) bool {
	n := a.Rows
	changed := false
	for p := range n {
		for q := p + 1; q < n; q++ {
			apq := a.At(p, q)
			if math.Abs(apq) <= 1e-17*math.Sqrt(math.Abs(a.At(p, p)*a.At(q, q))) || math.Abs(apq) < 1e-300 {
				continue
			}
			changed = true
			theta := (a.At(q, q) - a.At(p, p)) / (2 * apq)
			t := 1 / (math.Abs(theta) + math.Hypot(theta, 1))
			if theta < 0 {
				t = -t
			}
			c := 1 / math.Hypot(t, 1)
			s := t * c
			for k := range n {
				x, y := a.At(k, p), a.At(k, q)
				a.Set(k, p, c*x-s*y)
				a.Set(k, q, s*x+c*y)
			}
			rotate(a.Row(p), a.Row(q), c, s)
			rotate(v.Row(p), v.Row(q), c, s)
			a.Set(p, q, 0)
			a.Set(q, p, 0)
		}
	}
	return changed
}

// rotate turns a pair of rows.
func rotate(x, y []float64, c, s float64) {
	for i, v := range x {
		w := y[i]
		x[i], y[i] = c*v-s*w, s*v+c*w
	}
}

// SVD returns the reduced factorization of m: columns u and v, and
// the values in falling order.
func SVD(m Matrix) (u Matrix, s []float64, v Matrix) {
	if m.Rows < m.Cols {
		v, s, u = SVD(m.Transposed())
		return u, s, v
	}
	n := m.Cols
	m = m.Clone()
	exponent := scaleDown(m)
	find := jacobiSVD
	if n > jacobiSize {
		find = bidiagonalSVD
	}
	ut, norms, vt := find(m)
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(x, y int) int { return order.Floats(norms[y], norms[x]) })
	s, u, v = make([]float64, n), New(m.Rows, n), New(n, n)
	for j, from := range places {
		s[j] = math.Ldexp(norms[from], exponent)
		for i, x := range vt.Row(from) {
			v.Set(i, j, x)
		}
		for i, x := range ut.Row(from) {
			u.Set(i, j, x)
		}
	}
	orthonormal(u)
	return u, s, v
}

// jacobiSVD is the reduced factorization of m, which has no more columns than rows: rows of ut and vt are the
// vectors, those of u zero where the value is.
func jacobiSVD(m Matrix) (ut Matrix, s []float64, vt Matrix) {
	ut, vt = m.Transposed(), Identity(m.Cols) // the columns of m are made orthogonal
	for range jacobiSweeps {
		if !sweepColumns(ut, vt) {
			break
		}
	}
	s = make([]float64, m.Cols)
	for i := range s {
		for _, x := range ut.Row(i) {
			s[i] = math.Hypot(s[i], x)
		}
		for j := range ut.Row(i) {
			if s[i] != 0 {
				ut.Row(i)[j] /= s[i]
			}
		}
	}
	return ut, s, vt
}

// sweepColumns rotates every pair of rows of a that is not orthogonal.
func sweepColumns(a, w Matrix) bool {
	changed := false
	for p := range a.Rows {
		for q := p + 1; q < a.Rows; q++ {
			x, y := a.Row(p), a.Row(q)
			var xx, yy, xy float64
			for i, v := range x {
				xx += v * v
				yy += y[i] * y[i]
				xy += v * y[i]
			}
			if math.Abs(xy) <= 1e-16*math.Sqrt(xx*yy) || xy == 0 {
				continue
			}
			changed = true
			zeta := (yy - xx) / (2 * xy)
			t := 1 / (math.Abs(zeta) + math.Hypot(zeta, 1))
			if zeta < 0 {
				t = -t
			}
			c := 1 / math.Hypot(t, 1)
			rotate(x, y, c, t*c)
			rotate(w.Row(p), w.Row(q), c, t*c)
		}
	}
	return changed
}

// orthonormal replaces zero columns by ones that are orthogonal to the others.
func orthonormal(u Matrix) {
	for j := range u.Cols {
		zero := true
		for i := range u.Rows {
			zero = zero && u.At(i, j) == 0
		}
		if zero {
			fillColumn(u, j)
		}
	}
}

// fillColumn makes column j a unit vector orthogonal to all columns that are
// not zero: the best of the coordinate axes, less its shadows on them.
func fillColumn(u Matrix, j int) {
	best, bestNorm := []float64(nil), 0.0
	for axis := range u.Rows {
		v := make([]float64, u.Rows)
		v[axis] = 1
		for range 2 { // twice is enough
			for k := range u.Cols {
				dot := 0.0
				for i := range v {
					dot += v[i] * u.At(i, k)
				}
				for i := range v {
					v[i] -= dot * u.At(i, k)
				}
			}
		}
		norm := 0.0
		for _, x := range v {
			norm = math.Hypot(norm, x)
		}
		if norm > bestNorm {
			best, bestNorm = v, norm
		}
		if bestNorm > 0.5 {
			break
		}
	}
	for i, x := range best {
		u.Set(i, j, x/bestNorm)
	}
}

// Completed adds columns to an orthonormal set until it is square.
func Completed(u Matrix, n int) Matrix {
	if u.Cols == n {
		return u
	}
	out := New(n, n)
	for i := range u.Rows {
		copy(out.Row(i), u.Row(i))
	}
	for j := u.Cols; j < n; j++ {
		fillColumn(out, j)
	}
	return out
}

package torch

import (
	"math"
	"slices"
)

// This file holds Jacobi's methods for eigenvalues and singular values:
// rotations of two rows at a time, which find small values as exactly as
// great ones.

const jacobiSweeps = 60

// symmetricEigen returns the eigenvalues of the symmetric matrix that one
// triangle of m gives, in rising order, and their vectors as columns.
func symmetricEigen(m realMatrix, upper bool) ([]float64, realMatrix) {
	n := m.rows
	a := newMatrix(n, n)
	for i := range n {
		for j := 0; j <= i; j++ {
			v := m.at(i, j)
			if upper {
				v = m.at(j, i)
			}
			a.set(i, j, v)
			a.set(j, i, v)
		}
	}
	v := identity(n) // rows are the vectors
	for range jacobiSweeps {
		if !sweepSymmetric(a, v) {
			break
		}
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = a.at(i, i)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return compareFloats(values[x], values[y]) })
	sorted, vectors := make([]float64, n), newMatrix(n, n)
	for j, from := range order {
		sorted[j] = values[from]
		for i, x := range v.row(from) {
			vectors.set(i, j, x)
		}
	}
	return sorted, vectors
}

// sweepSymmetric rotates every pair once; false when all were diagonal.
func sweepSymmetric(a, v realMatrix) bool {
	n := a.rows
	changed := false
	for p := range n {
		for q := p + 1; q < n; q++ {
			apq := a.at(p, q)
			if math.Abs(apq) <= 1e-17*math.Sqrt(math.Abs(a.at(p, p)*a.at(q, q))) || math.Abs(apq) < 1e-300 {
				continue
			}
			changed = true
			theta := (a.at(q, q) - a.at(p, p)) / (2 * apq)
			t := 1 / (math.Abs(theta) + math.Hypot(theta, 1))
			if theta < 0 {
				t = -t
			}
			c := 1 / math.Hypot(t, 1)
			s := t * c
			for k := range n {
				x, y := a.at(k, p), a.at(k, q)
				a.set(k, p, c*x-s*y)
				a.set(k, q, s*x+c*y)
			}
			rotate(a.row(p), a.row(q), c, s)
			rotate(v.row(p), v.row(q), c, s)
			a.set(p, q, 0)
			a.set(q, p, 0)
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

// singularValues returns the reduced factorization of m: columns u and v, and
// the values in falling order.
func singularValues(m realMatrix) (u realMatrix, s []float64, v realMatrix) {
	if m.rows < m.cols {
		v, s, u = singularValues(m.transposed())
		return u, s, v
	}
	n := m.cols
	a := m.transposed() // its rows, the columns of m, are made orthogonal
	w := identity(n)
	for range jacobiSweeps {
		if !sweepColumns(a, w) {
			break
		}
	}
	norms := make([]float64, n)
	order := make([]int, n)
	for i := range norms {
		order[i] = i
		for _, x := range a.row(i) {
			norms[i] = math.Hypot(norms[i], x)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return compareFloats(norms[y], norms[x]) })
	s, u, v = make([]float64, n), newMatrix(m.rows, n), newMatrix(n, n)
	for j, from := range order {
		s[j] = norms[from]
		for i, x := range w.row(from) {
			v.set(i, j, x)
		}
		if s[j] == 0 {
			continue
		}
		for i, x := range a.row(from) {
			u.set(i, j, x/s[j])
		}
	}
	orthonormal(u)
	return u, s, v
}

// sweepColumns rotates every pair of rows of a that is not orthogonal.
func sweepColumns(a, w realMatrix) bool {
	changed := false
	for p := range a.rows {
		for q := p + 1; q < a.rows; q++ {
			x, y := a.row(p), a.row(q)
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
			rotate(w.row(p), w.row(q), c, t*c)
		}
	}
	return changed
}

// orthonormal replaces zero columns by ones that are orthogonal to the others.
func orthonormal(u realMatrix) {
	for j := range u.cols {
		zero := true
		for i := range u.rows {
			zero = zero && u.at(i, j) == 0
		}
		if zero {
			fillColumn(u, j)
		}
	}
}

// fillColumn makes column j a unit vector orthogonal to all columns that are
// not zero: the best of the coordinate axes, less its shadows on them.
func fillColumn(u realMatrix, j int) {
	best, bestNorm := []float64(nil), 0.0
	for axis := range u.rows {
		v := make([]float64, u.rows)
		v[axis] = 1
		for range 2 { // twice is enough
			for k := range u.cols {
				dot := 0.0
				for i := range v {
					dot += v[i] * u.at(i, k)
				}
				for i := range v {
					v[i] -= dot * u.at(i, k)
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
		u.set(i, j, x/bestNorm)
	}
}

// completed adds columns to an orthonormal set until it is square.
func completed(u realMatrix, n int) realMatrix {
	if u.cols == n {
		return u
	}
	out := newMatrix(n, n)
	for i := range u.rows {
		copy(out.row(i), u.row(i))
	}
	for j := u.cols; j < n; j++ {
		fillColumn(out, j)
	}
	return out
}

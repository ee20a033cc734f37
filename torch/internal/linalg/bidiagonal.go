package linalg

import (
	"math"
	"slices"
)

// This file finds the singular values of greater matrices: reflections from both sides make the matrix
// bidiagonal, and rotations of neighbours from both sides, chosen by shifts, make that diagonal (Golub and
// Van Loan, 8.6).

const tiny = 1e-16

// bidiagonalSVD is the reduced factorization of m, which has no more columns than rows and is replaced: rows
// of ut and vt are the vectors, values come in no order.
func bidiagonalSVD(m Matrix) (ut Matrix, s []float64, vt Matrix) {
	b := bidiagonal(m)
	b.diagonalize()
	for i, d := range b.d {
		if math.Signbit(d) {
			b.d[i] = -d
			for j, x := range b.vt.Row(i) {
				b.vt.Row(i)[j] = -x
			}
		}
	}
	return b.ut, b.d, b.vt
}

// bidiagonals are a factorization u b v^T so far: b has d on its diagonal and e above it, e[i] beside d[i].
type bidiagonals struct {
	d, e   []float64
	ut, vt Matrix
}

// axis is a reflection I - scale v v^T of what begins at a place; scale is zero where there is none.
type axis struct {
	v     []float64
	scale float64
}

// axisOf is the reflection that brings x to its first axis, and what becomes of x there.
func axisOf(x []float64) (axis, float64) {
	norm := 0.0
	for _, v := range x[1:] {
		norm += v * v
	}
	if norm == 0 {
		return axis{}, x[0]
	}
	head := -math.Copysign(math.Sqrt(x[0]*x[0]+norm), x[0])
	v := slices.Clone(x)
	v[0] -= head
	return axis{v, 2 / (v[0]*v[0] + norm)}, head
}

func bidiagonal(m Matrix) *bidiagonals {
	n := m.Cols
	b := &bidiagonals{d: make([]float64, n), e: make([]float64, n)}
	left, right := make([]axis, n), make([]axis, n)
	sums, column := make([]float64, max(m.Rows, n)), make([]float64, m.Rows)
	for k := range n {
		column = column[:0]
		for i := k; i < m.Rows; i++ {
			column = append(column, m.At(i, k))
		}
		left[k], b.d[k] = axisOf(column)
		left[k].rows(m, k, k+1, sums)
		if k+1 < n {
			right[k], b.e[k] = axisOf(m.Row(k)[k+1:])
			right[k].columns(m, k+1, k+1)
		}
	}
	u, v := New(m.Rows, n), Identity(n)
	for k := n - 1; k >= 0; k-- { // rows and columns before k are still those of one
		u.Set(k, k, 1)
		left[k].rows(u, k, k, sums)
		right[k].rows(v, k+1, k+1, sums)
	}
	b.ut, b.vt = u.Transposed(), v.Transposed()
	return b
}

// rows reflects columns from col on of the rows from row on; sums is room.
func (a axis) rows(m Matrix, row, col int, sums []float64) {
	if a.scale == 0 || col >= m.Cols {
		return
	}
	sums = sums[:m.Cols-col]
	clear(sums)
	for i, x := range a.v {
		for j, y := range m.Row(row + i)[col:] {
			sums[j] += x * y
		}
	}
	for i, x := range a.v {
		to := m.Row(row + i)[col:]
		for j, s := range sums {
			to[j] -= a.scale * x * s
		}
	}
}

// columns reflects the rows from row on, each by itself, in the columns from col on.
func (a axis) columns(m Matrix, row, col int) {
	if a.scale == 0 {
		return
	}
	for i := row; i < m.Rows; i++ {
		r, dot := m.Row(i)[col:], 0.0
		for j, x := range a.v {
			dot += x * r[j]
		}
		dot *= a.scale
		for j, x := range a.v {
			r[j] -= dot * x
		}
	}
}

// diagonalize leaves the singular values in d.
func (b *bidiagonals) diagonalize() {
	high := 0.0
	for i := range b.d {
		high = max(high, math.Abs(b.d[i])+math.Abs(b.e[i]))
	}
	for last := len(b.d) - 1; last > 0; last-- {
		for range shiftRounds {
			first := last
			for first > 0 && math.Abs(b.e[first-1]) > tiny*(math.Abs(b.d[first-1])+math.Abs(b.d[first])) {
				first--
			}
			if first == last {
				break
			}
			if i := slices.IndexFunc(b.d[first:last+1], func(d float64) bool { return math.Abs(d) <= tiny*high }); i >= 0 {
				b.split(first, first+i, last)
			} else {
				b.step(first, last)
			}
		}
	}
}

// split makes the value at i, which is next to nothing, zero and rotates what is beside it out of the block.
func (b *bidiagonals) split(first, i, last int) {
	b.d[i] = 0
	if i < last {
		f := b.e[i]
		b.e[i] = 0
		for j := i + 1; j <= last && f != 0; j++ {
			c, s, r := turn(b.d[j], f)
			b.d[j], f, b.e[j] = r, -s*b.e[j], c*b.e[j]
			rotate(b.ut.Row(j), b.ut.Row(i), c, -s)
		}
		return
	}
	f := b.e[i-1]
	b.e[i-1] = 0
	for j := i - 1; j >= first && f != 0; j-- {
		c, s, r := turn(b.d[j], f)
		b.d[j] = r
		if j > first {
			f, b.e[j-1] = -s*b.e[j-1], c*b.e[j-1]
		}
		rotate(b.vt.Row(j), b.vt.Row(i), c, -s)
	}
}

// turn is the rotation that brings y and z to r and zero.
func turn(y, z float64) (c, s, r float64) {
	if z == 0 {
		return 1, 0, y
	}
	r = math.Hypot(y, z)
	return y / r, z / r, r
}

// step is one step on the block from first to last, with the eigenvalue of the last corner of b^T b as its shift.
func (b *bidiagonals) step(first, last int) {
	d, e := b.d, b.e
	above := 0.0
	if last-1 > first {
		above = e[last-2]
	}
	corner, beside := d[last]*d[last]+e[last-1]*e[last-1], d[last-1]*e[last-1]
	half := (d[last-1]*d[last-1] + above*above - corner) / 2
	shift := corner - beside*beside/(half+math.Copysign(math.Hypot(half, beside), half))
	y, z := d[first]*d[first]-shift, d[first]*e[first]
	for k := first; k < last; k++ {
		c, s, r := turn(y, z)
		if k > first {
			e[k-1] = r
		}
		y, e[k] = c*d[k]+s*e[k], c*e[k]-s*d[k]
		z, d[k+1] = s*d[k+1], c*d[k+1]
		rotate(b.vt.Row(k), b.vt.Row(k+1), c, -s)
		c, s, d[k] = turn(y, z)
		y, d[k+1] = c*e[k]+s*d[k+1], c*d[k+1]-s*e[k]
		if k+1 < last {
			z, e[k+1] = s*e[k+1], c*e[k+1]
		}
		rotate(b.ut.Row(k), b.ut.Row(k+1), c, -s)
	}
	e[last-1] = y
}

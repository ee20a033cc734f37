package linalg

import "math"

// This file finds the eigenvalues of greater symmetric matrices: reflections make the matrix tridiagonal, and
// rotations of neighbours, chosen by shifts, make that diagonal (QL with implicit shifts; Golub and Van Loan, 8.3).
// It takes some 6 n^3 steps where Jacobi's method takes that many for each sweep.

const (
	// jacobiSize is the size up to which Jacobi's method is as fast.
	jacobiSize = 16
	// shiftRounds is how many shifts an eigenvalue gets; two or three are usual.
	shiftRounds = 60
)

// tridiagonalEigen replaces the symmetric matrix a, returns its eigenvalues in no order and their vectors as rows.
func tridiagonalEigen(a Matrix) ([]float64, Matrix) {
	d, e, v := tridiagonal(a)
	diagonalize(d, e, v)
	return d, v
}

// scaleDown divides by a power of two, so that no square overflows, and returns its exponent.
func scaleDown(a Matrix) int {
	high := 0.0
	for _, x := range a.Data {
		high = max(high, math.Abs(x))
	}
	if high == 0 || math.IsInf(high, 0) || high != high {
		return 0
	}
	_, exponent := math.Frexp(high)
	for i, x := range a.Data {
		a.Data[i] = math.Ldexp(x, -exponent)
	}
	return exponent
}

// tridiagonal reduces a = q T q^T: d is the diagonal of T, e what is beside it (e[i] between i and i+1, the
// last one zero), and qt is the transpose of q.
func tridiagonal(a Matrix) (d, e []float64, qt Matrix) {
	n := a.Rows
	d, e = make([]float64, n), make([]float64, n)
	axes, scales := make([][]float64, n), make([]float64, n)
	w := make([]float64, n)
	for k := range n - 1 {
		x := a.Row(k)[k+1:] // the row is the column
		norm := 0.0
		for _, v := range x[1:] {
			norm += v * v
		}
		if norm == 0 {
			e[k] = x[0]
			continue
		}
		e[k] = -math.Copysign(math.Sqrt(x[0]*x[0]+norm), x[0])
		axis := append([]float64(nil), x...)
		axis[0] -= e[k]
		scale := 2 / (axis[0]*axis[0] + norm)
		axes[k], scales[k] = axis, scale
		reflectBothSides(a, k+1, axis, scale, w[k+1:])
	}
	for i := range d {
		d[i] = a.At(i, i)
	}
	q := Identity(n)
	for k := n - 2; k >= 0; k-- {
		if axes[k] != nil {
			reflectRows(q, k+1, axes[k], scales[k], w[k+1:])
		}
	}
	return d, e, q.Transposed()
}

// reflectBothSides applies I - scale v v^T from both sides to the square of a that begins at from; w is room.
func reflectBothSides(a Matrix, from int, v []float64, scale float64, w []float64) {
	dot := 0.0
	for i := range v {
		sum := 0.0
		for j, x := range a.Row(from + i)[from:] {
			sum += x * v[j]
		}
		w[i] = scale * sum
		dot += w[i] * v[i]
	}
	for i, x := range v {
		w[i] -= scale / 2 * dot * x
	}
	for i, vi := range v {
		row, wi := a.Row(from + i)[from:][:len(v)], w[i]
		for j, vj := range v {
			row[j] -= vi*w[j] + wi*vj
		}
	}
}

// reflectRows applies I - scale v v^T from the left to the square of q that begins at from; sums is room.
func reflectRows(q Matrix, from int, v []float64, scale float64, sums []float64) {
	clear(sums)
	for i, x := range v {
		for j, y := range q.Row(from + i)[from:] {
			sums[j] += x * y
		}
	}
	for i, x := range v {
		row := q.Row(from + i)[from:]
		for j, s := range sums {
			row[j] -= scale * x * s
		}
	}
}

// diagonalize leaves the eigenvalues of a tridiagonal matrix in d, and turns the rows of v as it turns those of it.
func diagonalize(d, e []float64, v Matrix) {
	for first := range d {
		for range shiftRounds {
			last := first
			for last < len(d)-1 && math.Abs(e[last]) > 1e-16*(math.Abs(d[last])+math.Abs(d[last+1])) {
				last++
			}
			if last == first {
				break
			}
			shifted(d, e, v, first, last)
		}
	}
}

// shifted is one step on the block from first to last: the shift is the eigenvalue of its upper corner that is nearer.
func shifted(d, e []float64, v Matrix, first, last int) {
	t := (d[first+1] - d[first]) / (2 * e[first])
	g := d[last] - d[first] + e[first]/(t+math.Copysign(math.Hypot(t, 1), t))
	sin, cos, moved := 1.0, 1.0, 0.0
	for i := last - 1; i >= first; i-- {
		f, b := sin*e[i], cos*e[i]
		r := math.Hypot(f, g)
		e[i+1] = r
		if r == 0 { // the block falls apart here
			d[i+1] -= moved
			e[last] = 0
			return
		}
		sin, cos = f/r, g/r
		g = d[i+1] - moved
		r = (d[i]-g)*sin + 2*cos*b
		moved = sin * r
		d[i+1] = g + moved
		g = cos*r - b
		rotate(v.Row(i), v.Row(i+1), cos, sin)
	}
	d[first] -= moved
	e[first], e[last] = g, 0
}

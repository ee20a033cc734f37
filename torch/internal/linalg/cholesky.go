package linalg

import "math"

// Cholesky factors the lower triangle of m into L L^T. bad is the order of the
// first leading minor that is not positive, 0 for none.
func Cholesky(m Matrix) (l Matrix, bad int) {
	n := m.Rows
	l = New(n, n)
	for i := range n {
		li := l.Row(i)
		for j := 0; j <= i; j++ {
			lj := l.Row(j)
			sum := m.At(i, j)
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

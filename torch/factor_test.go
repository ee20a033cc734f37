package torch

import (
	"fmt"
	"math"
	"testing"
)

// TestReflections: the reflections of a matrix make it from an orthogonal matrix and a
// triangular one, whatever its shape, with a column of zeros and with a repeated one.
func TestReflections(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {4, 4}, {7, 3}, {3, 7}, {60, 60}, {90, 40}} {
		rows, cols := size[0], size[1]
		t.Run(fmt.Sprint(rows, "x", cols), func(t *testing.T) {
			a := newMatrix(rows, cols)
			copy(a.a, NewGenerator(1).Uniform(rows*cols))
			if cols > 3 {
				for i := range rows {
					a.set(i, 1, 0)
					a.set(i, 3, a.at(i, 2))
				}
			}
			f, tau := householder(a)
			q := reflections(f, tau, rows)
			for i := range rows {
				for j := range rows {
					dot := 0.0
					for k := range rows {
						dot += q.at(k, i) * q.at(k, j)
					}
					if want := float64(1 - min(1, max(i-j, j-i))); math.Abs(dot-want) > 1e-13 {
						t.Fatalf("columns %d and %d of Q have the product %v", i, j, dot)
					}
				}
				for j := range cols {
					sum := 0.0
					for k := range min(rows, j+1) {
						sum += q.at(i, k) * f.at(k, j)
					}
					if math.Abs(sum-a.at(i, j)) > 1e-12 {
						t.Fatalf("QR at %d, %d is %v, want %v", i, j, sum, a.at(i, j))
					}
				}
			}
		})
	}
}

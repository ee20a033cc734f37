package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestReflections: the reflections of a matrix make it from an orthogonal matrix and a
// triangular one, whatever its shape, with a column of zeros and with a repeated one.
func TestReflections(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {4, 4}, {7, 3}, {3, 7}, {60, 60}, {90, 40}} {
		rows, cols := size[0], size[1]
		t.Run(fmt.Sprint(rows, "x", cols), func(t *testing.T) {
			a := New(rows, cols)
			random := rand.New(rand.NewPCG(1, 2))
			for i := range a.Data {
				a.Data[i] = random.Float64()
			}
			if cols > 3 {
				for i := range rows {
					a.Set(i, 1, 0)
					a.Set(i, 3, a.At(i, 2))
				}
			}
			f, tau := QR(a)
			q := Reflections(f, tau, rows)
			for i := range rows {
				for j := range rows {
					dot := 0.0
					for k := range rows {
						dot += q.At(k, i) * q.At(k, j)
					}
					if want := float64(1 - min(1, max(i-j, j-i))); math.Abs(dot-want) > 1e-13 {
						t.Fatalf("columns %d and %d of Q have the product %v", i, j, dot)
					}
				}
				for j := range cols {
					sum := 0.0
					for k := range min(rows, j+1) {
						sum += q.At(i, k) * f.At(k, j)
					}
					if math.Abs(sum-a.At(i, j)) > 1e-12 {
						t.Fatalf("QR at %d, %d is %v, want %v", i, j, sum, a.At(i, j))
					}
				}
			}
		})
	}
}

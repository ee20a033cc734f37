package linalg

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// TestSingularValuesOfGreaterMatrices: values are Jacobi's, vectors are orthonormal, and all make the matrix again.
func TestSingularValuesOfGreaterMatrices(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for name, f := range map[string]func(i, j int) float64{
		"random":     func(_, _ int) float64 { return r.NormFloat64() },
		"zero":       func(_, _ int) float64 { return 0 },
		"identity":   func(i, j int) float64 { return float64(1 - min(1, max(i-j, j-i))) },
		"rank one":   func(i, j int) float64 { return float64((i + 1) * (j + 2)) },
		"steep":      func(i, j int) float64 { return math.Pow(10, -float64(i+j)/4) * r.NormFloat64() },
		"huge":       func(_, _ int) float64 { return 1e200 * r.NormFloat64() },
		"bidiagonal": func(i, j int) float64 { return float64((i % 3) * max(0, 1-max(i-j, j-i-1, 0))) },
		"zero rows":  func(i, _ int) float64 { return float64(i%2) * r.NormFloat64() },
	} {
		for _, size := range [][2]int{{17, 17}, {19, 18}, {40, 18}, {30, 60}, {64, 64}} {
			m := New(size[0], size[1])
			high := 0.0
			for i := range m.Rows {
				for j := range m.Cols {
					m.Set(i, j, f(i, j))
					high = max(high, math.Abs(m.At(i, j)))
				}
			}
			u, s, v := SVD(m)
			limit := 1e-13 * float64(m.Rows+m.Cols) * high
			checkSingular(t, name, m, s, limit)
			scaled := v.Transposed()
			for i, x := range s {
				for j := range m.Cols {
					scaled.Set(i, j, scaled.At(i, j)*x)
				}
			}
			again := u.Times(scaled)
			for i, x := range m.Data {
				if !(math.Abs(again.Data[i]-x) <= limit) {
					t.Fatalf("%s %v: element %d is %v, want %v", name, size, i, again.Data[i], x)
				}
			}
			for _, q := range []Matrix{u, v} {
				ones := q.Transposed().Times(q)
				for i, x := range Identity(q.Cols).Data {
					if !(math.Abs(ones.Data[i]-x) <= 1e-12) {
						t.Fatalf("%s %v: vectors' product %d is %v, want %v", name, size, i, ones.Data[i], x)
					}
				}
			}
		}
	}
}

func checkSingular(t *testing.T, name string, m Matrix, s []float64, limit float64) {
	t.Helper()
	if m.Rows < m.Cols {
		m = m.Transposed()
	}
	m = m.Clone()
	exponent := scaleDown(m)
	_, want, _ := jacobiSVD(m)
	slices.Sort(want)
	slices.Reverse(want)
	for i, x := range s {
		if w := math.Ldexp(want[i], exponent); !(math.Abs(x-w) <= limit) {
			t.Errorf("%s: singular value %d of %d x %d is %v, want %v", name, i, m.Rows, m.Cols, x, w)
		}
	}
}

package linalg

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// eliminated is FactorLU column by column.
func eliminated(m Matrix) (f Matrix, order []int, singular int) {
	f, order = m.Clone(), make([]int, m.Rows)
	for i := range order {
		order[i] = i
	}
	for c := range m.Rows {
		best := c
		for i := c; i < m.Rows; i++ {
			if math.Abs(f.At(i, c)) > math.Abs(f.At(best, c)) {
				best = i
			}
		}
		order[best], order[c] = order[c], order[best]
		for j := range m.Cols {
			x, y := f.At(best, j), f.At(c, j)
			f.Set(c, j, x)
			if best != c {
				f.Set(best, j, y)
			}
		}
		if f.At(c, c) == 0 {
			if singular == 0 {
				singular = c + 1
			}
			continue
		}
		for i := c + 1; i < m.Rows; i++ {
			q := f.At(i, c) / f.At(c, c)
			f.Set(i, c, q)
			for j := c + 1; q != 0 && j < m.Cols; j++ {
				f.Set(i, j, f.At(i, j)-q*f.At(c, j))
			}
		}
	}
	return f, order, singular
}

// TestEliminationInPanels gives to the bit what elimination by columns gives, and solutions that by hand.
func TestEliminationInPanels(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	for _, n := range []int{1, 2, 3, 4, 5, 8, 11, 30} {
		for kind := range 4 {
			m, y := New(n, n), New(n, 3)
			for i := range m.Data {
				switch m.Data[i] = r.NormFloat64(); {
				case kind == 1:
					m.Data[i] = float64(r.Intn(3) - 1) // with zeros, and often singular
				case kind == 2 && i%n == 2:
					m.Data[i] = 0
				case kind == 3 && i == n*n/2:
					m.Data[i] = math.Inf(1)
				}
			}
			for i := range y.Data {
				y.Data[i] = r.NormFloat64()
			}
			got := FactorLU(m)
			want, order, singular := eliminated(m)
			if !slices.Equal(got.order, order) || got.Singular != singular || !sameBits(got.f.Data, want.Data) {
				t.Fatalf("%d, kind %d: %v %v %d, want %v %v %d", n, kind, got.f, got.order, got.Singular, want, order, singular)
			}
			x := New(n, 3)
			for i, from := range order {
				copy(x.Row(i), y.Row(from))
			}
			for _, upper := range []bool{false, true} {
				solved := x.Clone()
				Substitute(want, solved, upper, !upper)
				substituted(want, x, upper)
				if !sameBits(solved.Data, x.Data) {
					t.Fatalf("%d, kind %d, upper %v: %v, want %v", n, kind, upper, solved, x)
				}
			}
		}
	}
}

// substituted is Substitute element by element; the lower triangle has ones on its diagonal.
func substituted(m, x Matrix, upper bool) {
	for step := range m.Rows {
		i, from, to := step, 0, step
		if upper {
			i = m.Rows - 1 - step
			from, to = i+1, m.Rows
		}
		for j := range x.Cols {
			v := x.At(i, j)
			for p := from; p < to; p++ {
				if m.At(i, p) != 0 {
					v -= m.At(i, p) * x.At(p, j)
				}
			}
			if upper {
				v /= m.At(i, i)
			}
			x.Set(i, j, v)
		}
	}
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
	})
}

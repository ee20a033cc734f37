package linalg

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// TestEigenOfGreaterMatrices: values are Jacobi's, vectors are orthonormal, and both make the matrix again.
func TestEigenOfGreaterMatrices(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for name, f := range map[string]func(i, j int) float64{
		"random":   func(_, _ int) float64 { return r.NormFloat64() },
		"zero":     func(_, _ int) float64 { return 0 },
		"identity": func(i, j int) float64 { return float64(1 - min(1, i-j)) },
		"rank one": func(i, j int) float64 { return float64((i + 1) * (j + 1)) },
		"steep":    func(i, j int) float64 { return math.Pow(10, -float64(i+j)/8) * r.NormFloat64() },
		"huge":     func(_, _ int) float64 { return 1e200 * r.NormFloat64() },
		"blocks":   func(i, j int) float64 { return float64(1 - min(1, i/9-j/9)) },
	} {
		for _, n := range []int{3, jacobiSize + 1, 40, 75} {
			m := New(n, n)
			high := 0.0
			for i := range n {
				for j := 0; j <= i; j++ {
					v := f(i, j)
					m.Set(i, j, v)
					m.Set(j, i, v)
					high = max(high, math.Abs(v))
				}
			}
			values, vectors := SymmetricEigen(m, false)
			copied := m.Clone()
			exponent := scaleDown(copied)
			want, _ := jacobiEigen(copied)
			for i := range want {
				want[i] = math.Ldexp(want[i], exponent)
			}
			slices.Sort(want)
			limit := 1e-13 * float64(n) * high
			for i, v := range values {
				if !(math.Abs(v-want[i]) <= limit) {
					t.Errorf("%s %d: eigenvalue %d is %v, want %v", name, n, i, v, want[i])
				}
			}
			scaled := vectors.Transposed()
			for i, v := range values {
				for j := range n {
					scaled.Set(i, j, scaled.At(i, j)*v)
				}
			}
			again, ones := vectors.Times(scaled), vectors.Transposed().Times(vectors)
			for i, v := range m.Data {
				if !(math.Abs(again.Data[i]-v) <= limit) {
					t.Fatalf("%s %d: element %d is %v, want %v", name, n, i, again.Data[i], v)
				}
				if one := Identity(n).Data[i]; !(math.Abs(ones.Data[i]-one) <= 1e-13*float64(n)) {
					t.Fatalf("%s %d: vectors' product %d is %v, want %v", name, n, i, ones.Data[i], one)
				}
			}
		}
	}
}

// TestEigenOfNothing: a matrix with NaN ends and says so.
func TestEigenOfNothing(t *testing.T) {
	m := New(30, 30)
	m.Set(20, 3, math.NaN())
	if values, _ := SymmetricEigen(m, false); !slices.ContainsFunc(values, math.IsNaN) {
		t.Error(values)
	}
}

// TestTimesByFours: four rows at a time give what one does, also beside zeros, whose rows do not count.
func TestTimesByFours(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for _, n := range []int{1, 3, 4, 9} {
		a, b := New(5, n), New(n, 6)
		for i := range a.Data {
			a.Data[i] = float64(r.Intn(4)) * r.NormFloat64()
		}
		for i := range b.Data {
			b.Data[i] = r.NormFloat64()
		}
		a.Set(2, n-1, 0)
		b.Set(n-1, 5, math.Inf(1))
		got := a.Times(b)
		for i := range a.Rows {
			for j := range b.Cols {
				sum := 0.0
				for k := range n {
					if a.At(i, k) != 0 {
						sum += a.At(i, k) * b.At(k, j)
					}
				}
				if g := got.At(i, j); g != sum && (g == g || sum == sum) {
					t.Errorf("%d: %d %d is %v, want %v", n, i, j, g, sum)
				}
			}
		}
	}
}

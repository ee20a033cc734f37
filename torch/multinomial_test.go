package torch

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"tcdbg/torch/internal/order"
)

// TestFastest: the first places are those of a stable sort of the whole row, NaN last.
func TestFastest(t *testing.T) {
	g := NewGenerator(3)
	for _, n := range []int{1, 2, 3, 10, 1000} {
		for _, samples := range []int{1, 2, n/2 + 1, n} {
			if samples > n {
				continue
			}
			row := make([]float64, n)
			for i, v := range g.Integers(0, n/2+2, n) { // with equal ones
				row[i] = float64(v)
			}
			if n > 3 {
				row[0], row[2] = math.NaN(), math.Inf(1)
			}
			want := make([]int64, n)
			for i := range want {
				want[i] = int64(i)
			}
			slices.SortStableFunc(want, func(a, b int64) int { return cmp.Compare(row[b], row[a]) })
			got := make([]int64, samples)
			order.Largest(got, slices.Clone(row))
			if !slices.Equal(got, want[:samples]) {
				t.Errorf("%d of %d: %v, want %v", samples, n, got, want[:samples])
			}
		}
	}
}

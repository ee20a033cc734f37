package bounds

import (
	"math"
	"slices"
	"testing"
)

// TestEvenShare: what small owners leave goes to the others, and the bound holds.
func TestEvenShare(t *testing.T) {
	for _, c := range []struct {
		counts []int
		all    int
		want   int
	}{
		{[]int{10, 1, 10}, 9, 4}, {[]int{5, 5}, 10, math.MaxInt32}, {[]int{3, 3, 3}, 7, 2}, {nil, 3, math.MaxInt32},
	} {
		if got := EvenShare(slices.Clone(c.counts), c.all); got != c.want {
			t.Errorf("%v of %d: %d, want %d", c.counts, c.all, got, c.want)
		}
	}
}

// TestLongest: the order stays, and of equal ones the first are kept.
func TestLongest(t *testing.T) {
	type span struct{ length, id int }
	list := []span{{3, 0}, {1, 1}, {3, 2}, {9, 3}, {3, 4}}
	for n, want := range [][]int{{}, {3}, {0, 3}, {0, 2, 3}, {0, 2, 3, 4}} {
		kept, cut := Longest(list, n, func(s *span) int { return s.length })
		ids := []int{}
		for _, s := range kept {
			ids = append(ids, s.id)
		}
		if !slices.Equal(ids, want) || cut != []int{9, 3, 3, 3, 1}[n] {
			t.Errorf("%d longest: %v, cut at %d", n, ids, cut)
		}
	}
}

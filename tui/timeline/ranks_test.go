package timeline

import (
	"slices"
	"testing"

	"tcdbg/explain"
)

// A folded track has the ranks in its name where there is room, else their number.
func TestLabelsOfGroups(t *testing.T) {
	all := func(n int) (out []int) {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	for _, c := range []struct {
		ranks  []int
		slow   bool
		closed bool
		room   int
		want   string
	}{
		{all(255), false, true, 26, "▹ranks 0-254 alike"},
		{all(255), false, true, 13, "▹ranks 0-254"},
		{[]int{0, 2, 4, 6, 8, 10, 12}, false, true, 13, "▹7 ranks"},
		{[]int{3, 9, 77}, true, true, 26, "▹ranks 3, 9, 77 slow"},
		{[]int{3, 9, 77}, true, true, 13, "▹3 slow ranks"},
		{[]int{200}, true, true, 13, "rank 200 slow"},
		{[]int{17}, false, false, 13, "rank 17"},
		{all(255), false, false, 26, "▿rank 0"},
	} {
		g := Group{RankGroup: &explain.RankGroup{Ranks: c.ranks}, Slow: c.slow}
		if got := g.label(c.closed, c.room); got != c.want {
			t.Errorf("%v in %d: %s, want %s", c.ranks, c.room, got, c.want)
		}
	}
}

// Tracks share the lines: each has one, the selected one all it can have.
func TestTracksShareLines(t *testing.T) {
	ix := &Index{tracks: []levels{make(levels, 5), make(levels, 5), make(levels, 2), make(levels, 5)}}
	tracks := []int32{0, 1, 2, 3}
	for _, c := range []struct {
		selected int32
		lines    int
		want     []int
	}{
		{-1, 0, []int{5, 5, 2, 5}},
		{-1, 99, []int{5, 5, 2, 5}},
		{-1, 9, []int{3, 2, 2, 2}},
		{3, 9, []int{2, 1, 1, 5}},
		{3, 6, []int{1, 1, 1, 3}},
		{1, 4, []int{1, 1, 1, 1}},
		{1, 3, []int{1, 2, 1, 1}},
	} {
		if got := ix.shares(tracks, c.selected, c.lines); !slices.Equal(got, c.want) {
			t.Errorf("%d lines, selected %d: %v, want %v", c.lines, c.selected, got, c.want)
		}
	}
}

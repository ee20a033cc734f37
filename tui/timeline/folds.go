package timeline

import (
	"fmt"

	"tcdbg/explain"
	"tcdbg/tui/theme"
)

// This file is which ranks of a job are folded. Each rank that another one stands for folds by a name: what is in a set of
// such names is not drawn. A search opens a rank alone, the key a whole group.

// FoldNames are by track what it folds as, "" for nothing.
func (ix *Index) FoldNames() []string {
	out := make([]string, len(ix.Tracks))
	for t := range out {
		g, _ := ix.GroupOf(int32(t))
		if rank := ix.RankOf(int32(t)); g != nil && rank != g.Stands {
			out[t] = fmt.Sprintf("run %d rank %d", g.Run, rank)
		}
	}
	return out
}

// Folds are the ranks of an index that are folded, and others that are not.
type Folds struct {
	ix    *Index
	names []string // by track
	on    map[string]bool
}

// FoldsOf are the folds of an index of which those in on are folded.
func FoldsOf(ix *Index, names []string, on map[string]bool) Folds { return Folds{ix, names, on} }

// Any says whether there is a rank that can be folded.
func (f Folds) Any() bool {
	for _, name := range f.names {
		if name != "" {
			return true
		}
	}
	return false
}

// open says which groups have no rank that is folded.
func (f Folds) open() []bool {
	out := make([]bool, len(f.ix.Groups))
	for i := range out {
		out[i] = true
	}
	for t, name := range f.names {
		if name != "" && f.on[name] {
			_, n := f.ix.GroupOf(int32(t))
			out[n] = false
		}
	}
	return out
}

// Next is what is folded of a newer index: what is open stays open, and what was not there is folded.
func (f Folds) Next(ix *Index, names []string) map[string]bool {
	type rank struct{ run, rank int }
	known, whole := map[string]bool{}, map[rank]bool{}
	if f.ix != nil {
		for _, name := range f.names {
			known[name] = true
		}
		for i, open := range f.open() {
			g := &f.ix.Groups[i]
			for _, n := range g.Ranks {
				whole[rank{g.Run, n}] = open && len(g.Ranks) > 1
			}
		}
	}
	out := map[string]bool{}
	for t, name := range names {
		if name == "" || known[name] && !f.on[name] {
			continue
		}
		if g, _ := ix.GroupOf(int32(t)); !whole[rank{g.Run, g.Ranks[0]}] {
			out[name] = true
		}
	}
	return out
}

// Turn opens the group of a span or folds it, and reports whether it is folded now; of -1 all groups.
func (f Folds) Turn(event int) (folded bool) {
	one := -1
	folded = len(f.on) == 0
	if event >= 0 {
		track := f.ix.Events[event].Track
		_, one = f.ix.GroupOf(track)
		folded = one >= 0 && f.open()[one] || f.names[track] != ""
	}
	for t, name := range f.names {
		if _, n := f.ix.GroupOf(int32(t)); name == "" || event >= 0 && n != one {
			continue
		}
		if folded {
			f.on[name] = true
		} else {
			delete(f.on, name)
		}
	}
	return folded
}

// Hidden tells the tracks that are not drawn: those that are folded, but for that of the selected span.
func (f Folds) Hidden(selected int) func(track int32) bool {
	mine := ""
	if selected >= 0 {
		mine = f.names[f.ix.Events[selected].Track]
	}
	return func(track int32) bool {
		name := f.names[track]
		return name != "" && name != mine && f.on[name]
	}
}

// Standing is the span that stands for one: that of its group's rank that is drawn which is most like it, itself where there
// is none.
func (f Folds) Standing(event int, like func(i int) int) int {
	g, _ := f.ix.GroupOf(f.ix.Events[event].Track)
	if g == nil || f.ix.RankOf(f.ix.Events[event].Track) == g.Stands {
		return event
	}
	best, at := -1, event
	for i := range f.ix.Events {
		t := f.ix.Events[i].Track
		if other, _ := f.ix.GroupOf(t); other != g || f.ix.RankOf(t) != g.Stands {
			continue
		}
		if n := like(i); n > best {
			best, at = n, i
		}
	}
	return at
}

// StandsFor is the rank that stands for one that is folded.
func (f Folds) StandsFor(rank int) (stands int, ok bool) {
	for t, name := range f.names {
		if g, _ := f.ix.GroupOf(int32(t)); name != "" && f.on[name] && g.Run == 0 && f.ix.RankOf(int32(t)) == rank {
			return g.Stands, true
		}
	}
	return 0, false
}

// Note says which ranks a track stands for, "" where none does.
func (f Folds) Note() string {
	ranks, tracks := 0, 0
	var one *Group
	for i, open := range f.open() {
		if g := &f.ix.Groups[i]; !open {
			ranks, tracks, one = ranks+len(g.Ranks), tracks+1, g
		}
	}
	switch {
	case tracks == 0:
		return ""
	case tracks > 1:
		return fmt.Sprintf("%s%d ranks in %d tracks, each with the times of its longest rank · z opens", theme.GlyphFolded, ranks, tracks)
	}
	return theme.GlyphFolded + explain.Alike(ranks, one.Stands, one.Longest) + " · z opens"
}

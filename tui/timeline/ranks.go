package timeline

import (
	"fmt"
	"slices"

	"tcdbg/explain"
	"tcdbg/tui/theme"
)

// This file folds the tracks of ranks that did the same into one, and has the tracks of a job share the lines that
// there are.

// Group is ranks of a run that did the same, as the report has them. Until somebody opens it, it is drawn as one rank.
type Group struct {
	*explain.RankGroup
	Run     int
	Stands  int  // the rank that is drawn for all: the one whose compiles took longest
	Longest bool // they took longer than those of another rank
	Slow    bool // its ranks are stragglers
}

// member is the rank that a track is of.
type member struct{ group, rank int32 } // group -1: of none

// noMember is what a track is that no rank has, or whose rank nobody compared.
var noMember = member{-1, -1}

// groupsOf are the groups of a run's ranks that have phases, and where each of these ranks is in them, from first on.
func groupsOf(r *explain.Report, phases []*explain.Phase, run, first int) ([]Group, map[int]int32) {
	seen := map[int]bool{}
	for _, p := range phases {
		seen[p.ID.Rank] = true
	}
	slow := map[int]bool{}
	for _, s := range r.Stragglers {
		slow[s.Rank] = true
	}
	var groups []Group
	of := map[int]int32{}
	for _, g := range r.RankGroups {
		stands, longest, ok := r.Standing(g, func(rank int) bool { return seen[rank] })
		if !ok {
			continue
		}
		for _, rank := range g.Ranks {
			if seen[rank] {
				of[rank] = int32(first + len(groups))
			}
		}
		groups = append(groups, Group{RankGroup: g, Run: run, Stands: stands, Longest: longest, Slow: slow[g.Ranks[0]]})
	}
	return groups, of
}

// label names a group in so many cells, closed or open.
func (g *Group) label(closed bool, room int) string {
	if len(g.Ranks) == 1 {
		if g.Slow {
			return g.Title() + " slow"
		}
		return g.Title()
	}
	if !closed {
		return fmt.Sprintf("%srank %d", theme.GlyphOpen, g.Stands)
	}
	word := " alike"
	if g.Slow {
		word = " slow"
	}
	for _, text := range []string{g.Title() + word, g.Title()} {
		if theme.Width(theme.GlyphFolded+text) <= room && !(g.Slow && text == g.Title()) {
			return theme.GlyphFolded + text
		}
	}
	if g.Slow {
		return fmt.Sprintf("%s%d slow ranks", theme.GlyphFolded, len(g.Ranks))
	}
	return fmt.Sprintf("%s%d ranks", theme.GlyphFolded, len(g.Ranks))
}

// beside is the name of a rank and that of its thread, of which only the end is left where both do not fit in so many cells.
func beside(rank, thread string, room int) string {
	const least = 4 // cells that tell something
	switch left := room - theme.Width(rank); {
	case theme.Width(theme.Clean(thread)) <= left:
		return rank + thread
	case left >= least:
		return rank + theme.CutLeft(theme.Clean(thread), left)
	}
	return rank
}

// GroupOf is the group of a track's rank, and which it is of Groups; nil where nobody compared it.
func (ix *Index) GroupOf(track int32) (*Group, int) {
	if m := ix.member(track); m.group >= 0 {
		return &ix.Groups[m.group], int(m.group)
	}
	return nil, -1
}

// RankOf is the rank of a track that has a group.
func (ix *Index) RankOf(track int32) int { return int(ix.member(track).rank) }

func (ix *Index) member(track int32) member {
	if int(track) < len(ix.members) {
		return ix.members[track]
	}
	return noMember
}

// Folding is what is drawn of the tracks of a job.
type Folding struct {
	Hidden   func(track int32) bool // tracks that are folded
	Selected int                    // event, -1: none; its level is drawn
	Lines    int                    // that there are; 0: as many as it takes
	Width    int                    // of the chart
}

// Folded is the index without the tracks that are folded. Where those that are left have more levels than there are
// lines, each has one line at least, and the selected one as many as it can have. An index without ranks is as it was.
func (ix *Index) Folded(f Folding) *Index {
	if len(ix.Groups) == 0 {
		return ix
	}
	out := *ix
	out.rows, out.widest, out.labels = nil, 0, slices.Clone(ix.Tracks)
	closed := make([]bool, len(ix.Groups))
	var shown []int32
	for t := range int32(len(ix.Tracks)) {
		if f.Hidden(t) {
			closed[ix.member(t).group] = true
		} else if len(ix.tracks[t]) > 0 {
			shown = append(shown, t)
		}
	}
	at, track := 0, int32(-1)
	if f.Selected >= 0 {
		at, track = int(ix.level[f.Selected]), ix.Events[f.Selected].Track
	}
	lines := ix.shares(shown, track, f.Lines)
	for i, t := range shown {
		if g, n := ix.GroupOf(t); g != nil {
			name, end := ix.Tracks[t], ix.suffix[t]
			title := name[:end]
			if ix.RankOf(t) == g.Stands {
				begin := end - len(fmt.Sprintf("rank %d", g.Stands))
				title = name[:begin] + g.label(closed[n], room(f.Width))
			}
			out.labels[t] = beside(title, name[end:], room(f.Width))
		}
		out.widest = max(out.widest, theme.Width(theme.Clean(out.labels[t])))
		from := 0
		if t == track {
			from = max(0, at-lines[i]+1)
		}
		for l := range lines[i] {
			out.rows = append(out.rows, place{t, int32(from + l)})
		}
	}
	return &out
}

// shares is how many of h lines each of some tracks gets.
func (ix *Index) shares(tracks []int32, selected int32, h int) []int {
	out := make([]int, len(tracks))
	left := h - len(tracks)
	if left < 0 {
		left = h / 2 // one scrolls
	}
	give := func(i, n int) {
		n = max(0, min(n, len(ix.tracks[tracks[i]])-out[i]))
		if h > 0 {
			n = min(n, left)
			left -= n
		}
		out[i] += n
	}
	for i, t := range tracks {
		out[i] = 1
		if t == selected || h == 0 {
			give(i, mostLevels)
		}
	}
	if h < len(tracks) {
		return out
	}
	for more := true; more && left > 0; {
		more = false
		for i := range tracks {
			before := out[i]
			give(i, 1)
			more = more || out[i] > before
		}
	}
	return out
}

package render

import (
	"fmt"
	"strconv"

	"tcdbg/explain"
)

// This file writes the ranks of a distributed run as the Ranks screen has them: those that did the same are one row, the
// others with what parted them from the usual ones; then those that took longer.

func (h *htmlWriter) ranks(r *explain.Report) {
	if len(r.Ranks) == 0 {
		return
	}
	h.section("ranks", fmt.Sprintf("Ranks (%d)", len(r.Ranks)), true)
	byRank := map[int]*explain.Rank{}
	for _, k := range r.Ranks {
		byRank[k.Rank] = k
	}
	if len(r.RankGroups) == 0 { // one rank
		h.tag("p", "row", rankTotals("rank "+strconv.Itoa(r.Ranks[0].Rank), r.Ranks[:1]))
	}
	h.each(len(r.RankGroups), "group", func(i int) {
		g := r.RankGroups[i]
		h.rankGroup(g, ranksOf(g, byRank))
	})
	if len(r.Stragglers) > 0 {
		h.raw("<ul>")
		h.each(len(r.Stragglers), "straggler", func(i int) {
			s := &r.Stragglers[i]
			h.tag("li", "row", fmt.Sprintf("straggler: rank %d %s", s.Rank, s.Text()))
		})
		h.raw("</ul>")
	}
	h.end()
}

// rankGroup is a row of ranks that did the same. What parted them is in view, each rank's own figures unfold.
func (h *htmlWriter) rankGroup(g *explain.RankGroup, ranks []*explain.Rank) {
	h.row(h.at.name("rank", explain.RankRanges(g.Ranks[:1])), "", func() {
		h.tag("span", "", rankTotals(groupTitle(g), ranks))
		if g.Parted.Text != "" {
			h.raw("<br>")
			h.tag("span", "", "first difference ("+string(g.Parted.Kind)+"): "+g.Parted.Text)
		}
	})
	h.rankDiffers(g)
	t := h.table("ranks", "rank", "seconds", "trace")
	t.each(len(ranks), "rank", func(i int) {
		t.row(strconv.Itoa(ranks[i].Rank), fmt.Sprintf("%.2f", ranks[i].Totals.CompileSeconds), ranks[i].Path)
	})
	t.end()
	h.rowEnd()
}

// rankDiffers lists what ranks did otherwise, beside what first parted them.
func (h *htmlWriter) rankDiffers(g *explain.RankGroup) {
	if len(g.Differs) == 0 || len(g.Differs) == 1 && g.Differs[0] == g.Parted.Text {
		return
	}
	h.tag("p", "dim", "differs from the other ranks")
	h.raw("<ul>")
	h.each(len(g.Differs), "difference", func(i int) { h.tag("li", "", g.Differs[i]) })
	h.raw("</ul>")
}

// ranksOf are the ranks of a group.
func ranksOf(g *explain.RankGroup, byRank map[int]*explain.Rank) []*explain.Rank {
	out := make([]*explain.Rank, len(g.Ranks))
	for i, n := range g.Ranks {
		out[i] = byRank[n]
	}
	return out
}

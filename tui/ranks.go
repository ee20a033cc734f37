package tui

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is screen =, Ranks: which ranks differ, and where?

// ranksScreen is the Ranks screen.
type ranksScreen struct {
	pane
}

func newRanks() screen {
	return &ranksScreen{pane{
		title:     keys.Title{Name: "Ranks", Short: "Rnk", Key: "=", Asks: "Which ranks differ, and where?"},
		leadLines: 2, detailed: true, share: 0.6,
	}}
}

func (*ranksScreen) empty(_ *scene) []string {
	return []string{"This run has one process.", "Ranks of a distributed run are compared here by function and place."}
}

func (*ranksScreen) count(r *explain.Report) int { return len(r.Ranks) }

// absent says that a run of one process has no tab for them.
func (*ranksScreen) absent(r *explain.Report) bool { return len(r.Ranks) < 2 }

func (scr *ranksScreen) lead(sc *scene, _ int) []theme.Line {
	if len(sc.report.Ranks) == 0 {
		return nil
	}
	bad := 0
	for _, r := range sc.report.Ranks {
		if len(r.Diverged) > 0 {
			bad++
		}
	}
	if bad == 0 {
		return []theme.Line{theme.L(theme.Bold|theme.Compiled, " all "+count(len(sc.report.Ranks), "rank")+" compiled the same"), nil}
	}
	first := theme.L(theme.Bold|theme.Break, fmt.Sprintf(" %d of %d ranks differ", bad, len(sc.report.Ranks)))
	if d := sc.report.Divergence; len(d) > 0 { // what first parted them is the question here
		return []theme.Line{first, theme.L(theme.Plain, " "+d[0])}
	}
	return []theme.Line{first, nil}
}

func (*ranksScreen) rows(in *input) []row {
	if len(in.report.Ranks) == 0 {
		return nil
	}
	rows := []row{&headRow{text: padded(6, "RANK", -7, "frames", -7, "graphs", -7, "breaks", -11, "recompiles", -8, "kernels", -9,
		"compile") + " DIFFERS"}}
	for _, r := range in.report.Ranks {
		rows = append(rows, &rankRow{r})
	}
	return rows
}

// rankRow is one process.
type rankRow struct{ r *explain.Rank }

func (r *rankRow) key() string    { return fmt.Sprintf("rank %d %s", r.r.Rank, r.r.Path) }
func (r *rankRow) sel() Selection { return Selection{} }
func (r *rankRow) matches(q string) bool {
	for _, d := range r.r.Diverged {
		if theme.IndexFold(d, q) >= 0 {
			return true
		}
	}
	return strings.EqualFold(q, fmt.Sprintf("r%d", r.r.Rank)) || theme.IndexFold(r.r.Path, q) >= 0
}

func (r *rankRow) draw(_ *scene, _ int) theme.Line {
	t := r.r.Totals
	l := theme.Line{
		{Text: padded(6, number(int64(r.r.Rank)), -7, t.Frames, -7, t.Graphs, -7, t.Breaks, -11, t.Recompiles, -8, t.Kernels, -9,
			secondsOr(t.CompileSeconds)) + " "},
	}
	if n := len(r.r.Diverged); n > 0 {
		return append(l, theme.Span{Text: theme.GlyphBreak + " " + count(n, "function"), Style: theme.Break})
	}
	return append(l, theme.Span{Text: theme.GlyphDone + " same", Style: theme.Green})
}

func (scr *ranksScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	rr, ok := r.(*rankRow)
	if !ok {
		return d
	}
	d.add(theme.T(theme.Bold, fmt.Sprintf("rank %d", rr.r.Rank)))
	d.wrap(theme.Faint, 0, rr.r.Path)
	if rr.r.Caches != "" {
		d.labelled("caches", rr.r.Caches)
	}
	if len(rr.r.Diverged) == 0 {
		d.blank()
		d.wrap(theme.Plain, 0, "Its breaks and graphs are the same as on the other ranks.")
		return d
	}
	d.heading("DIFFERS FROM THE OTHER RANKS")
	for _, f := range rr.r.Diverged {
		d.wrap(theme.Plain, 2, theme.GlyphBreak+" "+f)
	}
	return d
}

package tui

import (
	"cmp"
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is screen =, Ranks: which ranks differ, and where? Ranks that did the same are one row.

// ranksScreen is the Ranks screen.
type ranksScreen struct {
	pane
}

func newRanks() screen {
	return &ranksScreen{pane{
		title:     keys.Title{Name: "Ranks", Short: "Rnk", Key: "=", Asks: "Which ranks differ, and where?"},
		leadLines: 2, detailed: true, share: 0.6,
		columns: columns.Of(
			"number", "how many ranks did the same", "frames", "functions compiled", "graphs", "graphs captured", "breaks", "graph breaks",
			"recompiles", "compiles after the first", "compile", "the time of the compiles",
		),
		orders: []order{
			{name: "largest group first"},
			{name: "slowest first", compare: rankOrder(func(a, b *rankRow) int {
				_, x := a.seconds()
				_, y := b.seconds()
				return cmp.Compare(y, x)
			})},
			{name: "by rank", compare: rankOrder(func(a, b *rankRow) int { return cmp.Compare(a.ranks[0].Rank, b.ranks[0].Rank) })},
			{name: "by what parted them", compare: rankOrder(func(a, b *rankRow) int { return cmp.Compare(a.parted(), b.parted()) })},
		},
	}}
}

// rankOrder compares rows below their heading.
func rankOrder(compare func(a, b *rankRow) int) func(a, b row) int {
	return func(a, b row) int {
		x, one := a.(*rankRow)
		y, other := b.(*rankRow)
		if !one || !other { // the heading comes first
			return cmp.Compare(bit(one), bit(other))
		}
		return compare(x, y)
	}
}

func (*ranksScreen) empty(_ *scene) []string {
	return []string{"This run has one process.", "Ranks of a distributed run are compared here by function and place."}
}

func (*ranksScreen) count(r *explain.Report) int { return len(r.Ranks) }

// absent says that a run of one process has no tab for them.
func (*ranksScreen) absent(r *explain.Report) bool { return len(r.Ranks) < 2 }

func (scr *ranksScreen) lead(sc *scene, _ int) []theme.Line {
	r := sc.report
	if len(r.RankGroups) == 0 {
		return nil
	}
	usual := r.RankGroups[0]
	if len(r.RankGroups) == 1 {
		return []theme.Line{theme.L(theme.Bold|theme.Compiled, " all "+count(len(r.Ranks), "rank")+" compiled the same"), nil}
	}
	first := theme.L(theme.Bold|theme.Break, fmt.Sprintf(" %d of %d ranks differ", len(r.Ranks)-len(usual.Ranks), len(r.Ranks)))
	if len(usual.Ranks) > 1 {
		first = append(first, theme.Span{Text: " · " + explain.RankRanges(usual.Ranks) + " alike", Style: theme.Faint})
	}
	for i := range r.Stragglers {
		word := ", rank "
		if i == 0 {
			word = " · slow: rank "
		}
		if i == 3 {
			first = append(first, theme.Span{Text: ", …", Style: theme.Yellow})
			break
		}
		first = append(first, theme.Span{Text: fmt.Sprint(word, r.Stragglers[i].Rank), Style: theme.Yellow})
	}
	for _, g := range r.RankGroups[1:] { // what first parted them is the question here
		if g.Parted.Text != "" && g.Parted.Kind != explain.PartBehind {
			return []theme.Line{first, theme.L(theme.Plain, " "+g.Title()+" "+g.Parted.Text)}
		}
	}
	return []theme.Line{first, nil}
}

// rankColumn is the column of ranks, partedRoom what is left at least for what parted them.
const (
	rankColumn = 14
	partedRoom = 26
)

// rankCells are the figures of ranks in a list of w cells.
func rankCells(c *columns.Set, w int, number, frames, graphs, breaks, recompiles, compile any) string {
	cells := c.Fit(
		w-rankColumn-1-partedRoom,
		columns.Cell{Name: "number", Width: -5, Text: number},
		columns.Cell{Name: "frames", Width: -8, Text: frames, Goes: 2},
		columns.Cell{Name: "graphs", Width: -7, Text: graphs},
		columns.Cell{Name: "breaks", Width: -7, Text: breaks},
		columns.Cell{Name: "recompiles", Width: -11, Text: recompiles, Goes: 1},
		columns.Cell{Name: "compile", Width: -9, Text: compile},
	)
	return columns.Text(cells) + " "
}

func (scr *ranksScreen) rows(in *input) []row {
	r := in.report
	if len(r.RankGroups) == 0 {
		return nil
	}
	rows := []row{&headRow{draws: func(_ *scene, w int) theme.Line {
		return theme.L(theme.Faint, columns.Padded(rankColumn, "RANKS")+
			rankCells(scr.columns, w, "", "frames", "graphs", "breaks", "recompiles", "compile")+"PARTED BY")
	}}}
	byRank := make(map[int]*explain.Rank, len(r.Ranks))
	for _, k := range r.Ranks {
		byRank[k.Rank] = k
	}
	slow := map[int]*explain.Straggler{}
	for i := range r.Stragglers {
		slow[r.Stragglers[i].Rank] = &r.Stragglers[i]
	}
	for _, g := range r.RankGroups {
		row := &rankRow{g: g, slow: slow[g.Ranks[0]], shown: scr.columns}
		for _, n := range g.Ranks {
			row.ranks = append(row.ranks, byRank[n])
		}
		rows = append(rows, row)
	}
	return rows
}

// rankRow is the ranks that did the same.
type rankRow struct {
	g     *explain.RankGroup
	ranks []*explain.Rank
	slow  *explain.Straggler // of the first of them; nil: none is one
	shown *columns.Set
}

func (r *rankRow) key() string { return fmt.Sprintf("rank %d %s", r.ranks[0].Rank, r.ranks[0].Path) }

func (r *rankRow) sel() Selection {
	if p := r.g.Parted; p.Has {
		return Selection{HasID: true, ID: p.At, Pos: placeOnly(p.Pos)}
	}
	return Selection{}
}

func (r *rankRow) matches(q string) bool {
	for _, d := range r.g.Differs {
		if theme.IndexFold(d, q) >= 0 {
			return true
		}
	}
	if theme.IndexFold(r.parted(), q) >= 0 {
		return true
	}
	for _, k := range r.ranks {
		if strings.EqualFold(q, fmt.Sprintf("r%d", k.Rank)) || theme.IndexFold(k.Path, q) >= 0 {
			return true
		}
	}
	return false
}

// parted says what parts the ranks from the usual ones.
func (r *rankRow) parted() string {
	text := string(r.g.Parted.Kind)
	if r.slow != nil && r.g.Parted.Kind != explain.PartTime {
		text = strings.TrimPrefix(text+", slow", ", ")
	}
	if text == "" && len(r.g.Differs) > 0 {
		return count(len(r.g.Differs), "function")
	}
	return text
}

// took is the time of the compiles, from the fastest rank to the slowest.
func (r *rankRow) took() string {
	low, high := r.seconds()
	if a, b := secondsOr(low), secondsOr(high); a != b {
		return a + " – " + b
	}
	return secondsOr(high)
}

func (r *rankRow) seconds() (low, high float64) {
	low = r.ranks[0].Totals.CompileSeconds
	for _, k := range r.ranks {
		low, high = min(low, k.Totals.CompileSeconds), max(high, k.Totals.CompileSeconds)
	}
	return low, high
}

func (r *rankRow) draw(_ *scene, w int) theme.Line {
	t := r.ranks[0].Totals
	_, high := r.seconds()
	name := theme.Cut(explain.RankRanges(r.g.Ranks), rankColumn-1)
	l := theme.Line{{Text: columns.Padded(rankColumn, name) +
		rankCells(r.shown, w, len(r.g.Ranks), t.Frames, t.Graphs, t.Breaks, t.Recompiles, secondsOr(high))}}
	switch parted := r.parted(); {
	case r.g.Usual && len(r.ranks) > 1:
		return append(l, theme.Span{Text: theme.GlyphDone + " alike", Style: theme.Green})
	case parted == "":
		return append(l, theme.Span{Text: "reference", Style: theme.Faint})
	default:
		return append(l, theme.T(theme.Break, theme.GlyphBreak+" "+parted))
	}
}

func (scr *ranksScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	rr, ok := r.(*rankRow)
	if !ok {
		return d
	}
	d.add(theme.T(theme.Bold, rr.g.Title()))
	if rr.g.Parted.Text != "" {
		d.heading("PARTED BY " + strings.ToUpper(string(rr.g.Parted.Kind)))
		d.wrap(theme.Plain, 2, theme.GlyphBreak+" "+rr.g.Parted.Text)
	}
	switch {
	case len(rr.g.Differs) == 0:
		d.blank()
		d.wrap(theme.Plain, 0, scr.same(sc, rr))
	case len(rr.g.Differs) > 1 || rr.g.Differs[0] != rr.g.Parted.Text:
		d.heading("DIFFERS FROM THE OTHER RANKS")
		for _, f := range rr.g.Differs {
			d.wrap(theme.Plain, 2, theme.GlyphBreak+" "+f)
		}
	}
	if rr.slow != nil {
		docSlow(d, rr.slow)
	}
	docRanks(d, rr)
	return d
}

// same says what ranks that nothing parts from the others have in common.
func (*ranksScreen) same(sc *scene, r *rankRow) string {
	if len(sc.report.RankGroups) == 1 {
		return "All ranks compiled the same functions, with the same breaks, graphs and caches."
	}
	if len(r.ranks) == 1 {
		return "The other ranks are compared with this one."
	}
	return "These ranks compiled the same; the others are compared with them."
}

// docSlow says in which phases a rank took longer.
func docSlow(d *doc, s *explain.Straggler) {
	d.heading("SLOW BY PHASE")
	d.wrap(theme.Plain, 2, fmt.Sprintf("all compiles %s, of the usual rank %s", secondsOr(s.Seconds), secondsOr(s.Usual)))
	const most = 12
	for i, p := range s.Phases {
		if i == most {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  … and %d more phases", len(s.Phases)-most)))
			break
		}
		name := theme.Fit(theme.Clean(p.Name), max(10, min(34, d.width-26)))
		more := theme.FitRight("+"+secondsOr(p.Seconds-p.Usual), 9)
		d.add(theme.Span{Text: "  " + name + " "}, theme.Span{Text: more, Style: theme.Yellow},
			theme.Span{Text: "  usually " + secondsOr(p.Usual), Style: theme.Faint})
	}
}

// docRanks lists the ranks of a row, with their times and traces.
func docRanks(d *doc, r *rankRow) {
	if len(r.ranks) == 1 {
		d.blank()
		d.wrap(theme.Faint, 0, r.ranks[0].Path)
		if r.ranks[0].Caches != "" {
			d.labelled("caches", r.ranks[0].Caches)
		}
		return
	}
	d.heading("RANKS")
	d.labelled("compile", r.took())
	if c := r.ranks[0].Caches; c != "" {
		d.labelled("caches", c)
	}
	for _, k := range r.ranks {
		d.add(theme.Span{Text: "  " + theme.Fit(fmt.Sprint(k.Rank), 6) + theme.FitRight(secondsOr(k.Totals.CompileSeconds), 8) + "  "},
			theme.T(theme.Faint, theme.CutLeft(theme.Clean(k.Path), max(10, d.width-18))))
	}
}

package tui

import (
	"fmt"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is screen 9, Timeline: where did the compile time go? A flame
// chart of phases over time, and the phases as a list.

// flameDepth is how many levels the chart shows.
const flameDepth = 5

// timelineScreen is the Timeline screen.
type timelineScreen struct {
	pane
	chart chart
}

func newTimeline() screen {
	return &timelineScreen{
		pane: pane{
			title:     keys.Title{Name: "Timeline", Short: "Time", Key: "9", Asks: "Where did the compile time go?"},
			leadLines: flameDepth + 3,
		},
	}
}

func (*timelineScreen) empty(_ *scene) []string {
	return []string{"No compile phase is recorded.", "Phases come from chromium_event records of the trace; text logs have none."}
}

func (*timelineScreen) enter(row) (keys.Screen, bool) { return keys.Graph, true }

func (*timelineScreen) rows(in *input) []row {
	r := in.report
	if len(r.Phases) == 0 {
		return nil
	}
	from, to := span(r.Phases)
	rows := make([]row, 0, len(r.Phases)+len(r.PhaseSums)+3)
	if len(r.PhaseSums) > 0 {
		rows = append(rows, &headRow{text: "TIME BY PHASE", right: "self time   total   count"})
		for i := range min(len(r.PhaseSums), 8) {
			rows = append(rows, &sumRow{r.PhaseSums[i], r.PhaseSums[0].Seconds})
		}
		rows = append(rows, &headRow{})
	}
	rows = append(rows, &headRow{text: "IN ORDER"})
	for i, p := range r.Phases {
		rows = append(rows, &phaseRow{p, i, from, to})
	}
	return rows
}

func span(phases []*explain.Phase) (from, to time.Time) {
	from = phases[0].Start
	for _, p := range phases {
		if p.Start.Before(from) {
			from = p.Start
		}
		if e := p.Start.Add(p.Dur); e.After(to) {
			to = e
		}
	}
	return from, to
}

// nowOn is where an axis ends that reaches to: while phases still run, where now is.
func (sc *scene) nowOn(to time.Time) time.Time {
	if now := sc.now(); sc.run.Live && sc.facts.counts.running && now.After(to) {
		return now
	}
	return to
}

// until is a phase that still runs, drawn to the end of the axis; others end where they do.
func until(p *explain.Phase, to time.Time) *explain.Phase {
	if !p.Open || to.Before(p.Start) {
		return p
	}
	reaching := *p
	reaching.Dur = to.Sub(p.Start)
	return &reaching
}

// sumRow is one phase over the whole run.
type sumRow struct {
	s    explain.PhaseSum
	most float64
}

func (r *sumRow) key() string           { return "sum " + r.s.Name }
func (r *sumRow) matches(q string) bool { return theme.IndexFold(r.s.Name, q) >= 0 }
func (r *sumRow) sel() Selection        { return Selection{} }
func (r *sumRow) draw(_ *scene, w int) theme.Line {
	tail := padded(-9, secondsOr(r.s.Self), -8, secondsOr(r.s.Seconds), -6, r.s.Count)
	name := min(40, max(16, w/3))
	l := theme.Line{theme.T(theme.Plain, theme.Fit(theme.Clean(r.s.Name), name)+" ")}
	room := w - name - 2 - len(tail)
	l = append(l, theme.Span{Text: theme.Fit(bar(r.s.Self, r.most, room), room) + " ", Style: theme.Accent})
	return append(l, theme.Span{Text: tail, Style: theme.Faint})
}

// phaseRow is one span.
type phaseRow struct {
	p        *explain.Phase
	i        int
	from, to time.Time
}

func (r *phaseRow) key() string { return fmt.Sprintf("phase %d %s", r.i, r.p.Name) }
func (r *phaseRow) matches(q string) bool {
	return theme.IndexFold(r.p.Name, q) >= 0 || about(r.p.ID, logs.Pos{}, q)
}

func (r *phaseRow) sel() Selection { return Selection{HasID: r.p.ID.CompileID.Frame >= 0, ID: r.p.ID} }

func (r *phaseRow) draw(sc *scene, w int) theme.Line {
	name := min(44, max(18, w*2/5))
	label := theme.Spaces(2*min(r.p.Depth, 8)) + theme.Clean(r.p.Name)
	l := theme.Line{
		{Text: sc.idCell(r.p.ID), Style: theme.Faint},
		{Text: theme.Fit(label, name) + " "},
		{Text: theme.FitRight(phaseTook(r.p), 9) + " "},
	}
	room := w - l.Width()
	if room < 8 {
		return l
	}
	to := sc.nowOn(r.to)
	at, n := onAxis(until(r.p, to), r.from, to, room)
	return append(l, theme.Span{Text: theme.Spaces(at)}, theme.Span{Text: bar(float64(n), float64(n), n), Style: phaseStyle(r.p)})
}

// phaseTook is how long a phase was; of one that has not ended nobody knows.
func phaseTook(p *explain.Phase) string {
	if p.Open {
		return "running"
	}
	return seconds(p.Dur)
}

// onAxis is where a phase lies on an axis of w cells, and its length there.
func onAxis(p *explain.Phase, from, to time.Time, w int) (at, n int) {
	total := float64(to.Sub(from))
	if total <= 0 {
		return 0, 1
	}
	at = min(w-1, int(float64(p.Start.Sub(from))/total*float64(w)))
	n = max(1, int(float64(p.Dur)/total*float64(w)+0.5))
	return at, min(n, w-at)
}

// phaseStyle colours recompiles as recompiles, so that they show as second
// hills.
func phaseStyle(p *explain.Phase) theme.Style {
	switch {
	case p.ID.CompileID.Frame >= 0 && p.ID.Compile > 0:
		return theme.Recompile
	case p.Depth%2 == 0:
		return theme.Compiled
	}
	return theme.Accent
}

// timelineLead is the totals and the flame chart.
func (scr *timelineScreen) lead(sc *scene, w int) []theme.Line {
	r := sc.report
	if len(r.Phases) == 0 {
		return nil
	}
	from, to := span(r.Phases)
	to = sc.nowOn(to)
	head := theme.Line{{Text: " " + count(r.Totals.Compiles, "compile")}} // none has ended yet
	if r.Totals.CompileSeconds > 0 {
		head = theme.Line{{Text: " " + secondsOr(r.Totals.CompileSeconds) + " compiling", Style: theme.Bold}, {Text: " in" + head[0].Text}}
	}
	head = append(head, theme.Line{
		{Text: " · the chart spans " + seconds(to.Sub(from))},
		{Text: " · "},
		{Text: theme.GlyphRecompile + " recompiled", Style: theme.Recompile},
	}...)
	if c := &scr.chart; c.version != sc.version || c.width != w || to.Sub(c.to).Abs() >= redrawEvery {
		*c = chart{sc.version, w, to, append(flame(r.Phases, from, to, w-2), axis(to.Sub(from), w-2), nil)}
	}
	return append([]theme.Line{head}, scr.chart.lines...)
}

// chart is the flame chart as it was last drawn.
type chart struct {
	version uint64
	width   int
	to      time.Time // the end of its axis
	lines   []theme.Line
}

// redrawEvery is how far now moves before the chart of a live run is drawn again.
const redrawEvery = 250 * time.Millisecond

// flame draws the chart: a line a level, a cell a slice of time; a cell shows
// the phase that began last in it, named where there is room.
func flame(phases []*explain.Phase, from, to time.Time, w int) []theme.Line {
	type cell struct {
		p     *explain.Phase
		first bool
	}
	var grid [flameDepth][]cell
	for i := range grid {
		grid[i] = make([]cell, w)
	}
	for _, p := range phases {
		if p.Depth >= flameDepth || w <= 0 {
			continue
		}
		at, n := onAxis(until(p, to), from, to, w)
		for c := at; c < at+n; c++ {
			grid[p.Depth][c] = cell{p, c == at}
		}
	}
	lines := make([]theme.Line, flameDepth)
	for d := range grid {
		line := theme.Line{{Text: " "}}
		for c := 0; c < w; {
			p := grid[d][c].p
			n := 1
			for c+n < w && grid[d][c+n].p == p && !grid[d][c+n].first {
				n++
			}
			switch {
			case p == nil:
				line = append(line, theme.Span{Text: theme.Spaces(n)})
			case n >= 4:
				line = append(line, theme.T(phaseStyle(p)|theme.Reverse, theme.Fit(theme.Clean(p.Name), n)))
			default:
				line = append(line, theme.Span{Text: bar(1, 1, n), Style: phaseStyle(p)})
			}
			c += n
		}
		lines[d] = line
	}
	return lines
}

// axis is the line of times below the chart.
func axis(total time.Duration, w int) theme.Line {
	const step = 20
	text := " "
	for c := 0; c < w; c += step {
		mark := "└" + seconds(total*time.Duration(c)/time.Duration(max(1, w)))
		if c+theme.Width(mark) > w {
			break
		}
		text += theme.Fit(mark, step)
	}
	return theme.L(theme.Faint, strings.TrimRight(text, " "))
}

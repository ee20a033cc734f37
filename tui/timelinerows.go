package tui

import (
	"fmt"
	"strconv"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/theme"
	"tcdbg/tui/timeline"
)

// This file is the rows of the Timeline screen, spans and sums, and the detail: what they are made of.

// sumRow is the time of one phase, function or cause over the whole run.
type sumRow struct {
	*timeline.Sum
	most int64
	h    *timelineHead
}

func (r *sumRow) key() string           { return "sum " + r.Kind + " " + r.Name }
func (r *sumRow) matches(q string) bool { return theme.IndexFold(r.Name, q) >= 0 }
func (r *sumRow) sel() Selection {
	if r.Compiles == nil {
		return Selection{}
	}
	c := r.Compiles[0]
	return Selection{HasID: true, ID: c.ID, Pos: placeOnly(c.Frame.Pos)}
}

// sumFigures are the figures of a sum, or their headings.
func sumFigures(c *columns.Set, self, total, count string) string {
	return columns.Text(c.Fit(columns.Plenty, columns.Cell{Name: "self", Width: -9, Text: self},
		columns.Cell{Name: "total", Width: -8, Text: total}, columns.Cell{Name: "count", Width: -6, Text: count}))
}

func (r *sumRow) draw(_ *scene, w int) theme.Line {
	tail := sumFigures(r.h.scr.columns, nanosOr(r.Self), nanosOr(r.Total), strconv.Itoa(r.Count))
	name := min(40, max(16, w/3))
	if r.Kind == timeline.Cause {
		name = max(16, w*3/5)
	}
	l := theme.Line{theme.T(theme.Plain, theme.Fit(theme.Clean(r.Name), name)+" ")}
	room := max(0, w-name-2-len(tail))
	chart := ""
	if r.h.scr.columns.On("bar") {
		chart = bar(float64(r.Self), float64(r.most), room)
	}
	l = append(l, theme.Span{Text: theme.Fit(chart, room) + " ", Style: theme.Accent})
	return append(l, theme.Span{Text: tail, Style: theme.Faint})
}

// nanosOr is secondsOr of nanoseconds, which spans of a Chrome trace are told apart by.
func nanosOr(n int64) string {
	if n < 1e6 {
		return nanos(n)
	}
	return secondsOr(float64(n) / 1e9)
}

// spanRow is one span.
type spanRow struct {
	h *timelineHead
	i int
}

func (r *spanRow) event() *timeline.Event { return &r.h.ix.Events[r.i] }

func (r *spanRow) phase() *explain.Phase {
	if ref := r.event().Ref; ref >= 0 && int(ref) < len(r.h.phases) {
		return r.h.phases[ref]
	}
	return nil
}

func (r *spanRow) key() string { return fmt.Sprintf("span %d %s", r.i, r.event().Name) }

func (r *spanRow) matches(q string) bool {
	p := r.phase()
	return theme.IndexFold(r.event().Name, q) >= 0 || p != nil && about(p.ID, logs.Pos{}, q)
}

func (r *spanRow) group() string { return r.h.folds[r.event().Track] }

func (r *spanRow) quiet() bool { return r.event().Dur < briefSpan && !r.event().Open }

func (r *spanRow) sel() Selection {
	if p := r.phase(); p != nil && p.ID.CompileID.Frame >= 0 {
		return Selection{HasID: true, ID: p.ID}
	}
	return Selection{}
}

func (r *spanRow) draw(sc *scene, w int) theme.Line {
	e := r.event()
	label := theme.Spaces(2*min(r.h.ix.Level(r.i), 8)) + theme.Clean(e.Name)
	id, self := "", timeline.Duration(r.h.ix.Self(r.i))
	if p := r.phase(); p != nil {
		id = idText(p.ID)
	}
	if e.Open {
		self = ""
	}
	l := r.h.spanLine(sc, w, theme.Plain, id, label, spanTook(e), self)
	room := w - l.Width()
	if room < 8 || !r.h.scr.columns.On("bar") {
		return l
	}
	return append(l, r.onAxis(sc, room)...)
}

// inOrder heads the spans.
func (h *timelineHead) inOrder(sc *scene, w int) theme.Line {
	return h.spanLine(sc, w, theme.Faint, "", "IN ORDER", "total", "self")
}

// spanLine is what is said of a span, in a list of w cells, up to where it lies.
func (h *timelineHead) spanLine(sc *scene, w int, style theme.Style, id, label, total, self string) theme.Line {
	c := h.scr.columns
	figures := columns.Text(c.Fit(columns.Plenty, columns.Cell{Name: "total", Width: -9, Text: total}))
	own := columns.Text(c.Fit(columns.Plenty, columns.Cell{Name: "self", Width: -9, Text: self}))
	name := min(44, max(18, w*2/5))
	var l theme.Line
	switch {
	case len(h.phases) == 0:
	case !c.On("compile"):
		name += max(minIDColumn, sc.facts.idWidth) + 1
	default:
		l = theme.Line{{Text: theme.Fit(id, max(minIDColumn, sc.facts.idWidth)) + " ", Style: theme.Faint}}
	}
	if !c.On("bar") {
		name = max(name, w-l.Width()-len(figures)-len(own)-1)
	}
	return append(
		l, theme.Span{Text: theme.Fit(label, name) + " ", Style: style}, theme.Span{Text: figures, Style: style},
		theme.Span{Text: own, Style: theme.Faint},
	)
}

// onAxis is where a span lies in the window, in w cells.
func (r *spanRow) onAxis(sc *scene, w int) theme.Line {
	e, scr := r.event(), r.h.scr
	a := scr.axis(sc, r.h)
	from, to := scr.view.Window(a)
	end := e.End()
	if e.Open {
		_, end = a.Span()
	}
	cell := func(t int64) float64 { return float64(a.On(t)-from) / float64(max(1, to-from)) * float64(w) }
	begin, past := cell(e.Start), cell(end)
	switch {
	case past < 0:
		return theme.Line{{Text: "←", Style: theme.Faint}}
	case begin >= float64(w):
		return theme.Line{{Text: theme.Spaces(w-1) + "→", Style: theme.Faint}}
	}
	at := max(0, min(w-1, int(begin)))
	n := max(1, min(w, int(past+0.5))-at)
	return theme.Line{{Text: theme.Spaces(at)}, {Text: bar(1, 1, n), Style: e.Style}}
}

// spanTook is how long a span was; of one that has not ended nobody knows.
func spanTook(e *timeline.Event) string {
	if e.Open {
		return "running"
	}
	return timeline.Duration(e.Dur)
}

// like says how much another span is of the same: its phase, and its compile.
func (r *spanRow) like(i int) int {
	o := &spanRow{r.h, i}
	p, q := o.phase(), r.phase()
	switch {
	case o.event().Name != r.event().Name:
		return 0
	case p == nil || q == nil || p.ID.CompileID != q.ID.CompileID:
		return 1
	}
	return 2
}

func (scr *timelineScreen) detail(sc *scene, r row, w int) *doc {
	scr.follow(sc)
	d := newDoc(sc, w)
	switch r := r.(type) {
	case *spanRow:
		scr.docSpan(d, r)
	case *sumRow:
		docSum(d, r)
	}
	return d
}

// slowParts is from how many spans within one on its callees are added up beside the UI.
const slowParts = 20_000

func (scr *timelineScreen) docSpan(d *doc, r *spanRow) {
	e, ix := r.event(), r.h.ix
	d.add(theme.T(theme.Bold, e.Name))
	if p := r.phase(); p != nil && p.ID.CompileID.Frame >= 0 {
		d.link(r.sel(), theme.T(theme.Accent, "compile "+idText(p.ID)))
	}
	d.labelled("total", spanTook(e))
	if !e.Open {
		d.labelled("self", timeline.Duration(ix.Self(r.i)))
	}
	from, _ := ix.Axis.Span()
	d.labelled("begins", timeline.Duration(e.Start-from)+" after the first")
	d.labelled("track", ix.Tracks[e.Track])
	if p := ix.Parent(r.i); p >= 0 {
		d.labelled("within", ix.Events[p].Name)
	}
	if g, _ := ix.GroupOf(e.Track); g != nil {
		docGroup(d, g)
	}
	scr.docWithin(d, r)
}

// docWithin lists what lies within a span, and says how much of the rest is not its own.
func (scr *timelineScreen) docWithin(d *doc, r *spanRow) {
	e := r.event()
	parts, ok := scr.callees(d.sc, r)
	if !ok {
		d.heading("WITHIN IT")
		d.add(theme.T(theme.Faint, "  being added up ..."))
		return
	}
	beside := e.Dur - r.h.ix.Self(r.i)
	if len(parts) > 0 {
		d.heading("WITHIN IT")
	}
	for _, p := range parts {
		beside -= p.Dur
		if p.Name == "" {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  and %d under 1 ms, %s in all", p.Count, timeline.Duration(p.Dur))))
			continue
		}
		often := ""
		if p.Count > 1 {
			often = fmt.Sprintf("  %d times", p.Count)
		}
		took := theme.Span{Text: theme.FitRight(timeline.Duration(p.Dur), 11) + "  "}
		d.add(took, theme.T(theme.Plain, p.Name), theme.T(theme.Faint, often))
	}
	if beside < briefSpan || e.Open {
		return
	}
	what := " are of phases that began later and lie beside it"
	if r.h.report.PhasesLeftOut > 0 {
		what += ", or are not kept"
	}
	d.blank()
	d.wrap(theme.Faint, 0, "Of the total "+timeline.Duration(beside)+what+".")
}

// docGroup says which ranks did the same as that of a span, or what parted it from the others.
func docGroup(d *doc, g *timeline.Group) {
	if len(g.Ranks) > 1 {
		d.wrap(theme.Faint, 0, fmt.Sprintf("Ranks %s did the same; rank %d stands for them.", explain.RankRanges(g.Ranks), g.Stands))
	}
	if g.Parted.Text != "" {
		d.wrap(theme.Break, 0, theme.GlyphBreak+" "+g.Parted.Text)
	}
}

// callees are the parts of a span, or false while they are added up.
func (scr *timelineScreen) callees(sc *scene, r *spanRow) ([]timeline.Part, bool) {
	if r.h.ix.Inside(r.i) < slowParts {
		return r.h.ix.Callees(r.i, briefSpan), true
	}
	key := fmt.Sprintf("timeline %d %p %d", sc.version, r.h, r.i)
	return scr.parts.get(&sc.texts, key, func() []timeline.Part { return r.h.ix.Callees(r.i, briefSpan) })
}

// mostCompiles is how many compiles of a phase or a cause are listed.
const mostCompiles = 12

func docSum(d *doc, r *sumRow) {
	d.add(theme.T(theme.Bold, r.Name))
	d.labelled("self", nanosOr(r.Self))
	d.labelled("total", nanosOr(r.Total))
	d.labelled("count", fmt.Sprint(r.Count))
	rest := 0
	switch r.Kind {
	case timeline.Function, timeline.Cause:
		d.heading("THE COMPILES")
		for _, c := range r.Compiles[:min(mostCompiles, len(r.Compiles))] {
			docCompile(d, c.ID, explain.FrameTitle(c.Frame), int64(c.Seconds*1e9))
		}
		rest = len(r.Compiles) - mostCompiles
	case timeline.Phase:
		d.heading("IN WHICH COMPILES")
		by := timeline.ByCompile(r.h.report, r.Name)
		for _, p := range by[:min(mostCompiles, len(by))] {
			docCompile(d, p.ID, titleOf(r.h.report, p.ID), int64(p.Dur))
		}
		rest = len(by) - mostCompiles
	}
	if rest > 0 {
		d.add(theme.T(theme.Faint, theme.Spaces(13)+fmt.Sprintf("and %d more", rest)))
	}
	if r.Longest >= 0 {
		d.blank()
		d.wrap(theme.Faint, 0, "Z zooms to the longest of them.")
	}
}

// docCompile is a line that leads to a compile.
func docCompile(d *doc, id explain.ID, title string, ns int64) {
	took := theme.Span{Text: theme.FitRight(nanosOr(ns), 11) + "  "}
	if id.CompileID.Frame < 0 {
		d.add(took, theme.T(theme.Faint, explain.RankPrefix(id)+"outside of compiles"))
		return
	}
	d.link(Selection{HasID: true, ID: id}, took, theme.T(theme.Accent, idText(id)), theme.T(theme.Plain, " "+title))
}

// titleOf is the function of a compile, "" when it is unknown.
func titleOf(r *explain.Report, id explain.ID) string {
	for _, fr := range r.Frames {
		if fr.ID.Rank == id.Rank && fr.ID.Epoch == id.Epoch && fr.ID.CompileID.Frame == id.CompileID.Frame {
			return explain.FrameTitle(fr)
		}
	}
	return ""
}

package tui

import (
	"fmt"
	"sort"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/theme"
	"tcdbg/tui/timeline"
)

// This file is screen 9, Timeline: where did the compile time go? A chart of phases over time, in
// which one zooms and moves, with processes and ranks as tracks; and the phases as a list. How the
// chart is made is said in package timeline.

// timelineScreen is the Timeline screen.
type timelineScreen struct {
	pane
	view   timeline.View
	wish   *atomic.Pointer[timeline.Wish] // rows are made beside the UI and read it
	traces *timeline.Files
	shownI int // selected event that the window was moved to
	drag   struct {
		on   bool
		x, y int
	}
	parts kept[[]timeline.Part]
}

// What the keys of the screen do.
const (
	zoomIn keys.Action = keys.Own + iota
	panLeft
	panRight
	zoomTo
	zoomAll
	eventBack
	eventOn
	eventAround
	hideBrief
	wholeGaps
	runBefore
	alignRuns

	// zoomOut is the key of the Output screen, which it opens as elsewhere when there is nothing to zoom out of.
	zoomOut = keys.OpenScreen + keys.Action(keys.Output)
)

func newTimeline() screen {
	const group = "Timeline"
	scr := &timelineScreen{
		wish: &atomic.Pointer[timeline.Wish]{}, traces: &timeline.Files{}, shownI: -1,
		parts: newKept[[]timeline.Part](64),
	}
	scr.pane = pane{
		title:    keys.Title{Name: "Timeline", Short: "Time", Key: "9", Asks: "Where did the compile time go?"},
		detailed: true, share: 0.62, leadOf: scr.leadHeight,
		keys: []keys.Binding{
			keys.Bind(zoomIn, "zoom in", group, 2, "+"),
			keys.Bind(zoomOut, "zoom out; with all in view: Output", group, 0, "-"),
			keys.Bind(panLeft, "move the window left (or drag)", group, 0, "left", "h"),
			keys.Bind(panRight, "move the window right", group, 0, "right", "l"),
			keys.Bind(zoomTo, "zoom to the span", group, 3, "z"),
			keys.Bind(zoomAll, "show all of the time", group, 0, "Z"),
			keys.Bind(eventBack, "previous span of its level", group, 0, "["),
			keys.Bind(eventOn, "next span of its level", group, 0, "]"),
			keys.Bind(eventAround, "the span around it", group, 0, "p"),
			keys.Bind(hideBrief, "hide spans under a millisecond", group, 0, "u"),
			keys.Bind(wholeGaps, "idle gaps as long as they are, or cut", group, 0, "i"),
			keys.Bind(runBefore, "the previous run below this one", group, 0, "d"),
			keys.Bind(alignRuns, "files begin together, or when they did", group, 0, "a"),
		},
	}
	scr.wish.Store(&timeline.Wish{})
	return scr
}

func (scr *timelineScreen) empty(sc *scene) []string {
	if len(sc.report.Traces) > 0 && !scr.ready {
		return []string{"Reading the trace ..."}
	}
	out := []string{"No compile phase is recorded.", "Phases come from chromium_event records of the trace; text logs have none."}
	return append(out, scr.traces.Problems(sc.report)...)
}

func (*timelineScreen) enter(r row) (keys.Screen, bool) {
	s := r.sel()
	return keys.Graph, s.HasID
}

func (scr *timelineScreen) first() { scr.list.Home(paneRows{&scr.pane}) }

// briefSpan is what counts as brief: such spans are added up where there are many.
const briefSpan = int64(time.Millisecond)

func (scr *timelineScreen) rows(in *input) []row {
	r := in.report
	wish, traces := *scr.wish.Load(), scr.traces.Of(r)
	ix := timeline.Of(r, wish, traces)
	if len(ix.Events) == 0 {
		return nil
	}
	about := &timelineHead{ix: ix, scr: scr, report: r, phases: timeline.Phases(r), missing: timeline.Missing(r, wish, traces)}
	about.brief, about.briefOwn = ix.Brief(briefSpan)
	rows := about.sums()
	if len(rows) == 0 {
		rows = append(rows, &headRow{text: "SPANS"})
	}
	about.text, about.right = rows[0].(*headRow).text, rows[0].(*headRow).right
	rows[0] = about
	rows = append(rows, &headRow{}, &headRow{text: "IN ORDER", right: "with what is within    own"})
	about.base = len(rows)
	events := make([]spanRow, len(ix.Events))
	for i := range events {
		events[i] = spanRow{about, i}
		rows = append(rows, &events[i])
	}
	return rows
}

// timelineHead is the first row, which has what the others are of.
type timelineHead struct {
	headRow
	ix       *timeline.Index
	scr      *timelineScreen
	report   *explain.Report
	phases   []*explain.Phase
	base     int // row of the first event
	brief    int // events under a millisecond
	briefOwn int64
	missing  string // what the chart does not show, "" for nothing
}

// missingLines is how many lines below the chart say what it does not show.
func (h *timelineHead) missingLines() int { return min(1, len(h.missing)) }

// head is that of the rows that are there, nil for none.
func (scr *timelineScreen) head() *timelineHead {
	if scr.all == nil || scr.all.Len() == 0 {
		return nil
	}
	h, _ := scr.all.At(0).(*timelineHead)
	return h
}

// sums are the rows of time by phase, by function and by cause.
func (h *timelineHead) sums() []row {
	var rows []row
	for _, t := range h.ix.Tables(h.report) {
		if len(rows) > 0 {
			rows = append(rows, &headRow{})
		}
		rows = append(rows, &headRow{text: t.Title, right: "self time   total   count"})
		for i := range t.Sums {
			rows = append(rows, &sumRow{&t.Sums[i], t.Sums[0].Own, h})
		}
		if rest := t.Rest; rest.Count > 0 {
			rows = append(rows, &headRow{
				text:  fmt.Sprintf("and %d more", t.More),
				right: fmt.Sprintf("%s in all, %s", timeline.Duration(rest.Own), count(rest.Count, t.Counts)),
			})
		}
	}
	return rows
}

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

func (r *sumRow) draw(_ *scene, w int) theme.Line {
	tail := columns.Padded(-9, nanosOr(r.Own), -8, nanosOr(r.Total), -6, r.Count)
	name := min(40, max(16, w/3))
	if r.Kind == timeline.Cause {
		name = max(16, w*3/5)
	}
	l := theme.Line{theme.T(theme.Plain, theme.Fit(theme.Clean(r.Name), name)+" ")}
	room := w - name - 2 - len(tail)
	l = append(l, theme.Span{Text: theme.Fit(bar(float64(r.Own), float64(r.most), room), max(0, room)) + " ", Style: theme.Accent})
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

func (r *spanRow) quiet() bool { return r.event().Dur < briefSpan && !r.event().Open }

func (r *spanRow) sel() Selection {
	if p := r.phase(); p != nil && p.ID.CompileID.Frame >= 0 {
		return Selection{HasID: true, ID: p.ID}
	}
	return Selection{}
}

func (r *spanRow) draw(sc *scene, w int) theme.Line {
	e := r.event()
	name := min(44, max(18, w*2/5))
	label := theme.Spaces(2*min(r.h.ix.Level(r.i), 8)) + theme.Clean(e.Name)
	var l theme.Line
	if len(r.h.phases) > 0 {
		id := ""
		if p := r.phase(); p != nil {
			id = idText(p.ID)
		}
		l = theme.Line{{Text: theme.Fit(id, max(minIDColumn, sc.facts.idWidth)) + " ", Style: theme.Faint}}
	}
	own := timeline.Duration(r.h.ix.Own(r.i))
	if e.Open {
		own = ""
	}
	l = append(
		l,
		theme.Span{Text: theme.Fit(label, name) + " "},
		theme.Span{Text: theme.FitRight(spanTook(e), 9) + " "},
		theme.Span{Text: theme.FitRight(own, 9) + " ", Style: theme.Faint},
	)
	room := w - l.Width()
	if room < 8 {
		return l
	}
	return append(l, r.onAxis(sc, room)...)
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

// axis is that of the chart: while phases still run it reaches to now.
func (scr *timelineScreen) axis(sc *scene, h *timelineHead) timeline.Axis {
	a := h.ix.Axis.Whole(scr.view.Whole)
	if sc.run.Live && sc.facts.running != nil {
		a = a.Until(sc.now().UnixNano())
	}
	return a
}

// chart is the chart as it is drawn now.
func (scr *timelineScreen) chart(sc *scene, h *timelineHead) *timeline.Chart {
	selected := -1
	if r, ok := scr.selected().(*spanRow); ok {
		selected = r.i
	}
	return &timeline.Chart{Index: h.ix, View: scr.view, Axis: scr.axis(sc, h), Selected: selected, Duration: timeline.Duration}
}

// leadHeight is how many lines the chart and what is above and below it take.
func (scr *timelineScreen) leadHeight(*scene) int {
	h := scr.head()
	if h == nil {
		return 0
	}
	return h.ix.Lines() + 3 + h.missingLines()
}

// lead is the totals, the chart, and what is selected.
func (scr *timelineScreen) lead(sc *scene, w int) []theme.Line {
	h := scr.head()
	if h == nil {
		return nil
	}
	out := []theme.Line{scr.totals(sc, h)}
	rest := scr.arrange(sc).Lead.H - 1 - h.missingLines()
	if rest >= 2 {
		out = scr.drawn(sc, h, out, w, rest)
	}
	if h.missing != "" && rest >= 0 {
		out = append(out, theme.Line{{Text: " "}, theme.T(theme.Yellow, h.missing)})
	}
	return out
}

// drawn adds the chart and what is selected to out, in rest lines.
func (scr *timelineScreen) drawn(sc *scene, h *timelineHead, out []theme.Line, w, rest int) []theme.Line {
	c := scr.chart(sc, h)
	lines := min(rest-1, c.Lines())
	if rest > 4 {
		lines = min(rest-2, c.Lines())
	}
	c.View.Line(c.LineOf(), c.Lines(), lines)
	for _, l := range c.Draw(w-2, lines) {
		out = append(out, append(theme.Line{{Text: " "}}, l...))
	}
	out = append(out, append(theme.Line{{Text: " "}}, c.Ticks(w-2)...))
	if r, ok := scr.selected().(*spanRow); ok && len(out) <= rest {
		out = append(out, scr.chosen(h, r))
	}
	if hidden := c.Lines() - lines; hidden > 0 {
		out[0] = append(out[0], theme.Span{Text: fmt.Sprintf(" · lines %d to %d of %d", c.View.Top+1, c.View.Top+lines, c.Lines())})
	}
	return out
}

// chosen is the line below the chart: what is selected.
func (scr *timelineScreen) chosen(h *timelineHead, r *spanRow) theme.Line {
	e := r.event()
	l := theme.Line{{Text: " "}, theme.T(theme.Yellow|theme.Bold, theme.GlyphCursor+e.Name), {Text: "  " + spanTook(e)}}
	if n := h.ix.Inside(r.i); n > 0 && !e.Open {
		l = append(l, theme.Span{Text: fmt.Sprintf(", %s of its own · %s within it", timeline.Duration(h.ix.Own(r.i)), count(n, "span"))})
	}
	if p := h.ix.Parent(r.i); p >= 0 {
		l = append(l, theme.T(theme.Faint, " · within "+h.ix.Events[p].Name))
	}
	return l
}

// totals is the line above the chart.
func (scr *timelineScreen) totals(sc *scene, h *timelineHead) theme.Line {
	r, a := sc.report, scr.axis(sc, h)
	from, to := a.Span()
	head := theme.Line{{Text: " " + count(r.Totals.Compiles, "compile")}} // none has ended yet
	switch {
	case len(h.phases) == 0:
		head = theme.Line{{Text: " " + count(len(h.ix.Events), "span") + " in " + count(len(h.ix.Tracks), "track"), Style: theme.Bold}}
	case r.Totals.CompileSeconds > 0:
		head = theme.Line{{Text: " " + secondsOr(r.Totals.CompileSeconds) + " compiling", Style: theme.Bold}, {Text: " in" + head[0].Text}}
	}
	head = append(head, theme.Span{Text: " · the chart spans " + spanOf(to-from)})
	if n, length := a.Cut(); n > 0 {
		text := fmt.Sprintf(", %s idle in %s cut out", timeline.Duration(length), count(n, "gap"))
		head = append(head, theme.Span{Text: text, Style: theme.Yellow})
	}
	if scr.view.Zoomed(a) {
		x, y := scr.view.Window(a)
		head = append(head, theme.Span{Text: fmt.Sprintf(" · window %s", timeline.Duration(y-x)), Style: theme.Accent})
	}
	if h.brief > 0 {
		text := fmt.Sprintf(" · %d under 1 ms, %s in all", h.brief, timeline.Duration(h.briefOwn))
		head = append(head, theme.Span{Text: text, Style: theme.Faint})
	}
	if len(h.phases) > 0 {
		head = append(head, theme.Span{Text: " · "}, theme.Span{Text: theme.GlyphRecompile + " recompiled", Style: theme.Recompile})
	}
	return head
}

// spanOf is a length of the axis, in the words of the other screens where it is short.
func spanOf(ns int64) string {
	if d := time.Duration(ns); d < time.Minute && d >= time.Millisecond {
		return seconds(d)
	}
	return timeline.Duration(ns)
}

func (scr *timelineScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	h := scr.head()
	if h == nil {
		return nil, false
	}
	axis := scr.axis(sc, h)
	switch a {
	case zoomIn:
		scr.view.Zoom(axis, 0.5, scr.middle(sc, h))
	case zoomOut:
		if !scr.view.Zoomed(axis) {
			return nil, false
		}
		scr.view.Zoom(axis, 2, scr.middle(sc, h))
	case panLeft:
		scr.view.Pan(axis, -0.25)
	case panRight:
		scr.view.Pan(axis, 0.25)
	case zoomAll:
		scr.view.All()
	case zoomTo:
		return nil, scr.fit(sc, h)
	case eventBack, eventOn, eventAround:
		scr.sideways(sc, h, a)
	case wholeGaps:
		scr.view = timeline.View{Whole: !scr.view.Whole}
		sc.say(map[bool]string{true: "idle gaps are as long as they are", false: "idle gaps are cut out"}[scr.view.Whole])
	case hideBrief:
		scr.hide = !scr.hide
		sc.say(map[bool]string{true: "spans under 1 ms are hidden; the sums have them", false: "all spans are listed"}[scr.hide])
		return scr.refilter(), true
	case runBefore:
		return scr.before(sc), true
	case alignRuns:
		w := *scr.wish.Load()
		w.Align = !w.Align
		scr.again(w)
		sc.say(map[bool]string{true: "files begin together", false: "files begin when they did"}[w.Align])
	default:
		return nil, false
	}
	scr.version++ // rows draw the window, too
	return nil, true
}

// again makes the rows again, as w wants them.
func (scr *timelineScreen) again(w timeline.Wish) {
	scr.wish.Store(&w)
	scr.made = nil
	scr.view.All()
}

// before shows the run before, or no longer.
func (scr *timelineScreen) before(sc *scene) tea.Cmd {
	if w := *scr.wish.Load(); w.Before != nil {
		w.Before = nil
		scr.again(w)
		return nil
	}
	feed := sc.feed
	return func() tea.Msg {
		r, name, err := feed.Before()
		return onUI(func(sc *scene) tea.Cmd {
			switch {
			case err != nil:
				sc.fail(err.Error())
			case len(timeline.Phases(r)) == 0:
				sc.fail("of the run before, " + name + ", no times are recorded")
			default:
				w := *scr.wish.Load()
				w.Before, w.Name = r, name
				scr.again(w)
				sc.say("below: " + name + ", from its beginning on")
			}
			return nil
		})
	}
}

// middle is what zooming keeps in place: the selected span where it is in view, else the middle.
func (scr *timelineScreen) middle(sc *scene, h *timelineHead) int64 {
	a := scr.axis(sc, h)
	from, to := scr.view.Window(a)
	if r, ok := scr.selected().(*spanRow); ok {
		if at := (a.On(r.event().Start) + a.On(r.event().End())) / 2; at >= from && at <= to {
			return at
		}
	}
	return (from + to) / 2
}

// fit zooms to the selected span, or the longest of the selected phase.
func (scr *timelineScreen) fit(sc *scene, h *timelineHead) bool {
	switch r := scr.selected().(type) {
	case *spanRow:
		scr.view.Fit(scr.axis(sc, h), r.event())
	case *sumRow:
		if r.Longest < 0 {
			return true
		}
		scr.choose1(sc, h, r.Longest)
		scr.view.Fit(scr.axis(sc, h), &h.ix.Events[r.Longest])
	}
	scr.version++
	return true
}

// sideways goes from the selected span to one beside or around it.
func (scr *timelineScreen) sideways(sc *scene, h *timelineHead, a keys.Action) {
	r, ok := scr.selected().(*spanRow)
	switch {
	case !ok:
		scr.choose1(sc, h, 0)
	case a == eventBack:
		scr.choose1(sc, h, h.ix.Next(r.i, -1))
	case a == eventOn:
		scr.choose1(sc, h, h.ix.Next(r.i, 1))
	case h.ix.Parent(r.i) >= 0:
		scr.choose1(sc, h, h.ix.Parent(r.i))
	}
}

// choose1 selects a span; one that a filter hides comes back.
func (scr *timelineScreen) choose1(sc *scene, h *timelineHead, i int) {
	at := h.base + i
	if scr.shown != nil {
		k := sort.Search(len(scr.shown), func(k int) bool { return int(scr.shown[k]) >= at })
		if k == len(scr.shown) || int(scr.shown[k]) != at {
			scr.filter, scr.hide = "", false
			scr.apply()
			scr.version++
		} else {
			at = k
		}
	}
	scr.set(at)
	scr.moved(sc)
	scr.view.Show(scr.axis(sc, h), &h.ix.Events[i])
}

// follow keeps the selected span in the window.
func (scr *timelineScreen) follow(sc *scene) {
	r, ok := scr.selected().(*spanRow)
	if !ok || r.i == scr.shownI {
		return
	}
	scr.shownI = r.i
	if a := scr.axis(sc, r.h); scr.view.Zoomed(a) {
		scr.view.Show(a, r.event())
	}
}

// point is the mouse over the chart: the wheel zooms there, dragging moves the window, a click selects.
func (scr *timelineScreen) point(sc *scene, e tea.MouseMsg, f layout.Frame) bool {
	h := scr.head()
	over := f.Lead.Has(e.X, e.Y) && e.Y > f.Lead.Y
	if h == nil || !over && !scr.drag.on {
		return false
	}
	a, c, w := scr.axis(sc, h), scr.chart(sc, h), sc.w-2
	switch {
	case e.Action == tea.MouseActionRelease:
		scr.drag.on = false
		return true
	case e.Button == tea.MouseButtonWheelUp && !e.Shift:
		scr.view.Zoom(a, 0.7, c.PlaceAt(e.X-1, w))
	case e.Button == tea.MouseButtonWheelDown && !e.Shift:
		scr.view.Zoom(a, 1/0.7, c.PlaceAt(e.X-1, w))
	case e.Button == tea.MouseButtonWheelUp || e.Button == tea.MouseButtonWheelLeft:
		scr.view.Pan(a, -0.1)
	case e.Button == tea.MouseButtonWheelDown || e.Button == tea.MouseButtonWheelRight:
		scr.view.Pan(a, 0.1)
	case e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionMotion && scr.drag.on:
		scr.view.Pan(a, float64(scr.drag.x-e.X)/float64(max(1, w)))
		scr.drag.x = e.X
	case e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress:
		scr.drag.on, scr.drag.x, scr.drag.y = true, e.X, e.Y
		lines := max(1, min(f.Lead.H-2-h.missingLines(), c.Lines()))
		c.View.Line(c.LineOf(), c.Lines(), lines)
		if i := c.EventAt(e.X-1, e.Y-f.Lead.Y-1, w); i >= 0 && e.Y-f.Lead.Y-1 < lines {
			scr.inside = false
			scr.choose1(sc, h, i)
		}
	default:
		return true
	}
	scr.version++
	return true
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
		d.labelled("own", timeline.Duration(ix.Own(r.i)))
	}
	from, _ := ix.Axis.Span()
	d.labelled("begins", timeline.Duration(e.Start-from)+" after the first")
	d.labelled("track", ix.Tracks[e.Track])
	if p := ix.Parent(r.i); p >= 0 {
		d.labelled("within", ix.Events[p].Name)
	}
	parts, ok := scr.callees(d.sc, r)
	switch {
	case !ok:
		d.heading("WITHIN IT")
		d.add(theme.T(theme.Faint, "  being added up ..."))
	case len(parts) > 0:
		d.heading("WITHIN IT")
		for _, p := range parts {
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
	d.labelled("own", nanosOr(r.Own))
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
		d.wrap(theme.Faint, 0, "z zooms to the longest of them.")
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

package tui

import (
	"fmt"
	"sort"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
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
		columns: columns.Of(
			"compile", "the compile that a span is of", "total", "how long it was", "self", "that without the spans in it",
			"count", "how often, in sums", "bar", "where it lies in the chart's window; in sums its part",
		),
		keys: []keys.Binding{
			keys.Bind(zoomIn, "zoom in", group, 2, "+"),
			keys.Bind(zoomOut, "zoom out; with all in view: Output", group, 0, "-"),
			keys.Bind(panLeft, "move the window left (or drag)", group, 0, "left", "h"),
			keys.Bind(panRight, "move the window right", group, 0, "right", "l"),
			keys.Bind(zoomTo, "zoom to the span; again: all of the time", group, 3, "Z"),
			keys.Bind(keys.Fold, "fold or unfold ranks that did the same", group, 0, "z"),
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
	if traces := scr.traces.Read(sc.report); len(traces) > 0 {
		out = []string{"No span is recorded."}
	}
	if missing := timeline.Missing(sc.report, *scr.wish.Load(), scr.traces.Read(sc.report)); missing != "" {
		out = append(out, missing)
	}
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
	about.brief, about.briefSelf = ix.Brief(briefSpan)
	about.folds = ix.FoldNames()
	rows := about.sums()
	if len(rows) == 0 {
		rows = append(rows, &headRow{text: "SPANS"})
	}
	about.headRow = *rows[0].(*headRow)
	rows[0] = about
	rows = append(rows, &headRow{}, &headRow{draws: about.inOrder})
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
	ix        *timeline.Index
	scr       *timelineScreen
	report    *explain.Report
	phases    []*explain.Phase
	base      int      // row of the first event
	folds     []string // of each track what it folds as, "" for nothing
	brief     int      // events under a millisecond
	briefSelf int64
	missing   string // what the chart does not show, "" for nothing
}

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
		title := t.Title
		rows = append(rows, &headRow{draws: func(_ *scene, w int) theme.Line {
			figures := sumFigures(h.scr.columns, "self time", "total", "count")
			return theme.L(theme.Faint, theme.Fit(title, max(0, w-len(figures)))+figures)
		}})
		for i := range t.Sums {
			rows = append(rows, &sumRow{&t.Sums[i], t.Sums[0].Self, h})
		}
		if rest := t.Rest; rest.Count > 0 {
			rows = append(rows, &headRow{
				text:  fmt.Sprintf("and %d more", t.More),
				right: fmt.Sprintf("%s in all, %s", timeline.Duration(rest.Self), count(rest.Count, t.Counts)),
			})
		}
	}
	return rows
}

// axis is that of the chart: while phases still run it reaches to now.
func (scr *timelineScreen) axis(sc *scene, h *timelineHead) timeline.Axis {
	a := h.ix.Axis.Whole(scr.view.Whole)
	if sc.run.Live && sc.facts.running != nil {
		a = a.Until(sc.now().UnixNano())
	}
	return a
}

// chart is the chart as it is drawn now, in so many lines; 0: as many as it takes.
func (scr *timelineScreen) chart(sc *scene, h *timelineHead, lines int) *timeline.Chart {
	selected := -1
	if r, ok := scr.selected().(*spanRow); ok {
		selected = r.i
	}
	return &timeline.Chart{
		Index: h.ix.Folded(timeline.Folding{Hidden: scr.foldsOf(h).Hidden(selected), Selected: selected, Lines: lines, Width: sc.w - 2}),
		View:  scr.view, Axis: scr.axis(sc, h), Selected: selected, Duration: timeline.Duration,
	}
}

// leadHeight is how many lines the chart and what is above and below it take.
func (scr *timelineScreen) leadHeight(sc *scene) int {
	h := scr.head()
	if h == nil {
		return 0
	}
	return scr.chart(sc, h, 0).Lines() + 3 + len(scr.notes(h))
}

// lead is the totals, the chart, and what is selected.
func (scr *timelineScreen) lead(sc *scene, w int) []theme.Line {
	h := scr.head()
	if h == nil {
		return nil
	}
	out, notes := []theme.Line{scr.totals(sc, h)}, scr.notes(h)
	rest := scr.arrange(sc).Lead.H - 1 - len(notes)
	if rest >= 2 {
		out = scr.drawn(sc, h, out, w, rest)
	}
	if rest >= 0 {
		out = append(out, notes...)
	}
	return out
}

// notes are the lines below the chart: which tracks stand for others, and what is missing.
func (scr *timelineScreen) notes(h *timelineHead) []theme.Line {
	var out []theme.Line
	if text := scr.foldsOf(h).Note(); text != "" {
		out = append(out, theme.Line{{Text: " "}, theme.T(theme.Faint, text)})
	}
	if h.missing != "" {
		out = append(out, theme.Line{{Text: " "}, theme.T(theme.Yellow, h.missing)})
	}
	return out
}

// chartLines is how many of the lines below the totals are the chart's.
func chartLines(rest int) int {
	if rest > 4 {
		return rest - 2
	}
	return rest - 1
}

// drawn adds the chart and what is selected to out, in rest lines.
func (scr *timelineScreen) drawn(sc *scene, h *timelineHead, out []theme.Line, w, rest int) []theme.Line {
	c := scr.chart(sc, h, chartLines(rest))
	lines := min(chartLines(rest), c.Lines())
	c.Scroll(lines)
	for _, l := range c.Draw(w-2, lines) {
		out = append(out, append(theme.Line{{Text: " "}}, l...))
	}
	out = append(out, append(theme.Line{{Text: " "}}, c.Ticks(w-2)...))
	if r, ok := scr.selected().(*spanRow); ok && len(out) <= rest {
		out = append(out, scr.chosen(h, r))
	}
	if all := scr.chart(sc, h, 0).Lines(); all > c.Lines() {
		out[0] = append(out[0], theme.Span{Text: fmt.Sprintf(" · %d of %d levels", c.Lines(), all)})
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
		l = append(l, theme.Span{Text: fmt.Sprintf(", self %s · %s within it", timeline.Duration(h.ix.Self(r.i)), count(n, "span"))})
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
		text := fmt.Sprintf(" · %d under 1 ms, %s in all", h.brief, timeline.Duration(h.briefSelf))
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
	case zoomTo:
		return nil, scr.fit(sc, h)
	case keys.Fold:
		return scr.fold(sc, h), true
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

// fit zooms to the selected span, or the longest of the selected phase; where that is done already, to all.
func (scr *timelineScreen) fit(sc *scene, h *timelineHead) bool {
	a, was := scr.axis(sc, h), scr.view
	longest := -1
	switch r := scr.selected().(type) {
	case *spanRow:
		longest = r.i
	case *sumRow:
		if longest = r.Longest; longest >= 0 {
			scr.choose1(sc, h, longest)
		}
	}
	if longest >= 0 {
		scr.view.Fit(a, &h.ix.Events[longest])
	}
	if scr.view == was {
		scr.view.All()
	}
	scr.version++
	return true
}

// foldsOf is which ranks are folded: the folds of the pane.
func (scr *timelineScreen) foldsOf(h *timelineHead) timeline.Folds {
	return timeline.FoldsOf(h.ix, h.folds, scr.folds)
}

// regroup folds the ranks of new rows that did the same; what was open stays open.
func (scr *timelineScreen) regroup(rows rowsOf) {
	var h *timelineHead
	if rows.Len() > 0 {
		h, _ = rows.At(0).(*timelineHead)
	}
	was := timeline.Folds{}
	if old := scr.head(); old != nil {
		was = scr.foldsOf(old)
	}
	scr.folds = map[string]bool{}
	if h != nil {
		scr.folds = was.Next(h.ix, h.folds)
	}
}

// fold folds or unfolds the ranks of the selected span, or all; the cursor goes to the rank that stands for its own.
func (scr *timelineScreen) fold(sc *scene, h *timelineHead) tea.Cmd {
	folds := scr.foldsOf(h)
	r, ok := scr.selected().(*spanRow)
	switch {
	case !folds.Any():
		sc.say("z folds ranks that did the same; Z zooms to the span")
	case !ok:
		folds.Turn(-1)
		return scr.refilter()
	default:
		if g, _ := h.ix.GroupOf(r.event().Track); g == nil || len(g.Ranks) == 1 {
			sc.say("no other rank did the same; z folds those that did")
			return nil
		}
		at := folds.Standing(r.i, r.like)
		if folds.Turn(r.i) && at != r.i {
			scr.choose1(sc, h, at)
		}
		return scr.refilter()
	}
	return nil
}

// find puts the cursor on the compile of a selection; a rank that is folded has that of the one that stands for it.
func (scr *timelineScreen) find(want Selection) bool {
	h := scr.head()
	if h == nil || !want.HasID {
		return false
	}
	stands, ok := scr.foldsOf(h).StandsFor(want.ID.Rank)
	if !ok {
		return false
	}
	want.ID.Rank = stands
	at := scr.best(want)
	if at >= 0 {
		scr.set(at)
	}
	return at >= 0
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
	if g := h.folds[h.ix.Events[i].Track]; scr.folds[g] {
		scr.unfold(g)
		scr.apply()
		scr.version++
	}
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
	lines := max(1, chartLines(f.Lead.H-1-len(scr.notes(h))))
	a, c, w := scr.axis(sc, h), scr.chart(sc, h, lines), sc.w-2
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
		lines = min(lines, c.Lines())
		c.Scroll(lines)
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

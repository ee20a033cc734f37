package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	trace "tcdbg/logs/calls"
	"tcdbg/tui/calls"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is screen @, Calls: what became of each call? Its rows are the compiled functions
// with their tracks; one moment is selected in all of them. How a track is drawn is said in
// package calls.

// callsScreen is the Calls screen.
type callsScreen struct {
	pane
	// moment is the start of the selected call by the chart's clock. Rows are made beside the
	// UI and read it when they are drawn.
	moment *atomic.Int64
}

// What the keys of the screen do.
const (
	callBefore keys.Action = keys.Own + iota
	callAfter
	eventBefore
	eventAfter
)

func newCalls() screen {
	const group = "Calls"
	scr := &callsScreen{
		pane: pane{
			title:     keys.Title{Name: "Calls", Short: "Cls", Key: "@", Asks: "What became of each call of a compiled function?"},
			leadLines: 3, detailed: true, share: 0.55,
			columns: columns.Of("name", "the function", "calls", "how often it was called"),
			keys: []keys.Binding{
				keys.Bind(callBefore, "previous call of the function", group, 0, "left", "h"),
				keys.Bind(callAfter, "next call", group, 1, "right", "l"),
				keys.Bind(eventBefore, "previous compile, error or eager call", group, 0, "["),
				keys.Bind(eventAfter, "next compile, error or eager call", group, 1, "]"),
			},
			orders: []order{
				{name: "as compiled"},
				{
					name: "most calls first", lacks: "calls were not recorded",
					compare: trackOrder(func(a, b *trackRow) int { return cmp.Compare(b.called, a.called) }),
					has:     func(r row) bool { return r.(*trackRow).called > 0 },
				},
				{
					name: "most time first", lacks: "no call was timed",
					compare: trackOrder(func(a, b *trackRow) int { return cmp.Compare(b.nanos, a.nanos) }),
					has:     func(r row) bool { return r.(*trackRow).nanos > 0 },
				},
				{name: "most compiles, errors and eager calls first", compare: trackOrder(func(a, b *trackRow) int {
					return cmp.Compare(b.events, a.events)
				})},
				{name: "by line", compare: trackOrder(func(a, b *trackRow) int { return comparePos(a.track.Pos, b.track.Pos) })},
			},
		},
		moment: &atomic.Int64{},
	}
	scr.moment.Store(math.MaxInt64) // the newest
	return scr
}

func trackOrder(compare func(a, b *trackRow) int) func(a, b row) int {
	return func(a, b row) int { return compare(a.(*trackRow), b.(*trackRow)) }
}

func (*callsScreen) empty(sc *scene) []string {
	out := []string{"No call of a compiled function is known yet."}
	if len(sc.report.Calls.Missing) > 0 {
		return append(out, "Calls are not recorded: "+strings.Join(sc.report.Calls.Missing, "; ")+".")
	}
	return append(out, "Each function has a line here once it was compiled, and on it each of its calls: which entry of the cache it hit, "+
		"or that none fitted and why, and what it took.")
}

// absent says that a trace without a compile has no tab for it.
func (*callsScreen) absent(r *explain.Report) bool { return len(r.Calls.Tracks) == 0 }

func (scr *callsScreen) lead(sc *scene, w int) []theme.Line {
	c := &sc.report.Calls
	if len(c.Tracks) == 0 {
		return nil
	}
	n, known := int64(0), 0
	for _, t := range c.Tracks {
		n += t.Calls()
		known += len(t.Runs)
	}
	first := theme.Line{{Text: " " + count(int(n), "call"), Style: theme.Bold}, {Text: " of " + count(len(c.Tracks), "function")}}
	if !c.Recorded {
		first = theme.Line{
			{Text: " calls were not recorded", Style: theme.Bold | theme.Yellow},
			{Text: ": only the compiles are known"},
		}
	}
	if len(c.Missing) > 0 {
		first = append(first, theme.T(theme.Faint, " · "+strings.Join(c.Missing, "; ")))
	}
	return []theme.Line{first.Fit(w), calls.Legend().Fit(w), nil}
}

func (scr *callsScreen) rows(in *input) []row {
	chart := calls.New(&in.report.Calls)
	var rows []row
	width := 0
	for i, t := range in.report.Calls.Tracks {
		r := &trackRow{track: t, chart: chart, n: i, moment: scr.moment, shown: scr.columns}
		r.measure()
		width = max(width, theme.Width(theme.Clean(t.Name)))
		rows = append(rows, r)
	}
	for _, r := range rows {
		r.(*trackRow).width = min(width, 32)
	}
	return rows
}

// trackRow is the calls of one function.
type trackRow struct {
	track  *explain.CallTrack
	chart  *calls.Chart
	n      int // of the track
	width  int // of the longest name
	moment *atomic.Int64
	shown  *columns.Set
	// What it is sorted by: calls, -1 where they are not known; their time as far as they were timed; and
	// calls that are no steady work.
	called, nanos, events int64
}

// measure sums up the track.
func (r *trackRow) measure() {
	for i := range r.track.Runs {
		run := &r.track.Runs[i]
		r.called += run.Count
		if run.Timed > 0 { // those that were not timed took as long
			r.nanos += int64(float64(run.Nanos) / float64(run.Timed) * float64(run.Count))
		}
		if run.Event() {
			r.events += run.Count
		}
	}
	if r.track.Derived {
		r.called = -1
	}
}

// callAt is one call, or a run of calls that went alike, as other screens follow it.
type callAt struct {
	frame   explain.ID
	process int
	name    string
	first   int64 // number of the first call; 0: not known
	when    int64 // by the chart's clock
	pos     logs.Pos
}

func (r *trackRow) key() string {
	id := ""
	if r.track.Frame != nil {
		id = idText(r.track.Frame.ID)
	}
	return fmt.Sprintf("calls %s %d %s", id, r.track.Process, r.track.Name)
}

// at is the row's run at the selected moment, -1 for none.
func (r *trackRow) at() int { return r.chart.At(r.n, r.moment.Load()) }

func (r *trackRow) sel() Selection {
	at := r.at()
	if at < 0 {
		return Selection{}
	}
	return r.selAt(at)
}

func (r *trackRow) selAt(at int) Selection {
	t, run := r.track, &r.track.Runs[at]
	s := Selection{Pos: placeOnly(t.At(run))}
	s.Call = callAt{
		process: t.Process, name: t.Name, first: run.First, when: r.chart.When(calls.Place{Track: r.n, Run: at}), pos: s.Pos,
	}
	if t.Frame != nil {
		s.HasID, s.ID, s.Call.frame = true, t.Frame.ID, t.Frame.ID
	}
	if c := t.Compile(run); c != nil {
		s.ID = c.ID
	}
	return s
}

func (r *trackRow) matches(q string) bool {
	return theme.IndexFold(r.track.Name, q) >= 0 || theme.IndexFold(r.track.Pos.File, q) >= 0
}

func (r *trackRow) draw(_ *scene, w int) theme.Line {
	var l theme.Line
	if r.shown.On("name") {
		name := min(r.width, max(10, w/3))
		l = append(l, theme.T(theme.Plain, theme.Fit(theme.CutLeft(theme.Clean(r.track.Name), name), name)))
	}
	n := fmt.Sprint(r.track.Calls())
	switch {
	case r.track.Derived:
		n = "?"
	case r.track.GivenUp:
		n += "+"
	}
	if r.shown.On("calls") {
		l = append(l, theme.Span{Text: theme.FitRight(n, 7), Style: theme.Faint})
	}
	if len(l) > 0 {
		l = append(l, theme.Span{Text: " "})
	}
	return append(l, r.chart.Draw(r.n, w-l.Width(), r.at())...)
}

// act goes through calls.
func (scr *callsScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	r, ok := scr.selected().(*trackRow)
	if !ok || a < callBefore || a > eventAfter {
		return nil, false
	}
	to := calls.Place{Track: r.n, Run: r.at()}
	switch a {
	case callBefore:
		to.Run--
	case callAfter:
		to.Run++
	default:
		back := a == eventBefore
		if to, ok = r.chart.Event(r.chart.When(to), back); !ok {
			sc.say("no further compile, error or eager call" + map[bool]string{true: " before", false: " after"}[back])
			return nil, true
		}
	}
	if to.Run < 0 || to.Run >= len(r.chart.Runs(to.Track)) {
		sc.say(map[bool]string{true: "this is the function's first call that is known", false: "this is its last call"}[to.Run < 0])
		return nil, true
	}
	scr.moment.Store(r.chart.When(to))
	scr.version++
	for i := range scr.Len() {
		if x, ok := scr.at(i).(*trackRow); ok && x.n == to.Track {
			scr.list.Set(paneRows{&scr.pane}, i)
			scr.inside = false
			scr.moved(sc)
		}
	}
	return nil, true
}

// find goes to the compile that is selected elsewhere; of a call of its own it is there
// already.
func (scr *callsScreen) find(want Selection) bool {
	if want.Call != (callAt{}) || !want.HasID {
		return want.Call != (callAt{})
	}
	for i := range scr.Len() {
		r, ok := scr.at(i).(*trackRow)
		if !ok || r.track.Frame == nil {
			continue
		}
		if f := r.track.Frame.ID; f.Rank != want.ID.Rank || f.Epoch != want.ID.Epoch || f.CompileID.Frame != want.ID.CompileID.Frame {
			continue
		}
		for k := range r.track.Runs {
			if c := r.track.Compile(&r.track.Runs[k]); c != nil && c.ID.Compile == want.ID.Compile {
				scr.moment.Store(r.chart.When(calls.Place{Track: r.n, Run: k}))
				scr.version++
				break
			}
		}
		scr.set(i)
		return true
	}
	return true
}

func (scr *callsScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	tr, ok := r.(*trackRow)
	if !ok {
		return d
	}
	at := tr.at()
	if at < 0 {
		d.wrap(theme.Faint, 0, "No call is known.")
		return d
	}
	docCall(d, tr.track, &tr.track.Runs[at])
	return d
}

// docCall says what became of a call or of calls that went alike.
func docCall(d *doc, t *explain.CallTrack, r *trace.Run) {
	d.wrap(theme.Bold, 0, callTitle(t, r)+" of "+t.Name)
	d.wrap(outcomeStyle(r), 0, calls.Outcome(t, r, idText))
	if p := t.At(r); p.File != "" {
		d.place(p)
	}
	docCallTimes(d, t, r)
	if b := t.Break(r); b != nil {
		d.heading("THEN A GRAPH BREAK")
		d.wrap(theme.Break, 2, theme.GlyphBreak+" "+strings.TrimSpace(b.Code+" "+breakTitle(b)))
		var titles []string // two parts that begin on one line have the same
		for _, p := range b.Resumed {
			if !slices.Contains(titles, p.Title()) {
				titles = append(titles, p.Title())
				d.link(frameSel(p), theme.T(theme.Plain, "  goes on in "+p.Title()))
			}
		}
	}
	if rc := t.Miss(r); rc != nil {
		docFailures(d, rc)
	}
	if len(r.Sizes) > 0 {
		d.heading("SIZES")
		for _, s := range r.Sizes {
			text := fmt.Sprint(s.Min)
			if s.Max != s.Min {
				text = fmt.Sprintf("%d to %d", s.Min, s.Max)
			}
			d.wrap(theme.Plain, 2, fmt.Sprintf("%s = %s", userName(s.Name), text))
		}
	}
	if len(r.Shares) > 0 {
		d.heading("THESE CALLS")
		for _, s := range r.Shares {
			one := trace.Run{Outcome: s.Outcome, Entry: s.Entry, Why: s.Why, Count: s.Count}
			d.wrap(theme.Plain, 2, fmt.Sprintf("%d: %s", s.Count, calls.Outcome(t, &one, idText)))
		}
	}
	if c := t.Compile(r); c != nil {
		d.heading("THE ENTRY")
		d.link(compileSel(c), theme.T(theme.Plain, "  "+idText(c.ID)+" "), theme.T(theme.Faint, string(c.Status)))
		d.wrap(theme.Faint, 2, "Source, Guards and Graph follow this call.")
		if c.Served != nil || !t.Whole {
			docServed(d, c)
		}
	}
	if t.GivenUp {
		d.heading("WHAT IS NOT KNOWN")
		d.wrap(theme.Faint, 2, "The function was given up after its last compile: later calls run eagerly and are not recorded.")
	}
	if t.Derived {
		d.heading("WHAT IS NOT KNOWN")
		d.wrap(theme.Faint, 2, "Calls were not recorded: only compiles are shown, and not what was called between them.")
	}
}

// docServed says what the calls cost that an entry serves.
func docServed(d *doc, c *explain.Compile) {
	d.heading("WHAT ITS CALLS COST")
	for _, line := range c.Lines() {
		d.wrap(theme.Plain, 2, line)
	}
}

// callTitle is "call 7", or "a call" where calls were not counted.
func callTitle(t *explain.CallTrack, r *trace.Run) string {
	if t.Derived && r.First == 0 {
		return "a call"
	}
	return explain.CallNumbers(r)
}

func outcomeStyle(r *trace.Run) theme.Style {
	switch r.Outcome {
	case trace.Hit:
		return theme.Compiled
	case trace.Compiled:
		return theme.Recompile
	case trace.Eager:
		return theme.Eager
	case trace.Raised:
		return theme.Red
	}
	return theme.Plain
}

// docCallTimes says when calls began and what they took.
func docCallTimes(d *doc, t *explain.CallTrack, r *trace.Run) {
	sc := d.sc
	if at := explain.When(r.Start); !at.IsZero() && !sc.report.Start.IsZero() {
		text := "at +" + seconds(max(0, at.Sub(sc.report.Start)))
		if r.Count > 1 && r.End > r.Start {
			text += " over " + seconds(time.Duration(r.End-r.Start))
		}
		d.wrap(theme.Faint, 2, text)
	}
	docCallTook(d, t, r)
	if c := t.Compile(r); c != nil && r.Outcome == trace.Compiled && c.Seconds > 0 {
		d.wrap(theme.Faint, 2, secondsOr(c.Seconds)+" compiling")
	}
}

// docCallTook says how long calls took, and of what that is the time.
func docCallTook(d *doc, t *explain.CallTrack, r *trace.Run) {
	where := "in compiled code"
	switch {
	case t.Whole && r.Outcome == trace.Compiled:
		where = "until it returned, with compiling and all that it calls"
	case t.Whole:
		where = "until it returned, with all that it calls and compiles"
	case r.Outcome == trace.Eager:
		where = "eagerly"
	}
	switch {
	case r.Timed == 1 && r.Count == 1:
		d.wrap(theme.Faint, 2, nanos(r.Nanos)+" "+where)
	case r.Timed == 1:
		d.wrap(theme.Faint, 2, fmt.Sprintf("%s %s; of the others it is not recorded", nanos(r.Nanos), where))
	case r.Timed > 0:
		text := fmt.Sprintf("%s a call %s, %s to %s", nanos(r.Nanos/r.Timed), where, nanos(r.Min), nanos(r.Max))
		if r.Timed < r.Count {
			text += fmt.Sprintf("; %d of the calls were timed", r.Timed)
		}
		d.wrap(theme.Faint, 2, text)
	case t.Whole && r.Outcome != trace.Raised:
		d.wrap(theme.Faint, 2, "how long: not known; only calls through torch.compile's wrapper have a time")
	case !t.Derived:
		d.wrap(theme.Faint, 2, "how long: not recorded")
	}
}

// called is the call that the screens follow, as the report has it; nil for none.
func (sc *scene) called() (*explain.CallTrack, *trace.Run) {
	at := sc.call
	if at == (callAt{}) {
		return nil, nil
	}
	for _, t := range sc.report.Calls.Tracks {
		if t.Process != at.process || t.Name != at.name || t.Frame != nil && t.Frame.ID != at.frame {
			continue
		}
		for i := range t.Runs {
			r := &t.Runs[i]
			if at.first > 0 && r.First <= at.first && at.first <= r.Last() || at.first == 0 && r.First == 0 && r.Start == at.when {
				return t, r
			}
		}
	}
	return nil, nil
}

// callLine says on another screen which call it follows.
func (sc *scene) callLine() theme.Line {
	t, r := sc.called()
	if t == nil {
		return nil
	}
	return theme.Line{
		{Text: " " + callArrow + " ", Style: theme.Accent | theme.Bold},
		theme.T(theme.Accent, callTitle(t, r)+" of "+t.Name),
		theme.T(theme.Faint, ": "+calls.Outcome(t, r, idText)),
	}
}

// callArrow marks the line at which the selected call is.
const callArrow = "→"

// guardThen is what became of an entry's guards in the call that is followed.
type guardThen struct {
	known  bool
	all    bool                   // they held
	failed []explain.GuardFailure // those that did not
	rest   bool                   // the others held
	text   string
}

// guardsThen is the result of an entry's guards in the call that is followed.
func (sc *scene) guardsThen(c *explain.Compile) guardThen {
	t, r := sc.called()
	if t == nil || t.Frame == nil || c.Frame == nil || t.Frame.ID != c.Frame.ID {
		return guardThen{}
	}
	title := callTitle(t, r)
	own := t.Compile(r)
	if own != nil && own.ID == c.ID {
		if r.Outcome == trace.Hit {
			return guardThen{known: true, all: true, text: title + ": all of these held, and this entry served it"}
		}
		return guardThen{text: title + ": this entry was compiled for it"}
	}
	if rc := t.Miss(r); rc != nil {
		name := fmt.Sprintf("%d/%d", c.ID.CompileID.Frame, c.ID.Compile)
		g := guardThen{known: true, rest: rc.Complete}
		for _, f := range rc.Failures {
			if f.Entry == name {
				g.failed = append(g.failed, f)
			}
		}
		if len(g.failed) > 0 {
			g.text = fmt.Sprintf("%s: %s failed", title, count(len(g.failed), "guard"))
			if !rc.Complete {
				g.text += "; the trace has only the first that failed, so that of the others nothing is known"
			}
			return g
		}
	}
	return guardThen{text: title + ": what the guards of this entry would have given is not recorded"}
}

// docGuardsThen says what became of the guards in the call that is followed.
func docGuardsThen(d *doc, g *guardThen) {
	if g.text == "" {
		return
	}
	style := theme.Faint
	if len(g.failed) > 0 {
		style = theme.Recompile
	}
	d.wrap(style, 0, g.text)
	for _, f := range g.failed {
		d.add(theme.T(theme.Red, "  "+theme.GlyphFailed+" "), theme.T(theme.Bold, changed(f)))
		if f.Expected != "" || f.Actual != "" {
			d.wrap(theme.Faint, 4, "expected "+f.Expected+", was "+f.Actual)
		}
	}
}

// mark is a guard's result: it held, it failed, or nothing is known.
func (g *guardThen) mark(n *explain.GuardNode) theme.Span {
	for i := range g.failed {
		if g.failed[i].Text == n.Text || g.failed[i].Source == n.Source && n.Source != "" && n.Kind == "TENSOR_MATCH" {
			return theme.Span{Text: theme.GlyphFailed + " ", Style: theme.Red}
		}
	}
	if g.known && (g.all || g.rest) {
		return theme.Span{Text: theme.GlyphDone + " ", Style: theme.Green}
	}
	return theme.Span{Text: theme.GlyphGuard + " ", Style: theme.Guard}
}

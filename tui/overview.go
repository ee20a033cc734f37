package tui

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/theme"
)

// This file is screen 1, Overview: how good is this run, and what do I do
// first?

// overviewScreen is the Overview screen.
type overviewScreen struct {
	pane
}

func newOverview() screen {
	return &overviewScreen{pane{
		columns: columns.Of(
			"place", "where the function begins", "calls", "how often it was called", "graphs", "its graphs", "ops", "operators in graphs",
			"eager", "operators outside of them", "compile", "the time of its compiles", "run", "the time of a call",
		),
		title:     keys.Title{Name: "Overview", Short: "Over", Key: "1", Asks: "How good is this run, and what do I do first?"},
		leadLines: 2, view: view{folds: map[string]bool{"": true}}, // some rows are folded from the start
	}}
}

func (*overviewScreen) empty(sc *scene) []string {
	if sc.run.Failed {
		return []string{sc.run.Ended, "Nothing was compiled before that. What the program printed is on screen -, Output."}
	}
	if sc.run.Live {
		return []string{"Nothing was compiled yet.", "A compiled function appears here on its first call."}
	}
	return []string{"Nothing was compiled.", "The program called no compiled function (or the trace holds no compile)."}
}

func (*overviewScreen) enter(r row) (keys.Screen, bool) {
	switch r := r.(type) {
	case *adviceRow:
		switch {
		case r.a.Break != nil:
			return keys.Breaks, true
		case r.a.Frame != nil:
			return keys.Recompiles, true
		}
	case *failureRow:
		return keys.Logs, true
	}
	return keys.Source, true
}

// act opens and folds what does not fit.
func (scr *overviewScreen) act(_ *scene, a keys.Action) (tea.Cmd, bool) {
	if a != keys.Fold && a != keys.FoldAll {
		return nil, false
	}
	toggle(scr.folds, moreGroup)
	return scr.refilter(), true
}

// overviewLead is the share of operators that run compiled.
func (scr *overviewScreen) lead(sc *scene, w int) []theme.Line {
	r := sc.report
	compiled, eager, known := r.Share()
	var l theme.Line
	ops := r.Totals.Ops
	switch {
	case r.Unlogged(ops):
		l = theme.Line{{Text: " no graphs logged", Style: theme.Bold}}
	case ops == 0:
		l = theme.Line{{Text: " no operators captured", Style: theme.Bold}}
	case known:
		l = theme.Line{
			{
				Text:  " " + percent(float64(compiled), float64(compiled+eager)) + " of operators run compiled",
				Style: theme.Bold | theme.Compiled,
			},
			{Text: fmt.Sprintf(" (%d of %d)", compiled, compiled+eager)},
		}
	default:
		l = theme.Line{
			{Text: " " + count(ops, "operator") + " captured", Style: theme.Bold},
			{Text: " · eager count not in trace", Style: theme.Faint},
		}
	}
	if r.Totals.CompileSeconds > 0 {
		l = append(l, theme.Span{Text: " · " + secondsOr(r.Totals.CompileSeconds) + " compiling"})
	}
	if r.Totals.Failures > 0 {
		l = append(l, theme.Span{
			Text:  " · " + theme.GlyphFailed + " " + count(r.Totals.Failures, "failure"),
			Style: theme.Red | theme.Bold,
		})
	}
	if restarts := " · " + count(r.Totals.Restarts, "restart"); r.Totals.Restarts > 0 && l.Width()+len(restarts) < w {
		l = append(l, theme.Span{Text: restarts})
	}
	if r.Engine != "" && l.Width()+len(r.Engine)+4 < w {
		l = append(l, theme.T(theme.Faint, " · "+r.Engine))
	}
	return []theme.Line{l, overviewRemark(sc, w)}
}

// overviewRemark is the most urgent of what else there is to say.
func overviewRemark(sc *scene, w int) theme.Line {
	r, damage := sc.report, sc.report.Damage()
	switch {
	case sc.run.Failed:
		return theme.Line{theme.T(theme.Red, " "+theme.GlyphFailed+" "+sc.run.Ended)} // the header may cut it
	case len(damage) == 1:
		return theme.L(theme.Yellow, " ! "+damage[0])
	case len(damage) > 1:
		return theme.L(theme.Yellow, fmt.Sprintf(" ! %d warnings about the trace, listed after the functions", len(damage)))
	case r.Live && len(r.Sources) == 0:
		return theme.L(theme.Faint, " waiting for the first file of the trace")
	case sc.facts.running != nil && sc.run.Live:
		return compilingNow(sc, w)
	case sc.run.Changes != "":
		return theme.Line{{Text: " since the previous run: ", Style: theme.Faint}, theme.T(theme.Accent, sc.run.Changes)}
	case sc.run.Watched:
		return theme.L(theme.Faint, " watching: save a file and the program runs again")
	}
	return theme.L(theme.Faint, ranFor(sc, w))
}

// compilingNow says which function is being compiled and how far that is.
func compilingNow(sc *scene, w int) theme.Line {
	_, took, all := sc.compiling()
	if all < longPhase {
		return theme.L(theme.Faint, ranFor(sc, w))
	}
	p, what := sc.facts.running, ""
	for _, f := range sc.report.Frames {
		if f.ID.CompileID.Frame == p.ID.CompileID.Frame && f.ID.Rank == p.ID.Rank && f.ID.Epoch == p.ID.Epoch {
			what = f.Title() + " " + idText(p.ID) + " "
		}
	}
	phase := "is compiling, in " + p.Name
	if p.Name == "cc" {
		phase = "is in the C compiler"
	}
	return theme.L(theme.Yellow, " "+theme.GlyphRunning+" "+what+phase+", for "+seconds(took)+" so far")
}

// ranFor is what the calls of compiled functions took, where that is recorded.
func ranFor(sc *scene, w int) string {
	var calls, ns int64
	for _, f := range sc.report.Frames {
		if f.Parent == nil {
			calls += max(0, f.Calls)
		}
		ns += f.RunNanos
	}
	if calls == 0 || ns == 0 {
		return ""
	}
	s := fmt.Sprintf(" %s took %s", count(int(calls), "call"), nanos(ns))
	const end = "; compiling is not counted"
	add := func(what string) {
		if len(s)+len(what)+len(end) < w { // what does not fit whole is left out
			s += what
		}
	}
	c := &sc.facts.counts
	if k := c.kernelNanos - c.backwardNanos; k > 0 { // those of calls that compile, too, of which the time here has no run
		add(", all kernels " + nanos(int64(k)))
	}
	if g := guardNanos(sc.report); g > 0 {
		add(", finding an entry " + nanos(g) + " each")
	}
	if c.backwardNanos > 0 { // a pass back begins where the program wants it, often outside of these calls
		add(", backward kernels " + nanos(int64(c.backwardNanos)))
	}
	return s + end
}

// guardNanos is what finding the entry of a call takes on average, 0: not measured.
func guardNanos(r *explain.Report) int64 {
	var times, ns int64
	for _, f := range r.Frames {
		times, ns = times+f.GuardTimed, ns+f.GuardNanos
	}
	if times == 0 {
		return 0
	}
	return ns / times
}

// firstAdvice is how many entries of the advice come before the table of functions; the
// others follow it.
const firstAdvice = 3

// firstFailures is how many failed compiles come before the advice: as many as leave it in
// view in a terminal of that width, with all that is said of them.
func firstFailures(width int) int {
	if width < 100 {
		return 1
	}
	return 2
}

// rows begins with what failed and what to do first: both are in view however many
// functions and failures there are, and however long their texts.
func (scr *overviewScreen) rows(in *input) []row {
	var rows []row
	section := func(more []row) {
		if len(more) > 0 && len(rows) > 0 {
			rows = append(rows, &headRow{})
		}
		rows = append(rows, more...)
	}
	raised, eager := in.report.Raised()
	causes := explain.AlikeAdvice(in.report.Advice)
	n := min(firstAdvice, len(causes))
	first := firstRows(in, causes, n)
	above, tight := scr.roomAbove(in, first, causes, n)
	failed, told := failedFirst(in, raised, eager, above)
	if len(failed) == 0 { // none is the program's, and the breaks that tell why are in the advice; or there is no room
		section(first)
		told = min(firstFailures(in.width), len(raised))
		failed, first = failureRows(in, "FAILED", raised[:told], len(raised)-told, eager), nil
	}
	section(failed)
	if tight {
		rows, first = append(rows, first...), nil
	}
	section(first)
	section(scr.frameRows(in, scr.roomFor(in, rows)))
	section(adviceRows(in, "MORE ADVICE", causes, n, len(causes)))
	section(failureRows(in, "MORE FAILURES", raised[told:], 0, ""))
	section(damageRows(in))
	return rows
}

// shortestFix is how many lines of the first entry's fix are in view at least.
const shortestFix = 2

// roomAbove is how many rows may come before those of what to do first, of which the
// first entry is to be in view with its fix. A terminal that is too low for both is
// tight: it shows the first lines of the fix, without a blank line before the heading.
func (scr *overviewScreen) roomAbove(in *input, first []row, causes []explain.SameAdvice, advice int) (above int, tight bool) {
	if in.height == 0 || len(first) == 0 {
		return maxRoom, false
	}
	room := layout.Arrange(in.width, in.height, layout.Ask{Lead: scr.leadLines, Rows: len(first)}).List.H
	entry := len(first)
	if advice > 0 {
		entry = len(adviceRows(in, "FIRST", causes, 0, 1))
	}
	if above = room - entry - 1; above >= shortestFailure {
		return above, false
	}
	return room - min(entry, 2+shortestFix), true
}

// maxRoom is more than any terminal has.
const maxRoom = 1 << 20

// shortestFailure is the heading and the line of a failure.
const shortestFailure = 2

// failedFirst is what comes before the advice of what failed, in at most so many rows,
// and how many failures that tells; none where none was raised or there is no room.
func failedFirst(in *input, raised []*explain.Failure, eager string, room int) ([]row, int) {
	if len(raised) == 0 || room < shortestFailure {
		return nil, 0
	}
	n := min(firstFailures(in.width), len(raised))
	rows := failureRows(in, "FAILED", raised[:n], len(raised)-n, eager)
	if n > 1 && len(rows) > room {
		n = 1
		rows = failureRows(in, "FAILED", raised[:n], len(raised)-n, eager)
	}
	if len(rows) <= room {
		return rows, n
	}
	// The texts give way first, then how many more there are, which the lead tells, too.
	rows = failureRows(in, "FAILED", raised[:n], 0, "")
	tail := failureRows(in, "FAILED", nil, len(raised)-n, eager)
	if len(tail) > 0 && room-(len(tail)-1) >= shortestFailure {
		tail = tail[1:]
	} else {
		tail = nil
	}
	return append(cutTexts(rows, room-len(tail)), tail...), n
}

// cutTexts is the first n rows; the text that is cut says so.
func cutTexts(rows []row, n int) []row {
	if len(rows) <= n {
		return rows
	}
	rows = rows[:n:n]
	if t, ok := rows[n-1].(*textRow); ok {
		cut := *t
		cut.cut = true
		rows[n-1] = &cut
	}
	return rows
}

// firstRows are the n most urgent entries of the advice, or why there is none.
func firstRows(in *input, causes []explain.SameAdvice, n int) []row {
	r := in.report
	if n > 0 {
		rows := adviceRows(in, "FIRST", causes, 0, n)
		if more := len(causes) - n; more > 0 {
			rows = append(rows, &headRow{text: fmt.Sprintf("    and %d more after the functions", more)})
		}
		return rows
	}
	if len(in.facts.roots) == 0 || len(r.Failures) > 0 || r.Live {
		return nil
	}
	return []row{&headRow{text: "FIRST"}, &headRow{text: "  " + nothingFirst(r)}}
}

// adviceRows are the entries from and up to, with their fixes.
func adviceRows(in *input, heading string, causes []explain.SameAdvice, from, to int) []row {
	if from >= to {
		return nil
	}
	rows := []row{&headRow{text: heading, right: "COST"}}
	for i := from; i < to; i++ {
		c := &causes[i]
		a := &in.report.Advice[c.Lead]
		rows = append(rows, &adviceRow{i, a, ""})
		if fix := a.Fix; fix.Text != "" || len(fix.Lines) > 0 {
			rows = append(rows, textRows(in.width, "    "+fix.Label(), shortFix(fix), theme.Green)...)
		}
		if text := c.MoreText(in.report.Advice); text != "" {
			rows = append(rows, &headRow{text: "    " + text + " (z lists them)"})
		}
		for _, m := range c.More {
			rows = append(rows, &adviceRow{i, &in.report.Advice[m], moreGroup})
		}
	}
	return rows
}

// fewestFrames are in view at least, before others are folded.
const fewestFrames = 4

// roomFor is how many functions fit below some rows, of which folded ones take no room.
func (scr *overviewScreen) roomFor(in *input, rows []row) int {
	if in.height == 0 {
		return maxRoom
	}
	room := layout.Arrange(in.width, in.height, layout.Ask{Lead: scr.leadLines, Rows: maxRoom}).List.H
	above := 0
	for _, r := range rows {
		if f, ok := r.(folded); !ok || f.group() != moreGroup {
			above++
		}
	}
	return max(fewestFrames, room-above-3) // a blank line, the heading, and what follows
}

// frameRows is the table of functions, by cost: those that fit, then by file those that do not, and
// what is not the program's own. Both of these are folded.
func (scr *overviewScreen) frameRows(in *input, room int) []row {
	if len(in.facts.roots) == 0 {
		return nil
	}
	var own, others []*rootFrame
	for _, f := range in.facts.roots {
		if framework(f.frame) {
			others = append(others, f)
		} else {
			own = append(own, f)
		}
	}
	if len(own) == 0 {
		own, others = others, nil
	}
	rows := []row{frameHead(scr.columns)}
	if len(own)+len(others) <= room {
		own, others = in.facts.roots, nil
	}
	fits := len(own)
	if len(own)+len(others) > room {
		fits = min(len(own), max(0, room-1))
	}
	for _, f := range own[:fits] {
		rows = append(rows, &frameRow{f, "", scr.columns})
	}
	rows = append(rows, scr.restRows(own[fits:], "%s more", true)...)
	return append(rows, scr.restRows(others, "%s of torch or libraries", false)...)
}

// framework says whether a function is none that the program's author can change.
func framework(f *explain.Frame) bool {
	return library(f.Pos.File) && !strings.HasPrefix(f.Pos.File, "tcdbg/torch/")
}

// restRows are functions that do not fit, folded below a line with their sum, each file's after its own.
func (scr *overviewScreen) restRows(list []*rootFrame, what string, files bool) []row {
	if len(list) == 0 {
		return nil
	}
	rows := []row{&headRow{text: "    and " + fmt.Sprintf(what, strconv.Itoa(len(list))) + sumText(list) + " (z lists them)"}}
	var order []string
	of := map[string][]*rootFrame{}
	for _, f := range list {
		file := f.frame.Pos.File
		if !files {
			file = ""
		}
		if of[file] == nil {
			order = append(order, file)
		}
		of[file] = append(of[file], f)
	}
	for _, file := range order {
		if len(order) > 1 {
			n := of[file]
			text := "  " + filepath.Base(theme.Clean(file)) + "  " + count(len(n), "function") + sumText(n)
			rows = append(rows, &groupHead{headRow{text: text}, moreGroup})
		}
		for _, f := range of[file] {
			rows = append(rows, &frameRow{f, moreGroup, scr.columns})
		}
	}
	return rows
}

// sumText is what compiling some functions took in all.
func sumText(list []*rootFrame) string {
	var s float64
	for _, f := range list {
		s += f.seconds
	}
	if s <= 0 {
		return ""
	}
	return ", " + secondsOr(s) + " compiling"
}

// failureRows are failures that the program saw, with what removes them, then how many
// more there are, and how many left their functions to run eagerly.
func failureRows(in *input, heading string, raised []*explain.Failure, more int, eager string) []row {
	if len(raised) == 0 && more == 0 && eager == "" {
		return nil
	}
	rows := []row{&headRow{text: heading}}
	for _, f := range raised {
		rows = append(rows, &failureRow{f})
		for _, said := range f.Details() {
			rows = append(rows, textRows(in.width, "    said: ", said, theme.Plain)...)
		}
		if f.Fix.Text != "" {
			rows = append(rows, textRows(in.width, "    "+f.Fix.Label(), f.Fix.Text, theme.Green)...)
		}
	}
	if more > 0 {
		rows = append(rows, &headRow{text: fmt.Sprintf("    and %d more after the functions", more)})
	}
	if eager != "" {
		rows = append(rows, &headRow{text: "  " + eager + " (screen 3)"})
	}
	return rows
}

// damageRows are what could not be read or was left out.
func damageRows(in *input) []row {
	d := in.report.Damage()
	if len(d) == 0 {
		return nil
	}
	rows := []row{&headRow{text: "WARNINGS ABOUT THE TRACE"}}
	for _, said := range d {
		rows = append(rows, textRows(in.width, "  ! ", said, theme.Yellow)...)
	}
	return rows
}

// nothingFirst says why there is no advice.
func nothingFirst(r *explain.Report) string {
	t := r.Totals
	switch {
	case r.Unlogged(t.Breaks) && t.Recompiles == 0:
		return "no breaks and no recompiles logged: TORCH_LOGS=graph_breaks,recompiles shows them"
	case t.Breaks > 0:
		return fmt.Sprintf("nothing to change in your code: %s (screen 3) inside torch or the standard library", count(t.Breaks, "break"))
	case t.Recompiles > 0:
		if r.Unlogged(t.Breaks) {
			return fmt.Sprintf("no breaks logged; %s (screen 4), each of which cost compile time once", count(t.Recompiles, "recompile"))
		}
		return fmt.Sprintf("no graph breaks; %s (screen 4), each of which cost compile time once", count(t.Recompiles, "recompile"))
	}
	return "nothing to do: every function was captured whole, and no guard failed"
}

// frameColumns are the widths of the frame table for a terminal width: name, place, and how it is
// cut. A narrow one has room for half of the figures only.
type frameColumns struct {
	name, place, cut int
	narrow           bool
}

// The room of all figures of the frame table, and of those in a narrow one.
const (
	frameFigures  = 7 + 7 + 5 + 6 + 9 + 9 // calls graphs ops eager compile run
	narrowFigures = 6 + 6 + 9
)

func columnsFor(w int) frameColumns {
	switch {
	case w >= 130:
		return frameColumns{name: 34, place: 24, cut: w - frameFigures - 34 - 24 - 4}
	case w >= 100:
		return frameColumns{name: 26, place: 17, cut: w - frameFigures - 26 - 17 - 4}
	}
	return frameColumns{name: 20, cut: max(8, w-20-narrowFigures-1), narrow: true}
}

// frameCells lays out a line of the frame table, with the text of its figures. What the user hides is
// room for the name.
func frameCells(shown *columns.Set, w int, calls, graphs, ops, eager, compile, run any) (frameColumns, string) {
	c := columnsFor(w)
	all := []columns.Cell{
		{Name: "calls", Width: -6, Text: calls, Goes: 3},
		{Name: "graphs", Width: -6, Text: graphs, Goes: 2},
		{Name: "ops", Width: -4, Text: ops},
		{Name: "eager", Width: -5, Text: eager},
		{Name: "compile", Width: -8, Text: compile},
		{Name: "run", Width: -8, Text: run, Goes: 1},
	}
	if c.narrow {
		all[2].Width--
		shown.Leave("place")
		cells := shown.Fit(narrowFigures+1, all...)
		c.name += max(0, narrowFigures-columns.Room(cells))
		return c, columns.Text(cells)
	}
	cells := shown.Fit(columns.Plenty, all...)
	c.name += frameFigures - columns.Room(cells)
	if !shown.On("place") {
		c.name, c.place = c.name+c.place+1, 0
	}
	return c, columns.Text(cells) + "  "
}

func frameHead(shown *columns.Set) *headRow {
	return &headRow{draws: func(_ *scene, w int) theme.Line {
		c, figures := frameCells(shown, w, "calls", "graphs", "ops", "eager", "compile", "run")
		name := c.name
		if c.place > 0 {
			name += c.place + 1
		}
		return theme.L(theme.Faint, columns.Padded(name, "FRAME")+figures+"HOW IT SPLITS")
	}}
}

// frameRow is a compiled function with its resume points.
type frameRow struct {
	f     *rootFrame
	of    string // its group
	shown *columns.Set
}

func (r *frameRow) group() string { return r.of }

func (r *frameRow) key() string    { return "frame " + r.f.frame.Name + idText(r.f.frame.ID) }
func (r *frameRow) sel() Selection { return frameSel(r.f.frame) }
func (r *frameRow) matches(q string) bool {
	return ofRank(r.f.frame.ID, q) || theme.IndexFold(r.f.frame.Title(), q) >= 0 || theme.IndexFold(r.f.frame.Name, q) >= 0 ||
		theme.IndexFold(r.f.frame.Pos.File, q) >= 0
}

func (r *frameRow) draw(sc *scene, w int) theme.Line {
	f, run := r.f, "-"
	if f.calls > 0 && f.run > 0 {
		run = nanos(f.run / f.calls)
	}
	c, figures := frameCells(r.shown, w, number(f.calls), f.graphs, f.ops, number(f.eager), secondsOr(f.seconds), run)
	style := theme.Plain
	if framework(f.frame) {
		style = theme.Noise // a function of ours is compiled because the program asked for it
	}
	name := theme.Clean(f.frame.Title()) // a frame that just began is not named yet
	if rank := f.frame.ID.Rank; rank >= 0 && len(sc.report.Ranks) > 1 {
		name = fmt.Sprintf("r%d %s", rank, name) // ranks compile functions of one name
	}
	if f.epochs > 0 {
		name = theme.Cut(name, c.name-10) + fmt.Sprintf(" %d epochs", f.epochs+1)
	}
	if c.place == 0 && f.twin && f.frame.Pos.Line > 0 {
		name += fmt.Sprintf(" :%d", f.frame.Pos.Line)
	}
	l := theme.Line{{Text: theme.Fit(name, c.name) + " ", Style: style}}
	if c.place > 0 {
		l = append(l, theme.Span{Text: theme.Fit(sc.placeIn(f.frame.Place(), c.place), c.place) + " ", Style: theme.Faint})
	}
	l = append(l, theme.Span{Text: figures, Style: style})
	return append(l, cut(f, c.cut)...)
}

// cut draws how a function is cut into graphs: blocks for operators, glyphs
// where it breaks and where it was recompiled.
func cut(f *rootFrame, w int) theme.Line {
	if f.graphs == 0 {
		return theme.Line{{Text: theme.GlyphSkipped, Style: theme.Faint}, {Text: "  " + string(statusWord(f)), Style: theme.Faint}}
	}
	marks := len(f.parts) + f.again
	graphs := 0 // of the first epoch
	for _, p := range f.parts {
		graphs += len(p.Compiles)
	}
	room := max(min(f.graphs, graphs), min(w-marks, max(8, w-marks-16)))
	total := 0
	for _, p := range f.parts {
		for _, c := range p.Compiles {
			if c.Graph != nil {
				total += len(c.Graph.Ops)
			}
		}
	}
	var l theme.Line
	for i, p := range f.parts {
		if i > 0 {
			l = append(l, theme.Span{Text: theme.GlyphBreak, Style: theme.Break})
		}
		for _, c := range p.Compiles {
			if c.Recompile != nil {
				l = append(l, theme.Span{Text: theme.GlyphRecompile, Style: theme.Recompile})
			}
			if c.Graph != nil && total > 0 {
				n := max(1, len(c.Graph.Ops)*room/total)
				l = append(l, theme.Span{Text: strings.Repeat(theme.GlyphCompiled, n), Style: theme.Compiled})
			}
		}
		if p.Status == explain.Limit || p.Status == explain.Failed || p.Status == explain.Skipped {
			l = append(l, theme.Span{Text: strings.Repeat(theme.GlyphEager, 2), Style: theme.Eager})
		}
	}
	if s := f.frame.Status; s == explain.Compiling || f.running {
		l = append(l, theme.Span{Text: theme.GlyphRunning, Style: theme.Green})
	} else if s != explain.Compiled && s != "" {
		l = append(l, theme.Span{Text: "  " + string(s), Style: theme.Yellow})
	}
	return l
}

func statusWord(f *rootFrame) explain.Status {
	switch s := f.frame.Status; s {
	case "", explain.Compiled, explain.Empty:
		if breaksAtOnce(f.frame) {
			return "broke before capturing anything"
		}
		return "no tensor ops"
	default:
		return s
	}
}

// breaksAtOnce says whether a frame without a graph had one to come: what followed the
// break runs in other frames, or eager.
func breaksAtOnce(fr *explain.Frame) bool {
	for _, c := range fr.Compiles {
		if len(c.Breaks) > 0 {
			return true
		}
	}
	return false
}

// adviceRow is one entry of "what to do first".
type adviceRow struct {
	i  int
	a  *explain.Advice
	of string // its group
}

func (r *adviceRow) group() string { return r.of }

func (r *adviceRow) key() string {
	return "advice " + r.a.Text + r.a.Pos.File + fmt.Sprint(r.a.Pos.Line)
}

func (r *adviceRow) matches(q string) bool {
	id := explain.ID{Rank: -1, CompileID: logs.NoCompile}
	if r.a.Frame != nil {
		id = r.a.Frame.ID
	}
	return theme.IndexFold(r.a.Text, q) >= 0 || about(id, r.a.Pos, q) || r.a.Break != nil && theme.IndexFold(r.a.Break.Lead.Code, q) >= 0
}

func (r *adviceRow) sel() Selection {
	switch {
	case r.a.Break != nil:
		return groupSel(r.a.Break)
	case r.a.Frame != nil:
		s := frameSel(r.a.Frame)
		s.Pos = placeOnly(r.a.Pos)
		return s
	}
	return posSel(r.a.Pos)
}

func (r *adviceRow) draw(sc *scene, w int) theme.Line {
	glyph := theme.Span{Text: theme.GlyphSkipped, Style: theme.Faint}
	switch {
	case r.a.Break != nil:
		glyph = theme.Span{Text: theme.GlyphBreak, Style: theme.Break}
	case r.a.Cause != nil:
		glyph = theme.Span{Text: theme.GlyphRecompile, Style: theme.Recompile}
	}
	cost := shortCost(theme.Clean(r.a.Cost), w)
	room := max(10, w-6-theme.Width(cost)-1)
	file := r.a.Pos
	file.File = filepath.Base(file.File)
	bare := min(theme.Width(placeText(file)), room*2/5)
	// The folder goes before the cause, and no place is cut for its code.
	place := sc.placeIn(r.a.Pos, min(room*3/5, max(bare, room-2-theme.Width(r.a.Text))))
	if left := room*3/5 - theme.Width(place) - 2; w >= 100 && r.a.Pos.Code != "" && left > 8 {
		place += "  " + theme.Cut(theme.Clean(strings.TrimSpace(r.a.Pos.Code)), min(40, left))
	}
	pw := min(theme.Width(place), room*3/5)
	l := theme.Line{{Text: fmt.Sprintf("%d ", r.i+1), Style: theme.Faint}, glyph, {Text: " "}}
	if r.of != "" {
		l[0].Text = theme.Spaces(len(l[0].Text))
	}
	if pw > 0 {
		l = append(l, theme.Span{Text: theme.CutLeft(place, pw) + "  "})
	}
	l = append(l, theme.T(theme.Plain, theme.Cut(r.a.Text, room-pw-2)))
	l = l.Fit(max(0, w-theme.Width(cost)-1))
	return append(l, theme.Span{Text: " " + cost, Style: theme.Faint})
}

// shortCost leaves out the last parts of a cost that would crowd out the cause in a
// line of w cells.
func shortCost(cost string, w int) string {
	for theme.Width(cost) > w*2/5 {
		i := strings.LastIndex(cost, ", ")
		if i < 0 {
			break
		}
		cost = cost[:i]
	}
	return cost
}

// shortFix is the line that a fix puts in place, else its words.
func shortFix(fix explain.Fix) string {
	for _, l := range fix.Lines {
		if rest, ok := strings.CutPrefix(l, "+"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return fix.Text
}

// failureRow is a compile that ended in an error.
type failureRow struct{ f *explain.Failure }

func (r *failureRow) key() string { return "failure " + idText(r.f.ID) + r.f.Type }
func (r *failureRow) matches(q string) bool {
	return about(r.f.ID, r.f.Pos, q) || theme.IndexFold(r.f.Frame, q) >= 0 || theme.IndexFold(r.f.Reason, q) >= 0 ||
		theme.IndexFold(r.f.Title(), q) >= 0 || theme.IndexFold(r.f.Code, q) >= 0
}

func (r *failureRow) sel() Selection {
	return Selection{Pos: placeOnly(r.f.Pos), HasID: true, ID: r.f.ID, Record: r.f.Seq}
}

func (r *failureRow) draw(sc *scene, w int) theme.Line {
	return theme.Line{
		{Text: theme.GlyphFailed + " ", Style: theme.Red},
		theme.T(theme.Red, r.f.Type+" "),
		theme.T(theme.Faint, strings.TrimSpace(sc.place(r.f.Pos)+" "+idText(r.f.ID))+" "), theme.T(theme.Plain, theme.Cut(r.f.Title(), w)),
	}
}

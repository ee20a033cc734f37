package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
	"tcdbg/tui/values"
)

// This file is screen !, Stop: where does the program stand, why, and what are its values?
// Its rows are stops, breakpoints and expressions; the lines of the detail are made by package values.

// stopScreen is the Stop screen.
type stopScreen struct {
	pane
	stops kept[*logs.Stop]
	lines []values.Line // of the document that is shown
}

// What the keys of the screen do.
const (
	goOn keys.Action = keys.Own + iota
	nextLine
	stepInto
	stepOut
	nextOperator
	nextInstruction
	evaluate
	watchExpr
	drop
	backStop
	backLine
	backOperator
	backWritten
	backNaN
)

// maxLoadedStops is how many stops are kept with their values.
const maxLoadedStops = 8

func newStop() screen {
	const group = "A stopped program"
	return &stopScreen{
		pane: pane{
			title: keys.Title{
				Name: "Stop", Short: "Stp", Key: "!", Asks: "Where does the program stand, why, and what are its values?",
			},
			leadLines: 2, detailed: true, share: 0.3,
			keys: []keys.Binding{
				keys.Bind(goOn, "continue", group, 1, "c"),
				keys.Bind(nextLine, "next line", group, 1, "n"),
				keys.Bind(stepInto, "step into", group, 1, "i"),
				keys.Bind(stepOut, "step out", group, 1, "o"),
				keys.Bind(nextOperator, "next operator", group, 2, "p"),
				keys.Bind(nextInstruction, "next instruction of the trace", group, 0, "I"),
				keys.Bind(backStop, "back to the stop before", group, 3, "B"),
				keys.Bind(backLine, "back a line", group, 2, "N"),
				keys.Bind(backOperator, "back to the operator before", group, 0, "P"),
				keys.Bind(backWritten, "back to where the value at the cursor was written", group, 0, "V"),
				keys.Bind(backNaN, "back to where the first NaN came into being", group, 0, "U"),
				keys.Bind(evaluate, "evaluate", group, 2, "E"),
				keys.Bind(watchExpr, "watch an expression at every stop", group, 0, "W"),
				keys.Bind(drop, "remove the breakpoint or watch expression", group, 0, "d"),
			},
		},
		stops: newKept[*logs.Stop](maxLoadedStops),
	}
}

func (*stopScreen) empty(sc *scene) []string {
	if sc.run.Live && !sc.run.Control {
		return []string{
			"This program cannot be stopped.",
			"Programs under tcdbg run can, and those under tcdbg exec --pause.",
		}
	}
	if !sc.run.Live {
		return []string{"The program never stopped.", "space stops a program that runs, b sets a breakpoint."}
	}
	return []string{
		"The program runs.",
		"space stops it at its next safe point: a call, a compile, a graph break, a guard miss. b sets a breakpoint. What it then " +
			"computes with is here: its stack, its variables, the graph so far, the guard that failed.",
	}
}

// absent says that a run which never stopped has no tab for it.
func (*stopScreen) absent(r *explain.Report) bool {
	return len(r.Session.Stops)+len(r.Session.Points)+len(r.Session.Answers) == 0
}

func (*stopScreen) count(r *explain.Report) int { return len(r.Session.Standing()) }

func (scr *stopScreen) lead(sc *scene, w int) []theme.Line {
	s := scr.stop(sc)
	if s == nil {
		return nil
	}
	style, head := theme.Bold|theme.Yellow, theme.GlyphPaused+" "
	if !s.Stands || !sc.run.Live {
		style, head = theme.Bold, theme.GlyphEnded+" was at: "
	}
	l := theme.Line{theme.T(style, " "+head+stopTitle(s.Kind))}
	if s.Past > 0 {
		l = append(l, theme.T(theme.Accent|theme.Bold, fmt.Sprintf("  in the past: moment %d of %d", s.Moment, s.Past)))
	}
	if s.Where.File != "" {
		l = append(l, theme.T(theme.Accent, "  "+sc.place(s.Where)), theme.T(theme.Faint, inFunc(s.Where)))
	}
	if who := thread(s); who != "" {
		l = append(l, theme.T(theme.Faint, "  "+who))
	}
	why := theme.Line{theme.T(theme.Plain, "   "+explain.Squeeze(s.Why))}
	if s.Note != "" {
		why = append(theme.Line{theme.T(theme.Yellow, "   "+explain.Squeeze(s.Note))}, theme.T(theme.Faint, "  "+explain.Squeeze(s.Why)))
	}
	return []theme.Line{l.Fit(w), why.Fit(w)}
}

func inFunc(p logs.Pos) string {
	if p.Func == "" {
		return ""
	}
	return " in " + explain.FunctionOf(p, nil)
}

// thread names the thread of a stop where there may be several.
func thread(s *explain.Stop) string {
	var out []string
	if s.Rank >= 0 {
		out = append(out, fmt.Sprintf("rank %d", s.Rank))
	}
	if s.Thread != "" && s.Thread != "MainThread" { // Python's name of the main one
		out = append(out, "thread "+s.Thread)
	}
	return strings.Join(out, ", ")
}

// stop is the stop that is shown: that of the row, else the newest one.
func (scr *stopScreen) stop(sc *scene) *explain.Stop {
	if r, ok := scr.selected().(*stopRow); ok {
		return r.s
	}
	all := sc.report.Session.Stops
	if standing := sc.report.Session.Standing(); len(standing) > 0 {
		return standing[len(standing)-1]
	}
	if len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// rows are where the program stands, breakpoints, what was asked for, and the stops before;
// the newest first.
func (*stopScreen) rows(in *input) []row {
	s := &in.report.Session
	var now, before, out []row
	for _, x := range slices.Backward(s.Stops) {
		if x.Stands {
			now = append(now, &stopRow{x})
		} else {
			before = append(before, &stopRow{x})
		}
	}
	section := func(title string, rows []row) {
		if len(rows) == 0 {
			return
		}
		if len(out) > 0 {
			out = append(out, &headRow{})
		}
		out = append(append(out, &headRow{text: title}), rows...)
	}
	stands := "STANDS AT"
	if in.feed != nil && !in.feed.Run().Live {
		stands = "STOOD AT ITS END"
	}
	section(stands, now)
	section("BREAKPOINTS", pointRows(s.Points))
	section("EXPRESSIONS", answerRows(s))
	if s.Earlier > 0 {
		before = append(before, &headRow{text: count(s.Earlier, "earlier stop") + ": in Logs"})
	}
	section("EARLIER STOPS", before)
	return out
}

// pointRows are the breakpoints; one of several processes is one row. They run one program, and
// what is a place in each of them is one place.
func pointRows(points []logs.Point) []row {
	var rows []row
	at := map[int]*pointRow{}
	for _, p := range points {
		if r := at[p.ID]; r != nil {
			r.places = max(r.places, p.Places)
			if p.Error == "" {
				r.p.Error = "" // some process has it
			}
			continue
		}
		r := &pointRow{p, p.Places}
		at[p.ID] = r
		rows = append(rows, r)
	}
	return rows
}

// answerRows are the expressions that were evaluated, the newest first; of equal ones the
// newest alone.
func answerRows(s *explain.Session) []row {
	var rows []row
	seen := map[string]bool{}
	for _, a := range slices.Backward(s.Answers) {
		if !seen[a.Expr] {
			seen[a.Expr] = true
			rows = append(rows, &answerRow{a})
		}
	}
	return rows
}

// stopRow is one stop.
type stopRow struct{ s *explain.Stop }

func (r *stopRow) key() string    { return fmt.Sprintf("stop %d", r.s.Seq) }
func (r *stopRow) sel() Selection { return posSel(r.s.Where) }
func (r *stopRow) matches(q string) bool {
	return theme.IndexFold(stopTitle(r.s.Kind), q) >= 0 || theme.IndexFold(r.s.Why, q) >= 0 || theme.IndexFold(r.s.Where.File, q) >= 0
}

func (r *stopRow) draw(sc *scene, w int) theme.Line {
	style := theme.Faint
	if r.s.Stands {
		style = theme.Yellow
	}
	l := theme.Line{{Text: fmt.Sprintf("%s %d ", theme.GlyphPaused, r.s.ID), Style: style}, theme.T(theme.Plain, stopTitle(r.s.Kind)+"  ")}
	if who := thread(r.s); who != "" {
		l = append(l, theme.T(theme.Faint, who+"  "))
	}
	return append(l, theme.T(theme.Accent, sc.placeIn(r.s.Where, max(8, w-l.Width()))))
}

// pointRow is a breakpoint.
type pointRow struct {
	p      logs.Point
	places int
}

func (r *pointRow) key() string           { return fmt.Sprintf("point %d", r.p.ID) }
func (r *pointRow) sel() Selection        { return Selection{} }
func (r *pointRow) matches(q string) bool { return theme.IndexFold(r.p.Spec, q) >= 0 }

func (r *pointRow) draw(_ *scene, w int) theme.Line {
	glyph, tail := theme.Span{Text: theme.GlyphRunning + " ", Style: theme.Red}, ""
	switch {
	case r.p.Error != "":
		glyph, tail = theme.Span{Text: theme.GlyphFailed + " ", Style: theme.Yellow}, "  "+r.p.Error
	case r.places > 1:
		tail = fmt.Sprintf("  %d places", r.places)
	}
	spec := theme.CutLeft(pointTitle(r.p.Spec), max(10, w-2-min(len(tail), w/2)))
	return theme.Line{glyph, theme.T(theme.Plain, spec), theme.T(theme.Faint, tail)}
}

// everyStop says what a breakpoint stops that is not at a place.
var everyStop = map[string]string{
	"break": "every graph break", "recompile": "every guard miss", "frame": "every compile", "call": "every call of a compiled function",
	"kernel": "every kernel", "nan": "the first NaN or Inf", "differs": "what differs from eager", "raised": "errors nobody catches",
}

// pointTitle is a breakpoint in words.
func pointTitle(spec string) string {
	what, condition, ok := strings.Cut(spec, " if ")
	if title := everyStop[strings.TrimSpace(what)]; title != "" {
		what = title
	}
	if ok {
		return what + " if " + condition
	}
	return what
}

// answerRow is an expression with its value.
type answerRow struct{ a *logs.Answer }

func (r *answerRow) key() string           { return "expression " + r.a.Expr }
func (r *answerRow) sel() Selection        { return Selection{} }
func (r *answerRow) matches(q string) bool { return theme.IndexFold(r.a.Expr, q) >= 0 }

func (r *answerRow) draw(_ *scene, w int) theme.Line {
	l := theme.Line{theme.T(theme.Plain, theme.Cut(r.a.Expr, max(8, w/2))), {Text: " = ", Style: theme.Faint}}
	if r.a.Error != "" {
		return append(l, theme.T(theme.Red, r.a.Error))
	}
	return append(l, theme.T(theme.Plain, values.Text(&r.a.Value)))
}

// act carries out the debugger's commands.
func (scr *stopScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	s := scr.stop(sc)
	if step, ok := steps[a]; ok {
		return sc.command(sc.aim(ctl.Command{Verb: ctl.Step, Arg: step.arg}, s), step.said), true
	}
	if back, ok := backs[a]; ok {
		return sc.back(ctl.Command{Arg: back.arg}, back.said, s), true
	}
	switch a {
	case backWritten:
		return scr.written(sc, s), true
	case goOn:
		return sc.command(sc.aim(ctl.Command{Verb: ctl.Continue}, s), "runs on"), true
	case keys.SetBreakpoint:
		return scr.askHere(sc), true
	case keys.RunToLine:
		return sc.runTo(scr.line(sc), s), true
	case evaluate:
		return sc.ask("evaluate: ", ctl.Evaluate, scr.level(), s), true
	case watchExpr:
		return sc.ask("watch: ", ctl.Watch, 0, nil), true
	case drop:
		return scr.drop(sc), true
	case keys.Fold:
		scr.fold(sc)
		return nil, true
	}
	return nil, false
}

// askHere asks for a breakpoint; the line at the document's cursor is what is offered.
func (scr *stopScreen) askHere(sc *scene) tea.Cmd {
	text := ""
	if at, ok := scr.target(); ok && at.Pos.Line > 0 {
		text = fmt.Sprintf("%s:%d", at.Pos.File, at.Pos.Line)
	}
	return sc.askBreakpoint(text)
}

// line is the line at the document's cursor, else that of the stop.
func (scr *stopScreen) line(sc *scene) logs.Pos {
	if at, ok := scr.target(); ok {
		return at.Pos
	}
	if s := scr.stop(sc); s != nil {
		return s.Where
	}
	return logs.Pos{}
}

// drop removes the breakpoint of the row, or ends the watch at the document's cursor.
func (scr *stopScreen) drop(sc *scene) tea.Cmd {
	if r, ok := scr.selected().(*pointRow); ok && !scr.inside {
		return sc.clearBreakpoint(r.p)
	}
	if l := scr.lineAt(); l != nil && l.Watch != "" {
		return sc.command(ctl.Command{Verb: ctl.Unwatch, Arg: l.Watch}, "no longer watched: "+l.Watch)
	}
	sc.fail("select a breakpoint, or in the right pane an expression that is watched")
	return nil
}

// written goes back to where the value at the document's cursor was written.
func (scr *stopScreen) written(sc *scene, s *explain.Stop) tea.Cmd {
	l := scr.lineAt()
	if l == nil || len(l.Names) == 0 {
		sc.fail("back: put the cursor on a variable of the stack in the right pane: tab goes there")
		return nil
	}
	names, _ := json.Marshal(l.Names) // texts
	return sc.back(ctl.Command{Arg: string(names), Level: l.Level}, "back to where "+strings.Join(l.Names, ".")+" was written", s)
}

// enter goes into the values.
func (scr *stopScreen) enter(row) (keys.Screen, bool) {
	scr.inside = true
	return 0, false
}

func (scr *stopScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	scr.lines = nil
	switch r := r.(type) {
	case *pointRow:
		pointDoc(d, r)
	case *answerRow:
		scr.put(d, values.OfAnswer(r.a, scr.style(sc, w)))
	case *stopRow:
		s, ok := scr.stops.get(&sc.texts, r.key(), r.s.Load)
		if !ok {
			d.add(theme.T(theme.Faint, "reading values …"))
			return d
		}
		scr.put(d, values.OfStop(s, scr.style(sc, w)))
	}
	return d
}

func (scr *stopScreen) style(sc *scene, w int) values.Style {
	return values.Style{Width: w, Flipped: scr.folds, Place: sc.place, Code: sc.hl.Line}
}

// put makes the lines a part of the document.
func (scr *stopScreen) put(d *doc, lines []values.Line) {
	scr.lines = lines
	d.parts = append(d.parts, part{
		n:      len(lines),
		line:   func(i int) theme.Line { return lines[i].Line },
		target: func(i int) (Selection, bool) { return posSel(lines[i].Pos), lines[i].Pos.Line > 0 },
	})
}

func pointDoc(d *doc, r *pointRow) {
	d.add(theme.T(theme.Bold, "Breakpoint "+fmt.Sprint(r.p.ID)))
	d.wrap(theme.Plain, 0, r.p.Spec)
	d.blank()
	switch {
	case r.p.Error != "":
		d.wrap(theme.Yellow, 0, r.p.Error)
	case r.places > 0:
		d.wrap(theme.Plain, 0, "It stops the program at "+count(r.places, "place")+".")
		pythonLineDoc(d, r.p)
	case r.p.Note != "":
		d.wrap(theme.Faint, 0, r.p.Note)
	}
	d.wrap(theme.Faint, 0, "d removes it.")
}

// pythonLineDoc says what a breakpoint on a line of Python does to calls of compiled functions.
func pythonLineDoc(d *doc, p logs.Point) {
	switch {
	case p.Note != "":
		d.wrap(theme.Faint, 0, "In a compiled function it stops where Dynamo traces the line; "+p.Note+".")
	case strings.Contains(p.Spec, ".py:"):
		d.wrap(theme.Faint, 0, "In a compiled function it stops where Dynamo traces the line. While it is set, later calls of that "+
			"function run eagerly, so that they stop there, too: nothing is compiled for them, and what is compiled is kept.")
	}
}

// lineAt is the line at the document's cursor, nil for none.
func (scr *stopScreen) lineAt() *values.Line {
	if i := scr.docList.Cursor(); scr.inside && i >= 0 && i < len(scr.lines) {
		return &scr.lines[i]
	}
	return nil
}

// level is the level of the stack at the document's cursor, 0 without one.
func (scr *stopScreen) level() int {
	if l := scr.lineAt(); l != nil {
		return l.Level
	}
	return 0
}

// fold folds or unfolds what is at the document's cursor.
func (scr *stopScreen) fold(sc *scene) {
	l := scr.lineAt()
	if l == nil || l.Path == "" {
		sc.say("enter or tab goes to the values; there z folds or unfolds the one at the cursor")
		return
	}
	toggle(scr.folds, l.Path)
	scr.version++
}

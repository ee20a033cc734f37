package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tui/keys"
	"tcdbg/tui/prompt"
	"tcdbg/tui/values"
)

// This file is the commands of a debugger: go on, step, breakpoints, expressions. What
// comes of them are records, which the Stop screen shows.

// debugging is what the screens know of a program that they can stop.
type debugging struct {
	next   int64        // records from which on a stop was not shown yet
	points int          // breakpoints that were set: their ids
	state  string       // how the header says that the program stands
	told   string       // what the program's answer to a command was, as the last line has it
	value  *logs.Answer // the newest value of an expression that the last line has had
}

// stopKinds says for a kind of stop where the program stands.
var stopKinds = map[logs.StopKind]string{
	logs.StopPause: "paused", logs.StopStart: "before the first line", logs.StopFrame: "before a compile", logs.StopBreak: "graph break",
	logs.StopRecompile: "guard miss", logs.StopCall: "call of a compiled function", logs.StopKernel: "before a kernel",
	logs.StopLine: "line", logs.StopNaN: "NaN or Inf", logs.StopDiffers: "differs from eager", logs.StopRaised: "error",
}

// stopTitle is the kind of a stop in words.
func stopTitle(k logs.StopKind) string {
	if t := stopKinds[k]; t != "" {
		return t
	}
	return string(k)
}

// header takes from the report that the program stands, and where: its newest stop.
func (d *debugging) header(sc *scene) {
	d.state = "paused"
	if !sc.run.Live {
		return
	}
	d.answer(sc)
	d.evaluated(sc)
	standing := sc.report.Session.Standing()
	if len(standing) == 0 {
		return
	}
	s := standing[len(standing)-1]
	sc.run.Paused = true
	if d.state = stopTitle(s.Kind); len(standing) > 1 {
		d.state = fmt.Sprintf("%d stopped: %s", len(standing), d.state)
	}
	if s.Where.File != "" {
		sc.run.Where = fmt.Sprintf("%s:%d", filepath.Base(s.Where.File), s.Where.Line)
	}
}

// refusable are the commands whose refusal, the command's name before the reason, is no record of another kind.
var refusable = []ctl.Verb{ctl.Back, ctl.Step, ctl.Continue, ctl.Pause, ctl.Clear}

// answer says on the last line why the program does not do what it was told, and that it is run again.
func (d *debugging) answer(sc *scene) {
	st := sc.report.State
	told := fmt.Sprint(st.Command, st.Text)
	if told == d.told {
		return
	}
	d.told = told
	verb, _, ok := strings.Cut(st.Text, ": ")
	switch {
	case ok && slices.Contains(refusable, ctl.Verb(verb)):
		sc.fail(strings.TrimPrefix(st.Text, "back: "))
	case strings.HasPrefix(st.Text, "runs again"):
		sc.say(st.Text + "; space ends that")
	}
}

// evaluated says on the last line what an expression is that was asked for: the list may have no
// room for its row.
func (d *debugging) evaluated(sc *scene) {
	all := sc.report.Session.Answers
	if len(all) == 0 || all[len(all)-1] == d.value || all[len(all)-1].Command == 0 {
		return
	}
	d.value = all[len(all)-1]
	if d.value.Error != "" {
		sc.fail(d.value.Expr + ": " + explain.Squeeze(d.value.Error))
	} else {
		sc.say(d.value.Expr + " = " + explain.Squeeze(values.Text(&d.value.Value)))
	}
}

// stopped leads to a new stop of a program that runs: the selection is its line, and it is
// shown on the Stop screen, or on Source where that is open.
func (m *Model) stopped() {
	sc := &m.sc
	standing := sc.report.Session.Standing()
	if len(standing) == 0 || !sc.run.Live {
		return
	}
	s := standing[len(standing)-1]
	if s.Seq < sc.debug.next {
		return
	}
	sc.debug.next = s.Seq + 1
	m.pane(keys.Stop).untouch()
	if s.Where.File != "" {
		sc.sel = posSel(s.Where)
		sc.selGen++
		m.pane(keys.Stop).synced = sc.selGen
	}
	if m.at != keys.Stop && m.at != keys.Source && sc.over == nil && !sc.prompt.On() {
		m.open(keys.Stop)
	}
}

// untouch puts the cursor of a pane back to the first row, and to the list.
func (p *pane) untouch() { p.touched, p.inside = false, false }

// aim addresses a command to the thread of a stop; where no other stands, to all.
func (sc *scene) aim(c ctl.Command, s *explain.Stop) ctl.Command {
	if s != nil && s.Stands && len(sc.report.Session.Standing()) > 1 {
		c.Process, c.Thread = s.Process, s.Thread
	}
	return c
}

// command sends a command to the program; said is what the last line says then.
func (sc *scene) command(c ctl.Command, said string) tea.Cmd {
	switch {
	case !sc.run.Live:
		sc.fail(string(c.Verb) + ": the program has ended")
		return nil
	case !sc.run.Control:
		sc.fail(string(c.Verb) + ": only programs under tcdbg run and tcdbg exec --pause can be stopped")
		return nil
	}
	return sc.send(c, said)
}

// send gives the program a command. Bubble Tea runs what keys ask for side by side: each waits
// for the command before it, so that keys that are pressed fast act in their order.
func (sc *scene) send(c ctl.Command, said string) tea.Cmd {
	feed, before, done := sc.feed, sc.sent, make(chan struct{})
	sc.sent = done
	return func() tea.Msg {
		defer close(done)
		if before != nil {
			<-before
		}
		if err := feed.Send(c); err != nil {
			return statusMsg{err.Error(), true}
		}
		return statusMsg{text: said}
	}
}

// steps are the arguments of Step, by what the last line says.
var steps = map[keys.Action]struct{ arg, said string }{
	nextLine:        {"line", "to the next line"},
	stepInto:        {"into", "to the next line of any function"},
	stepOut:         {"out", "to the end of this function"},
	nextOperator:    {"operator", "to the next operator"},
	nextInstruction: {"instruction", "to the next instruction of the trace"},
}

// backs are the arguments of Back, by what the last line says.
var backs = map[keys.Action]struct{ arg, said string }{
	backStop:     {"", "back to the stop before"},
	backLine:     {"line", "back to the line before"},
	backOperator: {"operator", "back to the operator before"},
	backNaN:      {"nan", "back to where the first NaN came into being"},
}

// back goes back in a program that stands, or says why not.
func (sc *scene) back(c ctl.Command, said string, s *explain.Stop) tea.Cmd {
	switch {
	case s == nil || !s.Stands:
		sc.fail("back: the program does not stand here")
		return nil
	case s.NoBack != "":
		sc.fail("back: " + s.NoBack)
		return nil
	case s.Moment == 0:
		sc.fail("back: only Go programs under tcdbg run can be run again to an earlier moment")
		return nil
	}
	c.Verb = ctl.Back
	return sc.command(c, said)
}

// debugs reports whether a key of the screen Stop does something where the program stands now.
func (sc *scene) debugs(a keys.Action) bool {
	var s *explain.Stop
	if standing := sc.report.Session.Standing(); sc.run.Live && len(standing) > 0 {
		s = standing[len(standing)-1]
	}
	_, back := backs[a]
	_, step := steps[a]
	switch {
	case back || a == backWritten:
		return s != nil && s.Moment > 0 && s.NoBack == ""
	case a == nextOperator || a == nextInstruction:
		return s != nil && (!ofPython(s) || s.Compile != "")
	case step || a == goOn || a == evaluate:
		return s != nil
	}
	return true
}

// ofPython reports whether a stop is one of a Python program.
func ofPython(s *explain.Stop) bool {
	return s.Moment == 0 && !strings.HasSuffix(s.Where.File, ".go")
}

// setBreakpoint sets a breakpoint at a line, takes it away where there is one, or without a
// line asks what is to stop.
func (sc *scene) setBreakpoint(p logs.Pos) tea.Cmd {
	if p.File == "" || p.Line == 0 {
		return sc.askBreakpoint("")
	}
	for _, have := range sc.report.Session.Points {
		if pointAt(have, lineOf(p)) {
			return sc.clearBreakpoint(have)
		}
	}
	return sc.breakpoint(fmt.Sprintf("%s:%d", p.File, p.Line))
}

// askBreakpoint asks what is to stop.
func (sc *scene) askBreakpoint(text string) tea.Cmd {
	sc.say("FILE:LINE, func NAME, GB0170, break, recompile, call, kernel, nan, differs, raised, guard TEXT, id 1/0; then: if CONDITION")
	return sc.prompt.Start("stop at: ", text, prompt.Typed{Accept: func(spec string) tea.Cmd {
		sc.say("")
		if spec = strings.TrimSpace(spec); spec == "" {
			return nil
		}
		return sc.breakpoint(spec)
	}})
}

func (sc *scene) breakpoint(spec string) tea.Cmd {
	for _, p := range sc.report.Session.Points {
		sc.debug.points = max(sc.debug.points, p.ID)
	}
	sc.debug.points++
	return sc.command(ctl.Command{Verb: ctl.Break, Point: sc.debug.points, Arg: spec}, "breakpoint: "+spec)
}

func (sc *scene) clearBreakpoint(p logs.Point) tea.Cmd {
	return sc.command(ctl.Command{Verb: ctl.Clear, Point: p.ID, Arg: p.Spec}, "no breakpoint any more: "+p.Spec)
}

// pointAt reports whether a breakpoint is at a line; its file may be the end of a path.
func pointAt(p logs.Point, at line) bool {
	spec, _, _ := strings.Cut(p.Spec, " if ")
	file, ok := strings.CutSuffix(strings.TrimSpace(spec), fmt.Sprintf(":%d", at.n))
	return ok && file != "" && (file == at.file || strings.HasSuffix(at.file, "/"+file))
}

// runTo lets the program run to a line.
func (sc *scene) runTo(p logs.Pos, s *explain.Stop) tea.Cmd {
	if p.File == "" || p.Line == 0 {
		sc.fail("run to: no line is selected")
		return nil
	}
	where := fmt.Sprintf("%s:%d", p.File, p.Line)
	return sc.command(sc.aim(ctl.Command{Verb: ctl.Step, Arg: where}, s), "runs to "+sc.place(p))
}

// ask asks for an expression, and sends it.
func (sc *scene) ask(head string, verb ctl.Verb, level int, s *explain.Stop) tea.Cmd {
	return sc.prompt.Start(head, "", prompt.Typed{Accept: func(expr string) tea.Cmd {
		if expr = strings.TrimSpace(expr); expr == "" {
			return nil
		}
		return sc.command(sc.aim(ctl.Command{Verb: verb, Arg: expr, Level: level}, s), string(verb)+": "+expr)
	}})
}

package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file walks through the trace of a compile, on the Source screen: an arrow at the line of
// each step, and beside it what the step gave and what there is so far.

// What the keys of the Source screen do beside those of all screens.
const (
	traceBack keys.Action = keys.Own + iota
	traceOn
	addedBefore
	addedNext
)

// walkKeys are the bindings for walking.
func walkKeys() []keys.Binding {
	const group = "The trace of a compile"
	return []keys.Binding{
		keys.Bind(traceBack, "step the trace back", group, 0, "["),
		keys.Bind(traceOn, "step the trace", group, 7, "]"),
		keys.Bind(addedBefore, "previous step that added a node or a guard", group, 0, "{"),
		keys.Bind(addedNext, "next step that added a node or a guard", group, 0, "}"),
	}
}

// traceWalk is where one walks.
type traceWalk struct {
	compile *explain.Compile
	title   string
	steps   *logs.TraceSteps
	logged  bool
	at      int
}

// walkAct goes through the trace, or begins to; esc leaves it.
func (scr *sourceScreen) walkAct(sc *scene, a keys.Action) (tea.Cmd, bool) {
	w := scr.walk
	switch {
	case a == keys.Back && w != nil && !scr.inside:
		scr.walk, sc.walked = nil, logs.Pos{}
		scr.version++
		return nil, true
	case a < traceBack || a > addedNext:
		return nil, false
	case w == nil:
		return scr.beginWalk(sc), true
	}
	to := w.at
	switch a {
	case traceBack:
		to--
	case traceOn:
		to++
	default:
		step := map[keys.Action]int{addedBefore: -1, addedNext: 1}[a]
		for to += step; to >= 0 && to < len(w.steps.Steps) && !adds(&w.steps.Steps[to]); {
			to += step
		}
	}
	switch {
	case to < 0:
		sc.say("this is the first step of the trace")
	case to >= len(w.steps.Steps):
		sc.say(ended(w.compile, w.steps))
	default:
		scr.walkTo(sc, to)
	}
	return nil, true
}

func adds(s *logs.StepOnce) bool { return len(s.Guards)+len(s.Nodes) > 0 }

// ended says how the trace ends, or that it has not.
func ended(c *explain.Compile, t *logs.TraceSteps) string {
	switch n := len(c.Breaks); {
	case t.Amid:
		return "as far as the trace had come where the program stood still"
	case t.End == "":
		return "the trace ends here"
	case n > 0 && c.Breaks[n-1].Code != "" && !strings.HasPrefix(t.End, "GB"): // PyTorch's words name no code
		return "the trace ends here: " + c.Breaks[n-1].Code + ", " + t.End
	}
	return "the trace ends here: " + t.End
}

// beginWalk reads the trace of the selected compile beside the UI.
func (scr *sourceScreen) beginWalk(sc *scene) tea.Cmd {
	c := scr.tracedCompile(sc)
	if c == nil {
		sc.fail("steps of traces are not recorded" + notRecorded(sc.report))
		return nil
	}
	sc.say("reading the trace of " + idText(c.ID) + " …")
	return func() tea.Msg {
		steps := c.Trace.Load()
		return onUI(func(sc *scene) tea.Cmd {
			if len(steps.Steps) == 0 {
				sc.fail("the trace of " + idText(c.ID) + " cannot be read")
				return nil
			}
			sc.say("")
			title := strings.TrimSpace(c.Frame.Title() + " " + idText(c.ID))
			scr.walk = &traceWalk{compile: c, title: title, steps: steps, logged: c.Trace.Logged}
			scr.walkTo(sc, 0)
			return nil
		})
	}
}

// notRecorded is why there are no steps, or what records them.
func notRecorded(r *explain.Report) string {
	switch {
	case r.StepsMissing != "":
		return ": " + r.StepsMissing
	case r.OfGo():
		return ""
	}
	return ": tcdbg exec --pause records them"
}

// tracedCompile is the selected compile, or where none is, the first one whose steps are
// recorded; nil for none.
func (scr *sourceScreen) tracedCompile(sc *scene) *explain.Compile {
	var first, ofLine *explain.Compile
	line, _ := scr.selected().(*lineRow)
	for _, f := range sc.report.Frames {
		for _, c := range f.Compiles {
			if c.Trace == nil || c.Trace.Count == 0 {
				continue
			}
			if sc.sel.HasID && keyOf(sc.sel.ID) == keyOf(c.ID) {
				return c
			}
			if first == nil {
				first = c
			}
			if ofLine == nil && line != nil && line.facts != nil && slices.Contains(line.facts.entry, f) {
				ofLine = c
			}
		}
	}
	if ofLine != nil {
		return ofLine
	}
	return first
}

// walkTo shows a step: its line gets the arrow and the cursor.
func (scr *sourceScreen) walkTo(sc *scene, i int) {
	w := scr.walk
	w.at = i
	p := w.steps.Place(i)
	sc.walked = placeOnly(p)
	scr.version++
	for k := range scr.Len() {
		if r, ok := scr.at(k).(*lineRow); ok && r.n == p.Line && r.file == p.File {
			scr.set(k)
			break
		}
	}
	scr.choose(sc, Selection{Pos: sc.walked, HasID: true, ID: w.compile.ID})
	scr.synced = sc.selGen
}

// walkLine says in the lead where one walks.
func (scr *sourceScreen) walkLine() theme.Line {
	w := scr.walk
	return theme.Line{
		{Text: " " + callArrow + " ", Style: theme.Accent | theme.Bold},
		theme.T(theme.Accent, fmt.Sprintf("step %d of %d of the trace of %s", w.at+1, len(w.steps.Steps), w.title)),
		{Text: "  [ ] step, { } to what adds something, esc ends", Style: theme.Faint},
	}
}

// walks reports whether a row is the line of the step that is shown; where the step's line has
// no row, any is.
func (scr *sourceScreen) walks(sc *scene, r *lineRow) bool {
	return scr.walk != nil && (r.file == sc.walked.File && r.n == sc.walked.Line || !scr.hasRow(sc.walked))
}

func (scr *sourceScreen) hasRow(p logs.Pos) bool {
	for k := range scr.Len() {
		if r, ok := scr.at(k).(*lineRow); ok && r.n == p.Line && r.file == p.File {
			return true
		}
	}
	return false
}

// docWalk is the step and what there is so far.
func (scr *sourceScreen) docWalk(d *doc) {
	w := scr.walk
	s := &w.steps.Steps[w.at]
	p := w.steps.Place(w.at)
	head := s.Instr
	if s.Depth > 0 {
		head += fmt.Sprintf(", %s deep", count(s.Depth, "call"))
	}
	d.add(theme.T(theme.Bold, head), theme.T(theme.Faint, "  "+d.sc.place(p)+inFunc(p)))
	switch {
	case s.As != "" && s.Set != "":
		d.wrap(theme.Plain, 2, s.Set+" = "+s.As)
	case s.As != "":
		d.wrap(theme.Plain, 2, "gives "+s.As)
	}
	for _, n := range s.Nodes {
		d.add(theme.T(theme.Compiled, "  + "), theme.T(theme.Plain, n))
	}
	for _, g := range s.Guards {
		d.add(theme.T(theme.Guard, "  "+theme.GlyphGuard+" "), theme.T(theme.Plain, g))
	}
	if w.at == len(w.steps.Steps)-1 {
		d.wrap(theme.Break, 2, ended(w.compile, w.steps))
		if w.steps.Left > 0 {
			d.wrap(theme.Faint, 2, fmt.Sprintf("%d instructions that add nothing, or are beyond the bound, are in no step", w.steps.Left))
		}
	}
	title := "OPERANDS"
	if w.logged || !d.sc.report.OfGo() {
		title = "STACK"
	}
	docList(d, title, s.On, false)
	if w.logged {
		d.blank()
		d.wrap(theme.Faint, 0, "PyTorch's log tells the symbolic stack before each instruction; which guards and nodes it adds "+
			"is not recorded.")
		return
	}
	vars, guards, nodes := soFar(w)
	docList(d, "VALUES SO FAR", vars, true)
	docList(d, "GRAPH SO FAR", nodes, true)
	docList(d, "GUARDS SO FAR", guards, true)
}

// maxSoFar bounds what is listed of what there is so far.
const maxSoFar = 200

// docList lists texts, where there are many the newest first.
func docList(d *doc, title string, texts []string, newest bool) {
	if len(texts) == 0 {
		return
	}
	if newest {
		title += fmt.Sprintf(": %d, the newest first", len(texts))
		texts = slices.Clone(texts)
		slices.Reverse(texts)
	}
	d.heading(title)
	for i, t := range texts {
		if i == maxSoFar {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  and %d more", len(texts)-i)))
			return
		}
		d.add(theme.T(theme.Plain, "  "+t))
	}
}

// soFar is what the trace has after the step: what values are known as by now, guards, nodes.
func soFar(w *traceWalk) (vars, guards, nodes []string) {
	seen := map[string]bool{}
	for i := w.at; i >= 0; i-- {
		if s := &w.steps.Steps[i]; s.As != "" && s.Set != "" && !seen[s.Set] {
			seen[s.Set] = true
			vars = append(vars, s.Set+" = "+s.As)
		}
	}
	slices.Reverse(vars)
	for i := range w.steps.Steps[:w.at+1] {
		guards, nodes = append(guards, w.steps.Steps[i].Guards...), append(nodes, w.steps.Steps[i].Nodes...)
	}
	return vars, guards, nodes
}

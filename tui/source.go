package tui

import (
	"fmt"
	"sort"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is screen 2, Source: what happens to each of my lines?

// sourceScreen is the Source screen.
type sourceScreen struct {
	pane
	walk *traceWalk // nil: nobody walks through a trace
}

func newSource() screen {
	return &sourceScreen{pane: pane{
		title:     keys.Title{Name: "Source", Short: "Src", Key: "2", Asks: "What happens to each of my lines?"},
		leadLines: 2, detailed: true, share: 0.62, keys: walkKeys(),
		columns: columns.Of(
			"number", "the line's number", "marks", "its operators, breaks and guards", "outcome", "what became of it",
		),
	}}
}

func (scr *sourceScreen) empty(_ *scene) []string {
	if !scr.ready {
		return []string{"Reading graphs and sources …"}
	}
	return []string{
		"No source line is known yet.",
		"A line appears once something compiled comes from it, with the operators it became, the kernels they run in, its breaks " +
			"and its guards.",
	}
}

func (scr *sourceScreen) lead(sc *scene, _ int) []theme.Line {
	second := sc.callLine()
	if scr.walk != nil {
		second = scr.walkLine()
	}
	return []theme.Line{{
		{Text: " "},
		{Text: theme.GlyphCompiled, Style: theme.Compiled},
		{Text: " compiled  "},
		{Text: theme.GlyphEager, Style: theme.Eager},
		{Text: " eager  "},
		{Text: theme.GlyphBreak, Style: theme.Break},
		{Text: " breaks  "},
		{Text: theme.GlyphGuard, Style: theme.Guard},
		{Text: " guards  "},
		{Text: theme.GlyphRecompile, Style: theme.Recompile},
		{Text: " a guard of this line failed"},
	}, second}
}

// aroundLibrary is how many lines around a marked one are shown of a library
// file.
const aroundLibrary = 2

// rows lists the user's files whole, from the first compiled function to
// the last marked line, and of library files what surrounds marked lines.
func (scr *sourceScreen) rows(in *input) []row {
	x := in.parsed.index(in.report)
	files := append([]string(nil), x.files...)
	sort.SliceStable(files, func(i, j int) bool { return !library(files[i]) && library(files[j]) })
	byFile := map[string][]int{}
	for k := range x.lines {
		byFile[k.file] = append(byFile[k.file], k.n)
	}
	var rows []row
	for _, f := range files {
		if library(f) && onlyGuards(x, f, byFile[f]) {
			continue // what every program is asked for tells nothing of this one
		}
		if len(rows) > 0 {
			rows = append(rows, &headRow{})
		}
		rows = append(rows, &fileRow{name: f})
		rows = append(rows, scr.fileLines(in, x, f, byFile[f])...)
	}
	return rows
}

// onlyGuards reports whether nothing is known of a file's lines but that guards
// come from them.
func onlyGuards(x *sourceIndex, file string, lines []int) bool {
	for _, n := range lines {
		if l := x.lines[line{file, n}]; len(l.nodes)+len(l.breaks)+len(l.kernels)+len(l.entry)+len(l.errors) > 0 {
			return false
		}
	}
	return true
}

// fileLines makes the rows of one file.
func (scr *sourceScreen) fileLines(in *input, x *sourceIndex, file string, marked []int) []row {
	sort.Ints(marked)
	text := in.parsed.file(in.feed, file)
	var rows []row
	add := func(n int) {
		r := &lineRow{file: file, n: n, facts: x.lines[line{file, n}], shown: scr.columns}
		switch {
		case n <= len(text):
			r.code = text[n-1]
		case r.facts != nil:
			r.code = r.facts.code
		}
		rows = append(rows, r)
	}
	around := aroundLibrary
	if !library(file) {
		around = 1 << 20
	}
	last := 0
	for i, n := range marked {
		from, to := n, n
		if len(text) > 0 {
			from, to = max(1, n-min(around, 3)), min(len(text), n+min(around, 3))
			if i+1 < len(marked) && around > 3 {
				to = min(len(text), marked[i+1])
			}
		}
		from = max(from, last+1)
		if last > 0 && from > last+1 {
			rows = append(rows, &headRow{text: "      ⋮"})
		}
		for k := from; k <= to; k++ {
			last = k
			if left := min(explain.LeftOutFrom(text, k), to-k+1); left > 0 && x.lines[line{file, k}] == nil {
				rows = append(rows, &headRow{text: "      ⋮ " + explain.Are(left, "line") + " not in this bundle"})
				k += left - 1
				last = k
				continue
			}
			add(k)
		}
	}
	return rows
}

// first puts the cursor on the first line from which something was captured, else on
// the first of which anything is known.
func (scr *sourceScreen) first() {
	first := -1
	for i := range scr.Len() {
		r, ok := scr.at(i).(*lineRow)
		if !ok || r.facts == nil {
			continue
		}
		if first < 0 {
			first = i
		}
		if len(r.facts.nodes) > 0 || len(r.facts.breaks) > 0 || len(r.facts.errors) > 0 {
			first = i
			break
		}
	}
	if first >= 0 {
		scr.set(first)
	}
}

// fileRow heads a file.
type fileRow struct {
	headRow
	name string
}

func (r *fileRow) draw(sc *scene, w int) theme.Line {
	style := theme.Bold
	if library(r.name) {
		style = theme.Noise
	}
	return theme.L(style, theme.CutLeft(shortFile(sc.root(), r.name), w))
}

// lineRow is one source line with what became of it.
type lineRow struct {
	file  string
	n     int
	code  string
	facts *lineFacts
	shown *columns.Set
}

func (r *lineRow) key() string { return fmt.Sprintf("line %s:%d", r.file, r.n) }
func (r *lineRow) matches(q string) bool {
	return theme.IndexFold(r.code, q) >= 0 || theme.IndexFold(r.file, q) >= 0
}
func (r *lineRow) pos() logs.Pos { return logs.Pos{File: r.file, Line: r.n} }
func (r *lineRow) sel() Selection {
	s := posSel(r.pos())
	if f := r.facts; f != nil {
		switch {
		case len(f.breaks) > 0:
			s.Break = f.breaks[0].Key
		case len(f.errors) > 0:
			s.HasID, s.ID, s.Record = true, f.errors[0].ID, f.errors[0].Seq
		case len(f.nodes) > 0:
			n := f.nodes[len(f.nodes)-1]
			s.Node, s.HasID, s.ID = n.name, true, n.graph.ID
		case len(f.fails) > 0 && f.fails[0].Compile != nil:
			s.HasID, s.ID = true, f.fails[0].Compile.ID
		}
		if len(f.kernels) > 0 {
			s.Kernel = f.kernels[0].Name
		}
	}
	return s
}

func (r *lineRow) draw(sc *scene, w int) theme.Line {
	var l theme.Line
	if r.shown.On("number") {
		l = append(l, theme.Span{Text: fmt.Sprintf("%5d", r.n), Style: theme.Faint})
	}
	l = append(l, r.stopMark(sc))
	if r.shown.On("marks") {
		l = append(l, r.marks()...)
	}
	code := sc.hl.Line(syntax.OfFile(r.file), r.code)
	if library(r.file) {
		code = theme.L(theme.Noise, r.code)
	}
	var note theme.Line
	if r.shown.On("outcome") {
		note = r.note(sc)
	}
	room := w - l.Width()
	if nw := note.Width(); nw > 0 && room >= 44 {
		side := min(nw, room*2/5)
		return append(append(l, code.Fit(room-side-2)...), append(theme.Line{{Text: "  "}}, note.Fit(side)...)...)
	}
	return append(l, code...)
}

// stopMark says that the program is stopped at the line, that the step or the call which is
// followed is there, or that it has a breakpoint.
func (r *lineRow) stopMark(sc *scene) theme.Span {
	switch f := r.facts; {
	case f != nil && f.stands:
		return theme.Span{Text: theme.GlyphStands, Style: theme.Yellow | theme.Bold}
	case sc.walked.Line == r.n && sc.walked.File == r.file:
		return theme.Span{Text: callArrow, Style: theme.Accent | theme.Bold}
	case sc.walked.Line == 0 && sc.call.pos.Line == r.n && sc.call.pos.File == r.file:
		return theme.Span{Text: callArrow, Style: theme.Accent | theme.Bold}
	case f != nil && f.point:
		return theme.Span{Text: theme.GlyphRunning, Style: theme.Red}
	}
	return theme.Span{Text: " "}
}

// act sets a breakpoint at the line, runs to it, or walks through a trace.
func (scr *sourceScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	if cmd, did := scr.walkAct(sc, a); did {
		return cmd, true
	}
	if a != keys.SetBreakpoint && a != keys.RunToLine {
		return nil, false
	}
	r, ok := scr.selected().(*lineRow)
	if !ok {
		sc.fail("select a line first")
		return nil, true
	}
	if a == keys.RunToLine {
		return sc.runTo(r.pos(), nil), true
	}
	return sc.setBreakpoint(r.pos()), true
}

// marks is the gutter: six cells.
func (r *lineRow) marks() theme.Line {
	f := r.facts
	if f == nil {
		return theme.Line{{Text: "      "}}
	}
	var l theme.Line
	put := func(g string, s theme.Style) { l = append(l, theme.Span{Text: g, Style: s}) }
	if len(f.nodes) > 0 {
		put(theme.GlyphCompiled+theme.Fit(fmt.Sprint(distinctNodes(f.nodes)), 2), theme.Compiled)
	} else {
		put("   ", theme.Plain)
	}
	switch {
	case len(f.breaks) > 0:
		put(theme.GlyphBreak, theme.Break)
	case len(f.errors) > 0:
		put(theme.GlyphFailed, theme.Red)
	}
	if len(f.fails) > 0 {
		put(theme.GlyphRecompile, theme.Recompile)
	} else if len(f.guards) > 0 {
		put(theme.GlyphGuard, theme.Guard)
	}
	return l.Fit(6)
}

// distinctNodes counts the operators of a line in one compile: the one with
// the most.
func distinctNodes(nodes []nodeAt) int {
	best := 0
	per := map[*explain.Graph]int{}
	for _, n := range nodes {
		per[n.graph]++
		best = max(best, per[n.graph])
	}
	return best
}

// note says at the right what became of a line.
func (r *lineRow) note(sc *scene) theme.Line {
	f := r.facts
	switch {
	case f == nil:
		return nil
	case len(f.breaks) > 0:
		return theme.L(theme.Break, "break: "+breakTitle(f.breaks[0].Lead))
	case len(f.errors) > 0:
		return theme.L(theme.Red, "fails: "+f.errors[0].Title())
	case len(f.fails) > 0:
		return theme.L(theme.Recompile, failText(f.fails[0]))
	case len(f.kernels) > 0:
		return theme.L(theme.Faint, "→ "+kernelNames(f.kernels))
	case len(f.entry) > 0:
		return theme.L(theme.Faint, f.entry[0].Title()+" "+string(f.entry[0].Status)+" "+idText(f.entry[0].ID))
	}
	return nil
}

func failText(rc *explain.Recompile) string {
	for _, g := range rc.Failures {
		if g.Text != "" {
			return "guard failed: " + g.Text
		}
	}
	return "a guard failed"
}

func kernelNames(ks []*explain.Kernel) string {
	var names []string
	seen := map[string]bool{}
	for _, k := range ks {
		if !seen[k.Name] {
			seen[k.Name] = true
			names = append(names, k.Name)
		}
	}
	return strings.Join(names, ", ")
}

// sourceDetail is everything about one line.
func (scr *sourceScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	lr, ok := r.(*lineRow)
	if !ok {
		return d
	}
	if scr.walks(sc, lr) {
		scr.docWalk(d)
		return d
	}
	d.add(theme.T(theme.Bold, sc.place(lr.pos())))
	f := lr.facts
	if f == nil {
		d.wrap(theme.Faint, 0, "No compiled code comes from this line.")
		return d
	}
	for _, b := range f.breaks {
		d.heading("BREAK")
		d.link(groupSel(b), theme.T(theme.Break, "  "+theme.GlyphBreak+" "+b.Lead.Code+" "+breakTitle(b.Lead)))
		d.wrap(theme.Faint, 4, breakFacts(b))
		d.fix(b.Fix)
	}
	lineErrors(d, f)
	lineNodes(d, f)
	lineKernels(d, f)
	lineGuards(d, f)
	for _, fr := range f.entry {
		d.heading("FUNCTION")
		d.link(
			frameSel(fr), theme.T(theme.Plain, "  "+fr.Title()+" "),
			theme.T(theme.Faint, fmt.Sprintf("%s, %s, %s", idText(fr.ID), fr.Status, count(len(fr.Compiles), "compile"))),
		)
	}
	return d
}

// lineErrors shows the compiles that failed at a line; enter opens their records.
func lineErrors(d *doc, f *lineFacts) {
	for i, e := range f.errors {
		if i == maxLinks {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  and %d more failures", len(f.errors)-i)))
			break
		}
		d.heading("FAILURE")
		d.link(
			Selection{HasID: true, ID: e.ID, Record: e.Seq},
			theme.T(theme.Red, "  "+theme.GlyphFailed+" "+strings.TrimSpace(e.Code+" "+e.Type)+" "),
			theme.T(theme.Faint, idText(e.ID)),
		)
		d.wrap(theme.Plain, 4, e.Title())
		for _, said := range e.Details() {
			d.wrap(theme.Plain, 4, said)
		}
		d.place(e.Pos)
		d.fix(e.Fix)
	}
}

// maxLinks bounds what a detail lists of one kind.
const maxLinks = 40

func lineNodes(d *doc, f *lineFacts) {
	if len(f.nodes) == 0 {
		return
	}
	d.heading("OPERATORS")
	for i, n := range f.nodes {
		if i == maxLinks {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  and %d more", len(f.nodes)-i)))
			break
		}
		d.link(Selection{HasID: true, ID: n.graph.ID, Node: n.name, Pos: placeOnly(n.pos)},
			theme.T(theme.Plain, "  "+theme.Fit(n.name, 20)+" "), theme.T(theme.Faint, theme.Fit(n.target, 28)+" "+idText(n.graph.ID)))
	}
}

func lineKernels(d *doc, f *lineFacts) {
	if len(f.kernels) == 0 {
		return
	}
	d.heading("KERNELS")
	for i, k := range f.kernels {
		if i == maxLinks {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  and %d more", len(f.kernels)-i)))
			break
		}
		d.link(kernelSel(k), theme.T(theme.Plain, "  "+k.Name+" "), theme.T(theme.Faint, idText(k.ID)))
	}
}

func lineGuards(d *doc, f *lineFacts) {
	for _, rc := range f.fails {
		d.heading("FAILED GUARD")
		d.link(recompileSel(rc), theme.T(theme.Recompile, "  "+theme.GlyphRecompile+" "+failText(rc)))
	}
	if len(f.guards) == 0 {
		return
	}
	d.heading("GUARDS")
	for i, g := range f.guards {
		if i == maxLinks {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  and %d more", len(f.guards)-i)))
			break
		}
		s := compileSel(g.compile)
		d.link(
			s, theme.T(theme.Guard, "  "+theme.GlyphGuard+" "), theme.T(theme.Plain, g.text+" "),
			theme.T(theme.Faint, idText(g.compile.ID)),
		)
	}
}

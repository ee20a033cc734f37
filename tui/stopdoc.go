package tui

import (
	"fmt"
	"strings"

	"tcdbg/logs"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is what is at a stop: why it is one, the stack with its variables, the guards,
// the graph so far.

// stopLine is one line of the document.
type stopLine struct {
	line  theme.Line
	pos   logs.Pos // of the user's program, for a level of the stack
	level int      // of the stack, for an expression
	path  string   // what z folds or unfolds; "": nothing
	watch string   // expression that is watched
}

// maxStopLines bounds a document: a trace may be anybody's.
const maxStopLines = 20_000

// openLevels is how many levels of the stack are unfolded at first.
const openLevels = 3

func (scr *stopScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	scr.lines = nil
	switch r := r.(type) {
	case *pointRow:
		pointDoc(d, r)
	case *answerRow:
		b := &stopDoc{sc: sc, width: w, folds: scr.folds}
		b.heading(r.a.Expr)
		b.answer(r.a)
		scr.put(d, b)
	case *stopRow:
		s, ok := scr.stops.get(&sc.texts, r.key(), r.s.Load)
		if !ok {
			d.add(theme.T(theme.Faint, "reading values …"))
			return d
		}
		b := &stopDoc{sc: sc, width: w, folds: scr.folds}
		b.stop(s)
		scr.put(d, b)
	}
	return d
}

// put makes the lines a part of the document.
func (scr *stopScreen) put(d *doc, b *stopDoc) {
	if len(b.lines) == maxStopLines {
		b.lines = append(b.lines, stopLine{line: theme.L(theme.Faint, "… more than is shown here: Logs has the record")})
	}
	lines := b.lines
	scr.lines = lines
	d.parts = append(d.parts, part{
		n:      len(lines),
		line:   func(i int) theme.Line { return lines[i].line },
		target: func(i int) (Selection, bool) { return posSel(lines[i].pos), lines[i].pos.Line > 0 },
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
	}
	d.wrap(theme.Faint, 0, "d removes it.")
}

// lineAt is the line at the document's cursor, nil for none.
func (scr *stopScreen) lineAt() *stopLine {
	if i := scr.docList.Cursor(); scr.inside && i >= 0 && i < len(scr.lines) {
		return &scr.lines[i]
	}
	return nil
}

// level is the level of the stack at the document's cursor, 0 without one.
func (scr *stopScreen) level() int {
	if l := scr.lineAt(); l != nil {
		return l.level
	}
	return 0
}

// fold folds or unfolds what is at the document's cursor.
func (scr *stopScreen) fold(sc *scene) {
	l := scr.lineAt()
	if l == nil || l.path == "" {
		sc.say("enter or tab goes to the values; there z folds or unfolds the one at the cursor")
		return
	}
	toggle(scr.folds, l.path)
	scr.version++
}

// stopDoc makes the lines of a document.
type stopDoc struct {
	sc    *scene
	width int
	folds map[string]bool // what is not as it is at first
	lines []stopLine
	level int
}

func (b *stopDoc) add(l stopLine) {
	if len(b.lines) < maxStopLines {
		l.level = b.level
		b.lines = append(b.lines, l)
	}
}

func (b *stopDoc) text(style theme.Style, indent int, text string) {
	for _, l := range theme.Wrap(text, max(20, b.width-indent)) {
		b.add(stopLine{line: theme.Line{{Text: theme.Spaces(indent)}, theme.T(style, l)}})
	}
}

func (b *stopDoc) heading(text string) {
	if len(b.lines) > 0 {
		b.add(stopLine{})
	}
	b.add(stopLine{line: theme.L(theme.Bold, text)})
}

// open reports whether what has a path is unfolded, and the glyph that says so.
func (b *stopDoc) open(path string, atFirst bool) (bool, string) {
	if b.folds[path] != atFirst {
		return true, theme.GlyphOpen
	}
	return false, theme.GlyphFolded
}

func (b *stopDoc) stop(s *logs.Stop) {
	b.why(s)
	if s.Deciding != nil {
		b.heading("WHAT THE BRANCH ASKS FOR")
		b.value("deciding", 2, s.Deciding)
	}
	b.watches(s.Watches)
	b.guards(s.Guards)
	b.stack(s.Stack)
	b.symbolic(s.Symbolic)
	b.graph(s.Nodes)
	if len(s.Missing) > 0 {
		b.heading("NOT SHOWN HERE")
		for _, m := range s.Missing {
			b.text(theme.Faint, 2, m)
		}
	}
}

// why is what the lead of the screen does not say: the line, and the compiler's words.
func (b *stopDoc) why(s *logs.Stop) {
	if p := s.Where; p != nil && p.Code != "" {
		code := append(theme.Line{{Text: "  "}}, b.sc.hl.Line(syntax.OfFile(p.File), strings.TrimSpace(p.Code))...)
		b.add(stopLine{line: code, pos: *p})
	}
	if s.Compiled != "" {
		id := ""
		if s.Compile != "" {
			id = " [" + s.Compile + "]"
		}
		b.text(theme.Faint, 2, "compiled function "+s.Compiled+id)
	}
	if s.Reason != "" && s.Reason != s.Why {
		b.text(theme.Faint, 2, s.Reason)
	}
}

func (b *stopDoc) watches(list []logs.Answer) {
	if len(list) == 0 {
		return
	}
	b.heading("WATCHED")
	for i := range list {
		from := len(b.lines)
		b.add(stopLine{line: theme.Line{theme.T(theme.Accent, "  "+list[i].Expr)}})
		b.answer(&list[i])
		for k := from; k < len(b.lines); k++ {
			b.lines[k].watch = list[i].Expr
		}
	}
}

// answer is an expression's value, or why it has none.
func (b *stopDoc) answer(a *logs.Answer) {
	if a.Error != "" {
		b.text(theme.Red, 4, a.Error)
		return
	}
	v := a.Value
	v.Name = ""
	b.value("answer "+a.Expr, 4, &v)
}

// guards shows what failed and would fail; of those that hold it counts.
func (b *stopDoc) guards(list []logs.GuardState) {
	if len(list) == 0 {
		return
	}
	b.heading("GUARDS OF THE ENTRIES THAT WERE TRIED")
	holds := 0
	entry := -1
	for _, g := range list {
		if g.Result == "holds" {
			holds++
			continue
		}
		if g.Entry != entry {
			entry = g.Entry
			b.add(stopLine{line: theme.L(theme.Faint, fmt.Sprintf("  entry %d", entry))})
		}
		glyph, style := theme.GlyphFailed, theme.Red
		switch g.Result {
		case "would fail":
			style = theme.Yellow
		case "unknown":
			glyph, style = "?", theme.Faint
		}
		b.add(stopLine{line: theme.Line{
			{Text: "    " + glyph + " ", Style: style}, theme.T(theme.Plain, oneLine(g.Text)),
			theme.T(theme.Faint, "  "+g.Result),
		}})
		if g.Expected != "" || g.Actual != "" {
			b.text(theme.Faint, 8, "expected "+g.Expected+", is "+g.Actual)
		}
	}
	if holds > 0 {
		b.add(stopLine{line: theme.L(theme.Faint, "    "+count(holds, "guard")+" would hold")})
	}
}

// stack is the levels with their variables.
func (b *stopDoc) stack(stack []logs.StackFrame) {
	if len(stack) == 0 {
		return
	}
	b.heading("STACK")
	for i := range stack {
		f := &stack[i]
		b.level = i
		path := fmt.Sprintf("level %d", i)
		open, glyph := b.open(path, i < openLevels)
		if len(f.Locals) == 0 {
			open, glyph, path = false, " ", ""
		}
		b.add(stopLine{pos: f.Pos, path: path, line: theme.Line{
			{Text: fmt.Sprintf("%s %d ", glyph, i), Style: theme.Faint}, theme.T(theme.Bold, f.Func+" "),
			theme.T(theme.Accent, " "+b.sc.place(f.Pos)), theme.T(theme.Faint, "  "+strings.TrimSpace(f.Code)),
		}})
		if open {
			for k := range f.Locals {
				b.value(fmt.Sprintf("%s/%d", path, k), 4, &f.Locals[k])
			}
		}
	}
	b.level = 0
}

// symbolic are the variables as the tracer knows them.
func (b *stopDoc) symbolic(list []logs.Value) {
	if len(list) == 0 {
		return
	}
	b.heading("AS THE TRACER KNOWS THEM")
	for i := range list {
		b.value(fmt.Sprintf("symbolic/%d", i), 2, &list[i])
	}
}

func (b *stopDoc) graph(nodes []string) {
	if len(nodes) == 0 {
		return
	}
	b.heading("GRAPH SO FAR · " + count(len(nodes), "node"))
	for _, n := range nodes {
		b.add(stopLine{line: append(theme.Line{{Text: "  "}}, b.sc.hl.Line(syntax.Python, n)...)})
	}
}

// Package values draws what is at a stop of a program: why it is one, the stack with its
// variables, the guards, the graph so far; and single values.
//
// It imports explain, logs, syntax and theme, and knows no screen. Open this file first, then
// value.go.
package values

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// Line is one line.
type Line struct {
	Line  theme.Line
	Pos   logs.Pos // of the user's program, for a level of the stack
	Level int      // of the stack, for an expression
	Path  string   // what can be folded or unfolded; "": nothing
	Watch string   // expression that is watched
	// Names are the variable of the level that the line shows, and the fields, indices or keys
	// in it; nil: none.
	Names []string
}

// Max bounds the lines: a trace may be anybody's.
const Max = 20_000

// openLevels is how many levels of the stack are unfolded at first.
const openLevels = 3

// Style is how lines are drawn.
type Style struct {
	Width   int
	Flipped map[string]bool // paths that are not folded, or unfolded, as they are at first
	Place   func(logs.Pos) string
	Code    func(lang syntax.Lang, text string) theme.Line
}

// OfStop draws what is at a stop.
func OfStop(s *logs.Stop, style Style) []Line {
	b := &builder{Style: style}
	b.stop(s)
	return b.whole()
}

// OfAnswer draws an expression's value.
func OfAnswer(a *logs.Answer, style Style) []Line {
	b := &builder{Style: style}
	b.heading(a.Expr)
	b.answer(a)
	return b.whole()
}

// builder makes the lines.
type builder struct {
	Style
	lines []Line
	level int
	names []string // of what the value is in; nil: no variable
}

// whole is all lines, and that there are more.
func (b *builder) whole() []Line {
	if len(b.lines) == Max {
		b.lines = append(b.lines, Line{Line: theme.L(theme.Faint, "… more than is shown here: Logs has the record")})
	}
	return b.lines
}

func (b *builder) add(l Line) {
	if len(b.lines) < Max {
		l.Level = b.level
		b.lines = append(b.lines, l)
	}
}

func (b *builder) text(style theme.Style, indent int, text string) {
	for _, l := range theme.Wrap(text, max(20, b.Width-indent)) {
		b.add(Line{Line: theme.Line{{Text: theme.Spaces(indent)}, theme.T(style, l)}})
	}
}

func (b *builder) heading(text string) {
	if len(b.lines) > 0 {
		b.add(Line{})
	}
	b.add(Line{Line: theme.L(theme.Bold, text)})
}

// open reports whether what has a path is unfolded, and the glyph that says so.
func (b *builder) open(path string, atFirst bool) (bool, string) {
	if b.Flipped[path] != atFirst {
		return true, theme.GlyphOpen
	}
	return false, theme.GlyphFolded
}

func (b *builder) stop(s *logs.Stop) {
	b.why(s)
	if s.Deciding != nil {
		b.heading(deciding(s.Kind))
		b.value("deciding", 2, s.Deciding)
	}
	differs := s.Kind == logs.StopDiffers
	if differs {
		b.symbolic("COMPILED AND EAGER", s.Symbolic)
	}
	b.watches(s.Watches)
	b.guards(s.Guards)
	b.stack(s.Stack)
	if differs {
		b.graph("GRAPH", s.Nodes)
	} else {
		if !inStack(s) {
			b.symbolic("AS THE TRACER KNOWS THEM", s.Symbolic)
		}
		b.graph("GRAPH SO FAR", s.Nodes)
	}
	if strings.Contains(s.Reason, "\n") {
		b.heading("AS RECORDED")
		b.text(theme.Faint, 2, s.Reason)
	}
	if len(s.Missing) > 0 {
		b.heading("NOT SHOWN HERE")
		for _, m := range s.Missing {
			b.text(theme.Faint, 2, m)
		}
	}
}

// deciding is the heading of the value that the stop is about.
func deciding(kind logs.StopKind) string {
	if kind == logs.StopNaN {
		return "THE TENSOR WITH NaN OR INF"
	}
	return "WHAT THE BREAK ASKS FOR"
}

// inStack reports whether the innermost level shows all that the tracer knows of its variables.
func inStack(s *logs.Stop) bool {
	if len(s.Stack) == 0 {
		return false
	}
	shown := func(v logs.Value) logs.Value {
		v.Items, v.More = nil, 0 // which are cut at another depth
		return v
	}
	for _, v := range s.Symbolic {
		same := func(l logs.Value) bool { return l.Name == v.Name && reflect.DeepEqual(shown(l), shown(v)) }
		if !slices.ContainsFunc(s.Stack[0].Locals, same) {
			return false
		}
	}
	return true
}

// cause is the line of a compiler's words that says what happened: the first that is no more than an
// introduction, which ends in a colon.
func cause(reason string) string {
	first, rest, _ := strings.Cut(reason, "\n")
	for line := range strings.Lines(rest) {
		if !strings.HasSuffix(strings.TrimSpace(first), ":") {
			break
		}
		if line = strings.TrimSpace(line); line != "" {
			first = line
		}
	}
	return first
}

// why is what the lead of the screen does not say: the line, and the compiler's words.
func (b *builder) why(s *logs.Stop) {
	if p := s.Where; p != nil && p.Code != "" {
		code := append(theme.Line{{Text: "  "}}, b.Code(syntax.OfFile(p.File), strings.TrimSpace(p.Code))...)
		b.add(Line{Line: code, Pos: *p})
	}
	if s.Note != "" {
		b.text(theme.Yellow, 2, s.Note)
	}
	if len(s.Why)+3 > b.Width { // the lead of the screen may cut it
		b.text(theme.Plain, 2, explain.Squeeze(s.Why))
	}
	if s.Compiled != "" {
		id := ""
		if s.Compile != "" {
			id = " [" + s.Compile + "]"
		}
		b.text(theme.Faint, 2, "compiled function "+explain.TitleOf(s.Compiled)+id)
	}
	if first := cause(s.Reason); first != "" && first != s.Why {
		b.text(theme.Faint, 2, first)
	}
}

func (b *builder) watches(list []logs.Answer) {
	if len(list) == 0 {
		return
	}
	b.heading("WATCHED")
	for i := range list {
		from := len(b.lines)
		b.add(Line{Line: theme.Line{theme.T(theme.Accent, "  "+list[i].Expr)}})
		b.answer(&list[i])
		for k := from; k < len(b.lines); k++ {
			b.lines[k].Watch = list[i].Expr
		}
	}
}

// answer is an expression's value, or why it has none.
func (b *builder) answer(a *logs.Answer) {
	if a.Error != "" {
		b.text(theme.Red, 4, a.Error)
		return
	}
	v := a.Value
	v.Name = ""
	b.value("answer "+a.Expr, 4, &v)
}

// guards shows what failed and would fail; of those that hold it counts.
func (b *builder) guards(list []logs.GuardState) {
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
			b.add(Line{Line: theme.L(theme.Faint, fmt.Sprintf("  entry %d", entry))})
		}
		glyph, style := theme.GlyphFailed, theme.Red
		switch g.Result {
		case "would fail":
			style = theme.Yellow
		case "unknown":
			glyph, style = "?", theme.Faint
		}
		b.add(Line{Line: theme.Line{
			{Text: "    " + glyph + " ", Style: style},
			theme.T(theme.Plain, explain.Squeeze(g.Text)),
			theme.T(theme.Faint, "  "+g.Result),
		}})
		if g.Expected != "" || g.Actual != "" {
			b.text(theme.Faint, 8, "expected "+g.Expected+", is "+g.Actual)
		}
	}
	if holds > 0 {
		b.add(Line{Line: theme.L(theme.Faint, "    "+explain.Count(holds, "guard")+" would hold")})
	}
}

// stack is the levels with their variables.
func (b *builder) stack(stack []logs.StackFrame) {
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
		b.add(Line{Pos: f.Pos, Path: path, Line: theme.Line{
			{Text: fmt.Sprintf("%s %d ", glyph, i), Style: theme.Faint},
			theme.T(theme.Bold, f.Func+" "),
			theme.T(theme.Accent, " "+b.Place(f.Pos)), theme.T(theme.Faint, "  "+strings.TrimSpace(f.Code)),
		}})
		if open {
			for k := range f.Locals {
				b.names = []string{}
				b.value(fmt.Sprintf("%s/%d", path, k), 4, &f.Locals[k])
				b.names = nil
			}
		}
	}
	b.level = 0
}

// symbolic are variables as the tracer knows them, or results that differ.
func (b *builder) symbolic(title string, list []logs.Value) {
	if len(list) == 0 {
		return
	}
	b.heading(title)
	for i := range list {
		b.value(fmt.Sprintf("symbolic/%d", i), 2, &list[i])
	}
}

func (b *builder) graph(title string, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	b.heading(title + " · " + explain.Count(len(nodes), "node"))
	for _, n := range nodes {
		b.add(Line{Line: append(theme.Line{{Text: "  "}}, b.Code(syntax.Python, n)...)})
	}
}

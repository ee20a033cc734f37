package tui

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/diff"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is documents: what a detail pane shows. Parts are drawn line by
// line as they come into view, so that a kernel of a megabyte costs what its
// forty visible lines cost.

// doc is a document.
type doc struct {
	sc    *scene
	parts []part
	focus int // line to bring into view first
	width int // of the pane it was made for
	// pending documents lack texts: the cursor is placed when they are whole.
	pending bool
}

// part is a run of lines of one kind.
type part struct {
	n      int
	line   func(i int) theme.Line
	text   func(i int) string // for searching; nil: of line
	target func(i int) (Selection, bool)
	code   bool // scrolls sideways
}

// docKey says what a document was made for.
type docKey struct {
	row     string
	width   int
	version uint64
	mode    int
	texts   int // loaded texts when it was made
	folds   int
}

func newDoc(sc *scene, width int) *doc { return &doc{sc: sc, width: width} }

// Len is the number of lines.
func (d *doc) Len() int {
	n := 0
	for i := range d.parts {
		n += d.parts[i].n
	}
	return n
}

// find returns the part of line i and the line's index in it.
func (d *doc) find(i int) (*part, int) {
	for k := range d.parts {
		if i < d.parts[k].n {
			return &d.parts[k], i
		}
		i -= d.parts[k].n
	}
	return nil, 0
}

// target is what line i stands for.
func (d *doc) target(i int) (Selection, bool) {
	p, j := d.find(i)
	if p == nil || p.target == nil {
		return Selection{}, false
	}
	return p.target(j)
}

// text is line i without styles.
func (d *doc) text(i int) string {
	p, j := d.find(i)
	switch {
	case p == nil:
		return ""
	case p.text != nil:
		return p.text(j)
	}
	return p.line(j).Text()
}

// add appends a line.
func (d *doc) add(spans ...theme.Span) { d.addLine(theme.Line(spans), nil) }

// link appends a line that leads to a selection.
func (d *doc) link(sel Selection, spans ...theme.Span) { d.addLine(theme.Line(spans), &sel) }

func (d *doc) addLine(l theme.Line, sel *Selection) {
	p := part{n: 1, line: func(int) theme.Line { return l }}
	if sel != nil {
		s := *sel
		p.target = func(int) (Selection, bool) { return s, true }
	}
	d.parts = append(d.parts, p)
}

// blank appends an empty line, unless there is one.
func (d *doc) blank() {
	if n := len(d.parts); n > 0 && !(d.parts[n-1].n == 1 && len(d.parts[n-1].line(0)) == 0) {
		d.add()
	}
}

// heading appends a heading after a blank line.
func (d *doc) heading(text string) {
	d.blank()
	d.add(theme.T(theme.Bold, text))
}

// wrap appends text wrapped on words, with an indent.
func (d *doc) wrap(style theme.Style, indent int, text string) {
	for _, l := range theme.Wrap(text, max(20, d.width-indent)) {
		d.add(theme.Span{Text: theme.Spaces(indent)}, theme.Span{Text: l, Style: style})
	}
}

// labelled appends "LABEL   text", wrapped under itself.
func (d *doc) labelled(label, text string) {
	const col = 12
	for i, l := range theme.Wrap(text, max(20, d.width-col)) {
		head := theme.Spaces(col)
		if i == 0 {
			head = theme.Fit(label, col)
		}
		d.add(theme.Span{Text: head, Style: theme.Faint}, theme.Span{Text: l})
	}
}

// code appends highlighted code.
func (d *doc) code(h *syntax.Highlighter, lang syntax.Lang, text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	d.parts = append(d.parts, part{
		n: len(lines), code: true,
		line: func(i int) theme.Line { return h.Line(lang, lines[i]) },
		text: func(i int) string { return lines[i] },
	})
}

// docSource makes a list.Source of a document.
type docSource struct {
	d      *doc
	xoff   int
	query  string
	inside bool
}

func (s docSource) Len() int {
	if s.d == nil {
		return 0
	}
	return s.d.Len()
}

func (s docSource) Selectable(int) bool { return true }

func (s docSource) Draw(i, width int, selected bool) theme.Line {
	p, j := s.d.find(i)
	line := p.line(j).Mark(s.query)
	if p.code && s.xoff > 0 {
		line = line.Skip(s.xoff)
	}
	if selected && s.inside {
		if len(line) == 0 {
			line = theme.Line{{Text: " "}}
		}
		return line.Fit(width).With(theme.Reverse)
	}
	return line
}

// place shows a place with its code and the marked part.
func (d *doc) place(p logs.Pos) {
	if p.File == "" {
		return
	}
	in := ""
	if p.Func != "" {
		in = "  in " + explain.FunctionOf(p, nil)
	}
	place := d.sc.place(p)
	if col := d.sc.column(p); col > 0 {
		place += fmt.Sprintf(":%d", col)
	}
	d.link(posSel(p), theme.T(theme.Accent, "  "+place), theme.T(theme.Faint, in))
	if p.Code != "" {
		d.code(d.sc.hl, syntax.OfFile(p.File), "    "+p.Code)
		if c := caret(p, p.Code, 4); c != "" {
			d.add(theme.T(theme.Break, c))
		}
	}
}

// fix shows advice, and a diff where there is one.
func (d *doc) fix(f explain.Fix) {
	if f.Text == "" && len(f.Lines) == 0 {
		return
	}
	heading := "FIX"
	if f.Untried {
		heading = "HINT"
	}
	d.heading(heading)
	if f.Text != "" {
		d.wrap(theme.Plain, 2, f.Text)
	}
	if len(f.Lines) > 0 {
		d.code(d.sc.hl, syntax.Diff, strings.Join(f.Lines, "\n"))
	}
}

// stack shows a stack, outermost first; runs of library frames are folded.
func (d *doc) stack(stack []logs.Pos) {
	hidden := 0
	col := d.sc.placeColumn(stack, d.width)
	for i, p := range stack {
		if library(p.File) && i < len(stack)-1 {
			hidden++
			continue
		}
		if hidden > 0 {
			d.add(theme.T(theme.Noise, fmt.Sprintf("    · %s of torch or the standard library", count(hidden, "frame"))))
			hidden = 0
		}
		style := theme.Plain
		if library(p.File) {
			style = theme.Noise
		}
		d.link(
			posSel(p), theme.T(theme.Accent|style, "  "+d.sc.placeCell(p, col)),
			theme.T(style, theme.Fit(theme.Clean(explain.FunctionOf(p, nil)), 22)+" "), theme.T(theme.Faint, strings.TrimSpace(p.Code)),
		)
	}
}

// sideBySide is the width from which before and after lie side by side.
const sideBySide = 84

// beforeAfter compares two texts: side by side where there is room.
func (d *doc) beforeAfter(lang syntax.Lang, before, after string) {
	edits := diff.Lines(diff.Split(before), diff.Split(after))
	if diff.Related(edits) {
		edits = diff.FoldSame(edits)
	}
	if d.width < sideBySide && !diff.Related(edits) {
		d.add(theme.T(theme.Faint, "AFTER"))
		d.code(d.sc.hl, lang, after)
		d.blank()
		d.add(theme.T(theme.Faint, "BEFORE"))
		d.code(d.sc.hl, lang, before)
		return
	}
	if d.width < sideBySide {
		d.parts = append(d.parts, part{
			n: len(edits), code: true,
			line: func(i int) theme.Line { return diff.Draw(d.sc.hl, edits[i], lang) },
			text: func(i int) string { return edits[i].Text },
		})
		return
	}
	rows := diff.Pairs(edits)
	half := (d.width - 3) / 2
	d.add(theme.T(theme.Faint, theme.Fit("BEFORE", half)+" │ AFTER"))
	d.parts = append(d.parts, part{
		n: len(rows),
		line: func(i int) theme.Line {
			l := diff.DrawSide(d.sc.hl, rows[i][0], lang).Fit(half)
			l = append(l, theme.Span{Text: " │ ", Style: theme.Faint})
			return append(l, diff.DrawSide(d.sc.hl, rows[i][1], lang)...)
		},
		text: func(i int) string { return rows[i][0].Text + " " + rows[i][1].Text },
	})
}

package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain/xray"
	"tcdbg/logs"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is the X-ray: the selected line from source to kernel, over any screen.

// xraySheet is the column of a line.
type xraySheet struct {
	sheet
	sc *scene
	m  *Model
}

// xrayGlyphs draws the kinds of rows.
var xrayGlyphs = map[xray.Glyph]theme.Span{
	xray.Plain:      {Text: "≡", Style: theme.Accent},
	xray.Broken:     {Text: theme.GlyphBreak, Style: theme.Break},
	xray.Guarded:    {Text: theme.GlyphGuard, Style: theme.Guard},
	xray.Recompiled: {Text: theme.GlyphRecompile, Style: theme.Recompile},
	xray.Captured:   {Text: theme.GlyphCompiled, Style: theme.Compiled},
	xray.Fused:      {Text: theme.GlyphDone, Style: theme.Green},
	xray.NotFused:   {Text: theme.GlyphFailed, Style: theme.Red},
	xray.Generated:  {Text: theme.GlyphCompiled, Style: theme.Accent},
}

// openXRay makes the column of the selected line beside the UI, and shows it.
func (m *Model) openXRay() tea.Cmd {
	sc := &m.sc
	p, ok := m.current().pos()
	if !ok || p.Line == 0 {
		sc.fail("X-ray: select something that has a line of the program")
		return nil
	}
	r, gen, read := sc.report, sc.selGen, sc.feed.Source
	sc.say("looking through " + sc.place(p) + " …")
	return func() tea.Msg {
		c := xray.Of(r, xray.Subject{Pos: p})
		if c.Pos.Code == "" { // nothing was captured from the line
			if lines, err := read(p.File); err == nil && p.Line <= len(lines) {
				c.Pos.Code = lines[p.Line-1]
			}
		}
		return onUI(func(sc *scene) tea.Cmd {
			if gen == sc.selGen && sc.over == nil && !sc.prompt.On() {
				sc.say("")
				sc.over = m.newXRay(c)
			}
			return nil
		})
	}
}

func (m *Model) newXRay(c *xray.Column) *xraySheet {
	sc := &m.sc
	o := &xraySheet{sheet{title: "X-ray of " + theme.Clean(sc.place(c.Pos)) + "   enter opens a row, esc closes", picks: true}, sc, m}
	if c.Pos.Code != "" {
		o.add(append(theme.Line{{Text: "  "}}, sc.hl.Line(syntax.OfFile(c.Pos.File), strings.TrimSpace(c.Pos.Code))...))
	}
	for i := range c.Sections {
		o.section(&c.Sections[i])
	}
	o.list.Home(o)
	return o
}

func (o *xraySheet) section(s *xray.Section) {
	o.add(nil)
	o.add(theme.L(theme.Bold, s.Title))
	for i := range s.Rows {
		o.row(&s.Rows[i])
	}
	if s.Note != "" {
		o.wrap(2, theme.Faint, s.Note)
	}
}

func (o *xraySheet) wrap(indent int, style theme.Style, text string) {
	for _, l := range theme.Wrap(text, max(20, o.sc.w-indent-4)) {
		o.add(theme.Line{{Text: theme.Spaces(indent)}, theme.T(style, l)})
	}
}

func (o *xraySheet) row(r *xray.Row) {
	detail := theme.Clean(r.Detail)
	room := max(20, o.sc.w-8)
	line := theme.Line{xrayGlyphs[r.Glyph], {Text: " "}, theme.T(theme.Plain, theme.Cut(r.Text, room))}
	if rest := room - line.Width(); rest > theme.Width(detail) {
		line = append(line, theme.Span{Text: "  " + detail, Style: theme.Faint})
		detail = ""
	}
	sel := selectionOf(r)
	o.items = append(o.items, item{line: line, run: func() tea.Cmd {
		o.m.current().choose(o.sc, sel)
		o.m.open(screenFor(sel))
		return nil
	}})
	if detail != "" {
		o.wrap(4, theme.Faint, detail)
	}
	for _, l := range r.More {
		switch {
		case r.Lang == "diff":
			o.add(append(theme.Line{{Text: "      "}}, o.sc.hl.Line(syntax.Diff, l)...))
		case r.Lang != "":
			o.add(append(theme.Line{{Text: "      "}}, o.sc.hl.Line(syntax.OfKernel(r.Lang), l)...))
		default:
			o.wrap(6, theme.Faint, l)
		}
	}
	o.uses(r.Uses)
}

// sideBySideUses is the width from which two indexings are beside each other.
const sideBySideUses = 100

// uses shows how each of two nodes addresses what both use.
func (o *xraySheet) uses(list []logs.SharedUse) {
	for _, u := range list {
		head := theme.Clean(u.Buffer) + ", " + bytesText(u.Bytes)
		if half := (o.sc.w - 16 - theme.Width(head)) / 2; o.sc.w >= sideBySideUses && half >= theme.Width(u.A) && half >= theme.Width(u.B) {
			o.add(theme.Line{
				{Text: "      " + head + "   ", Style: theme.Faint},
				theme.T(theme.Plain, u.A),
				{Text: " │ ", Style: theme.Faint},
				theme.T(theme.Plain, u.B),
			})
			continue
		}
		o.wrap(6, theme.Faint, head)
		o.wrap(8, theme.Plain, u.A)
		o.wrap(8, theme.Plain, u.B)
	}
}

// selectionOf is what a row leads to.
func selectionOf(r *xray.Row) Selection {
	s := Selection{Pos: placeOnly(r.Pos), Node: r.Node, Kernel: r.Kernel, Break: r.Break}
	if r.ID != nil {
		s.HasID, s.ID = true, *r.ID
	}
	return s
}

// key moves over the rows, and opens one.
func (o *xraySheet) key(k string) (tea.Cmd, bool) {
	step := map[string]int{"up": -1, "k": -1, "down": 1, "j": 1}[k]
	switch {
	case step != 0:
		o.list.Move(o, step)
		return nil, true
	case k == "enter":
		i := o.list.Cursor()
		o.sc.over = nil
		if i < len(o.items) && o.items[i].run != nil {
			return o.items[i].run(), true
		}
		return nil, true
	}
	return nil, false
}

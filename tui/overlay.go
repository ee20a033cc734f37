package tui

import (
	"sort"

	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/list"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file is what lies over a screen: the help, the palette, a fix, a question.

// overlay is what lies over a screen; only one does.
type overlay interface {
	list.Source
	// lines is the sheet that is shown.
	lines() *sheet
	// key handles a key and reports whether it did; other keys move, or close it.
	key(k string) (cmd tea.Cmd, done bool)
}

// sheet is a title and lines. Every overlay embeds one.
type sheet struct {
	title string
	items []item
	list  list.List
	picks bool // the cursor picks an item
	brief bool // a click closes it
}

// item is a line of a sheet.
type item struct {
	line theme.Line
	find string         // what it is found by
	run  func() tea.Cmd // what enter does, nil: nothing
}

func (o *sheet) lines() *sheet { return o }

func (o *sheet) key(string) (tea.Cmd, bool) { return nil, false }

// add appends a line.
func (o *sheet) add(l theme.Line) { o.items = append(o.items, item{line: l}) }

// Len, Draw and Selectable make a sheet a list.Source.
func (o *sheet) Len() int { return len(o.items) }

// Draw draws one item.
func (o *sheet) Draw(i, _ int, selected bool) theme.Line {
	l := append(theme.Line{{Text: "  "}}, o.items[i].line...)
	if selected && o.picks {
		l[0] = theme.Span{Text: theme.GlyphCursor + " ", Style: theme.Accent | theme.Bold}
		return l.With(theme.Bold)
	}
	return l
}

// Selectable reports whether the cursor may be on an item.
func (o *sheet) Selectable(i int) bool { return !o.picks || o.items[i].run != nil }

// overlayKey gives a key to the overlay, or moves in it; any other key closes it.
func (m *Model) overlayKey(k tea.KeyMsg) tea.Cmd {
	over := m.sc.over
	if cmd, done := over.key(k.String()); done {
		return cmd
	}
	a, _ := m.sc.keys.Find(k.String(), m.at)
	l := &over.lines().list
	height := m.arrange().Body().H - 2
	switch a {
	case keys.Up:
		l.Scroll(over, -1, height)
	case keys.Down:
		l.Scroll(over, 1, height)
	case keys.PageUp, keys.HalfUp:
		l.Scroll(over, -height, height)
	case keys.PageDown, keys.HalfDown:
		l.Scroll(over, height, height)
	default:
		m.sc.over = nil
	}
	return nil
}

func (m *Model) drawOverlay(f layout.Frame, put func(layout.Rect, ...theme.Line)) {
	r := f.Body()
	over, o := m.sc.over, m.sc.over.lines()
	head := []theme.Line{theme.L(theme.Bold, " "+o.title), nil}
	put(r, head...)
	r.Y, r.H = r.Y+2, r.H-2
	if r.H > 0 {
		put(r, o.list.Lines(over, r.W, r.H, uint64(len(o.items))+m.sc.selGen)...)
	}
	put(f.Bottom, rule(m.sc.w, "", position("line", &o.list, over, r.H)))
}

// help is the keys of a screen and the glyphs.
type help struct{ sheet }

// newHelp lists the keys of a screen and what the glyphs mean.
func newHelp(sc *scene, s keys.Screen, title keys.Title) *help {
	o := &help{sheet{title: title.Name + ": " + title.Asks, brief: true}}
	groups := map[string][]keys.Binding{}
	var order []string
	for _, b := range sc.keys.Rows {
		if !b.On(s) {
			continue
		}
		if groups[b.Group] == nil {
			order = append(order, b.Group)
		}
		groups[b.Group] = append(groups[b.Group], b)
	}
	sort.SliceStable(order, func(i, j int) bool {
		return groups[order[i]][0].Screens != nil && groups[order[j]][0].Screens == nil
	})
	for _, g := range order {
		o.add(theme.L(theme.Bold, g))
		for _, b := range groups[g] {
			o.add(theme.Line{{Text: "  " + theme.Fit(b.Keys(), 14), Style: theme.Accent}, {Text: b.Title}})
		}
		o.add(nil)
	}
	o.add(theme.L(theme.Bold, "Glyphs"))
	for _, g := range []struct {
		glyph string
		style theme.Style
		means string
	}{
		{theme.GlyphCompiled, theme.Compiled, "runs compiled"},
		{theme.GlyphEager, theme.Eager, "runs eagerly"},
		{theme.GlyphBreak, theme.Break, "graph break"},
		{theme.GlyphRecompile, theme.Recompile, "recompiled"},
		{theme.GlyphGuard, theme.Guard, "guard"},
		{theme.GlyphSkipped, theme.Faint, "skipped, or no tensor ops"},
		{theme.GlyphRunning, theme.Green, "program running"},
	} {
		o.add(theme.Line{{Text: "  "}, {Text: theme.Fit(g.glyph, 14), Style: g.style}, {Text: g.means}})
	}
	return o
}

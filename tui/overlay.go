package tui

import (
	"sort"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/keys"
	"tcdbg/tui/list"
	"tcdbg/tui/theme"
)

// This file is what lies over a screen: the help, made from the key table,
// and the palette, which finds commands and places by name.

// overlay is the help or the palette; the zero value is closed.
type overlay struct {
	kind    string // "", help, palette, fix, parting
	items   []item
	list    list.List
	title   string
	fix     pendingFix
	parting parting
}

// item is a line of an overlay; run acts on enter.
type item struct {
	line theme.Line
	find string
	run  func(m *Model) tea.Cmd
}

func (o *overlay) open() bool { return o.kind != "" }

// Len, Draw and Selectable make an overlay a list.Source.
func (o *overlay) Len() int { return len(o.items) }

// Draw draws one item.
func (o *overlay) Draw(i, _ int, selected bool) theme.Line {
	l := append(theme.Line{{Text: "  "}}, o.items[i].line...)
	if selected && o.kind == "palette" {
		l[0] = theme.Span{Text: theme.GlyphCursor + " ", Style: theme.Accent | theme.Bold}
		return l.With(theme.Bold)
	}
	return l
}

// Selectable reports whether an item does anything.
func (o *overlay) Selectable(i int) bool { return o.kind != "palette" || o.items[i].run != nil }

// helpOverlay lists the keys of a screen and what the glyphs mean.
func helpOverlay(s keys.Screen) overlay {
	o := overlay{kind: "help", title: s.String() + ": " + s.Asks()}
	text := func(l theme.Line) { o.items = append(o.items, item{line: l}) }
	groups := map[string][]keys.Binding{}
	var order []string
	for _, b := range keys.Table() {
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
		text(theme.L(theme.Bold, g))
		for _, b := range groups[g] {
			text(theme.Line{{Text: "  " + theme.Fit(b.Keys(), 14), Style: theme.Accent}, {Text: b.Title}})
		}
		text(nil)
	}
	text(theme.L(theme.Bold, "Glyphs"))
	for _, g := range []struct {
		glyph string
		style theme.Style
		means string
	}{
		{theme.GlyphCompiled, theme.Compiled, "runs compiled"},
		{theme.GlyphEager, theme.Eager, "runs eager"},
		{theme.GlyphBreak, theme.Break, "graph break"},
		{theme.GlyphRecompile, theme.Recompile, "recompiled"},
		{theme.GlyphGuard, theme.Guard, "guard"},
		{theme.GlyphSkipped, theme.Faint, "skipped, or no tensor ops"},
		{theme.GlyphRunning, theme.Green, "the program runs"},
	} {
		text(theme.Line{{Text: "  "}, {Text: theme.Fit(g.glyph, 14), Style: g.style}, {Text: g.means}})
	}
	return o
}

// openPalette opens the palette with an empty query.
func (m *Model) openPalette() tea.Cmd {
	m.overlay = overlay{kind: "palette", title: "Type a command, a function, a kernel, a break"}
	cmd := m.prompt.start("palette", ": ", "")
	m.filterPalette("")
	return cmd
}

// maxPalette bounds what the palette lists.
const maxPalette = 200

// paletteKind is the column that says what an item of the palette is.
const paletteKind = 11

// paletteColumn is the column of titles: the longest one where there is room for
// it and for the keys beside it.
func (m *Model) paletteColumn() int {
	const beside = 24
	longest := 0
	for _, b := range keys.Table() {
		longest = max(longest, theme.Width(b.Title)+2)
	}
	return max(30, min(longest, m.w-beside))
}

// filterPalette lists what matches the query.
func (m *Model) filterPalette(query string) {
	m.overlay.items = nil
	words := strings.Fields(query)
	add := func(it item) {
		if len(m.overlay.items) < maxPalette && matchesAll(it.find, words) {
			m.overlay.items = append(m.overlay.items, it)
		}
	}
	for _, b := range keys.Table() {
		if b.On(m.screen) && b.Action > keys.Right {
			a := b.Action
			add(item{
				line: theme.Line{{Text: theme.Fit(b.Title, m.paletteColumn())}, {Text: b.Keys(), Style: theme.Accent}},
				find: b.Title,
				run:  func(m *Model) tea.Cmd { return m.do(a) },
			})
		}
	}
	if len(words) > 0 {
		m.paletteplaces(add)
	}
	m.overlay.list.Home(&m.overlay)
}

// paletteplaces offers frames, breaks and kernels by name.
func (m *Model) paletteplaces(add func(item)) {
	place := func(kind, name, where string, sel Selection, s keys.Screen) {
		add(item{
			line: theme.Line{{Text: theme.Fit(kind, paletteKind), Style: theme.Faint}, theme.T(theme.Plain, theme.Fit(theme.Clean(name), m.paletteColumn()-paletteKind)), theme.T(theme.Faint, where)},
			find: kind + " " + name + " " + where,
			run: func(m *Model) tea.Cmd {
				m.choose(sel)
				m.open(s)
				return nil
			},
		})
	}
	for _, f := range m.report.Frames {
		place("function", f.Name, m.place(f.Pos), frameSel(f), keys.Source)
	}
	for _, g := range m.report.Breaks {
		if g.Lead != nil {
			place("break", g.Lead.Code+" "+g.Lead.Title(), m.place(g.Lead.Pos), groupSel(g), keys.Breaks)
		}
	}
	for _, k := range m.report.Kernels {
		place("kernel", k.Name, idText(k.ID), kernelSel(k), keys.Kernels)
	}
}

func matchesAll(text string, words []string) bool {
	for _, w := range words {
		if theme.IndexFold(text, w) < 0 {
			return false
		}
	}
	return true
}

// overlayKey moves in the help; any key that does not closes it.
func (m *Model) overlayKey(k tea.KeyMsg) tea.Cmd {
	if m.overlay.kind == "parting" {
		return m.partingKey(k.String())
	}
	if m.overlay.kind == "fix" {
		if cmd, done := m.fixKey(k.String()); done {
			return cmd
		}
	}
	a, _ := keys.Find(k.String(), m.screen)
	o := &m.overlay
	height := m.arrange().overlay().h - 2
	switch a {
	case keys.Up:
		o.list.Scroll(o, -1, height)
	case keys.Down:
		o.list.Scroll(o, 1, height)
	case keys.PageUp, keys.HalfUp:
		o.list.Scroll(o, -height, height)
	case keys.PageDown, keys.HalfDown:
		o.list.Scroll(o, height, height)
	default:
		m.overlay = overlay{}
	}
	return nil
}

// overlay is the whole body of a frame.
func (f frame) overlay() rect {
	top := f.tabs.y + 1
	if f.rule.h > 0 {
		top++
	}
	bottom := f.footer.y
	if f.bottom.h > 0 {
		bottom--
	}
	return rect{0, top, f.header.w, max(1, bottom-top)}
}

func (m *Model) drawOverlay(f frame, put func(rect, ...theme.Line)) {
	r := f.overlay()
	o := &m.overlay
	head := []theme.Line{theme.L(theme.Bold, " "+o.title), nil}
	put(r, head...)
	r.y, r.h = r.y+2, r.h-2
	if r.h > 0 {
		put(r, o.list.Lines(o, r.w, r.h, uint64(len(o.items))+m.selGen)...)
	}
	put(f.bottom, rule(m.w, "", position("line", &o.list, o, r.h)))
}

package tui

import (
	"sort"
	"strings"

	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/list"
	"tcdbg/tui/prompt"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file is what lies over a screen: here are the help, the palette, which finds commands and
// places by name, and the list of columns; a fix and a question are in files of their own.

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
	// version counts how often the lines were rebuilt.
	version uint64
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
		put(r, o.list.Lines(over, r.W, r.H, uint64(len(o.items))+m.sc.selGen+o.version<<32)...)
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

// palette is what matches the text in the prompt.
type palette struct {
	sheet
	m *Model // that carries out what is picked
}

// openPalette opens the palette with an empty query.
func (m *Model) openPalette() tea.Cmd {
	o := &palette{sheet{title: "Type a command, a function, a kernel, a break", picks: true}, m}
	m.sc.over = o
	cmd := m.sc.prompt.Start(": ", "", prompt.Typed{
		Changed: func(text string) tea.Cmd {
			o.filter(text)
			return nil
		},
		Accept: func(string) tea.Cmd { return o.pick() },
		Move:   func(n int) { o.list.Move(o, n) },
		Cancel: func() { m.sc.over = nil },
	})
	o.filter("")
	return cmd
}

// pick carries out the item of the cursor.
func (o *palette) pick() tea.Cmd {
	o.m.sc.over = nil
	if i := o.list.Cursor(); i < len(o.items) && o.items[i].run != nil {
		return o.items[i].run()
	}
	return nil
}

// maxPalette bounds what the palette lists.
const maxPalette = 200

// paletteKind is the column that says what an item of the palette is.
const paletteKind = 11

// column is the column of titles: the longest one where there is room for
// it and for the keys beside it.
func (o *palette) column() int {
	const beside = 20
	longest := 0
	for _, b := range o.m.sc.keys.Rows {
		longest = max(longest, theme.Width(b.Title)+2)
	}
	return max(30, min(longest, o.m.sc.w-beside))
}

// filter lists what matches the query.
func (o *palette) filter(query string) {
	o.items = nil
	words := strings.Fields(query)
	add := func(it item) {
		if len(o.items) < maxPalette && matchesAll(it.find, words) {
			o.items = append(o.items, it)
		}
	}
	for _, b := range o.m.sc.keys.Rows {
		if b.On(o.m.at) && b.Action > keys.Right {
			a := b.Action
			add(item{
				line: theme.Line{{Text: theme.Fit(b.Title, o.column()-2) + "  "}, {Text: b.Keys(), Style: theme.Accent}},
				find: b.Title,
				run:  func() tea.Cmd { return o.m.do(a) },
			})
		}
	}
	for _, name := range theme.Names() {
		add(item{
			line: theme.Line{{Text: theme.Fit("theme: "+name, o.column()-2) + "  "}},
			find: "theme " + name + " colours",
			run:  func() tea.Cmd { return setTheme(o.m, name) },
		})
	}
	if len(words) > 0 {
		o.places(add)
	}
	o.list.Home(o)
}

// places offers frames, breaks and kernels by name.
func (o *palette) places(add func(item)) {
	sc := &o.m.sc
	place := func(kind, name, where string, sel Selection, s keys.Screen) {
		add(item{
			line: theme.Line{
				{Text: theme.Fit(kind, paletteKind), Style: theme.Faint},
				theme.T(theme.Plain, theme.Fit(theme.Clean(name), o.column()-paletteKind)), theme.T(theme.Faint, where),
			},
			find: kind + " " + name + " " + where,
			run: func() tea.Cmd {
				o.m.current().choose(sc, sel)
				o.m.open(s)
				return nil
			},
		})
	}
	for _, f := range sc.report.Frames {
		place("function", f.Name, sc.place(f.Pos), frameSel(f), keys.Source)
	}
	for _, g := range sc.report.Breaks {
		if g.Lead != nil {
			place("break", g.Lead.Code+" "+g.Lead.Title(), sc.place(g.Lead.Pos), groupSel(g), keys.Breaks)
		}
	}
	for _, k := range sc.report.Kernels {
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

// columnSheet lists the columns of a screen with check marks.
type columnSheet struct {
	sheet
	sc *scene
	p  *pane
}

// openColumns lists the columns of a screen.
func (p *pane) openColumns(sc *scene) {
	o := &columnSheet{sheet{title: "Columns of " + p.title.Name, picks: true}, sc, p}
	o.fill()
	sc.over = o
}

// maxMeasured is how many rows are drawn to know which columns have no room.
const maxMeasured = 64

// fill rebuilds the lines of the list.
func (o *columnSheet) fill() {
	c, width := o.p.columns, 0
	c.Measure()
	for i := range min(o.p.Len(), maxMeasured) {
		o.p.at(i).draw(o.sc, max(0, o.p.arrange(o.sc).List.W-2))
	}
	for _, k := range c.List {
		width = max(width, theme.Width(k.Name))
	}
	o.items = nil
	for _, k := range c.List {
		mark, style := theme.T(theme.Green, theme.GlyphDone+" "), theme.Plain
		if !c.On(k.Name) {
			mark, style = theme.T(theme.Faint, "  "), theme.Faint
		}
		l := theme.Line{mark, theme.T(style, theme.Fit(k.Name, width)+"  "), theme.T(theme.Faint, k.About)}
		if c.Without(k.Name) {
			l = append(l, theme.Span{Text: "  no room for it now", Style: theme.Yellow})
		}
		o.items = append(o.items, item{line: l, run: func() tea.Cmd {
			c.Toggle(k.Name)
			return o.changed()
		}})
	}
	o.add(nil)
	o.add(theme.L(theme.Faint, "space, enter: hide or show   a: show all   esc: back"))
	o.version++
}

// changed shows which columns are hidden now.
func (o *columnSheet) changed() tea.Cmd {
	o.p.version++
	o.fill()
	return nil
}

// key moves over the columns, and hides and shows them.
func (o *columnSheet) key(k string) (tea.Cmd, bool) {
	switch a, _ := o.sc.keys.Find(k, keys.Overview); {
	case a == keys.Up || a == keys.Down:
		o.list.Move(o, map[keys.Action]int{keys.Up: -1, keys.Down: 1}[a])
	case k == " " || a == keys.Enter:
		if i := o.list.Cursor(); i < len(o.items) && o.items[i].run != nil {
			return o.items[i].run(), true
		}
	case k == "a":
		o.p.columns.All()
		return o.changed(), true
	default:
		return nil, false
	}
	return nil, true
}

// columnNote says below a list how many of its columns are hidden.
func (p *pane) columnNote() string {
	n := len(p.columns.Hidden())
	if n == 0 {
		return ""
	}
	return count(n, "column") + " hidden"
}

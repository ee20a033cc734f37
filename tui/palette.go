package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/keys"
	"tcdbg/tui/prompt"
	"tcdbg/tui/theme"
)

// This file is the palette, which finds commands and places by name.

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

package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/picture"
	"tcdbg/tui/theme"
)

// This file is folding, taking away (copy, export) and the mouse.

// fold folds what the cursor stands on, or everything.
func (m *Model) fold(all bool) tea.Cmd {
	p := m.current()
	switch m.screen {
	case keys.Breaks:
		toggle(p.folds, noiseGroup)
		return m.refilter()
	case keys.Guards:
		m.foldGuards(p, all)
	}
	return nil
}

func toggle(folds map[string]bool, name string) {
	if folds[name] {
		delete(folds, name)
	} else {
		folds[name] = true
	}
}

// foldGuards folds the manager of the detail's cursor, or all of them.
func (m *Model) foldGuards(p *pane, all bool) {
	p.version++
	if all {
		if len(p.folds) > 0 {
			clear(p.folds)
			return
		}
		for _, l := range m.foldable {
			if l.g.Kind == "" && l.depth > 0 {
				p.folds[l.path] = true
			}
		}
		return
	}
	i := p.detail.Cursor() - m.foldFrom
	if !p.inside || i < 0 || i >= len(m.foldable) {
		m.status = "enter or tab goes into the tree; there z folds the source at the cursor"
		return
	}
	for ; i >= 0; i-- {
		if m.foldable[i].g.Kind == "" {
			toggle(p.folds, m.foldable[i].path)
			p.detail.Set(docSource{d: p.doc}, i+m.foldFrom)
			return
		}
	}
}

// copySelection puts the selected line on the clipboard.
func (m *Model) copySelection() tea.Cmd {
	text := m.selectedText()
	if text == "" || m.opt.Copy == nil {
		m.status, m.bad = "nothing to copy", true
		return nil
	}
	put := m.opt.Copy
	return func() tea.Msg {
		if err := put(text); err != nil {
			return statusMsg{"copy: " + err.Error(), true}
		}
		first, rest, _ := strings.Cut(text, "\n")
		if rest != "" {
			return statusMsg{text: fmt.Sprintf("copied %s", count(strings.Count(text, "\n")+1, "line"))}
		}
		return statusMsg{text: "copied " + theme.Cut(first, 50)}
	}
}

// selectedText is the detail's line, or the row with its place.
func (m *Model) selectedText() string {
	p := m.current()
	if p.inside && p.doc != nil {
		return strings.TrimRight(p.doc.text(p.detail.Cursor()), " ")
	}
	r := p.selected()
	if r == nil {
		return ""
	}
	text := strings.TrimSpace(strings.Join(strings.Fields(r.draw(m, 400).Text()), " "))
	if pos := r.sel().Pos; pos.Line > 0 && !strings.Contains(text, m.place(pos)) {
		text = m.place(logs.Pos{File: pos.File, Line: pos.Line}) + "  " + text
	}
	return text
}

// maxExport bounds the rows of an exported screen.
const maxExport = 50_000

// export writes the screen, whole, to a file of the run's folder.
func (m *Model) export() tea.Cmd {
	p, d := m.current(), m.def()
	var b strings.Builder
	put := func(l theme.Line) {
		b.WriteString(strings.TrimRight(l.Text(), " "))
		b.WriteByte('\n')
	}
	put(m.header(120))
	put(theme.L(theme.Plain, d.id.String()+": "+d.id.Asks()))
	if d.lead != nil {
		for _, l := range d.lead(m, 120) {
			put(l)
		}
	}
	for i := range min(p.Len(), maxExport) {
		put(p.at(i).draw(m, 160))
	}
	if p.doc != nil {
		b.WriteByte('\n')
		for i := range min(p.doc.Len(), maxExport) {
			b.WriteString(strings.TrimRight(theme.Clean(p.doc.text(i)), " "))
			b.WriteByte('\n')
		}
	}
	return m.writeOut(".txt", b.String())
}

// exportPicture writes the frame as it is seen, as an SVG.
func (m *Model) exportPicture() tea.Cmd {
	return m.writeOut(".svg", picture.SVG(m.View(), m.w, m.h))
}

// writeOut writes a file named after the screen to the run's folder.
func (m *Model) writeOut(ext, text string) tea.Cmd {
	feed, name := m.feed, "screen-"+strings.ToLower(m.def().id.String())+ext
	return func() tea.Msg {
		path, err := feed.Export(name, text)
		if err != nil {
			return statusMsg{err.Error(), true}
		}
		return statusMsg{text: "wrote " + path}
	}
}

// wheelLines is how far a notch of the wheel scrolls.
const wheelLines = 3

// mouse handles wheel and clicks.
func (m *Model) mouse(e tea.MouseMsg) tea.Cmd {
	if m.overlay.open() {
		return m.mouseOverlay(e)
	}
	f, p := m.arrange(), m.current()
	switch {
	case e.Button == tea.MouseButtonWheelUp || e.Button == tea.MouseButtonWheelDown:
		n := wheelLines
		if e.Button == tea.MouseButtonWheelUp {
			n = -n
		}
		if f.detail.has(e.X, e.Y) && p.doc != nil {
			p.detail.Scroll(docSource{d: p.doc}, n, f.detail.h)
		} else {
			p.list.Scroll(paneRows{p}, n, f.list.h)
			m.moved()
		}
	case e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress:
		m.click(e.X, e.Y, f, p)
	}
	return nil
}

func (m *Model) mouseOverlay(e tea.MouseMsg) tea.Cmd {
	h := m.arrange().overlay().h - 2
	switch e.Button {
	case tea.MouseButtonWheelUp:
		m.overlay.list.Scroll(&m.overlay, -wheelLines, h)
	case tea.MouseButtonWheelDown:
		m.overlay.list.Scroll(&m.overlay, wheelLines, h)
	case tea.MouseButtonLeft:
		if e.Action == tea.MouseActionPress && m.overlay.kind == "help" {
			m.overlay = overlay{}
		}
	}
	return nil
}

// click selects what is under the pointer; on the selected row it opens it.
func (m *Model) click(x, y int, f frame, p *pane) {
	switch {
	case f.tabs.has(x, y):
		m.clickTab(x)
	case f.detail.has(x, y) && p.doc != nil:
		p.inside = true
		if i := p.detail.At(docSource{d: p.doc}, y-f.detail.y); i >= 0 {
			p.detail.Set(docSource{d: p.doc}, i)
		}
		m.moved()
	case f.list.has(x, y):
		src := paneRows{p}
		i := p.list.At(src, y-f.list.y)
		if i < 0 || !src.Selectable(i) {
			return
		}
		again := i == p.list.Cursor() && !p.inside
		p.inside = false
		p.list.Set(src, i)
		p.list.SetFollow(false)
		m.moved()
		if again {
			m.enter()
		}
	}
}

// clickTab opens the tab at column x.
func (m *Model) clickTab(x int) {
	at := 0
	for _, s := range m.tabs(m.w) {
		w := theme.Width(s.Text)
		if x >= at && x < at+w && strings.TrimSpace(s.Text) != "" {
			for i := range keys.Screens {
				if k := keys.Screen(i).Key(); s.Text == k || strings.HasPrefix(s.Text, k+" ") {
					m.open(keys.Screen(i))
					return
				}
			}
		}
		at += w
	}
}

package tui

import (
	"strings"

	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file is the mouse.

// wheelLines is how far a notch of the wheel scrolls.
const wheelLines = 3

// mouse handles wheel and clicks.
func (m *Model) mouse(e tea.MouseMsg) tea.Cmd {
	if m.sc.over != nil {
		return m.mouseOverlay(e)
	}
	if e.Y > 1 { // below the tabs
		for _, c := range m.columnsShown() {
			if e.X >= c.x && e.X < c.x+c.w {
				m.at, e.X = c.screen, e.X-c.x
				m.settle()
				break
			}
		}
	}
	f, p := m.arrange(), m.current()
	if s, ok := m.shown().(pointed); ok {
		done := false
		m.within(f.Header.W, func() { done = s.point(&m.sc, e, f) })
		if done {
			return nil
		}
	}
	switch {
	case e.Button == tea.MouseButtonWheelUp || e.Button == tea.MouseButtonWheelDown:
		n := wheelLines
		if e.Button == tea.MouseButtonWheelUp {
			n = -n
		}
		if f.Detail.Has(e.X, e.Y) && p.doc != nil {
			p.docList.Scroll(docSource{d: p.doc}, n, f.Detail.H)
		} else {
			p.list.Scroll(paneRows{p}, n, f.List.H)
			p.moved(&m.sc)
		}
	case e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress:
		m.click(e.X, e.Y, f, p)
	}
	return nil
}

func (m *Model) mouseOverlay(e tea.MouseMsg) tea.Cmd {
	over, h := m.sc.over, m.arrange().Body().H-2
	switch e.Button {
	case tea.MouseButtonWheelUp:
		over.lines().list.Scroll(over, -wheelLines, h)
	case tea.MouseButtonWheelDown:
		over.lines().list.Scroll(over, wheelLines, h)
	case tea.MouseButtonLeft:
		if e.Action == tea.MouseActionPress && over.lines().brief {
			m.sc.over = nil
		}
	}
	return nil
}

// click selects what is under the pointer; on the selected row it opens it.
func (m *Model) click(x, y int, f layout.Frame, p *pane) {
	switch {
	case y == f.Tabs.Y:
		m.clickTab(x)
	case f.Detail.Has(x, y) && p.doc != nil:
		p.inside = true
		if i := p.docList.At(docSource{d: p.doc}, y-f.Detail.Y); i >= 0 {
			p.docList.Set(docSource{d: p.doc}, i)
		}
		p.moved(&m.sc)
	case f.List.Has(x, y):
		src := paneRows{p}
		i := p.list.At(src, y-f.List.Y)
		if i < 0 || !src.Selectable(i) {
			return
		}
		again := i == p.list.Cursor() && !p.inside
		p.inside = false
		p.list.Set(src, i)
		p.list.SetFollow(false)
		p.moved(&m.sc)
		if again {
			m.enter()
		}
	}
}

// clickTab opens the tab at column x.
func (m *Model) clickTab(x int) {
	at := 0
	for _, s := range m.tabs(m.sc.w) {
		w := theme.Width(s.Text)
		if x >= at && x < at+w && strings.TrimSpace(s.Text) != "" {
			for i := range m.screens {
				if k := m.pane(keys.Screen(i)).title.Key; s.Text == k || strings.HasPrefix(s.Text, k+" ") {
					m.open(keys.Screen(i))
					return
				}
			}
		}
		at += w
	}
}

package tui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/theme"
)

// This file is search through the rows of a screen and the lines of a detail. It
// runs beside the UI.

// startSearch searches for text from the cursor on.
func (m *Model) startSearch(text string) tea.Cmd {
	p := m.current()
	p.query = text
	if text == "" {
		return nil
	}
	if s, ok := m.shown().(searching); ok && !p.inside {
		return s.search(&m.sc, text)
	}
	return p.findFrom(0, true)
}

// find goes to the next or previous match.
func (m *Model) find(on bool) tea.Cmd {
	p := m.current()
	if p.query == "" {
		m.sc.say("nothing to search for; / starts a search")
		return nil
	}
	if s, ok := m.shown().(searching); ok && !p.inside && s.nextHit(&m.sc, on) {
		return nil
	}
	step := 1
	if !on {
		step = -1
	}
	return p.findFrom(step, on)
}

// findFrom looks for the query, beginning step rows from the cursor and going
// round once.
func (p *pane) findFrom(step int, on bool) tea.Cmd {
	inside := p.inside && p.doc != nil
	if !inside && p.doc != nil && !p.anyRow() {
		inside = true // what is searched for is in the detail only
	}
	query, test, n, at := p.query, rowTest(p, p.query), p.Len(), p.list.Cursor()
	if inside {
		d := p.doc
		test, n, at = func(i int) bool { return theme.IndexFold(d.text(i), query) >= 0 }, d.Len(), p.docList.Cursor()
	}
	return func() tea.Msg {
		at := scan(test, n, at+step, on)
		return onUI(func(sc *scene) tea.Cmd {
			p.found(sc, query, inside, at)
			return nil
		})
	}
}

// found shows what a search found: a row or a line, -1 for none.
func (p *pane) found(sc *scene, query string, inside bool, at int) {
	switch {
	case at < 0:
		sc.fail(fmt.Sprintf("%q: not found", query))
	case inside && p.doc != nil:
		p.inside = true
		p.docList.Set(docSource{d: p.doc}, at)
		p.moved(sc)
	default:
		p.list.Set(paneRows{p}, at)
		p.list.SetFollow(false)
		p.moved(sc)
	}
}

// anyRow reports whether one of the first rows matches: the cheap half of the
// question whether the list is what is meant.
func (p *pane) anyRow() bool {
	test := rowTest(p, p.query)
	for i := range p.Len() {
		if i > slowFilter || test(i) {
			return true
		}
	}
	return false
}

func rowTest(p *pane, query string) func(i int) bool {
	rows, shown := p.all, p.shown
	return func(i int) bool {
		if shown != nil {
			i = int(shown[i])
		}
		return rows.At(i).matches(query)
	}
}

// scan finds the first i from start on, going round, that passes.
func scan(test func(i int) bool, n, start int, on bool) int {
	for k := range n {
		i := start + k
		if !on {
			i = start - k
		}
		i = (i%n + n) % n
		if test(i) {
			return i
		}
	}
	return -1
}

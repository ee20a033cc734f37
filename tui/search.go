package tui

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/habit"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is how one finds a place again: search through the rows of a screen and the lines of a
// detail, which runs beside the UI; below it marks, and what people bring and take away: the width of the list, the theme,
// and how the screens of a run were left.

// startSearch searches for text from the cursor on.
func (m *Model) startSearch(text string) tea.Cmd {
	p := m.current()
	p.query = text
	if text == "" {
		return nil
	}
	m.searches.Add(text)
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
	if s, ok := m.shown().(searching); ok && !p.inside {
		if cmd, did := s.nextHit(&m.sc, on); did {
			return cmd
		}
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
	if !inside && !p.anyRow() {
		if p.hides() {
			return p.findFolded(step, on)
		}
		inside = p.doc != nil // what is searched for is in the detail only
	}
	return p.findIn(inside, step, on)
}

// findIn is findFrom in the rows or in the detail.
func (p *pane) findIn(inside bool, step int, on bool) tea.Cmd {
	query, test, n, at := p.query, rowTest(p, p.query), p.Len(), p.list.Cursor()
	if inside {
		d := p.doc
		test, n, at = func(i int) bool { return theme.IndexFold(d.text(i), query) >= 0 }, d.Len(), p.docList.Cursor()
	}
	copied := pane{all: p.all, shown: p.shown}
	return func() tea.Msg {
		at := scan(test, n, at+step, on)
		count := hitCount(test, n, at)
		return onUI(func(sc *scene) tea.Cmd {
			if at < 0 && !inside && p.hides() {
				return p.findFolded(step, on)
			}
			if !inside { // it may be sorted otherwise by now
				at = p.place(copied.index(at))
			}
			p.found(sc, query, inside, at)
			if at >= 0 {
				sc.say(fmt.Sprintf("%q: %s", query, count))
			}
			return nil
		})
	}
}

// hides reports whether rows of the pane are folded.
func (p *pane) hides() bool { return p.shown != nil && p.filter == "" && len(p.folds) > 0 }

// findFolded looks for what no row has that is shown: in rows that are folded, then in the detail.
func (p *pane) findFolded(step int, on bool) tea.Cmd {
	v, rows, query := p.clone(), p.all, p.query
	return func() tea.Msg {
		at := scan(func(i int) bool {
			f, ok := rows.At(i).(folded)
			return ok && v.folded(f.group()) && rows.At(i).matches(query)
		}, rows.Len(), 0, true)
		return onUI(func(sc *scene) tea.Cmd {
			if at < 0 && p.doc != nil {
				return p.findIn(true, step, on)
			}
			if at < 0 || at >= p.all.Len() || !p.all.At(at).matches(query) { // the last: other rows have come
				p.found(sc, query, false, -1)
				return nil
			}
			if f, ok := p.all.At(at).(folded); ok {
				p.unfold(f.group())
			}
			p.apply()
			p.version++
			k := slices.Index(p.shown, int32(at))
			if p.shown == nil {
				k = at
			}
			p.found(sc, query, false, k)
			if k >= 0 {
				sc.say(fmt.Sprintf("%q was folded, and is shown now", query))
			}
			return nil
		})
	}
}

// maxCounted bounds the rows that are looked through for a count; it is bounded in time, too, by searching beside the UI.
const maxCounted = 1 << 20

// hitCount says which of all matches is at row at: 3 of 17.
func hitCount(test func(i int) bool, n, at int) string {
	hit, all := 0, 0
	for i := range min(n, maxCounted) {
		if test(i) {
			all++
			if i <= at {
				hit++
			}
		}
	}
	if at >= maxCounted || n > maxCounted {
		return fmt.Sprintf("row %d of %d", at+1, n)
	}
	return fmt.Sprintf("%d of %d", hit, all)
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

// markWords ask for the letter of a mark.
var markWords = map[keys.Action]string{
	keys.SetMark: "mark this row by a letter", keys.GoMark: "go to the mark of a letter",
}

// takeMark sets a mark, or goes to one.
func takeMark(m *Model, key string) tea.Cmd {
	then := m.marking
	m.marking = keys.None
	name := habit.MarkName(key)
	p := m.current()
	switch r := p.selected(); {
	case name == "":
		m.sc.say("no mark: a mark is a letter or a digit")
	case then == keys.SetMark && r == nil:
		m.sc.fail("there is no row to mark")
	case then == keys.SetMark:
		m.marks[name] = habit.Mark{Screen: p.title.Name, Row: r.key()}
		m.sc.say(fmt.Sprintf("marked; ' %s comes back here", name))
	default:
		toMark(m, name)
	}
	return nil
}

// toMark goes to a mark.
func toMark(m *Model, name string) {
	at, ok := m.marks[name]
	s := screenOf(m, at.Screen)
	if !ok || s < 0 {
		m.sc.fail("no mark " + name + "; m " + name + " sets it")
		return
	}
	m.open(s)
	p := m.current()
	p.inside, p.synced = false, m.sc.selGen // the row of the mark, not the selection's
	if !p.goTo(at.Row) {
		m.sc.say("the row of mark " + name + " is not shown: a filter hides it, or this run has none")
		return
	}
	p.moved(&m.sc)
}

// screenOf is the screen of a name, -1 where there is none.
func screenOf(m *Model, name string) keys.Screen {
	return keys.Screen(slices.IndexFunc(m.screens, func(s screen) bool { return s.state().title.Name == name }))
}

// The share of the width that a list may have, and how far a key moves it.
const (
	leastShare, mostShare = 0.2, 0.8
	shareStep             = 0.05
	usualShare            = 0.42
)

// resize makes the list of a screen wider or narrower.
func (p *pane) resize(sc *scene, wider bool) {
	if !p.detailed {
		sc.say("this screen has a list alone")
		return
	}
	share := p.chosen
	if share == 0 {
		if share = p.share; share == 0 {
			share = usualShare
		}
	}
	step := shareStep
	if !wider {
		step = -step
	}
	p.chosen = max(leastShare, min(share+step, mostShare))
	sc.say(fmt.Sprintf("list: %.0f %% of the width", 100*p.chosen))
}

// setTheme shows the screens in other colours, and keeps that for later.
func setTheme(m *Model, name string) tea.Cmd {
	m.th = theme.Named(name, m.sc.opt.Colour)
	m.sc.say("theme: " + name)
	keep := m.sc.opt.KeepTheme
	if keep == nil {
		return nil
	}
	return func() tea.Msg {
		if err := keep(name); err != nil {
			return statusMsg{err.Error(), true}
		}
		return nil
	}
}

// Left is how the screens are left: what New takes as Options.Left.
func Left(m *Model) []byte {
	s := habit.Session{
		Screen: m.current().title.Name, Panes: map[string]habit.Pane{}, Marks: m.marks, Searches: m.searches.Texts(),
	}
	for _, scr := range m.screens {
		p := scr.state()
		left := habit.Pane{Filter: p.filter, Query: p.query, Order: p.order.name, Mode: p.mode, Share: p.chosen, Hidden: p.columns.Hidden()}
		if r := p.selected(); r != nil && p.touched {
			left.Row = r.key()
		}
		if left.Left() {
			s.Panes[p.title.Name] = left
		}
	}
	return s.Text()
}

// restore opens the screens as they were left. What this run does not have is passed over.
func restore(m *Model, left []byte) {
	s := habit.ReadSession(left)
	if at := screenOf(m, s.Screen); at >= 0 {
		m.at = at
	}
	for name, mark := range s.Marks {
		if habit.MarkName(name) != "" {
			m.marks[name] = mark
		}
	}
	for _, text := range s.Searches {
		m.searches.Add(text)
	}
	for _, scr := range m.screens {
		p := scr.state()
		was, ok := s.Panes[p.title.Name]
		if !ok {
			continue
		}
		p.filter, p.query, p.wanted = was.Filter, was.Query, was.Row
		p.columns.Hide(was.Hidden)
		if was.Row != "" {
			p.touched = true
		}
		if was.Share >= leastShare && was.Share <= mostShare {
			p.chosen = was.Share
		}
		if was.Mode > 0 && was.Mode < len(p.modes) {
			p.mode = was.Mode
		}
		if i := slices.IndexFunc(p.orders, func(o order) bool { return o.name == was.Order }); i >= 0 {
			p.order = p.orders[i]
		}
	}
}

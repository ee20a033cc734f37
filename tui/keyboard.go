package tui

import (
	"slices"
	"strings"

	"tcdbg/logs/ctl"
	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/list"
	"tcdbg/tui/prompt"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file turns keys into actions and actions into changes, and below them the mouse. What a key
// means is said in the table of keys alone; what only one screen does, in its act.

// key handles one key.
func (m *Model) key(k tea.KeyMsg) tea.Cmd {
	m.sc.notice.text = ""
	if k.String() == "ctrl+c" {
		return m.interrupt()
	}
	m.hit = 0
	if k.String() == "ctrl+z" {
		return m.sc.suspend()
	}
	switch {
	case m.sc.prompt.On():
		return m.sc.prompt.Key(k)
	case m.sc.over != nil:
		return m.overlayKey(k)
	}
	if m.marking != keys.None {
		return takeMark(m, k.String())
	}
	a, ok := m.action(k.String())
	if !ok {
		return nil
	}
	return m.do(a)
}

// action is what a key does on the screen that is shown. While a text is searched for, the
// keys of the search are its own: elsewhere one of them steps the program.
func (m *Model) action(pressed string) (keys.Action, bool) {
	if a, ok := m.sc.keys.Find(pressed, keys.Overview); m.current().query != "" && ok && (a == keys.NextMatch || a == keys.PrevMatch) {
		return a, true
	}
	return m.sc.keys.Find(pressed, m.at)
}

// do carries out an action.
func (m *Model) do(a keys.Action) tea.Cmd {
	if cmd, did := m.shown().act(&m.sc, a); did {
		return cmd
	}
	if a >= keys.OpenScreen && a < keys.Own {
		m.open(keys.Screen(a - keys.OpenScreen))
		return nil
	}
	if m.move(a) {
		return nil
	}
	switch a {
	case keys.Enter:
		m.enter()
	case keys.Back:
		return m.goBack()
	case keys.Linked:
		m.link()
	case keys.OtherPane:
		if m.nextColumn() {
			return nil
		}
		if p := m.current(); p.doc != nil {
			p.inside = !p.inside
		}
	case keys.NextScreen, keys.PrevScreen:
		m.cycle(a == keys.NextScreen)
	case keys.Help:
		m.sc.over = newHelp(&m.sc, m.at, m.current().title)
	case keys.Palette:
		return m.openPalette()
	case keys.Search:
		m.searches.Begin()
		return m.sc.prompt.Start("/", "", prompt.Typed{
			Accept: m.startSearch,
			Move:   func(n int) { m.sc.prompt.Set(m.searches.Step(n, m.sc.prompt.Text())) },
		})
	case keys.SetMark, keys.GoMark:
		m.marking = a
		m.sc.say(markWords[a])
	case keys.Narrower, keys.Wider:
		m.current().resize(&m.sc, a == keys.Wider)
	case keys.Columns:
		m.current().openColumns(&m.sc)
	case keys.Filter:
		return m.openFilter()
	case keys.NextMatch, keys.PrevMatch:
		return m.find(a == keys.NextMatch)
	case keys.View:
		m.nextMode()
	case keys.Order:
		return m.current().nextOrder(&m.sc)
	default:
		return m.doOutside(a)
	}
	return nil
}

// doOutside carries out actions that reach beyond the screens.
func (m *Model) doOutside(a keys.Action) tea.Cmd {
	sc := &m.sc
	switch a {
	case keys.Quit:
		return sc.part(a)
	case keys.Suspend:
		return sc.suspend()
	case keys.Pause:
		return sc.pause()
	case keys.Step:
		return sc.control(ctl.Step, "")
	case keys.Rerun:
		return sc.part(a)
	case keys.Watch:
		return sc.watch()
	case keys.XRay:
		return m.openXRay()
	case keys.Try, keys.TryAll:
		return m.try(a)
	case keys.TrySwitch:
		return m.trySwitch()
	case keys.Lower:
		return m.lower()
	case keys.Copy:
		return sc.copy(sc.selectedText(m.current()))
	case keys.Editor:
		return sc.edit(m.current().pos())
	case keys.Export:
		return m.export()
	case keys.Picture:
		return m.exportPicture()
	}
	return nil
}

// move handles the moving keys; it reports whether it was one.
func (m *Model) move(a keys.Action) bool {
	p, f := m.current(), m.arrange()
	l, src, height := &p.list, list.Source(paneRows{p}), f.List.H
	if p.inside && p.doc != nil {
		l, src, height = &p.docList, docSource{d: p.doc}, f.Detail.H
	}
	page := max(1, height-1)
	switch a {
	case keys.Up:
		l.Move(src, -1)
	case keys.Down:
		l.Move(src, 1)
	case keys.PageUp:
		l.Move(src, -page)
	case keys.PageDown:
		l.Move(src, page)
	case keys.HalfUp:
		l.Move(src, -max(1, page/2))
	case keys.HalfDown:
		l.Move(src, max(1, page/2))
	case keys.Home:
		l.Home(src)
	case keys.End:
		l.End(src)
		if _, grows := m.shown().(tabled); grows && !p.order.sorted() {
			l.SetFollow(true)
		}
		m.sc.frozen = false
	case keys.Left:
		p.xoff = max(0, p.xoff-8)
		return true
	case keys.Right:
		p.xoff += 8
		return true
	default:
		return false
	}
	p.moved(&m.sc)
	if a == keys.Home && l == &p.list && p.order.newest {
		p.touched = false // it stays on the newest row
	}
	return true
}

// open shows a screen, with the cursor on the selection; where nothing was
// selected yet it stays on the first row, which is the costliest.
func (m *Model) open(s keys.Screen) {
	if s == m.at {
		return
	}
	m.back = append(m.back, m.at)
	if len(m.back) > 32 {
		m.back = m.back[1:]
	}
	m.at = s
}

// enter goes from a row to its detail, or to the screen that shows more.
func (m *Model) enter() {
	p := m.current()
	r := p.selected()
	if r == nil {
		return
	}
	if p.inside {
		if s, ok := p.target(); ok {
			p.choose(&m.sc, s)
			m.open(screenFor(s))
		}
		return
	}
	p.touched = true
	p.choose(&m.sc, r.sel())
	if s, ok := m.shown().enter(r); ok {
		m.open(s)
	}
}

// goBack ends a search over payloads, leaves the detail, clears a filter, or
// returns to the screen before.
func (m *Model) goBack() tea.Cmd {
	p := m.current()
	switch {
	case m.sc.search.running():
		m.sc.say(m.sc.search.end())
	case p.inside:
		p.inside = false
	case p.filter != "" || p.query != "":
		p.filter, p.query = "", ""
		return p.refilter()
	case len(m.back) > 0:
		m.at = m.back[len(m.back)-1]
		m.back = m.back[:len(m.back)-1]
		m.current().synced = m.sc.selGen // the same row, not the selection's
	}
	return nil
}

// cycle opens the next or previous tab.
func (m *Model) cycle(on bool) {
	n, step := len(m.screens), 1
	if !on {
		step = len(m.screens) - 1
	}
	s := (int(m.at) + step) % n
	for m.screens[s].absent(m.sc.report) && keys.Screen(s) != m.at {
		s = (s + step) % n
	}
	m.open(keys.Screen(s))
}

// nextMode shows the next way to look at a row.
func (m *Model) nextMode() {
	s, p := m.shown(), m.current()
	if len(p.modes) == 0 {
		return
	}
	for next := true; next; next = s.hidden(&m.sc, p.mode) {
		p.mode = (p.mode + 1) % len(p.modes)
	}
	m.sc.say("view: " + p.modes[p.mode])
}

// interrupt passes Ctrl-C to a live program first, and quits the second time.
func (m *Model) interrupt() tea.Cmd {
	m.hit++
	if m.sc.run.Live && m.hit == 1 {
		m.sc.say("interrupted the program; ctrl+c again stops it and quits")
		m.sc.notice.stays = true
		feed := m.sc.feed
		return func() tea.Msg {
			feed.Interrupt()
			return nil
		}
	}
	m.sc.quit = true
	return nil
}

// openFilter opens the filter line; rows go as it is typed.
func (m *Model) openFilter() tea.Cmd {
	p := m.current()
	return m.sc.prompt.Start("filter: ", p.filter, prompt.Typed{Changed: func(text string) tea.Cmd {
		p.filter = text
		return p.refilter()
	}})
}

// Keys are the keys that do something on some screen, once each.
func (m *Model) Keys() []string {
	var out []string
	for _, b := range m.sc.keys.Rows {
		out = append(out, b.Binding.Keys()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

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

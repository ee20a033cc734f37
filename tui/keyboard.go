package tui

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tui/keys"
	"tcdbg/tui/list"
)

// This file turns keys into actions and actions into changes. What a key
// means stands in keys.Table alone.

// key handles one key.
func (m *Model) key(k tea.KeyMsg) tea.Cmd {
	m.status = ""
	if k.String() == "ctrl+c" {
		return m.interrupt()
	}
	m.hit = 0
	switch {
	case m.prompt.on():
		return m.promptKey(k)
	case m.overlay.open():
		return m.overlayKey(k)
	}
	a, ok := keys.Find(k.String(), m.screen)
	if !ok {
		return nil
	}
	return m.do(a)
}

// do carries out an action.
func (m *Model) do(a keys.Action) tea.Cmd {
	if a >= keys.OpenScreen {
		m.open(keys.Screen(a - keys.OpenScreen))
		return nil
	}
	if d := m.def(); d.act != nil && d.act(m, a) {
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
	case keys.OtherPane:
		if p := m.current(); p.doc != nil {
			p.inside = !p.inside
		}
	case keys.NextScreen, keys.PrevScreen:
		m.cycle(a == keys.NextScreen)
	case keys.Quit:
		return m.part(a)
	case keys.Help:
		m.overlay = helpOverlay(m.screen)
	case keys.Palette:
		return m.openPalette()
	case keys.Search, keys.Filter:
		return m.openPrompt(a)
	case keys.NextMatch, keys.PrevMatch:
		return m.find(a == keys.NextMatch)
	default:
		return m.doOutside(a)
	}
	return nil
}

// doOutside carries out actions that reach beyond the screens.
func (m *Model) doOutside(a keys.Action) tea.Cmd {
	switch a {
	case keys.Pause:
		return m.pause()
	case keys.Step:
		return m.control(ctl.Step, "")
	case keys.Rerun:
		return m.part(a)
	case keys.Watch:
		return m.watch()
	case keys.Copy:
		return m.copySelection()
	case keys.Editor:
		return m.edit()
	case keys.Export:
		return m.export()
	case keys.Picture:
		return m.exportPicture()
	case keys.PreviewFix, keys.ApplyFix:
		return m.openFix(a == keys.ApplyFix)
	case keys.UndoFix:
		return m.undoFix()
	case keys.View:
		m.nextMode()
	case keys.Order:
		return m.nextOrder()
	case keys.Fold, keys.FoldAll:
		return m.fold(a == keys.FoldAll)
	}
	return nil
}

// focus is the list that moves: the detail's when it has the focus.
func (m *Model) focus() (*list.List, list.Source, int) {
	p, f := m.current(), m.arrange()
	if p.inside && p.doc != nil {
		return &p.detail, docSource{d: p.doc}, f.detail.h
	}
	return &p.list, paneRows{p}, f.list.h
}

// move handles the moving keys; it reports whether it was one.
func (m *Model) move(a keys.Action) bool {
	l, src, height := m.focus()
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
		m.followEnd(l)
	case keys.Left, keys.Right:
		m.sideways(a == keys.Right)
		return true
	default:
		return false
	}
	m.moved()
	return true
}

// followEnd makes a list that grows stay at its end.
func (m *Model) followEnd(l *list.List) {
	if m.screen == keys.Logs || m.screen == keys.Output {
		l.SetFollow(true)
	}
	m.frozen = false
}

func (m *Model) sideways(right bool) {
	p := m.current()
	if right {
		p.xoff += 8
	} else {
		p.xoff = max(0, p.xoff-8)
	}
}

// moved makes what the cursor stands on the selection.
func (m *Model) moved() {
	p := m.current()
	p.touched = true
	p.note()
	if p.inside && p.doc != nil {
		if s, ok := p.doc.target(p.detail.Cursor()); ok {
			m.choose(s)
		}
		return
	}
	if r := p.selected(); r != nil {
		m.choose(r.sel())
	}
}

// open shows a screen, with the cursor on the selection; where nothing was
// selected yet it stays on the first row, which is the costliest.
func (m *Model) open(s keys.Screen) {
	if s == m.screen {
		return
	}
	m.back = append(m.back, m.screen)
	if len(m.back) > 32 {
		m.back = m.back[1:]
	}
	m.screen = s
}

// enter goes from a row to its detail, or to the screen that shows more.
func (m *Model) enter() {
	p, d := m.current(), m.def()
	r := p.selected()
	if r == nil {
		return
	}
	if p.inside {
		if s, ok := p.doc.target(p.detail.Cursor()); ok {
			m.choose(s)
			m.open(screenFor(s))
		}
		return
	}
	p.touched = true
	m.choose(r.sel())
	if d.enter != nil {
		if s, ok := d.enter(m, r); ok {
			m.open(s)
		}
		return
	}
	if d.detail != nil {
		p.inside = true
	}
}

// screenFor is the screen that shows a selection best.
func screenFor(s Selection) keys.Screen {
	switch {
	case s.Break != "":
		return keys.Breaks
	case s.Kernel != "":
		return keys.Kernels
	case s.Node != "":
		return keys.Graph
	case s.Pos.Line > 0:
		return keys.Source
	case s.Record > 0:
		return keys.Logs
	}
	return keys.Graph
}

// goBack ends a search over payloads, leaves the detail, clears a filter, or
// returns to the screen before.
func (m *Model) goBack() tea.Cmd {
	p := m.current()
	switch {
	case m.search.running():
		m.status = m.search.end()
	case p.inside:
		p.inside = false
	case p.filter != "" || p.query != "":
		p.filter, p.query = "", ""
		return m.refilter()
	case len(m.back) > 0:
		m.screen = m.back[len(m.back)-1]
		m.back = m.back[:len(m.back)-1]
		m.current().synced = m.selGen // the same row, not the selection's
	}
	return nil
}

func (m *Model) cycle(on bool) {
	n, s := keys.Screens, int(m.screen)
	if len(m.report.Ranks) < 2 {
		n--
	}
	if on {
		s++
	} else {
		s += n - 1
	}
	m.open(keys.Screen(s % n))
}

func (m *Model) nextMode() {
	d, p := m.def(), m.current()
	if len(d.modes) == 0 {
		return
	}
	for next := true; next; next = d.hidden != nil && d.hidden(m, p.mode) {
		p.mode = (p.mode + 1) % len(d.modes)
	}
	m.status = "view: " + d.modes[p.mode]
}

// nextOrder sorts the rows in the next way; the cursor stays on its row.
func (m *Model) nextOrder() tea.Cmd {
	orders, p := m.def().orders, m.current()
	if len(orders) == 0 {
		return nil
	}
	at := slices.IndexFunc(orders, func(o order) bool { return o.name == p.order.name })
	p.order = orders[(max(0, at)+1)%len(orders)]
	m.status = "order: " + p.order.name
	return m.refilter()
}

// interrupt passes Ctrl-C to a live program first, and quits the second time.
func (m *Model) interrupt() tea.Cmd {
	m.hit++
	if m.run.Live && m.hit == 1 {
		m.status = "interrupted the program; ctrl+c again stops it and quits"
		feed := m.feed
		return func() tea.Msg {
			feed.Interrupt()
			return nil
		}
	}
	m.quit = true
	return nil
}

// pause pauses or continues the program; where that cannot be, the view.
func (m *Model) pause() tea.Cmd {
	switch {
	case m.run.Control && m.run.Paused:
		return m.control(ctl.Continue, "")
	case m.run.Control && m.run.Live:
		return m.control(ctl.Pause, "")
	}
	m.frozen = !m.frozen
	return nil
}

func (m *Model) control(v ctl.Verb, arg string) tea.Cmd {
	feed := m.feed
	return func() tea.Msg {
		if err := feed.Send(v, arg); err != nil {
			return statusMsg{err.Error(), true}
		}
		return statusMsg{text: string(v) + ": takes effect at the next safe point"}
	}
}

func (m *Model) rerun() tea.Cmd {
	feed := m.feed
	return func() tea.Msg {
		if err := feed.Rerun(); err != nil {
			return statusMsg{err.Error(), true}
		}
		return statusMsg{text: "running again"}
	}
}

// watch makes the program run again when its files change, or stops that.
func (m *Model) watch() tea.Cmd {
	feed, on := m.feed, !m.run.Watched
	return func() tea.Msg {
		if err := feed.Watch(on); err != nil {
			return statusMsg{err.Error(), true}
		}
		if on {
			return statusMsg{text: "watching: save a file and the program runs again"}
		}
		return statusMsg{text: "no longer watching"}
	}
}

// edit opens the selected line in the user's editor.
func (m *Model) edit() tea.Cmd {
	pos, ok := m.selectedPos()
	switch {
	case !ok:
		m.status, m.bad = "this row has no source line", true
		return nil
	case m.opt.Editor == "":
		m.status, m.bad = "set EDITOR to open "+m.place(pos), true
		return nil
	}
	cmd := editorCommand(m.opt.Editor, m.feed.Path(pos.File), pos.Line)
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		if err != nil {
			return statusMsg{"editor: " + err.Error(), true}
		}
		return statusMsg{}
	})
}

func (m *Model) selectedPos() (logs.Pos, bool) {
	p := m.current()
	if p.inside && p.doc != nil {
		if s, ok := p.doc.target(p.detail.Cursor()); ok && s.Pos.Line > 0 {
			return s.Pos, true
		}
	}
	r := p.selected()
	if r == nil {
		return logs.Pos{}, false
	}
	pos := r.sel().Pos
	return pos, pos.Line > 0
}

// editorCommand is the editor's command line for a place. A path is passed
// as an argument of its own, never through a shell.
func editorCommand(editor, path string, line int) *exec.Cmd {
	args := strings.Fields(editor)
	base := args[0][strings.LastIndexByte(args[0], '/')+1:]
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	switch base {
	case "code", "codium", "cursor", "windsurf":
		args = append(args, "--goto", path+":"+strconv.Itoa(line))
	case "subl", "zed", "hx", "helix":
		args = append(args, path+":"+strconv.Itoa(line))
	default:
		args = append(args, "+"+strconv.Itoa(line), path)
	}
	cmd := exec.Command(args[0], args[1:]...)
	return cmd
}

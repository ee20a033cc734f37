package tui

import (
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is the line at the bottom in which people type: search, filter,
// palette.

// prompt is the line; kind "" is closed.
type prompt struct {
	kind  string // search, filter, palette
	head  string
	input textinput.Model
}

func (p *prompt) on() bool { return p.kind != "" }

// start opens the prompt with a text.
func (p *prompt) start(kind, head, text string) tea.Cmd {
	p.kind, p.head = kind, head
	p.input.Prompt = ""
	p.input.SetValue(text)
	p.input.CursorEnd()
	return p.input.Focus()
}

func (p *prompt) stop() {
	p.kind = ""
	p.input.Blur()
}

// openPrompt opens the search or filter line.
func (m *Model) openPrompt(a keys.Action) tea.Cmd {
	if a == keys.Filter {
		return m.prompt.start("filter", "filter: ", m.current().filter)
	}
	return m.prompt.start("search", "/", "")
}

// promptKey handles a key while the prompt is open.
func (m *Model) promptKey(k tea.KeyMsg) tea.Cmd {
	kind := m.prompt.kind
	switch k.String() {
	case "esc":
		m.prompt.stop()
		m.overlay = overlay{}
		return nil
	case "enter":
		m.prompt.stop()
		return m.accept(kind)
	case "up", "ctrl+p", "down", "ctrl+n":
		if kind == "palette" {
			n := 1
			if s := k.String(); s == "up" || s == "ctrl+p" {
				n = -1
			}
			m.overlay.list.Move(&m.overlay, n)
			return nil
		}
	}
	before := m.prompt.input.Value()
	in, cmd := m.prompt.input.Update(k)
	m.prompt.input = in
	if in.Value() == before {
		return cmd
	}
	switch kind {
	case "filter":
		m.current().filter = in.Value()
		return tea.Batch(cmd, m.refilter())
	case "palette":
		m.filterPalette(in.Value())
	}
	return cmd
}

// accept carries out what was typed.
func (m *Model) accept(kind string) tea.Cmd {
	text := m.prompt.input.Value()
	switch kind {
	case "search":
		return m.startSearch(text)
	case "palette":
		o := m.overlay
		m.overlay = overlay{}
		if i := o.list.Cursor(); i < len(o.items) && o.items[i].run != nil {
			return o.items[i].run(m)
		}
	}
	return nil
}

// promptLine draws the prompt with a block for the cursor.
func (m *Model) promptLine(int) theme.Line {
	v := []rune(m.prompt.input.Value())
	at := min(m.prompt.input.Position(), len(v))
	under, after := " ", ""
	if at < len(v) {
		under, after = string(v[at]), string(v[at+1:])
	}
	return theme.Line{
		{Text: " "},
		{Text: m.prompt.head, Style: theme.Accent | theme.Bold},
		theme.T(theme.Plain, string(v[:at])), theme.T(theme.Reverse, under), theme.T(theme.Plain, after),
	}
}

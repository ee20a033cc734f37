package tui

import (
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/theme"
)

// This file is the line at the bottom in which people type: search, filter,
// palette.

// prompt is the line.
type prompt struct {
	open  bool
	head  string
	typed typed
	input textinput.Model
}

// typed is what becomes of the text; what is nil does nothing.
type typed struct {
	changed func(text string) tea.Cmd
	accept  func(text string) tea.Cmd
	move    func(n int) // up and down
	cancel  func()
}

func (p *prompt) on() bool { return p.open }

// start opens the prompt with a text.
func (p *prompt) start(head, text string, use typed) tea.Cmd {
	p.open, p.head, p.typed = true, head, use
	p.input.Prompt = ""
	p.input.SetValue(text)
	p.input.CursorEnd()
	return p.input.Focus()
}

func (p *prompt) stop() {
	p.open = false
	p.input.Blur()
}

// key handles a key while the prompt is open.
func (p *prompt) key(k tea.KeyMsg) tea.Cmd {
	use := p.typed
	switch k.String() {
	case "esc":
		p.stop()
		if use.cancel != nil {
			use.cancel()
		}
		return nil
	case "enter":
		p.stop()
		if use.accept != nil {
			return use.accept(p.input.Value())
		}
		return nil
	case "up", "ctrl+p", "down", "ctrl+n":
		if use.move != nil {
			n := 1
			if s := k.String(); s == "up" || s == "ctrl+p" {
				n = -1
			}
			use.move(n)
			return nil
		}
	}
	before := p.input.Value()
	in, cmd := p.input.Update(k)
	p.input = in
	if in.Value() == before || use.changed == nil {
		return cmd
	}
	if more := use.changed(in.Value()); more != nil {
		return tea.Batch(cmd, more)
	}
	return cmd
}

// line draws the prompt with a block for the cursor.
func (p *prompt) line() theme.Line {
	v := []rune(p.input.Value())
	at := min(p.input.Position(), len(v))
	under, after := " ", ""
	if at < len(v) {
		under, after = string(v[at]), string(v[at+1:])
	}
	return theme.Line{
		{Text: " "},
		{Text: p.head, Style: theme.Accent | theme.Bold},
		theme.T(theme.Plain, string(v[:at])), theme.T(theme.Reverse, under), theme.T(theme.Plain, after),
	}
}

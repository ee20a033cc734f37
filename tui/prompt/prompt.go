// Package prompt is the line at the bottom in which people type: search, filter, palette,
// what a debugger asks for.
//
// It imports theme only, and knows no screen. It is one file.
package prompt

import (
	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/theme"
)

// Prompt is the line. Make one with New.
type Prompt struct {
	open  bool
	head  string
	typed Typed
	input textinput.Model
}

// New returns a prompt that is closed.
func New() Prompt {
	p := Prompt{input: textinput.New()}
	p.input.Cursor.SetMode(cursor.CursorStatic)
	return p
}

// Text is what was typed.
func (p *Prompt) Text() string { return p.input.Value() }

// Typed is what becomes of the text; what is nil does nothing.
type Typed struct {
	Changed func(text string) tea.Cmd
	Accept  func(text string) tea.Cmd
	Move    func(n int) // up and down
	Cancel  func()
}

// On reports whether somebody types.
func (p *Prompt) On() bool { return p.open }

// Set replaces what was typed.
func (p *Prompt) Set(text string) {
	p.input.SetValue(text)
	p.input.CursorEnd()
}

// Start opens the prompt with a text.
func (p *Prompt) Start(head, text string, use Typed) tea.Cmd {
	p.open, p.head, p.typed = true, head, use
	p.input.Prompt = ""
	p.input.SetValue(text)
	p.input.CursorEnd()
	return p.input.Focus()
}

func (p *Prompt) stop() {
	p.open = false
	p.input.Blur()
}

// Key handles a key while the prompt is open.
func (p *Prompt) Key(k tea.KeyMsg) tea.Cmd {
	use := p.typed
	switch k.String() {
	case "esc":
		p.stop()
		if use.Cancel != nil {
			use.Cancel()
		}
		return nil
	case "enter":
		p.stop()
		if use.Accept != nil {
			return use.Accept(p.input.Value())
		}
		return nil
	case "up", "ctrl+p", "down", "ctrl+n":
		if use.Move != nil {
			n := 1
			if s := k.String(); s == "up" || s == "ctrl+p" {
				n = -1
			}
			use.Move(n)
			return nil
		}
	}
	before := p.input.Value()
	in, cmd := p.input.Update(k)
	p.input = in
	if in.Value() == before || use.Changed == nil {
		return cmd
	}
	if more := use.Changed(in.Value()); more != nil {
		return tea.Batch(cmd, more)
	}
	return cmd
}

// Line draws the prompt with a block for the cursor.
func (p *Prompt) Line() theme.Line {
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

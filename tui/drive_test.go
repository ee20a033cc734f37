package tui

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file drives the screens as a person does. A script is lines of
//
//	keys j j enter          press keys, and wait for idle after each
//	type some text          type into the prompt
//	click 10 4              press the left button
//	wheel down 10 4         turn the wheel
//	size 80x24              resize
//	poll                    let the feed be asked again
//	expect text             the frame holds text
//	refute text             the frame does not
//	screen Breaks           this tab is open
//
// Idle means that no command is under way: commands run here, one after the
// other, so nothing sleeps and nothing depends on time.

type driver struct {
	t *testing.T
	m *Model
}

func newDriver(t *testing.T, feed Feed, opt Options, w, h int) *driver {
	t.Helper()
	d := &driver{t, New(feed, opt)}
	d.run(d.m.Init())
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	return d
}

// send gives the model a message and runs what follows from it.
func (d *driver) send(msg tea.Msg) {
	_, cmd := d.m.Update(msg)
	d.run(cmd)
}

func (d *driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	case tea.QuitMsg:
	default:
		d.send(msg)
	}
}

func (d *driver) frame() string { return d.m.View() }

// plain is the frame without styles.
func (d *driver) plain() string { return stripStyles(d.frame()) }

func stripStyles(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == 0x1b {
			for i < len(s) && s[i] != 'm' {
				i++
			}
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// script runs a script.
func (d *driver) script(text string) {
	d.t.Helper()
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		if err := d.step(verb, strings.TrimSpace(rest)); err != nil {
			d.t.Fatalf("line %d, %q: %v\n%s", n+1, line, err, d.plain())
		}
	}
}

func (d *driver) step(verb, rest string) error {
	switch verb {
	case "keys":
		for _, k := range strings.Fields(rest) {
			d.send(keyMsg(k))
		}
	case "type":
		for _, r := range rest {
			d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	case "click", "wheel":
		return d.pointer(verb, strings.Fields(rest))
	case "size":
		w, h, _ := strings.Cut(rest, "x")
		wi, _ := strconv.Atoi(w)
		hi, _ := strconv.Atoi(h)
		d.send(tea.WindowSizeMsg{Width: wi, Height: hi})
	case "poll":
		d.send(pollMsg{})
	case "expect":
		if !strings.Contains(d.plain(), rest) {
			return fmt.Errorf("the frame lacks %q", rest)
		}
	case "refute":
		if strings.Contains(d.plain(), rest) {
			return fmt.Errorf("the frame has %q", rest)
		}
	case "screen":
		if got := title(d.m.at).Name; got != rest {
			return fmt.Errorf("the screen is %s", got)
		}
	default:
		return fmt.Errorf("unknown verb")
	}
	return nil
}

func (d *driver) pointer(verb string, args []string) error {
	msg := tea.MouseMsg{Action: tea.MouseActionPress, Button: tea.MouseButtonLeft}
	if verb == "wheel" {
		msg.Button = map[string]tea.MouseButton{"up": tea.MouseButtonWheelUp, "down": tea.MouseButtonWheelDown}[args[0]]
		args = args[1:]
	}
	if len(args) != 2 {
		return fmt.Errorf("wants x and y")
	}
	msg.X, _ = strconv.Atoi(args[0])
	msg.Y, _ = strconv.Atoi(args[1])
	d.send(msg)
	return nil
}

func keyMsg(k string) tea.KeyMsg {
	for t, name := range map[tea.KeyType]string{
		tea.KeyEnter: "enter", tea.KeyEsc: "esc", tea.KeyTab: "tab", tea.KeyShiftTab: "shift+tab", tea.KeyUp: "up", tea.KeyDown: "down",
		tea.KeyLeft: "left", tea.KeyRight: "right", tea.KeyPgUp: "pgup", tea.KeyPgDown: "pgdown", tea.KeyHome: "home", tea.KeyEnd: "end",
		tea.KeyCtrlC: "ctrl+c", tea.KeyCtrlP: "ctrl+p", tea.KeyCtrlD: "ctrl+d", tea.KeyCtrlU: "ctrl+u", tea.KeyBackspace: "backspace",
	} {
		if name == k {
			return tea.KeyMsg{Type: t}
		}
	}
	if k == "space" {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
}

// checkFrame verifies what holds of every frame: its size, and that nothing of
// the trace reaches the terminal unescaped.
func checkFrame(t *testing.T, frame string, w, h int) {
	t.Helper()
	lines := strings.Split(frame, "\n")
	if len(lines) != h {
		t.Errorf("frame has %d lines, not %d", len(lines), h)
	}
	for i, l := range lines {
		l = stripStyles(l)
		if got := theme.Width(l); got != w {
			t.Errorf("line %d is %d wide, not %d: %q", i, got, w, l)
		}
		if theme.Clean(l) != l {
			t.Errorf("line %d is not clean: %q", i, l)
		}
	}
}

// title is what a screen is called.
func title(s keys.Screen) keys.Title { return screens()[s].state().title }

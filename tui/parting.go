package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file asks what becomes of a program that still runs, before the screens end
// or the program is started again.

// parting is the question that is open: quit or run again.
type parting struct{ then keys.Action }

// The keys of the question; any other one stays.
const (
	stopKey  = "s"
	leaveKey = "l"
)

// part quits or runs again: at once where no program of ours runs, else after a
// question.
func (m *Model) part(then keys.Action) tea.Cmd {
	if !m.run.Ours {
		return m.parted(then)
	}
	o := overlay{kind: "parting", title: m.run.Title + " is still running", parting: parting{then}}
	stop, leave := "stop it and quit", "leave it running and quit; tcdbg replay shows it again"
	if then == keys.Rerun {
		stop, leave = "stop it and run it again", "leave it running and start another one beside it"
	}
	for _, c := range []struct{ key, does string }{{stopKey, stop}, {leaveKey, leave}, {"any other key", "stay here"}} {
		o.items = append(o.items, item{line: theme.Line{{Text: theme.Fit(c.key, 15), Style: theme.Accent | theme.Bold}, {Text: c.does}}})
	}
	m.overlay = o
	return nil
}

// partingKey answers the question.
func (m *Model) partingKey(k string) tea.Cmd {
	then := m.overlay.parting.then
	m.overlay = overlay{}
	switch k {
	case stopKey:
		return m.parted(then)
	case leaveKey:
		feed := m.feed
		return func() tea.Msg { return leftMsg{then, feed.Leave()} }
	}
	m.status = "still running"
	return nil
}

// leftMsg says that the program was left running, or why it was not.
type leftMsg struct {
	then keys.Action
	err  error
}

func (m *Model) takeLeft(msg leftMsg) tea.Cmd {
	if msg.err != nil && m.run.Ours {
		m.status, m.bad = msg.err.Error(), true
		return nil
	}
	return m.parted(msg.then)
}

// parted does what was asked for.
func (m *Model) parted(then keys.Action) tea.Cmd {
	if then == keys.Rerun {
		return m.rerun()
	}
	m.quit = true
	return nil
}

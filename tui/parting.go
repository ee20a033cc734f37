package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file asks what becomes of a program that still runs, before the screens end
// or the program is started again.

// parting is the question that is open: quit or run again.
type parting struct {
	sheet
	sc   *scene
	then keys.Action
}

// The keys of the question; any other one stays.
const (
	stopKey  = "s"
	leaveKey = "l"
)

// part quits or runs again: at once where no program of ours runs, else after a
// question.
func (sc *scene) part(then keys.Action) tea.Cmd {
	if !sc.run.Ours {
		return sc.parted(then)
	}
	o := &parting{sheet{title: sc.run.Title + " is still running"}, sc, then}
	stop, leave := "stop it and quit", "leave it running and quit; tcdbg replay shows it again"
	if then == keys.Rerun {
		stop, leave = "stop it and run it again", "leave it running and start another one beside it"
	}
	for _, c := range []struct{ key, does string }{{stopKey, stop}, {leaveKey, leave}, {"any other key", "stay here"}} {
		o.add(theme.Line{{Text: theme.Fit(c.key, 15), Style: theme.Accent | theme.Bold}, {Text: c.does}})
	}
	sc.over = o
	return nil
}

// key answers the question.
func (o *parting) key(k string) (tea.Cmd, bool) {
	sc := o.sc
	sc.over = nil
	switch k {
	case stopKey:
		return sc.parted(o.then), true
	case leaveKey:
		return sc.leave(o.then), true
	}
	sc.say("still running")
	return nil, true
}

// leave lets the program run on, and does then what was asked for.
func (sc *scene) leave(then keys.Action) tea.Cmd {
	feed := sc.feed
	return func() tea.Msg {
		err := feed.Leave()
		return onUI(func(sc *scene) tea.Cmd {
			if err != nil && sc.run.Ours {
				sc.fail(err.Error())
				return nil
			}
			return sc.parted(then)
		})
	}
}

// parted does what was asked for.
func (sc *scene) parted(then keys.Action) tea.Cmd {
	if then == keys.Rerun {
		return sc.rerun()
	}
	sc.quit = true
	return nil
}

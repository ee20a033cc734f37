package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/logs/ctl"
)

// This file is what the screens do to the program.

// pause pauses or continues the program; where that cannot be, the view.
func (sc *scene) pause() tea.Cmd {
	switch {
	case sc.run.Control && sc.run.Paused:
		return sc.control(ctl.Continue, "")
	case sc.run.Control && sc.run.Live:
		return sc.control(ctl.Pause, "")
	}
	sc.frozen = !sc.frozen
	return nil
}

func (sc *scene) control(v ctl.Verb, arg string) tea.Cmd {
	feed := sc.feed
	return func() tea.Msg {
		if err := feed.Send(v, arg); err != nil {
			return statusMsg{err.Error(), true}
		}
		return statusMsg{text: string(v) + ": takes effect at the next safe point"}
	}
}

func (sc *scene) rerun() tea.Cmd {
	feed := sc.feed
	return func() tea.Msg {
		if err := feed.Rerun(); err != nil {
			return statusMsg{err.Error(), true}
		}
		return statusMsg{text: "running again"}
	}
}

// watch makes the program run again when its files change, or stops that.
func (sc *scene) watch() tea.Cmd {
	feed, on := sc.feed, !sc.run.Watched
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

package tui

import (
	"context"
	"io"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/logs/ctl"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is what the screens do to the program, and the question what becomes of
// one that still runs before the screens end or it is started again. Below is how the terminal is
// given to an editor, and to the shell that Ctrl-Z goes back to, and is taken again.

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
	return sc.send(ctl.Command{Verb: v, Arg: arg}, string(v)+": takes effect at the next safe point")
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

// parting is the question that is open: quit or run again.
type parting struct {
	sheet
	sc   *scene
	then keys.Action

	asked time.Time
}

// justAsked is how long before the end of the program was seen it may have been asked to
// quit so that it quits: the program had ended already, or as good as.
const justAsked = time.Second

// The keys of the question; any other one stays.
const (
	stopKey  = "s"
	leaveKey = "l"
)

// part quits or runs again: at once where no program of ours runs, else after a
// question.
func (sc *scene) part(then keys.Action) tea.Cmd {
	if sc.look(sc.feed.Run()); !sc.run.Ours {
		return sc.parted(then)
	}
	o := &parting{sheet{title: sc.run.Title + " is still running"}, sc, then, sc.now()}
	stop, leave := "stop it and quit", "leave it running and quit; tcdbg replay shows it again"
	if then == keys.Rerun {
		stop, leave = "stop it and run it again", "leave it running and start a second one"
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
	sc.look(sc.feed.Run())
	if a, _ := sc.keys.Find(k, 0); a == keys.Quit && !sc.run.Ours {
		return sc.parted(a), true // the program ended while the question was open
	}
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

// awayMsg asks that the terminal be given back while do runs.
type awayMsg struct{ do func() error }

// errand runs a function where Bubble Tea runs commands: with the terminal given back.
type errand func() error

func (e errand) Run() error          { return e() }
func (e errand) SetStdin(io.Reader)  {}
func (e errand) SetStdout(io.Writer) {}
func (e errand) SetStderr(io.Writer) {}

// suspend stops tcdbg until the shell continues it. The program below runs on.
func (sc *scene) suspend() tea.Cmd {
	if sc.opt.Suspend == nil {
		return nil
	}
	return sc.away(sc.opt.Suspend)
}

// away gives the terminal back, runs do and takes the terminal again.
func (sc *scene) away(do func() error) tea.Cmd {
	return tea.Exec(errand(do), sc.backAgain(""))
}

// backAgain is what follows when the terminal was taken again: Bubble Tea gives the mouse
// away with it, and leaves that to us.
func (sc *scene) backAgain(what string) func(error) tea.Msg {
	return func(err error) tea.Msg {
		return onUI(func(sc *scene) tea.Cmd {
			if err != nil {
				sc.fail(what + err.Error())
			}
			if sc.opt.Mouse {
				return tea.EnableMouseCellMotion
			}
			return nil
		})
	}
}

// passOn gives p what others want to do with the terminal, until ctx ends.
func passOn(ctx context.Context, p *tea.Program, away <-chan func() error) {
	for {
		select {
		case <-ctx.Done():
			return
		case do := <-away:
			p.Send(awayMsg{do})
		}
	}
}

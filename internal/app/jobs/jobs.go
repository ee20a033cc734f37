// Package jobs is the viewer's part of job control: the signals that end the screens, and the
// stop and go of a shell. Before any of them takes effect the terminal is given back. It knows
// nothing of runs and screens. jobs.go is all of it; the other files are what differs between
// systems.
package jobs

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Signalled is why the screens ended: a signal.
type Signalled struct{ syscall.Signal }

func (s Signalled) Error() string { return s.Signal.String() }

// Control is the signals of the screens.
type Control struct {
	ctx  context.Context // ended by a signal that ends the screens
	tty  *os.File        // the keyboard
	sigs chan os.Signal  // that end the screens
	stop chan os.Signal  // SIGTSTP
	cont chan os.Signal
	Away chan func() error // to do with the terminal given back
	mode *term.State       // of the terminal before the screens; nil: unknown

	suspended atomic.Bool
	again     chan struct{} // SIGCONT while suspended
}

// New catches the signals, until ctx ends them; tty is the keyboard.
func New(ctx context.Context, tty *os.File) *Control {
	j := &Control{
		ctx: ctx, tty: tty, sigs: make(chan os.Signal, 8), stop: make(chan os.Signal, 1), cont: make(chan os.Signal, 1),
		Away: make(chan func() error), again: make(chan struct{}, 1),
	}
	j.mode, _ = term.GetState(int(tty.Fd()))
	signal.Notify(j.sigs, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	signal.Notify(j.cont, syscall.SIGCONT)
	if catchesStops {
		signal.Notify(j.stop, syscall.SIGTSTP)
	}
	return j
}

// End is for when the screens have ended.
func (j *Control) End() {
	signal.Stop(j.sigs)
	signal.Stop(j.cont)
	if catchesStops {
		signal.Stop(j.stop)
		stopByDefault()
	}
}

// Watch ends or suspends the screens on a signal that asks for it. After a stop that was no
// suspension the shell has put the terminal into its own mode, so it is taken once more.
func (j *Control) Watch(end context.CancelCauseFunc) {
	for {
		select {
		case <-j.ctx.Done():
			return
		case sig := <-j.sigs:
			if sig == syscall.SIGQUIT {
				go j.dump()
				continue
			}
			end(Signalled{sig.(syscall.Signal)})
			return
		case <-j.stop:
			switch {
			case j.suspended.Load(): // it is our own
			case j.givenBack(): // an editor has it, which stops as well
				j.stopUs(syscall.Getpid())
			default:
				go j.send(j.Suspend)
			}
		case <-j.cont:
			if j.suspended.Load() {
				select {
				case j.again <- struct{}{}:
				default: // one is enough
				}
				continue
			}
			go j.send(func() error { return nil })
		}
	}
}

// send has the screens give the terminal back while do runs.
func (j *Control) send(do func() error) {
	select {
	case j.Away <- do:
	case <-j.ctx.Done():
	}
}

// How long the signals of one moment may take to arrive: that which stops us, and that
// which ends us beside that which continues us, as a shell's kill sends them.
const (
	stopsWithin = 300 * time.Millisecond
	endsWithin  = 50 * time.Millisecond
)

// errAlone is what Ctrl-Z says where the system ignores it.
var errAlone = errors.New("cannot suspend: no shell is there to continue tcdbg")

// Suspend stops our process group, as the terminal's own Ctrl-Z does, until it is continued
// in the foreground. The terminal has been given back. A group without a shell above it
// (that of a container's first process, or of ssh with a command) cannot be stopped: then
// the screens come back at once.
func (j *Control) Suspend() error {
	j.suspended.Store(true)
	defer j.suspended.Store(false)
	for {
		stopped := j.stopUs(0)
		switch {
		case j.ends():
			// A terminal that is the shell's again is not waited for.
			signal.Ignore(syscall.SIGTTOU)
			return nil
		case !stopped:
			return errAlone
		case j.inForeground():
			return nil
		}
		// bg continued us: as long as the terminal is another's there is nothing to show.
	}
}

// stopUs stops a process or group with us in it, and reports whether it was stopped and
// continued.
func (j *Control) stopUs(pid int) bool {
	defer stopByDefault()()
	return syscall.Kill(pid, syscall.SIGTSTP) == nil && j.continued(stopsWithin)
}

// givenBack reports whether the terminal is in a mode of lines: the screens have it in none.
func (j *Control) givenBack() bool {
	s, err := unix.IoctlGetTermios(int(j.tty.Fd()), getTermios)
	return err == nil && s.Lflag&unix.ICANON != 0
}

// giveUp is how long the screens may take to give the terminal back for a dump: who asks for
// one may do so because they hang.
const giveUp = time.Second

// dump ends the process as SIGQUIT ends any program in Go: with its goroutines on standard
// error and exit code 2.
func (j *Control) dump() {
	die := func() error {
		signal.Reset(syscall.SIGQUIT)
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
		select {} // the runtime is at it
	}
	go j.send(die)
	time.Sleep(giveUp)
	if j.mode != nil {
		_ = term.Restore(int(j.tty.Fd()), j.mode)
	}
	_, _ = os.Stdout.WriteString(leaveScreens)
	_ = die()
}

// leaveScreens ends what Bubble Tea sets up: the other screen, no cursor, mouse, paste.
const leaveScreens = "\x1b[?1049l\x1b[?25h\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l"

// continued waits for SIGCONT, which comes the moment the stop is over.
func (j *Control) continued(within time.Duration) bool {
	select {
	case <-j.again:
		return true
	case <-time.After(within):
	}
	select { // the time has passed in the stop as well
	case <-j.again:
		return true
	case <-time.After(endsWithin):
		return false
	}
}

// ends reports whether a signal ends the screens.
func (j *Control) ends() bool {
	select {
	case <-j.ctx.Done():
		return true
	case <-time.After(endsWithin):
		return false
	}
}

// inForeground reports whether the terminal is ours to use.
func (j *Control) inForeground() bool {
	group, err := unix.IoctlGetInt(int(j.tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == syscall.Getpgrp()
}

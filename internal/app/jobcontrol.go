package app

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This file is the viewer's part of job control: the signals that end the screens, and the
// stop and go of a shell.

// jobControl is the signals of the screens.
type jobControl struct {
	ctx  context.Context // ended by a signal that ends the screens
	tty  *os.File        // the keyboard
	sigs chan os.Signal
	cont chan os.Signal
	away chan func() error // to do with the terminal given back

	suspended atomic.Bool
	again     chan struct{} // SIGCONT while suspended
}

func newJobControl(ctx context.Context, tty *os.File) *jobControl {
	j := &jobControl{
		ctx: ctx, tty: tty, sigs: make(chan os.Signal, 8), cont: make(chan os.Signal, 1), away: make(chan func() error),
		again: make(chan struct{}, 1),
	}
	// Not SIGTSTP: once Go has caught it, it never stops the process again.
	signal.Notify(j.sigs, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	signal.Notify(j.cont, syscall.SIGCONT)
	return j
}

func (j *jobControl) stop() {
	signal.Stop(j.sigs)
	signal.Stop(j.cont)
}

// watch ends the screens on a signal that asks for it. After a stop that came from another
// process the shell has put the terminal into its own mode, so it is taken once more.
func (j *jobControl) watch(end context.CancelCauseFunc) {
	for {
		select {
		case <-j.ctx.Done():
			return
		case sig := <-j.sigs:
			end(signalled{sig.(syscall.Signal)})
			return
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
func (j *jobControl) send(do func() error) {
	select {
	case j.away <- do:
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

// suspend stops our process group, as the terminal's own Ctrl-Z does, until it is continued
// in the foreground. The terminal has been given back. A group without a shell above it
// (that of a container's first process, or of ssh with a command) cannot be stopped: then
// the screens come back at once.
func (j *jobControl) suspend() error {
	j.suspended.Store(true)
	defer j.suspended.Store(false)
	for {
		err := syscall.Kill(0, syscall.SIGTSTP)
		stopped := err == nil && j.continued(stopsWithin)
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

// continued waits for SIGCONT, which comes the moment the stop is over.
func (j *jobControl) continued(within time.Duration) bool {
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
func (j *jobControl) ends() bool {
	select {
	case <-j.ctx.Done():
		return true
	case <-time.After(endsWithin):
		return false
	}
}

// inForeground reports whether the terminal is ours to use.
func (j *jobControl) inForeground() bool {
	group, err := unix.IoctlGetInt(int(j.tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == syscall.Getpgrp()
}

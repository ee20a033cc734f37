package host

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/go/ssa"
)

// This file finds deadlocks. Go's run time cannot: the process has goroutines
// that are not the program's, and they never all sleep. So the goroutines of
// the program are looked at where they wait, once the process has done nothing
// for a while.

// idleFor is how long the process must have done nothing, twice.
const idleFor = 250 * time.Millisecond

// idleCPU is how little processor time counts as nothing.
const idleCPU = 2 * time.Millisecond

// watchDeadlock ends the program when all its goroutines wait for each other.
// main is the thread of goroutine 1.
func watchDeadlock(in *Interp, main *Thread, over <-chan struct{}) {
	tick := time.NewTicker(idleFor)
	defer tick.Stop()
	before, seen, turns := processTime(), 0, 0
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		now := processTime()
		idle := now-before < idleCPU
		before = now
		if in.baton.Serial() { // it knows who waits itself
			turns = stalled(in, idle, turns)
			continue
		}
		if !idle || wokenFromOutside(in) {
			seen = 0
			continue
		}
		waits, stuck := waiting(goroutines())
		if !stuck {
			seen = 0
			continue
		}
		if seen++; seen == 2 {
			deadlock(in, main, len(waits))
			return
		}
	}
}

// stalled ends a journal whose baton is held by a goroutine that waits in compiled code, while
// others want to run. It returns how many turns they have taken; turns is how many it was before.
func stalled(in *Interp, idle bool, turns int) int {
	wanted, now := in.baton.Wanted()
	if !wanted || !idle || now != turns || !holderWaits(goroutines()) {
		return now
	}
	in.Config.Journal.Refuse("it waits in compiled code while other goroutines are to run")
	return now
}

// holderWaits reports whether a goroutine of the program waits in compiled code that it has called:
// for no turn, and not in the debugger or for the compiler.
func holderWaits(stacks []byte) bool {
	for i, block := range bytes.Split(stacks, []byte("\n\n")) {
		head, rest, _ := strings.Cut(string(block), "\n")
		_, state, _ := strings.Cut(head, " [")
		switch {
		case i == 0 || !strings.Contains(rest, "tcdbg/tracer/host.(*Thread)"):
		case strings.Contains(rest, "/baton.(*Sched).wait") || strings.Contains(rest, "/baton.(*Sched).Yield") || !insideHost(rest):
		case waitsForOthers(state) || strings.HasPrefix(state, "IO wait") || strings.HasPrefix(state, "syscall"):
			return true
		}
	}
	return false
}

// deadlock says where goroutine 1 waits, as Go does; left is how many goroutines there are.
func deadlock(in *Interp, main *Thread, left int) {
	if left == 0 {
		in.fatal("", "no goroutines (main called runtime.Goexit) - deadlock!", nil)
	}
	in.fatal("", "all goroutines are asleep - deadlock!", main.stack())
}

// wakers are functions after which time, a signal or another process may wake a
// goroutine that waits.
var wakers = []string{
	"time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick",
	"context.WithTimeout", "context.WithDeadline", "context.WithTimeoutCause", "context.WithDeadlineCause",
	"os/signal.Notify", "os/signal.NotifyContext", "(*os/exec.Cmd).Start", "(*os/exec.Cmd).Run",
	"(*os/exec.Cmd).Output", "(*os/exec.Cmd).CombinedOutput",
}

// wokenFromOutside reports whether the program may be waiting for more than its
// own goroutines.
func wokenFromOutside(in *Interp) bool {
	woken := false
	in.bound.Range(func(fn, _ any) bool {
		f, ok := fn.(*ssa.Function)
		woken = ok && slices.Contains(wakers, fullName(f))
		return !woken
	})
	return woken
}

// goroutines is the stacks of all goroutines as the run time prints them.
func goroutines() []byte {
	for size := 64 << 10; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 64<<20 {
			return buf[:n]
		}
	}
}

// waiting returns what the program's goroutines wait for; stuck is false when
// any of them, or of the process, is at work or waits for something else than a
// channel or a lock. The first stack is the caller's own.
func waiting(stacks []byte) (waits []string, stuck bool) {
	for i, block := range bytes.Split(stacks, []byte("\n\n")) {
		head, rest, _ := strings.Cut(string(block), "\n")
		_, state, _ := strings.Cut(head, " [")
		state, _, _ = strings.Cut(strings.TrimSuffix(state, "]:"), ",")
		state, _, _ = strings.Cut(state, "]")
		if i == 0 {
			continue
		}
		program := strings.Contains(rest, "tcdbg/tracer/host.(*Thread)")
		switch {
		case !program && (state == "running" || state == "runnable"):
			return nil, false
		case !program:
		case !waitsForOthers(state) || !insideHost(rest):
			return nil, false
		default:
			waits = append(waits, state)
		}
	}
	return waits, true
}

// waitsForOthers reports whether only another goroutine can end a state.
func waitsForOthers(state string) bool {
	for _, s := range []string{"chan receive", "chan send", "select", "semacquire", "sync."} {
		if strings.HasPrefix(state, s) {
			return true
		}
	}
	return false
}

// insideHost reports whether a stack waits in an instruction of the program:
// below the run time's and the standard library's frames stands the host's, not
// a kernel's or the debugger's.
func insideHost(stack string) bool {
	for line := range strings.Lines(stack) {
		if line[0] == '\t' {
			continue
		}
		pkg, _, _ := strings.Cut(line, "(")
		if strings.Contains(pkg, "/") && !strings.HasPrefix(pkg, "internal/") {
			return strings.HasPrefix(line, "tcdbg/tracer/host")
		}
		if strings.HasPrefix(line, "main.") {
			return false
		}
	}
	return false
}

// processTime is the processor time that the process has used.
func processTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return time.Duration(time.Now().UnixNano()) // never idle
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

package host

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is what a debugger asks of the host: traps before instructions that it names,
// calls that end in time, and which goroutine is which. A trap patches the operation of its
// instruction, so code without one runs as it was compiled.

// TrapFunc is called by the thread that is about to run the instruction at f.PC, and again
// with the pc of a call of compiled code that f has run. It may block.
type TrapFunc func(f *Frame, pc int, ran bool)

// Marks is what a debugger keeps of the code of a function.
type Marks struct {
	Name uint64  // the same in every process
	At   []uint8 // by pc
}

// traps is what a debugger asks for.
type traps struct {
	mu   sync.Mutex
	want func(c *Code) []int
	hit  atomic.Pointer[TrapFunc]
}

// SetTraps asks for a call of hit before the instructions that want lists for each
// compiled function, now and when one is compiled later; they replace those of an earlier
// call. A nil want takes all traps away.
func (in *Interp) SetTraps(want func(c *Code) []int, hit TrapFunc) {
	t := &in.traps
	t.mu.Lock()
	defer t.mu.Unlock()
	t.want = want
	t.hit.Store(nil)
	if hit != nil {
		t.hit.Store(&hit)
	}
	in.codes.Range(func(_, c any) bool {
		if c := c.(*Code); c.ready.Load() {
			c.trap(t)
		}
		return true
	})
}

// born makes c ready, with the traps that are asked for.
func (t *traps) born(c *Code) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.trap(t)
	c.ready.Store(true)
}

// trap brings the traps of c up to date.
func (c *Code) trap(t *traps) {
	var want []int
	if t.want != nil {
		want = t.want(c)
	}
	old := c.trapped.Load()
	if old == nil && len(want) == 0 {
		return
	}
	if old != nil {
		for pc, plain := range *old {
			if !slices.Contains(want, pc) {
				c.patch(pc, plain)
			}
		}
	}
	now := map[int]op{}
	for _, pc := range want {
		if old != nil && (*old)[pc] != nil {
			now[pc] = (*old)[pc]
			continue
		}
		_, call := c.Instrs[pc].(*ssa.Call)
		now[pc] = c.fast[pc]
		c.patch(pc, trapOp(t, pc, call, c.fast[pc]))
	}
	if len(now) == 0 {
		c.trapped.Store(nil)
		return
	}
	c.trapped.Store(&now)
}

// trapOp is an operation with a trap before it, and one after it where it is a call that
// enters no frame.
func trapOp(t *traps, pc int, call bool, plain op) op {
	return func(f *Frame) *Frame {
		f.PC = pc
		t.call(f, pc, false)
		f.PC = pc + 1
		g := plain(f)
		if call && g == f && f.PC == pc+1 {
			t.call(f, pc, true)
		}
		return g
	}
}

func (t *traps) call(f *Frame, pc int, ran bool) {
	if hit := t.hit.Load(); hit != nil && !f.th.limited {
		(*hit)(f, pc, ran)
	}
}

// patch replaces the operation at pc. Threads may be running it: a func value is one
// word, which they see before or after.
//
//go:norace
func (c *Code) patch(pc int, o op) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&c.fast[pc])), *(*unsafe.Pointer)(unsafe.Pointer(&o)))
}

// Trap calls the trap of the instruction that th runs next, where it has one: for
// whoever runs it by Step or StepOver, which pass them.
func (th *Thread) Trap() {
	if f := th.top; f != nil && f.Code.traps(f.PC) {
		th.In.traps.call(f, f.PC, false)
	}
}

// Ran calls the trap after the call at pc, which f has run by StepOver.
func (th *Thread) Ran(f *Frame, pc int) {
	if th.top == f && f.PC == pc+1 && f.Code.traps(pc) {
		if _, call := f.Code.Instrs[pc].(*ssa.Call); call {
			th.In.traps.call(f, pc, true)
		}
	}
}

func (c *Code) traps(pc int) bool {
	set := c.trapped.Load()
	return set != nil && (*set)[pc] != nil
}

// Trapped lists where c has traps.
func (c *Code) Trapped() []int {
	set := c.trapped.Load()
	if set == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(*set))
}

// ErrGoesOn is part of the error of a call that could not be ended.
var ErrGoesOn = errors.New("and goes on in compiled code")

// CallLimited runs fn on a goroutine of its own, on a thread that no tracer and no trap
// sees, and waits at most limit for it. before, where set, runs first on that goroutine.
// args are the addresses of the arguments, result is where the results go (laid out as
// those of an [Intrinsic]). A panic of fn is an error. What does not end in time is told
// to end at its next instruction; where it waits in compiled code it goes on waiting.
func CallLimited(
	in *Interp, fn *ssa.Function, args []unsafe.Pointer, result unsafe.Pointer, limit time.Duration, before func(),
) error {
	c := in.Code(fn)
	if c == nil {
		return fmt.Errorf("%s has no code here", fn.Name())
	}
	th := in.NewThread()
	th.limited = true
	moves := in.baton.Still()
	type outcome struct{ err error }
	done := make(chan outcome, 1)
	go func() {
		var err error
		ended := false
		defer func() {
			if r := recover(); r != nil || !ended {
				err = th.failed(r)
			}
			moves()
			done <- outcome{err}
		}()
		if before != nil {
			before()
		}
		th.call(c, nil, nil, args, result)
		ended = true
	}()
	over := time.NewTimer(limit)
	defer over.Stop()
	select {
	case end := <-done:
		return end.err
	case <-over.C:
	}
	th.abort.Store(true)
	late := fmt.Errorf("it did not end within %v", limit)
	select {
	case <-done:
		return late
	case <-time.After(100 * time.Millisecond):
		return fmt.Errorf("%w, %w", late, ErrGoesOn)
	}
}

// failed is the error of a limited thread that ended with the Go panic r.
func (th *Thread) failed(r any) error {
	if r == nil {
		return fmt.Errorf("runtime.Goexit was called")
	}
	if _, ok := r.(stackOverflow); ok {
		return fmt.Errorf("stack overflow")
	}
	p := th.leaving(r)
	if p.goexit {
		return fmt.Errorf("runtime.Goexit was called")
	}
	return fmt.Errorf("panic: %s", panicText(th.In, p.value))
}

// goroutineID is the number of the calling goroutine as the run time prints it.
func goroutineID() string {
	var buf [64]byte
	head := buf[:runtime.Stack(buf[:], false)]
	id, _, _ := strings.Cut(strings.TrimPrefix(string(head), "goroutine "), " ")
	return id
}

// ThreadOf is the thread that the calling goroutine runs the program on, as far as it is
// known: that of main or of a go statement. It is kept where Config.Raised is set.
func ThreadOf(in *Interp) *Thread {
	if th, ok := in.running.Load(goroutineID()); ok {
		return th.(*Thread)
	}
	return nil
}

// runs keeps that the calling goroutine runs the program on th, until the function that
// it returns is called.
func (in *Interp) runs(th *Thread) func() {
	if in.Config.Raised == nil {
		return func() {}
	}
	id := goroutineID()
	in.running.Store(id, th)
	return func() { in.running.Delete(id) }
}

// Goroutine is the calling goroutine as the program's author knows it: "goroutine 7", and
// "" for that of main.
func Goroutine(in *Interp) string {
	id := goroutineID()
	if m := in.main.Load(); m == nil || *m == id { // before main runs there is no other
		return ""
	}
	if n, ok := in.numbers.Load(id); ok { // the same when the program runs again
		return fmt.Sprintf("goroutine %d", n)
	}
	return "goroutine " + id
}

// Alone reports whether no other goroutine of the program runs now: there is none, or all
// others wait.
func Alone(in *Interp) bool {
	if in.live.Load() == 0 || in.baton.Serial() {
		return true
	}
	for i, block := range bytes.Split(goroutines(), []byte("\n\n")) {
		head, rest, _ := strings.Cut(string(block), "\n")
		if i == 0 || !strings.Contains(rest, "tcdbg/tracer/host.(*Thread)") {
			continue
		}
		if _, state, _ := strings.Cut(head, " ["); strings.HasPrefix(state, "run") {
			return false
		}
	}
	return true
}

// Started reports whether goroutines that the program has started run beside each other.
func Started(in *Interp) bool { return in.live.Load() > 0 && !in.baton.Serial() }

// Turned has f called by a goroutine of a run that is kept that goes on after others have run.
func Turned(in *Interp, f func()) { in.baton.Turned = f }

// Scratch reports a thread of NewThread: the tracer's, or a debugger's.
func (th *Thread) Scratch() bool { return th.scratch }

// CalledBack reports a thread that compiled code has called the program on.
func (th *Thread) CalledBack() bool { return th.callback }

// Program is the program that c belongs to.
func (c *Code) Program() *Program { return c.in.Prog }

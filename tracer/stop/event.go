package stop

import (
	"tcdbg/logs"
	"tcdbg/tracer/host"
)

// This file is what the engine tells the debugger of.

// Event is a place where the program may stop.
type Event struct {
	Kind   logs.StopKind
	Thread *host.Thread
	// Frame is the innermost one; nil: the top of Thread.
	Frame *host.Frame
	// Ran tells that Frame has run the instruction before its PC.
	Ran bool
	// Callers are the frames below those of Frame's thread: those of the region that is
	// traced on a scratch thread.
	Callers *host.Frame

	Compiled string // the function that is traced or called
	Compile  string // its compile id, "1/0"
	Code     string // of a break
	Reason   string
	// Text is what a breakpoint's text is looked for in: guards of a miss; a kernel's name.
	Text func() []string
	// Fill adds what only the caller knows; it is called when the program stops.
	Fill func(*logs.Stop)
	// Trace, where set, is the trace that evaluates Frame.
	Trace Trace
	// At, where set, is the place, inside of what the innermost frame calls or runs.
	At *logs.Pos
	// Stack, where Frame and Thread are nil, is the stack without its variables.
	Stack []logs.Pos
}

// mask is a set of kinds.
type mask uint32

// kinds are the kinds that breakpoints name, in the order of their bits.
var kinds = []logs.StopKind{
	logs.StopBreak, logs.StopRecompile, logs.StopFrame, logs.StopCall, logs.StopKernel, logs.StopNaN, logs.StopDiffers,
	logs.StopRaised, logs.StopStart, logs.StopLine,
}

func bit(k logs.StopKind) mask {
	for i, x := range kinds {
		if x == k {
			return 1 << i
		}
	}
	return 0
}

// safePoints are the kinds that a step without an argument stops at.
var safePoints = bit(logs.StopBreak) | bit(logs.StopRecompile) | bit(logs.StopFrame) | bit(logs.StopCall) | bit(logs.StopRaised)

// Wants reports whether an event of kind k may have to stop. It is one load: the engine
// asks before it makes an Event.
func (d *Debugger) Wants(k logs.StopKind) bool {
	return d != nil && mask(d.wanted.Load())&bit(k) != 0
}

// At stops the program at e, if anything asks for that, until the viewer lets it go on.
func (d *Debugger) At(e Event) {
	if !d.Wants(e.Kind) || d.evaluates() {
		return
	}
	var at Position
	if m := d.moments; m != nil && counted&bit(e.Kind) != 0 {
		var near bool
		at.Moment, near = m.event(e.Kind)
		if at.Path = m.path; !near && mask(d.asks.Load())&bit(e.Kind) == 0 {
			return
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	me := host.Goroutine(d.in)
	d.queue(me)
	if e.Frame == nil && e.Thread != nil {
		e.Frame = e.Thread.Top()
	}
	if at.Moment == 0 && d.moments != nil {
		at = d.moments.uncounted(mask(d.asks.Load()))
	}
	d.at = at
	if e.Kind == logs.StopNaN {
		d.again.born(at, e.Reason)
	}
	arrive := func() *stopped { return d.arrive(e, me, nil) }
	d.back.check(at, arrive)
	why, stops := d.again.reaches(at, arrive)
	if !stops {
		why, stops = d.again.nthTarget(&at)
	}
	if stops {
		d.stop(arrive(), why, 0)
		return
	}
	if mask(d.asks.Load())&bit(e.Kind) == 0 {
		return
	}
	s := arrive()
	if why, point, ok := d.reason(s); ok {
		d.stop(s, why, point)
	}
}

// reason says why the program stops at s.
func (d *Debugger) reason(s *stopped) (why string, point int, ok bool) {
	if p, note := d.hit(s); p != nil {
		return "breakpoint " + p.spec + note, p.id, true
	}
	switch {
	case s.Kind == logs.StopStart:
		return "the program is about to start", 0, d.paused
	case d.paused:
		return "paused " + s.what(), 0, true
	case d.step != nil && d.step.kind == stepSafe && safePoints&bit(s.Kind) != 0:
		return "next safe point: " + s.what(), 0, true
	}
	return "", 0, false
}

// what says what the program is about to do, or what has happened.
func (s *stopped) what() string {
	switch s.Kind {
	case logs.StopFrame:
		return "before " + logs.FunctionTitle(s.Compiled) + " is compiled"
	case logs.StopCall:
		return "before a call of " + logs.FunctionTitle(s.Compiled)
	case logs.StopBreak:
		return "at a graph break in " + logs.FunctionTitle(s.Compiled)
	case logs.StopRecompile:
		return "at a guard miss of " + logs.FunctionTitle(s.Compiled)
	case logs.StopKernel:
		return "before a kernel of " + logs.FunctionTitle(s.Compiled)
	case logs.StopRaised:
		return "at a panic that nobody catches"
	}
	return "at a line"
}

package stop

import (
	"slices"
	"sync"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is steps: where the program goes on to, and the traps that find it.

type stepKind uint8

const (
	stepSafe        stepKind = iota // the next safe point
	stepLine                        // the next line of the function or its caller
	stepInto                        // the next line of any function
	stepOut                         // after the function has returned
	stepOperator                    // the next operator
	stepInstruction                 // the next instruction of a trace
	stepTo                          // a line
)

var stepNames = map[string]stepKind{
	"": stepSafe, "line": stepLine, "into": stepInto, "out": stepOut, "operator": stepOperator, "instruction": stepInstruction,
}

// stepping is a step that the program is doing. One goroutine does it: a line that
// another comes to is none of its.
type stepping struct {
	kind      stepKind
	goroutine string
	any       bool         // no goroutine does it: the program has not begun
	thread    *host.Thread // nil: any of the goroutine's
	frame     *host.Frame
	depth     int
	line      int // where it began, or was last seen in frame
	file      string
	ret       *host.Code // where the caller goes on
	retPC     int
	codes     map[*host.Code]bool // of the frames on the stack
	toFile    string              // of stepTo
	toLine    int
}

func (d *Debugger) setStep(c ctl.Command) {
	kind, ok := stepNames[c.Arg]
	s := &stepping{kind: kind, any: d.stands() == nil}
	if !ok {
		if s.toFile, s.toLine = fileLine(c.Arg); s.toLine == 0 {
			d.say(c, "a step is line, into, out, operator, instruction, FILE:LINE or nothing")
			return
		}
		s.kind = stepTo
		p := &point{file: s.toFile, line: s.toLine}
		if d.in != nil {
			d.placeLine(p)
		}
		if p.err != nil {
			d.say(c, p.err.Error())
			return
		}
	}
	d.command, d.paused, d.step = c.ID, false, s
	if d.stands() == nil {
		if kind == stepLine || kind == stepOut { // of no function: it is a pause
			s.kind = stepInto
		}
		return
	}
	s.from(d.now)
	d.resume(c)
}

// from begins a step where the program stands.
func (s *stepping) from(at *stopped) {
	s.goroutine = at.goroutine
	if len(at.levels) == 0 {
		s.any = true
		if s.kind == stepLine || s.kind == stepOut {
			s.kind = stepInto
		}
		return
	}
	l := &at.levels[0]
	s.frame, s.thread, s.depth = l.frame, l.frame.Thread(), depthOf(l.frame)
	if l.at != nil {
		s.file, s.line = l.at.file, l.at.line
	} else {
		p := l.place(l.frame.Code.Program())
		s.file, s.line = p.File, p.Line
	}
	if c := l.frame.Caller; c != nil && !l.frame.Deferred() {
		s.ret, s.retPC = c.Code, c.PC
	}
	s.codes = map[*host.Code]bool{}
	for f := l.frame; f != nil; f = f.Caller {
		s.codes[f.Code] = true
	}
	for f := at.Callers; f != nil; f = f.Caller {
		s.codes[f.Code] = true
	}
}

func depthOf(f *host.Frame) int {
	n := 0
	for ; f != nil; f = f.Caller {
		n++
	}
	return n
}

// armed is what traps are set for: a copy, which the host asks while it compiles.
type armed struct {
	d         *Debugger
	all       bool // every line: other goroutines are to wait
	own       bool // every line of the user's
	operators bool
	numbers   bool // the results of operators
	codes     map[*host.Code]bool
	ret       *host.Code
	retPC     int
	points    []*point
	place     *Place   // of a program that is run again
	some      bool     // any of it is set
	sets      sync.Map // *host.Code -> map[int]bool: what is asked for, without what is counted
}

// arm brings traps and wishes up to date.
func (d *Debugger) arm() {
	stands := d.stands() != nil
	var want mask
	a := &armed{d: d}
	for _, p := range d.points {
		want |= bit(p.kind)
		a.numbers = a.numbers || p.kind == logs.StopNaN
		if p.kind == logs.StopLine {
			a.points = append(a.points, p)
		}
	}
	traces := len(a.points) > 0
	others := d.in != nil && host.Started(d.in)
	switch {
	case stands:
		if others {
			want, a.all = ^mask(0), true
		}
	case d.paused:
		want |= safePoints | bit(logs.StopStart)
		a.own, traces = true, true
	case d.step != nil:
		want |= d.step.arm(a)
		traces = true
	}
	if g := d.again; g != nil && g.inside {
		want |= mask(g.Target.Kinds)
		a.place, traces = g.Target.Place, true
		a.numbers = a.numbers || mask(g.Target.Kinds)&bit(logs.StopNaN) != 0
	}
	if g := d.again; g != nil && g.Search != nil && g.Search.NaN {
		want |= bit(logs.StopNaN)
		a.numbers = true
	}
	d.watchGrads(a.numbers)
	d.asks.Store(uint32(want))
	d.asksTraces.Store(traces)
	if d.moments != nil {
		want |= counted
	}
	d.wanted.Store(uint32(want))
	d.traces.Store(traces || d.moments != nil)
	d.every.Store(a.place != nil || d.step.instructions() || slices.ContainsFunc(a.points, func(p *point) bool { return p.within }))
	if d.in == nil {
		return
	}
	a.some = a.any()
	d.asked.Store(a)
	if on := a.some || d.moments != nil; on || d.trapped {
		d.trapped = on
		if !on {
			d.in.SetTraps(nil, nil)
			return
		}
		d.in.SetTraps(a.want, d.trap)
	}
}

// arm adds what a step waits for.
func (s *stepping) arm(a *armed) mask {
	switch s.kind {
	case stepSafe:
		return safePoints
	case stepInto:
		a.own = true
	case stepLine, stepOut:
		a.codes = s.codes
		a.own = s.thread != nil && s.thread.CalledBack() // who called it is not known: any line may come next
	case stepOperator:
		a.operators = true
	case stepTo:
		a.points = append(a.points, &point{kind: logs.StopLine, file: s.toFile, line: s.toLine})
	}
	if s.kind == stepInto || s.kind == stepLine || s.kind == stepOut {
		a.ret, a.retPC = s.ret, s.retPC
	}
	return 0
}

func (a *armed) any() bool {
	return a.numbers || a.all || a.own || a.operators || a.ret != nil || len(a.codes) > 0 || len(a.points) > 0 ||
		a.place != nil
}

// want lists the instructions of c that are to have traps.
func (a *armed) want(c *host.Code) []int {
	if a.d.moments == nil {
		return a.asks(c)
	}
	if c.Marks == nil {
		a.d.moments.mark(c)
	}
	out := a.asks(c)
	if len(out) > 0 {
		set := map[int]bool{}
		for _, pc := range out {
			set[pc] = true
		}
		a.sets.Store(c, set)
	}
	out = append(out, marked(c.Marks)...)
	if g := a.d.again; g != nil && g.watch != nil {
		out = append(out, returns(c)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// has reports whether an instruction is to have a trap for more than being counted.
func (a *armed) has(c *host.Code, pc int) bool {
	if a == nil || !a.some {
		return false
	}
	set, ok := a.sets.Load(c)
	return ok && set.(map[int]bool)[pc]
}

// asks lists those where the program may have to stop.
func (a *armed) asks(c *host.Code) []int {
	l := a.d.places.of(c)
	var out []int
	if a.all || a.codes[c] || a.own && ownFile(fileOf(a.d.prog, c.Fn)) {
		out = append(out, l.pcs...)
	}
	if a.ret == c {
		out = append(out, a.retPC)
	}
	for _, p := range a.points {
		if p.line > 0 {
			out = append(out, a.d.places.onLine(c, p.file, p.line)...)
		} else if p.fn != "" && namedFunc(c.Fn, p.fn) {
			out = append(out, l.entry(c.Fn))
		}
	}
	if a.operators || a.numbers {
		out = append(out, a.d.operators(c)...)
	}
	for pc, in := range c.Instrs {
		if a.numbers && mayCall(in) {
			out = append(out, pc)
		}
	}
	if p := a.place; p != nil && c.Marks.Name == p.Code && p.PC < len(c.Instrs) {
		out = append(out, p.PC)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// operators are the calls of operators by name in c.
func (d *Debugger) operators(c *host.Code) []int {
	var out []int
	for pc, in := range c.Instrs {
		if d.isOperator(in) != "" {
			out = append(out, pc)
		}
	}
	return out
}

// isOperator is the operator that an instruction calls by name.
func (d *Debugger) isOperator(in ssa.Instruction) string {
	c, ok := in.(*ssa.Call)
	if !ok {
		return ""
	}
	fn := c.Call.StaticCallee()
	if fn == nil || !d.operator(fn.String()) {
		return ""
	}
	return fn.Name()
}

// trap is called before an instruction that has a trap, and after one that is a call.
func (d *Debugger) trap(f *host.Frame, pc int, ran bool) {
	if ran {
		d.afterOperator(f, pc)
		return
	}
	if d.evaluates() || f.Thread().Scratch() {
		return
	}
	first, look := d.moments.ticks(f)
	if d.again != nil {
		d.again.watch.look(f, first, d.moments.path)
	}
	asked := d.moments == nil || d.asked.Load().has(f.Code, pc)
	if !look && !asked {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	me := host.Goroutine(d.in)
	d.queue(me)
	d.visits(Event{Kind: logs.StopLine, Thread: f.Thread(), Frame: f}, me, first, asked)
}

// instructions reports whether a step ends at an instruction, not at a line.
func (s *stepping) instructions() bool {
	return s != nil && (s.kind == stepOperator || s.kind == stepInstruction)
}

// visits looks at all lines that begin at the instruction that e.Frame is about to run,
// whose first moment is given. Where it is not asked for, it is only counted, and compared.
func (d *Debugger) visits(e Event, me string, first int64, asked bool) {
	f := e.Frame
	l := d.places.of(f.Code)
	starts := l.at[f.PC]
	before := d.count
	for i, s := range starts {
		d.at = d.moments.position(f, first, i)
		d.visit(e, me, s, i == 0 && f.PC == l.entry(f.Code.Fn), asked)
	}
	if len(starts) == 0 || d.count == before && (d.step.instructions() || d.again != nil) {
		d.at = d.moments.position(f, first, len(starts))
		d.visit(e, me, nil, len(starts) == 0 && f.PC == l.entry(f.Code.Fn), asked)
	}
}

// mayHit reports whether a breakpoint may be at a line: the stack is looked at only then.
func (d *Debugger) mayHit(e Event, at *start, entry bool) bool {
	return slices.ContainsFunc(d.points, func(p *point) bool {
		switch {
		case p.kind != logs.StopLine:
			return false
		case p.fn != "":
			return entry && namedFunc(e.Frame.Code.Fn, p.fn)
		}
		return at == nil && p.within || at != nil && at.line == p.line && sameFile(at.file, p.file)
	})
}

// visit stops at one line, or one instruction, if anything asks for that.
func (d *Debugger) visit(e Event, me string, at *start, entry, asked bool) {
	arrive := func() *stopped {
		s := d.arrive(e, me, at)
		s.entry = entry
		return s
	}
	d.back.check(d.at, arrive)
	if d.again != nil {
		d.again.viewer.look(d.again, d.at, arrive, at == nil)
	}
	why, stops := d.again.reaches(d.at, arrive)
	if !stops && !d.at.plain() {
		why, stops = d.again.insideTarget(e.Frame)
	}
	if stops {
		s := arrive()
		if at == nil {
			s.Kind = logs.StopPause
		}
		d.stop(s, why, 0)
		return
	}
	if !asked {
		return
	}
	if d.mayHit(e, at, entry) {
		s := arrive()
		if p, note := d.hit(s); p != nil {
			d.stop(s, "breakpoint "+p.spec+note, p.id)
			return
		}
	}
	own := ownFile(fileOf(d.prog, e.Frame.Code.Fn))
	switch {
	case d.paused && own:
		s := arrive()
		s.Kind = logs.StopPause
		d.stop(s, "paused at a line", 0)
	case d.step == nil:
	case d.step.any || d.step.goroutine == me:
		if why := d.step.reached(d, e, at, own); why != "" {
			s := arrive()
			if at == nil || d.step.kind == stepOperator || d.step.kind == stepInstruction {
				s.Kind = logs.StopPause
			}
			d.stop(s, why, 0)
		}
	}
}

// reached says why a step ends at a line (at, or nil for an instruction), "" where it
// does not.
func (s *stepping) reached(d *Debugger, e Event, at *start, own bool) string {
	f := e.Frame
	switch s.kind {
	case stepSafe:
		return ""
	case stepTo:
		if at != nil && at.line == s.toLine && sameFile(at.file, s.toFile) || at == nil && s.isAt(d, f) {
			return "ran to " + d.posText(f, at)
		}
		return ""
	case stepInstruction:
		if e.Trace != nil && at == nil {
			return "next instruction of the trace"
		}
		return ""
	case stepOperator:
		if name := d.isOperator(f.Instr()); at == nil && name != "" {
			return "before operator " + name
		}
		return ""
	}
	return s.lineReached(f, at, own)
}

// isAt reports whether f is in the midst of the statement that a step runs to.
func (s *stepping) isAt(d *Debugger, f *host.Frame) bool {
	return slices.Contains(d.places.onLine(f.Code, s.toFile, s.toLine), f.PC)
}

// lineReached says why a step by lines ends.
func (s *stepping) lineReached(f *host.Frame, at *start, own bool) string {
	depth := depthOf(f)
	th := f.Thread()
	other := s.thread != nil && th != s.thread
	switch {
	case s.thread == nil || other && s.thread.Top() == nil:
		if own && at != nil {
			return "next line"
		}
	case other, depth > s.depth: // called by the function that steps
		if s.kind == stepInto && own && at != nil {
			return "into " + f.Code.Fn.Name()
		}
	case depth < s.depth:
		if own {
			return "returned to " + f.Code.Fn.Name()
		}
	case s.kind == stepOut || at == nil:
	case f != s.frame:
		if own {
			return "next line"
		}
	case at.line != s.line || at.file != s.file:
		return "next line"
	}
	return ""
}

func (d *Debugger) posText(f *host.Frame, at *start) string {
	l := level{frame: f, pc: f.PC, at: at}
	p := l.place(d.prog)
	return shortPos(p)
}

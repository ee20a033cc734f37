package stop

import (
	"fmt"
	"go/types"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/torch"
	"tcdbg/tracer/host"
)

// This file is the life of a stop: commands arrive at any time and act when the program
// reaches a place where it may stop.

// Debugger stops one program. A nil one never does.
type Debugger struct {
	prog   *host.Program
	in     *host.Interp
	sink   logs.Sink
	pid    int
	places *places
	wanted atomic.Uint32 // mask of the events that may stop
	traces atomic.Bool   // traces may stop
	every  atomic.Bool   // at any instruction
	// operator reports whether a function is a tensor operator.
	operator func(name string) bool

	*graphs

	busy       atomic.Int32 // expressions that are being evaluated
	evaluating sync.Map     // goroutine that evaluates one -> true

	mu      sync.Mutex
	turn    *sync.Cond
	paused  bool // a pause was asked for
	asked   int  // id of the command that wants the next stop
	left    bool
	step    *stepping
	points  []*point
	watches []string
	count   int
	now     *stopped // where the program stands
	trapped bool
}

// Config is what a debugger needs from its surroundings.
type Config struct {
	Prog *host.Program
	Sink logs.Sink
	PID  int
	// Paused stops the program before its first line.
	Paused bool
	// Operator reports whether a function is a tensor operator.
	Operator func(name string) bool
}

// stopped is one stop.
type stopped struct {
	Event
	goroutine string
	levels    []level
	show      *show
	entry     bool // a function is called
	grad      bool // gradients are recorded on the goroutine
	resumed   bool
}

// New returns a debugger for a program that is loaded.
func New(cfg Config) *Debugger {
	d := &Debugger{
		prog: cfg.Prog, sink: cfg.Sink, pid: cfg.PID, paused: cfg.Paused, operator: cfg.Operator, places: &places{prog: cfg.Prog},
	}
	d.turn = sync.NewCond(&d.mu)
	d.graphs = &graphs{d: d}
	if d.operator == nil {
		d.operator = func(string) bool { return false }
	}
	return d
}

// Install adds what the debugger asks of the host, before host.New.
func (d *Debugger) Install(cfg *host.Config) { cfg.Raised = d.raised }

// Attach tells which interpreter runs the program, before it runs.
func (d *Debugger) Attach(in *host.Interp) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.in = in
	for _, p := range d.points { // set while the program was loaded
		d.place(p)
	}
	d.arm()
}

// Command carries out one command of the viewer.
func (d *Debugger) Command(c ctl.Command) {
	if c.Process != 0 && c.Process != d.pid {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch c.Verb {
	case ctl.Pause:
		d.paused, d.asked = true, c.ID
		if d.stands() != nil {
			d.paused = false
			d.say(c, "it stands already")
		}
	case ctl.Continue:
		d.paused, d.step, d.asked = false, nil, 0
		d.resume(c)
	case ctl.Step:
		d.setStep(c)
	case ctl.Leave:
		d.paused, d.step, d.left, d.points, d.watches = false, nil, true, nil, nil
		d.resume(c)
	case ctl.Break:
		d.setPoint(c)
	case ctl.Clear:
		d.clear(c)
	case ctl.Evaluate:
		a := d.evaluate(c.Arg, c.Level)
		a.Command, a.Process = c.ID, d.pid
		d.emit(a)
	case ctl.Watch, ctl.Unwatch:
		d.watch(c)
	default:
		d.say(c, "unknown command")
	}
	d.arm()
	d.turn.Broadcast()
}

// Left reports whether the program is to run on without its viewer.
func (d *Debugger) Left() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.left
}

// resume lets a program that stands go on.
func (d *Debugger) resume(c ctl.Command) {
	if s := d.stands(); s != nil {
		s.resumed = true
	}
	d.emit(logs.State{State: "running", Command: c.ID})
}

func (d *Debugger) name() string {
	if d.stands() != nil {
		return "paused"
	}
	return "running"
}

// stands is where the program stands, nil where it runs or is about to.
func (d *Debugger) stands() *stopped {
	if d.now == nil || d.now.resumed {
		return nil
	}
	return d.now
}

// say answers a command with a text.
func (d *Debugger) say(c ctl.Command, text string) {
	d.emit(logs.State{State: d.name(), Command: c.ID, Text: fmt.Sprintf("%s: %s", c.Verb, text), Where: d.where()})
}

func (d *Debugger) where() *logs.Pos {
	if d.stands() == nil {
		return nil
	}
	p := d.now.where(d.prog)
	return &p
}

func (d *Debugger) emit(r logs.Versioned) {
	if d.sink != nil {
		d.sink.Emit(logs.Artifact(logs.NoCompile, r))
	}
}

// queue waits until no other goroutine stands.
func (d *Debugger) queue(me string) {
	for d.now != nil && d.now.goroutine != me {
		d.turn.Wait()
	}
}

// arrive describes a place where the goroutine me may stop.
func (d *Debugger) arrive(e Event, me string, at *start) *stopped {
	s := &stopped{Event: e, goroutine: me, grad: torch.GradEnabled()}
	s.levels = levelsOf(e.Frame, e.Ran, at)
	s.levels = append(s.levels, levelsOf(e.Callers, true, nil)...)
	s.show = &show{in: d.in, maps: true}
	if e.Trace != nil {
		s.show.fake = e.Trace.FakeOf
	}
	return s
}

// where is the place of a stop: its innermost level.
func (s *stopped) where(prog *host.Program) logs.Pos {
	if s.At != nil {
		return *s.At
	}
	if len(s.levels) > 0 {
		return s.levels[0].place(prog)
	}
	if len(s.Stack) > 0 {
		return s.Stack[0]
	}
	return logs.Pos{}
}

// quietFor is how long a stop waits for other goroutines to come to their next line.
const quietFor = 100 * time.Millisecond

// stop writes the record of a stop and waits until the program may go on.
func (d *Debugger) stop(s *stopped, why string, point int) {
	command := d.asked
	d.paused, d.step, d.asked = false, nil, 0
	d.now = s
	d.count++
	d.arm()
	s.show.maps = d.settle()
	pos := s.where(d.prog)
	rec := logs.Stop{
		ID: d.count, Command: command, Process: d.pid, Thread: s.goroutine, Kind: s.Kind, Why: why, Point: point, Where: &pos,
		Compiled: s.Compiled, Compile: s.Compile, Reason: s.Reason,
	}
	rec.Stack = d.stack(s)
	if s.Frame == nil {
		for _, p := range s.Stack {
			rec.Stack = append(rec.Stack, logs.StackFrame{Pos: p})
		}
	}
	if s.Trace != nil {
		rec.Nodes = s.Trace.Lines()
		rec.Symbolic = d.symbolic(s)
	}
	if s.Fill != nil {
		s.Fill(&rec)
	}
	if s.Thread != nil && s.Thread.CalledBack() {
		rec.Missing = append(rec.Missing, "compiled code has called this function: who called that is not shown")
	}
	for _, w := range d.watches {
		rec.Watches = append(rec.Watches, d.evaluate(w, 0))
	}
	d.emit(rec)
	d.emit(logs.State{State: "paused", Command: command, Where: &pos, Text: string(s.Kind)})
	for !s.resumed {
		d.turn.Wait()
	}
	d.now = nil
	d.arm()
	d.turn.Broadcast()
}

// settle waits for the other goroutines; it reports whether all stand or wait.
func (d *Debugger) settle() bool {
	for begin := time.Now(); !host.Alone(d.in); time.Sleep(2 * time.Millisecond) {
		if time.Since(begin) > quietFor {
			return false
		}
	}
	return true
}

// evaluates reports whether the calling goroutine evaluates an expression: nothing of that
// stops.
func (d *Debugger) evaluates() bool {
	if d.busy.Load() == 0 {
		return false
	}
	_, ok := d.evaluating.Load(host.Goroutine(d.in))
	return ok
}

// raised is a panic of the program that nobody catches.
func (d *Debugger) raised(r host.Raised) {
	if !d.Wants(logs.StopRaised) {
		return
	}
	e := Event{Kind: logs.StopRaised, Thread: r.Thread, Ran: true, Reason: "panic: " + r.Value}
	if r.Thread == nil {
		for _, in := range r.At {
			e.Stack = append(e.Stack, posOf(d.prog, in))
		}
		e.Fill = func(s *logs.Stop) {
			s.Missing = append(s.Missing, "the frames are gone: a deferred function, or compiled code, could have caught the panic")
		}
	}
	d.At(e)
}

// Start stops a program that is to begin paused, before its first line.
func (d *Debugger) Start() {
	e := Event{Kind: logs.StopStart}
	if main := d.prog.Main.Func("main"); main != nil {
		e.Stack = []logs.Pos{funcPos(d.prog, main)}
	}
	d.At(e)
}

// Show shows a value to a stop that Event.Fill adds to.
func (d *Debugger) Show(name string, t types.Type, p unsafe.Pointer) *logs.Value {
	v := d.now.show.value(name, t, p)
	return &v
}

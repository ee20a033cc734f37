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
	"tcdbg/tracer/host/journal"
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

	moments *moments // nil: the run is not kept
	again   *again   // of a program that is run again
	back    *back
	asks    atomic.Uint32 // of wanted, what is wanted to stop
	asked   atomic.Pointer[armed]
	// asksTraces tells that a trace may have to stop.
	asksTraces atomic.Bool

	busy       atomic.Int32 // expressions that are being evaluated
	evaluating sync.Map     // goroutine that evaluates one -> true

	mu      sync.Mutex
	turn    *sync.Cond
	paused  bool // a pause was asked for
	command int  // that wants the next stop
	left    bool
	step    *stepping
	points  []*point
	watches []string
	count   int
	now     *stopped // where the program stands
	at      Position // of the line or event that is being looked at
	trapped bool
	// gradsWatched tells that backward passes are looked at.
	gradsWatched bool
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
	// Journal, where set, is what the host keeps of the run, and Start starts a process that
	// runs the program again.
	Journal *journal.Tape
	Start   Starter
	// Again, where set, says that this is that process: it tells Say what the program's own
	// process is to know.
	Again *Again
	Say   func(Message)
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
	pos       Position
	digest    []Sum
	place     string
	rec       *logs.Stop
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
	d.moments = newMoments(d, cfg.Journal)
	d.back = &back{d: d, start: cfg.Start}
	if cfg.Again != nil && cfg.Journal != nil {
		d.again = &again{
			d: d, Again: cfg.Again, say: cfg.Say, watch: newWatch(d, cfg.Again.Search), viewer: newViewer(d, cfg.Again),
		}
		d.watches = cfg.Again.Watches
		d.moments.next.Store(d.again.next())
		cfg.Journal.Lost = func(why string) { cfg.Say(Message{Lost: why}) }
		cfg.Journal.Over = func(why string) {
			cfg.Say(Message{Present: true, Why: "what comes next cannot be run again: " + why})
			select {} // the first process ends this one
		}
	}
	if cfg.Start != nil {
		d.back.texts = textsOf(cfg.Prog)
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
	if d.again != nil && d.again.watch != nil {
		host.Turned(in, func() {
			if !d.evaluates() {
				d.again.watch.turned(host.ThreadOf(in))
			}
		})
	}
	for _, p := range d.points { // set while the program was loaded
		d.place(p)
	}
	d.arm()
	d.back.checkIn(firstCheck)
}

// Command carries out one command of the viewer.
func (d *Debugger) Command(c ctl.Command) {
	if c.Process != 0 && c.Process != d.pid {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.back.inPast(c) {
		return
	}
	switch c.Verb {
	case ctl.Back:
		if d.again != nil {
			d.again.answerBack(c)
		} else {
			d.back.to(c)
		}
		return
	case ctl.Pause:
		d.paused, d.command = true, c.ID
		if d.stands() != nil {
			d.paused = false
			d.say(c, "it stands already")
		}
	case ctl.Continue:
		d.paused, d.step, d.command = false, nil, 0
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
	if d.again != nil {
		d.again.tell(r)
		return
	}
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
	s.pos = d.at
	s.show = &show{in: d.in, maps: true}
	if d.moments != nil {
		s.show.seen = map[*torch.Tensor]bool{}
	}
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
	command := d.command
	d.paused, d.step, d.command = false, nil, 0
	d.now = s
	d.count++
	d.arm()
	s.show.maps = d.settle()
	rec := d.record(s)
	rec.ID, rec.Command, rec.Why, rec.Point = d.count, command, why, point
	pos := *rec.Where
	if d.moments != nil {
		s.digest = digest(d, s, rec.Stack)
		rec.Moment = s.pos.Moment
		d.back.remember(s, pos)
		d.again.isEnd(s)
	}
	if rec.NoBack = d.back.refusal(&Position{}); d.moments != nil {
		if why, at := d.moments.tape.Refusal(); why != "" && d.again == nil {
			rec.Missing = append(rec.Missing, fmt.Sprintf("moments after %d cannot be gone back to: %s", at, why))
		}
	}
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
	s.rec = &rec
	d.back.keepView(s)
	d.emit(rec)
	d.emit(logs.State{State: "paused", Command: command, Where: &pos, Text: string(s.Kind)})
	for !s.resumed {
		d.turn.Wait()
	}
	d.now = nil
	d.arm()
	d.turn.Broadcast()
}

// record is the record of a stop, as far as it is known by looking.
func (d *Debugger) record(s *stopped) logs.Stop {
	pos := s.where(d.prog)
	return logs.Stop{
		Process: d.pid, Thread: s.goroutine, Kind: s.Kind, Where: &pos, Compiled: s.Compiled, Compile: s.Compile, Reason: s.Reason,
		Stack: d.stack(s),
	}
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

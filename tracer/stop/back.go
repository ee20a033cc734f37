package stop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tracer/host/journal"
)

// This file goes back. The program itself stays where it stands: a second process runs it
// again, from the start to the moment that is asked for, and answers from there. When it comes
// to where the program stands it ends, and the program goes on itself.

// Again is what the second process is told.
type Again struct {
	Journal journal.Data
	Target  Position
	Why     string // why it stops there
	End     Check  // where the program itself stands
	Checks  []Check
	Points  []ctl.Command
	Watches []string
	// Search, where set, is what is to be found up to Target: nothing stops there.
	Search *Search `json:",omitempty"`
	// Overlay are the texts of the program's files, as they were when it was loaded.
	Overlay map[string]string
}

// Check is a stop that the program was at: what its state was.
type Check struct {
	Position
	Digest []Sum
	Where  string
}

// Message is what the second process says.
type Message struct {
	// Record is the name of a record of the trace, and Data is it.
	Record string          `json:",omitempty"`
	Data   json.RawMessage `json:",omitempty"`
	At     *Check          `json:",omitempty"` // of a stop
	Views  []View          `json:",omitempty"` // of the moments before it
	// To answers Back, the command with the id Command: where that is.
	Command int       `json:",omitempty"`
	To      *Position `json:",omitempty"`
	Why     string    `json:",omitempty"`
	// Search answers Back: that is to be found first. None says why nothing was.
	Search *Search `json:",omitempty"`
	None   string  `json:",omitempty"`
	// Present says that it has come to where the program itself stands.
	Present bool `json:",omitempty"`
	// Lost says why it is of no use.
	Lost string `json:",omitempty"`
}

// Starter starts a second process; said is called for each message in turn, and ended when there
// are no more.
type Starter func(a *Again, said func(Message), ended func()) (Second, error)

// Second is a second process.
type Second interface {
	Send(c ctl.Command) error
	Close() // ends it
}

// back is what the program's own process keeps for it.
type back struct {
	d      *Debugger
	start  Starter           // nil: the run is not kept
	texts  map[string]string // of the program's files
	checks []Check           // the stops so far
	others []Check           // states between them, to compare
	stops  []View            // what was to be seen at them
	views  []View            // what a second process has seen on its way
	past   *past             // what is shown in place of the program; nil: nothing
	seeks  *past             // what searches; nil: nothing
}

// past is the second process that is shown.
type past struct {
	second  Second // nil: none was needed yet
	arrived bool
	at      Check
	command int
	shown   *View // what is shown before it has arrived
	why     string
	asked   []ctl.Command // that wait for it
	known   bool          // that it stands there was shown: it need not say so
}

// end ends it.
func (p *past) end() {
	if p.second != nil {
		p.second.Close()
	}
}

// remember keeps a stop.
func (b *back) remember(s *stopped, pos logs.Pos) {
	s.place = shortPos(pos)
	if n := len(b.checks); !s.pos.plain() && s.pos.Order == 0 {
		s.pos.Order = 1
		if n > 0 && b.checks[n-1].Moment == s.pos.Moment {
			s.pos.Order += b.checks[n-1].Order
		}
	}
	c := Check{s.pos, s.digest, s.place}
	if n := len(b.checks); n == 0 || b.checks[n-1].before(&c.Position) {
		b.checks = append(b.checks, c)
	}
}

// refusal says why the program cannot be run again up to a position, "" where it can.
func (b *back) refusal(to *Position) string {
	switch {
	case b.d.again != nil:
		return ""
	case b.d.moments == nil || b.start == nil:
		return "this run is not kept: start it with --record, or with --pause"
	}
	if why, at := b.d.moments.tape.Refusal(); why != "" && to.Moment > at {
		return why
	}
	return ""
}

// to carries out Back.
func (b *back) to(c ctl.Command) {
	s := b.d.stands()
	if s == nil {
		b.d.say(c, "the program runs: space stops it first")
		return
	}
	if why := b.refusal(&Position{}); why != "" {
		b.d.say(c, why)
		return
	}
	if b.past != nil && !b.past.arrived && b.past.shown == nil {
		b.d.say(c, "the program is being run again: wait, or space ends that")
		return
	}
	now := s.pos
	if b.past != nil {
		now = b.past.at.Position
	}
	switch {
	case c.Arg == "":
		b.toStop(c, &now)
	case b.past != nil && !b.past.arrived && b.fromView(c):
	case b.past != nil && !b.past.arrived:
		b.ask(c)
	case b.past != nil: // it has seen what is before it
		b.forward(c)
	case c.Arg == "line" || c.Arg == "operator":
		to, why, ok := b.d.moments.before(c.Arg, s)
		if !ok {
			b.d.say(c, why)
			return
		}
		b.run(c, to, why)
	default:
		search, err := s.search(b.d, c.Arg, c.Level)
		if err != nil {
			b.d.say(c, err.Error())
			return
		}
		b.seek(c, search, now)
	}
}

// seek runs the program again up to a position to find something.
func (b *back) seek(c ctl.Command, s *Search, upTo Position) {
	if refused := b.refusal(&upTo); refused != "" {
		b.d.say(c, refused)
		return
	}
	a := b.task(upTo, "")
	a.Search = s
	p := &past{command: c.ID}
	var err error
	if p.second, err = b.start(a, func(m Message) { b.said(p, m) }, func() { b.ended(p) }); err != nil {
		b.d.say(c, "the program cannot be run again: "+err.Error())
		return
	}
	b.seeks = p
	b.d.emit(logs.State{State: "paused", Command: c.ID, Where: b.d.where(), Text: "runs again to find " + s.What})
}

// sought ends a search.
func (b *back) sought(m Message) {
	c := ctl.Command{Verb: ctl.Back, ID: b.seeks.command}
	b.seeks.second.Close()
	b.seeks = nil
	switch {
	case m.To != nil:
		b.run(c, *m.To, m.Why)
	case m.Lost != "":
		b.d.say(c, "could not look: run again, "+m.Lost)
	default:
		b.d.say(c, m.None)
	}
}

// toStop goes to the stop before.
func (b *back) toStop(c ctl.Command, now *Position) {
	const none = "there is no stop before this one"
	refused := none
	for _, k := range slices.Backward(b.checks) {
		if !k.before(now) {
			continue
		}
		if why := b.refusal(&k.Position); why != "" {
			refused = why
			continue
		}
		why := "the stop before"
		if refused != none {
			why = "the last stop that can be run again to; then " + refused
		}
		b.run(c, k.Position, why)
		return
	}
	b.d.say(c, refused)
}

// run starts a second process.
func (b *back) run(c ctl.Command, to Position, why string) {
	if refused := b.refusal(&to); refused != "" {
		b.d.say(c, refused)
		return
	}
	if v := b.view(&to); v != nil {
		b.show(c, v, why)
		return
	}
	a := b.task(to, why)
	b.launch(c, a, &past{command: c.ID})
}

// task is what a second process is told that goes to a position.
func (b *back) task(to Position, why string) *Again {
	s := b.d.stands()
	a := &Again{
		Journal: b.d.moments.tape.Data(), Target: to, Why: why, Watches: b.d.watches, Overlay: b.texts,
		End: Check{Position: s.pos, Digest: s.digest, Where: s.place},
	}
	for _, k := range slices.Concat(b.checks, b.others) {
		if k.plain() && k.Moment <= to.Moment {
			a.Checks = append(a.Checks, k)
		}
	}
	slices.SortStableFunc(a.Checks, func(x, y Check) int { return cmp.Compare(x.Moment, y.Moment) })
	for _, p := range b.d.points {
		a.Points = append(a.Points, ctl.Command{Verb: ctl.Break, Point: p.id, Arg: p.spec})
	}
	return a
}

func (b *back) launch(c ctl.Command, a *Again, p *past) {
	old := b.past
	second, err := b.start(a, func(m Message) { b.said(p, m) }, func() { b.ended(p) })
	if err != nil {
		b.d.say(c, "the program cannot be run again: "+err.Error())
		return
	}
	p.second = second
	if old != nil {
		old.end()
	}
	b.past = p
	text := fmt.Sprintf("runs again to moment %d of %d", a.Target.Moment, a.End.Moment)
	b.d.emit(logs.State{State: "running", Command: c.ID, Text: text})
}

// forward gives a command to the second process.
func (b *back) forward(c ctl.Command) {
	c.Process, c.Thread = 0, ""
	if err := b.past.second.Send(c); err != nil {
		b.lost("it does not answer")
	}
}

// inPast carries out a command while the past is shown; false: it is the program's own.
func (b *back) inPast(c ctl.Command) bool {
	if b.seeks != nil && b.whileSeeking(c) {
		return true
	}
	if b.past == nil {
		return false
	}
	switch c.Verb {
	case ctl.Pause:
		if b.past.arrived {
			b.forward(c)
			return true
		}
		b.present(c.ID, "the program is not run again")
		return true
	case ctl.Continue, ctl.Step, ctl.Evaluate:
		if !b.past.arrived && b.past.shown != nil {
			b.ask(c)
			return true
		}
		if !b.past.arrived {
			b.d.say(c, "the program is being run again: wait, or space ends that")
			return true
		}
		b.forward(c)
		return true
	case ctl.Watch, ctl.Unwatch:
		b.d.watches = slices.DeleteFunc(b.d.watches, func(w string) bool { return w == c.Arg })
		if c.Verb == ctl.Watch {
			b.d.watches = append(b.d.watches, c.Arg)
		}
		b.askOrForward(c)
		return true
	case ctl.Break, ctl.Clear:
		b.askOrForward(c)
	case ctl.Leave:
		b.past.end()
		b.past = nil
	}
	return false
}

// askOrForward gives a command to the second process, when that stands where it is to.
func (b *back) askOrForward(c ctl.Command) {
	switch {
	case b.past.arrived || b.past.shown == nil:
		b.forward(c)
	case b.past.second != nil || c.Verb == ctl.Watch || c.Verb == ctl.Unwatch:
		b.ask(c)
	} // a breakpoint is one of its task's
}

// whileSeeking carries out a command while something is searched for; false: it has nothing
// to do with that.
func (b *back) whileSeeking(c ctl.Command) bool {
	switch c.Verb {
	case ctl.Pause:
		b.sought(Message{None: "the search was ended"})
	case ctl.Continue, ctl.Step, ctl.Back:
		b.d.say(c, "the program is being run again: wait, or space ends that")
	case ctl.Leave:
		b.seeks.second.Close()
		b.seeks = nil
		return false
	default:
		return false
	}
	return true
}

// said is a message of a second process.
func (b *back) said(p *past, m Message) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	switch {
	case b.seeks == p:
		b.sought(m)
	case b.past != p: // it was told to end
	case m.Search != nil:
		b.seek(ctl.Command{Verb: ctl.Back, ID: m.Command}, m.Search, b.past.at.Position)
	case m.None != "":
		b.d.say(ctl.Command{Verb: ctl.Back, ID: m.Command}, m.None)
	case m.Lost != "":
		b.lost(m.Lost)
	case m.Present:
		text := "where the program itself stands"
		if m.Why != "" {
			text += "; " + m.Why
		}
		b.present(0, text)
	case m.To != nil:
		b.run(ctl.Command{Verb: ctl.Back, ID: m.Command}, *m.To, m.Why)
	case m.Record != "":
		b.relay(p, m)
	}
}

// ended is the end of a second process that nobody told to end.
func (b *back) ended(p *past) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	switch p {
	case b.past:
		b.lost("the program ends before it is there")
	case b.seeks:
		b.sought(Message{Lost: "the program ends before it is there"})
	}
}

// relay writes what the second process says as our own.
func (b *back) relay(p *past, m Message) {
	switch m.Record {
	case "tcdbg_stop":
		var s logs.Stop
		if json.Unmarshal(m.Data, &s) != nil || m.At == nil {
			return
		}
		b.d.count++
		s.ID, s.Process = b.d.count, b.d.pid
		if s.Command == 0 && !p.arrived {
			s.Command = p.command
		}
		s.Past = b.d.stands().pos.Moment
		b.views = append(b.views, m.Views...)
		if over := len(b.views) - 4*mostViews; over > 0 {
			b.views = b.views[over:]
		}
		if p.shown != nil && !p.arrived {
			b.d.count--
			b.stood(p, m.At)
			return
		}
		p.arrived, p.at = true, *m.At
		b.d.emit(s)
	case "tcdbg_state":
		if p.shown != nil && !p.arrived {
			return // what is shown stays
		}
		var s logs.State
		if json.Unmarshal(m.Data, &s) != nil || p.known && s.State == "paused" {
			p.known = false
			return
		}
		b.d.emit(s)
	case "tcdbg_answer":
		var a logs.Answer
		if json.Unmarshal(m.Data, &a) == nil {
			a.Process = b.d.pid
			b.d.emit(a)
		}
	}
}

// lost ends a second process that is of no use, and says why.
func (b *back) lost(why string) {
	id := b.past.command
	b.present(id, "could not go back: run again, "+why)
}

// present shows the program itself, which stands.
func (b *back) present(command int, text string) {
	if b.past != nil {
		b.past.end()
		b.past = nil
	}
	s := b.d.stands()
	if s == nil || s.rec == nil {
		return
	}
	b.d.emit(logs.State{State: "running"})
	rec := *s.rec
	b.d.count++
	rec.ID, rec.Command, rec.Point, rec.Note = b.d.count, command, 0, text
	b.d.emit(rec)
	b.d.emit(logs.State{State: "paused", Command: command, Where: rec.Where, Text: text})
}

package stop

import (
	"fmt"
	"path"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is what a trace shows while the tracer evaluates a function: its frames are on
// a scratch thread, its tensors have no data.

// Trace is a trace that is being made.
type Trace interface {
	// Frame is the frame whose next instruction is about to be evaluated.
	Frame() *host.Frame
	// Region is the real frame below those of the trace.
	Region() *host.Frame
	// Lines are the nodes captured so far.
	Lines() []string
	// FakeOf describes a tensor that the trace knows, nil for others.
	FakeOf(t *torch.Tensor) *logs.TensorValue
	// Symbol is the symbolic number in a register of Frame, "" for others.
	Symbol(v ssa.Value) string
}

// Traces reports whether a trace is to call Traced.
func (d *Debugger) Traces() bool { return d != nil && d.traces.Load() }

// Traced is called before each instruction of a trace.
func (d *Debugger) Traced(t Trace, compiled, compile string) {
	f := t.Frame()
	if d.evaluates() {
		return
	}
	first, look := d.moments.ticks(f)
	asked := d.asksTraces.Load() && (d.every.Load() || len(d.places.of(f.Code).at[f.PC]) > 0)
	if !look && !asked {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	me := host.Goroutine(d.in)
	d.queue(me)
	e := Event{Kind: logs.StopLine, Thread: f.Thread(), Frame: f, Callers: t.Region(), Trace: t, Compiled: compiled, Compile: compile}
	d.visits(e, me, first, asked)
}

// TraceEnded is called when a trace has ended: a step in it goes on with the program.
func (d *Debugger) TraceEnded(th *host.Thread) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.step != nil && d.step.thread == th {
		d.step.thread, d.step.ret = nil, nil
		if d.step.kind == stepLine || d.step.kind == stepOut {
			d.step.kind = stepInto
		}
		d.arm()
	}
}

// symbolic are the variables of the innermost level that the trace knows more of than
// their bits.
func (d *Debugger) symbolic(s *stopped) []logs.Value {
	if len(s.levels) == 0 {
		return nil
	}
	l := &s.levels[0]
	r := reachingOf(l.instr().Parent())
	at := homes{}
	if known := r.in[l.instr().Block()]; known != nil {
		at = r.after(l.instr().Block(), l.index(), known)
	}
	var out []logs.Value
	for _, loc := range l.locals(d.prog) {
		v := s.show.local(loc)
		if v.Fake != nil {
			out = append(out, v)
		} else if h := at[loc.obj]; h.reg != nil && !h.place {
			if sym := s.Trace.Symbol(h.reg); sym != "" {
				v.Fake = &logs.TensorValue{Dtype: v.Type, Shape: []string{}, First: []string{sym}}
				out = append(out, v)
			}
		}
	}
	return out
}

// Trail is what a trace has left for stops where it broke: what it knew of the variables
// of its innermost level.
type Trail map[string]*logs.TensorValue

// Trail keeps what is known at the end of a trace, for Event.Fill.
func (d *Debugger) Trail(t Trace) Trail {
	if t.Frame() == nil {
		return nil
	}
	out := Trail{}
	s := &stopped{Event: Event{Trace: t}, levels: levelsOf(t.Frame(), false, nil), show: &show{in: d.in, fake: t.FakeOf}}
	for _, v := range d.symbolic(s) {
		out[v.Name] = v.Fake
	}
	return out
}

// Fill adds the trail to a stop whose innermost level is where the trace ended.
func (t Trail) Fill(s *logs.Stop) {
	if len(s.Stack) == 0 {
		return
	}
	for _, v := range s.Stack[0].Locals {
		if f := t[v.Name]; f != nil {
			v.Fake = f
			s.Symbolic = append(s.Symbolic, v)
		}
	}
}

func shortPos(p logs.Pos) string { return fmt.Sprintf("%s:%d", path.Base(p.File), p.Line) }

package tracer

import (
	"fmt"
	"slices"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/ssainfo"
	"tcdbg/tracer/stop"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file tells a debugger what happens to compiled functions.

// spell is a compile id as the trace has it.
func spell(id logs.CompileID) string { return fmt.Sprintf("%d/%d", id.Frame, id.Compile) }

// stopAtBreak stops where an entry has put the frames before the instruction that broke
// its graph: the graph has run, so all values are there.
func (c *Compiled) stopAtBreak(th *host.Thread, entry *replay.Entry) {
	d := c.t.cfg.Stops
	if !d.Wants(logs.StopBreak) {
		return
	}
	d.At(stop.Event{
		Kind: logs.StopBreak, Thread: th, Compiled: c.name(), Compile: spell(entry.ID), Code: entry.Break.Code,
		Reason: entry.Break.Code + " " + replay.BreakTitle(entry.Break) + ": " + entry.Break.Detail,
		Text:   func() []string { return []string{entry.Break.Detail} },
		Fill: func(s *logs.Stop) {
			if entry.Graph != nil {
				s.Nodes = entry.Graph.Lines()
			}
			if trail, ok := entry.Trail.(stop.Trail); ok {
				trail.Fill(s)
			}
			s.Deciding = c.deciding(th, entry)
		},
	})
}

// deciding is the value that a break asks for.
func (c *Compiled) deciding(th *host.Thread, entry *replay.Entry) *logs.Value {
	v, f := entry.Break.Value, th.Top()
	if v == nil || v.Parent() != f.Code.Fn {
		return nil
	}
	if in, computed := v.(ssa.Instruction); computed && in.Block() != nil && !ssainfo.IsLive(f.Instr(), v) {
		return nil
	}
	return c.t.cfg.Stops.Show(value.LocalName(v), v.Type(), f.Addr(v))
}

// stopAtMiss stops where no entry fits.
func (c *Compiled) stopAtMiss(th *host.Thread, frames []*host.Frame, id logs.CompileID, old []*replay.Entry) {
	d := c.t.cfg.Stops
	if !d.Wants(logs.StopRecompile) {
		return
	}
	states := missStates(th.In, frames, old)
	e := stop.Event{
		Kind: logs.StopRecompile, Thread: th, Compiled: c.name(), Compile: spell(id),
		Text: func() []string {
			var out []string
			for _, s := range states {
				out = append(out, s.Text)
			}
			return out
		},
		Fill: func(s *logs.Stop) {
			s.Guards = states
			if n := len(old) - len(newest(old)); n > 0 {
				s.Missing = append(s.Missing, fmt.Sprintf("the guards of %d older entries", n))
			}
		},
	}
	if len(states) > 0 {
		e.Reason = states[0].Text
	}
	d.At(e)
}

// missStates are the guards of the newest entries that do not hold: of each, the first is
// the one that decided.
func missStates(in *host.Interp, frames []*host.Frame, old []*replay.Entry) []logs.GuardState {
	var out []logs.GuardState
	n := 0
	for _, entry := range slices.Backward(newest(old)) {
		fails := guard.Failures(entry.ID.Compile, entry.Guards, guard.NewAddresses(in, frames, entry.Sources))
		for i, f := range fails {
			g := logs.GuardState{
				Entry: n, Text: f.Guard.Text, Source: f.Guard.Source, Expected: f.Guard.Expected, Actual: f.Actual, Result: "failed",
			}
			if i > 0 {
				g.Result = "would fail"
			}
			if f.Message != "" {
				g.Text = f.Message
			}
			out = append(out, g)
		}
		n++
	}
	return out
}

// watcher stops a trace.
type watcher struct {
	d             *stop.Debugger
	name, compile string
}

func (t *Tracer) watcher(name string, id logs.CompileID) eval.Watcher {
	if t.cfg.Stops == nil {
		return nil
	}
	return watcher{t.cfg.Stops, name, spell(id)}
}

func (w watcher) Traces() bool { return w.d.Traces() }

func (w watcher) Traced(tr *eval.Trace) { w.d.Traced(traceView{tr}, w.name, w.compile) }

// traceEnded tells that a trace has ended; entry is what it leaves.
func (t *Tracer) traceEnded(tr *eval.Trace, entry *replay.Entry) {
	d := t.cfg.Stops
	if d == nil {
		return
	}
	if entry != nil && entry.Break != nil {
		entry.Trail = d.Trail(traceView{tr})
	}
	d.TraceEnded(tr.Frame().Thread())
}

// traceView is a trace as a stop shows it.
type traceView struct{ *eval.Trace }

func (v traceView) Lines() []string { return v.Graph.Lines() }

func (v traceView) FakeOf(t *torch.Tensor) *logs.TensorValue {
	if n := v.Nodes[t]; n != nil {
		if m := n.TensorMeta(); m != nil {
			return stop.Meta(m)
		}
	}
	return nil
}

// kernelWatch is told of kernels; nil without a debugger.
func (t *Tracer) kernelWatch() KernelWatch {
	if t.cfg.Stops == nil {
		return nil
	}
	return t.cfg.Stops
}

// watchRuns lets a debugger look at the results of an entry's graph.
func (t *Tracer) watchRuns(e *replay.Entry, run Runnable, plan func() Runnable) (Runnable, func() Runnable) {
	d := t.cfg.Stops
	if d == nil {
		return run, plan
	}
	watched := func(run Runnable) Runnable {
		return func(in []torch.Value) []torch.Value {
			if !d.Runs() {
				return run(in)
			}
			return d.Run(e.ID, e.Graph, run, in)
		}
	}
	if plan == nil {
		return watched(run), nil
	}
	return watched(run), func() Runnable { return watched(plan()) }
}

// execute runs a cache entry; where runs are watched, it says that the goroutine does.
func (c *Compiled) execute(th *host.Thread, e *replay.Entry, fs []*host.Frame, a *guard.Addresses, tu *replay.Turns) bool {
	if d := c.t.cfg.Stops; d.Runs() {
		defer d.Enter(th, c.name(), spell(e.ID))()
	}
	return e.Execute(th, fs, a, tu)
}

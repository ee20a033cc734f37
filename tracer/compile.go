package tracer

import (
	"fmt"
	"maps"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/stop"
)

// This file makes a cache entry: it has the frames traced, hands the graph to the
// backend, and has the compile recorded.

// compile traces a new entry for the frames; nil when the frame runs eagerly. made is not set
// where another thread has compiled it meanwhile.
func (c *Compiled) compile(
	th *host.Thread, fc *frameCache, frames []*host.Frame,
) (entry *replay.Entry, a *guard.Addresses, made bool) {
	fc.mu.Lock()
	defer fc.mu.Unlock()
	if entry, a := fc.entries.Find(th.In, frames); entry != nil { // compiled while we waited
		return entry, a, false
	}
	old := fc.entries.List()
	id := logs.CompileID{Frame: fc.id, Compile: len(old)}
	if !c.mayCompile(fc) || (len(old) > 0 || c.limitOf(fc, 0).hit) && !c.miss(th, fc, frames, id) {
		return nil, nil, false
	}
	if c.t.cfg.Stops.Wants(logs.StopFrame) {
		c.t.cfg.Stops.At(stop.Event{Kind: logs.StopFrame, Thread: th, Compiled: fc.name, Compile: spell(id)})
	}
	defer compiling()()
	defer logs.Beside(c.t.sink)()
	tr, rec, entry := c.trace(th, fc, frames, &id)
	entry.ID = id
	rec.traced(c, tr, entry)
	if text := tr.StrictViolated(entry.Break); text != "" {
		panic(rec.violated(tr, entry, text))
	}
	if entry.Break != nil && c.opts.fullgraph {
		panic(rec.fullgraph(c, tr, entry))
	}
	if err := c.build(tr, entry, rec); err != nil {
		if !compiler.Config().SuppressErrors || c.opts.fullgraph {
			panic(&torch.Error{Op: "torch.Compile", Msg: err.Error() + rec.verboseWithStack(tr, entry)})
		}
		rec.suppressed(c, tr, entry, err)
		fc.suppressed.Store(true)
		fc.eager.Store(true)
		return nil, nil, false
	}
	tr.Guards.Shapes(tr.Shapes, tr.Symbols) // the backend, too, may have asked for more of the sizes
	entry.Guard(tr.Guards)
	if text := tr.Demands.Violated(); text != "" && !compiler.Config().AllowIgnoreMarkDynamic {
		panic(rec.violated(tr, entry, text))
	}
	if c.t.cfg.Calls {
		entry.Sizes = dynamicSizes(entry.Symbols)
	}
	c.export.take(tr, entry)
	rec.done(c, tr, entry)
	if c.t.cfg.Calls {
		entry.Spent = replay.NewSpent(id)
		c.t.account(fc, entry.Spent)
	}
	fc.entries.Add(entry)
	fc.total.Add(1)
	return entry, newAddressesOf(tr, frames, entry), true
}

// trace evaluates the frames, again and again until no earlier break is asked for.
func (c *Compiled) trace(
	th *host.Thread, fc *frameCache, frames []*host.Frame, id *logs.CompileID,
) (*eval.Trace, *recorder, *replay.Entry) {
	avoid := eval.Avoided{}
	for {
		tr := eval.New(c.t.env, eval.Start{
			Thread: th, Frames: frames, ID: *id, Dynamic: fc.dynamic, AllDynamic: c.opts.dynamic == dynamicAlways, Avoid: avoid,
			Backward: c.opts.backward, Rules: rules(c.t.in),
			Watch: c.t.watcher(fc.name, *id), Record: c.t.cfg.RecordSteps,
		})
		rec := c.t.begin(c, tr, fc, *id)
		entry, again := tr.Evaluate()
		c.t.traceEnded(tr, entry)
		if steps, recorded := tr.Steps(); recorded {
			logs.EmitArtifact(c.t.sink, *id, steps)
		}
		if entry != nil {
			return tr, rec, entry
		}
		maps.Copy(avoid, again)
		id.Attempt++
	}
}

// newAddressesOf resolves from the real frames again: the trace looked at
// memory before it ran.
func newAddressesOf(tr *eval.Trace, frames []*host.Frame, entry *replay.Entry) *guard.Addresses {
	return guard.NewAddresses(tr.In, frames, entry.Sources)
}

// build hands the graph to the backend.
func (c *Compiled) build(tr *eval.Trace, entry *replay.Entry, rec *recorder) error {
	apart := c.opts.backend != nil || c.t.cfg.Wrap != nil // who may keep what the graph gets or returns
	if apart || entry.Trail != nil {                      // which shows what the trace has seen
		entry.Borrows = false
	}
	if entry.Graph == nil {
		return nil
	}
	entry.Graph.Name = fmt.Sprintf("__compiled_fn_%d", c.t.nextGraph())
	m := graph.NewModule(entry.Graph)
	rec.guarded(tr.Guards.List)
	rec.captured(m, !apart && len(tr.Shapes.Symbols) == 0)
	r := &Request{
		ID: entry.ID, Module: m, Example: entry.Values(tr.Entry, nil), Mode: c.opts.mode, Options: c.opts.inductor, Log: c.t.sink,
		MemoryBudget: &c.opts.budget,
		Changing:     tr.Changing(c.setFields()), Watch: c.t.kernelWatch(),
	}
	rec.inputs(r, c.opts)
	run, plan, err := compileWith(c.t.backendFor(c.opts), r)
	if err != nil {
		return fmt.Errorf("backend %s failed on graph %s: %w", c.opts.backendName(), entry.Graph.Name, err)
	}
	if entry.Graph.Untaped { // its outputs are gradients, which a program may keep for longer than two calls
		plan = nil
	}
	if apart {
		entry.OwnGrads = nil
	}
	entry.Run, entry.Plan = c.t.watchRuns(entry, run, plan)
	return nil
}

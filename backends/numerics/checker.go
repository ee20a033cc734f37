// Package numerics holds compiled graphs beside eager execution while a program runs: of each
// graph some calls are run again on copies of their inputs, by the operators one by one. Where
// results differ by more than their dtype allows, it searches the stage and the node that makes
// them differ.
//
// Open this file first, then compare.go (the rule) and search.go (where it differs).
package numerics

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"tcdbg/backends"
	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// Config is what a checker needs.
type Config struct {
	Set   *backends.Set
	Sink  logs.Sink
	Repro string // folder for reproducers, each in a folder of its own; "": none are written
}

// Checker compares the graphs of one program.
type Checker struct {
	cfg Config

	mu     sync.Mutex
	graphs []*watched
}

// New returns a checker.
func New(cfg Config) *Checker { return &Checker{cfg: cfg} }

// firstCalls are compared, then those at doubling intervals.
const firstCalls = 3

// compared reports whether call n of a graph, from 1, is compared.
func compared(n int64) bool { return n <= firstCalls || n&(n-1) == 0 }

// searchTime bounds the search of one graph.
const searchTime = 60 * time.Second

// Wrap returns a backend whose graphs are compared.
func (c *Checker) Wrap(b tracer.Backend) tracer.Backend {
	w := &wrapped{c, b}
	if _, ok := b.(tracer.Planner); ok {
		return planner{w}
	}
	return w
}

type wrapped struct {
	c *Checker
	b tracer.Backend
}

func (w *wrapped) Name() string { return w.b.Name() }

func (w *wrapped) Compile(r *tracer.Request) (tracer.Runnable, error) {
	run, err := w.b.Compile(r)
	if err != nil {
		return nil, err
	}
	g := w.c.watch(r, w.b, run)
	return func(in []torch.Value) []torch.Value { return g.call(run, in) }, nil
}

// planner is wrapped for backends that keep memory between calls.
type planner struct{ *wrapped }

func (p planner) CompilePlanned(r *tracer.Request) (tracer.Runnable, func() tracer.Runnable, error) {
	run, plan, err := p.b.(tracer.Planner).CompilePlanned(r)
	if err != nil {
		return nil, nil, err
	}
	g := p.c.watch(r, p.b, run)
	compared := func(run tracer.Runnable) tracer.Runnable {
		return func(in []torch.Value) []torch.Value { return g.call(run, in) }
	}
	if plan == nil {
		return compared(run), nil, nil
	}
	return compared(run), func() tracer.Runnable { return compared(plan()) }, nil
}

// watched is one compiled graph.
type watched struct {
	c   *Checker
	req tracer.Request
	b   tracer.Backend
	run tracer.Runnable // with fresh memory in every run
	g   *graph.Graph

	mu     sync.Mutex
	record logs.Numerics
}

func (c *Checker) watch(r *tracer.Request, b tracer.Backend, run tracer.Runnable) *watched {
	w := &watched{c: c, req: *r, b: b, run: run, g: r.Module.G}
	w.req.Log, w.req.Watch = nil, nil
	w.record = logs.Numerics{
		Compile: fmt.Sprintf("%d/%d", r.ID.Frame, r.ID.Compile), Graph: w.g.Name, Backend: b.Name(),
		Result: logs.NumericsNone, Why: "it was not called",
	}
	c.mu.Lock()
	c.graphs = append(c.graphs, w)
	c.mu.Unlock()
	return w
}

// Close writes the last record of each graph.
func (c *Checker) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.graphs {
		w.mu.Lock()
		w.emit()
		w.mu.Unlock()
	}
}

func (w *watched) emit() { w.c.cfg.Sink.Emit(logs.Artifact(w.req.ID, w.record)) }

// call runs the graph for the program, and compares the call where it is its turn. What it
// returns is what the program gets without us.
func (w *watched) call(run tracer.Runnable, in []torch.Value) []torch.Value {
	w.mu.Lock()
	w.record.Calls++
	n := w.record.Calls
	due := compared(n) && w.record.Fault == nil
	w.mu.Unlock()
	if !due {
		return run(in)
	}
	s, why := newSubject(w.g, in)
	out := run(in)
	w.mu.Lock()
	defer w.mu.Unlock()
	after := torch.RandomState()
	defer after()
	w.compare(s, n, why)
	w.emit()
	return out
}

// compare compares one call.
func (w *watched) compare(s *subject, n int64, why string) {
	rec := &w.record
	if why != "" {
		w.not(why)
	}
	want, err := s.eager()
	if err != nil {
		w.not(fmt.Sprintf("call %d: its operators fail: %v", n, err))
		w.settle()
		return
	}
	got, err := s.execute(w.run, false)
	if err != nil {
		w.not(fmt.Sprintf("call %d: a second run on copies fails: %v", n, err))
		w.settle()
		return
	}
	w.born(s, n)
	v := judge(got, want, s.references())
	rec.Compared++
	for _, c := range v {
		w.note(c.NumericsValue)
		if c.undecided {
			w.not(fmt.Sprintf("%s of call %d: rounding alone moves the eager result as far", c.What, n))
			rec.Result = logs.NumericsUndecided
		}
	}
	if i := slices.IndexFunc(v, comparison.differs); i >= 0 {
		rec.Result, rec.Why = logs.NumericsDiffers, ""
		rec.Fault = w.search(s, v[i])
		rec.Fault.Call = n
	}
	w.settle()
}

// settle says what came out so far.
func (w *watched) settle() {
	rec := &w.record
	switch {
	case rec.Result == logs.NumericsDiffers || rec.Result == logs.NumericsUndecided:
		rec.Why = ""
	case rec.Compared > 0:
		rec.Result, rec.Why = logs.NumericsEqual, ""
	case len(rec.NotCompared) > 0:
		rec.Why = rec.NotCompared[0]
	}
}

// not says what was not compared, once.
func (w *watched) not(why string) {
	if !slices.Contains(w.record.NotCompared, why) && len(w.record.NotCompared) < 16 {
		w.record.NotCompared = append(w.record.NotCompared, why)
	}
}

// note keeps the worst of each value.
func (w *watched) note(v logs.NumericsValue) {
	list := w.record.Values
	i := slices.IndexFunc(list, func(x logs.NumericsValue) bool { return x.What == v.What })
	switch {
	case i < 0 && len(list) < 64:
		w.record.Values = append(list, v)
	case i >= 0 && v.Worst > list[i].Worst:
		list[i] = v
	}
}

// born finds the first NaN and Inf of eager execution, each once.
func (w *watched) born(s *subject, n int64) {
	r := &w.record
	if r.NaN != nil || r.Born != nil && r.Born.IsNaN() {
		return
	}
	first, nan := s.born()
	for _, b := range []*logs.NumericsBorn{first, nan} {
		switch {
		case b == nil:
		case r.Born == nil:
			b.Call, r.Born = n, b
		case b.IsNaN():
			b.Call, r.NaN = n, b
		}
	}
}

package eval

import (
	"fmt"
	"sync"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is the evaluator's face to the tracer: what a trace is given, and how it
// ends.

// Env is what all traces of a program share.
type Env struct {
	Prog     *host.Program
	Bindings map[string]torch.Binding
	Steps    StepLog
	Sink     logs.Sink
	// Scalars and Rows report whether numbers that are read out of tensors are captured, and
	// operators whose results have as many rows as data says.
	Scalars, Rows func() bool

	native sync.Map // *ssa.Function to what Native says of it
}

// Start is what one trace is given.
type Start struct {
	Thread     *host.Thread
	Frames     []*host.Frame // of the region, lowest first
	ID         logs.CompileID
	Dynamic    map[string]map[int]bool // source name -> dimensions to make symbolic
	AllDynamic bool                    // make all sizes and numbers symbolic
	Avoid      Avoided
	Rules      Rules
	Backward   bool    // capture calls of Tensor.Backward
	Watch      Watcher // a debugger; nil without
	Record     bool    // its steps, for Steps
}

// Rules are settings that a trace goes by.
type Rules struct {
	ConstantInts, ConstantFloats bool // numbers are constants, also those that change
	StaticParameters             bool // sizes of parameters are constants
	Logging                      map[string]Logging
}

// Watcher stops traces.
type Watcher interface {
	// Traces reports whether Traced is to be called before each instruction.
	Traces() bool
	Traced(tr *Trace)
}

// Avoided are calls and loops before which a trace has to break, each with what
// broke inside it.
type Avoided map[ssa.Instruction]string

// New prepares a trace with copies of the region's frames.
func New(env *Env, s Start) *Trace {
	in := s.Thread.In
	fs := newFrames(env, in, s.Frames)
	entry := guard.NewAddresses(in, s.Frames, 64)
	gs := guard.NewSet(in, entry, fs.userPos)
	c := newCapture(fs, gs, entry, s)
	hs := &history{
		frames: fs, guards: gs, capture: c, mutated: map[*torch.Tensor]bool{}, bases: map[*torch.Tensor]*torch.Tensor{},
		views: map[*torch.Tensor]viewMeta{}, writes: map[*torch.Tensor]written{}, wants: map[*graph.Node]bool{},
	}
	hp := &heap{
		frames: fs, guards: gs, capture: c, mem: newMemory(), maps: map[uintptr]*traceMap{}, clos: map[*host.Closure]*madeClosure{},
		overlays: map[uintptr]*mapOverlay{}, touched: map[guard.ExtentKey]*guard.Extent{},
	}
	hp.functions = &functions{
		frames: fs, capture: c, heap: hp, history: hs, avoid: s.Avoid, reads: map[*span][]reading{}, calls: map[*graph.Graph]bodyOf{},
		sealed: map[*torch.Tensor]ssa.Instruction{}, returned: map[*torch.Tensor]ssa.Instruction{},
	}
	tr := &Trace{Start: s, frames: fs, capture: c, heap: hp, history: hs, functions: hp.functions, Guards: gs}
	if s.Record {
		tr.record = newStepRecord(tr)
	}
	return tr
}

// Steps is the steps of a trace that has ended, where they were recorded.
func (tr *Trace) Steps() (logs.TraceSteps, bool) {
	if tr.record == nil {
		return logs.TraceSteps{}, false
	}
	return tr.record.ended(), true
}

func newFrames(env *Env, in *host.Interp, region []*host.Frame) *frames {
	fs := &frames{
		env: env, In: in, th: in.NewThread(), src: value.NewSources(in, len(region)-1), base: region, constants: map[ssa.Value]string{},
		lines: map[*host.Code]*codeLines{},
	}
	for f := region[0].Caller; f != nil; f = f.Caller {
		fs.callers = append([]*host.Frame{f}, fs.callers...)
	}
	for i, f := range region {
		cp := f.Clone()
		fs.th.PushFrame(cp)
		fs.shadows = append(fs.shadows, fs.newShadow(cp, i))
	}
	return fs
}

func newCapture(fs *frames, gs *guard.Set, entry *guard.Addresses, s Start) *capture {
	c := &capture{
		frames: fs, guards: gs, Entry: entry, Shapes: &sym.Env{}, Symbols: guard.Origins{}, dynamic: s.Dynamic, allDynamic: s.AllDynamic,
		rules: s.Rules,
		Nodes: map[*torch.Tensor]*graph.Node{}, inputOf: map[*torch.Tensor]*input{},
	}
	c.Graph = graph.New("graph", c.Shapes)
	c.Shapes.Site = func() any { return fs.userPos() }
	return c
}

// Frame is the frame whose instruction is being evaluated.
func (fs *frames) Frame() *host.Frame { return fs.th.Top() }

// Region is the real frame that called those of the trace, nil for none.
func (fs *frames) Region() *host.Frame { return fs.base[0].Caller }

// Symbol is the symbolic number in a register of the top frame, "" for others.
func (fs *frames) Symbol(v ssa.Value) string {
	n := fs.top().known(v).tracked
	switch {
	case n == nil:
	case n.Number != nil:
		return n.Number.String()
	case n.Size != nil:
		return n.Size.String()
	case n.Expr != nil && n.Src == nil:
		return n.Expr.String()
	}
	return ""
}

// Evaluate traces the frames to the cache entry that the trace leaves behind. Where the
// trace has to be made again with earlier breaks it returns those instead.
//
// A break inside torch.NoGrad, torch.Autocast, autograd.Apply, compiler.Cond or compiler.WhileLoop, or in
// a loop over a string, asks for one before that call or loop; so does what shows that an earlier autograd.Apply
// cannot be captured, and a gradient by what the graph computes.
func (tr *Trace) Evaluate() (*replay.Entry, Avoided) {
	s := tr.run()
	if tr.record != nil && s.brk != nil {
		tr.record.broke(s.brk)
	}
	again := Avoided{}
	for _, in := range tr.restarts(s) {
		if again[in] = tr.flowCause(in); again[in] == "" {
			again[in] = tr.cause(s.brk)
		}
	}
	if len(again) > 0 {
		return nil, again
	}
	e := tr.finish(s)
	if tr.retry != nil {
		return nil, Avoided{tr.retry: tr.retryWhy}
	}
	return e, nil
}

// restarts are the calls and loops before which the trace has to break instead of
// where it did.
func (tr *Trace) restarts(s *stop) []ssa.Instruction {
	if s.brk == nil {
		return nil
	}
	if tr.retry != nil {
		return []ssa.Instruction{tr.retry}
	}
	again := append(tr.iterators(), tr.apart...)
	if call := tr.flowCall(); call != nil {
		again = append(again, call)
	} else if call := tr.applyCall(); call != nil {
		again = append(again, call)
	} else if call := tr.modeCall(); call != nil {
		again = append(again, call)
	}
	return again
}

// cause says in one line what broke the graph, and where.
func (fs *frames) cause(b *replay.Break) string {
	at := fs.userPos()
	return fmt.Sprintf("%s (%s) at %s:%d", replay.BreakTitle(b), b.Detail, at.File, at.Line)
}

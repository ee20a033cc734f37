package numerics

import (
	"fmt"
	"slices"
	"time"

	"tcdbg/aot"
	"tcdbg/backends"
	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file searches where a graph whose results differ first does: the stage by compiling it as
// far as each, then the node by compiling ever smaller parts of it.

// search is one search.
type search struct {
	w     *watched
	fault *logs.NumericsFault
	until time.Time
	repro *subject // the smallest that differs
	kind  string   // what the reproducer compiles
}

// search finds where a call that differs in v goes wrong. It always returns a fault: where no
// stage reproduces it, that is what it says.
func (w *watched) search(s *subject, v comparison) *logs.NumericsFault {
	x := &search{w: w, until: time.Now().Add(searchTime), fault: &logs.NumericsFault{Value: v.NumericsValue}}
	x.repro = s
	switch b := w.record.Backend; {
	case b == "custom":
		x.fault.Stage = "the program's own backend"
		x.own(s)
	case b == "eager":
		x.fault.Stage = "backend eager"
	case x.captured(s) || b == "inductor" && x.pure(s):
	case b != "inductor":
		x.fault.Stage = "backend " + b
	default:
		x.fault.Stage = "code"
		x.say("%s", nothingFound(s.train))
	}
	if why := x.reproduce(); why != "" {
		w.not("a reproducer: " + why)
	}
	return x.fault
}

// nothingFound is what can be said where every stage of every graph is equal. Of a graph with derivatives that does not show
// which of the two it is: the backward graph's stages are given what the forward graph saves when it is run operator by operator.
func nothingFound(train bool) string {
	const other = "what the program runs is not what its compiler makes now"
	if !train {
		return "no stage differs when the graph is compiled once more: " + other
	}
	return "no stage of either graph differs by itself when it is compiled once more: " + other +
		", or what the forward graph rounds otherwise changes a choice of the backward graph, " +
		"as the side of a ReLU or the place of a maximum"
}

// own searches the node with which a backend of the program's own differs: parts of the graph are
// given to it as the whole one was.
func (x *search) own(s *subject) {
	compile := func(s *subject) (*comparison, error) {
		run, err := guarded(func() (tracer.Runnable, error) { return x.w.b.Compile(x.request(s)) })
		if err != nil {
			return nil, err
		}
		return s.try(run)
	}
	c, err := compile(s)
	x.tell("the graph, compiled once more", c, err)
	if c != nil {
		x.node(s, compile)
	}
}

func (x *search) say(format string, args ...any) {
	x.fault.Ran = append(x.fault.Ran, fmt.Sprintf(format, args...))
}

func (x *search) late() bool { return time.Now().After(x.until) }

// request asks for a graph with the inputs of a subject.
func (x *search) request(s *subject) *tracer.Request {
	r := x.w.req
	r.Module, r.Example, r.Mode = graph.NewModule(s.g), copyInputs(s.in, false), "default"
	return &r
}

// try runs a form of a subject beside eager execution. differs is nil where they are equal.
func (s *subject) try(run tracer.Runnable) (differs *comparison, err error) {
	want, err := s.eager()
	if err != nil {
		return nil, err
	}
	got, err := s.execute(run, false)
	if err != nil {
		return nil, err
	}
	v := judge(got, want, s.references())
	if i := slices.IndexFunc(v, comparison.differs); i >= 0 {
		return &v[i], nil
	}
	return nil, nil
}

// tell writes down how a stage came out.
func (x *search) tell(what string, c *comparison, err error) {
	switch {
	case err != nil:
		x.say("%s: not run: %v", what, err)
	case c == nil:
		x.say("%s: equal", what)
	default:
		x.say("%s: %s differs by %.3g tolerances", what, c.What, c.Worst)
	}
}

// captured looks for the fault in what aot does.
func (x *search) captured(s *subject) bool {
	for _, stage := range backends.CapturedStages {
		compile := func(s *subject) (c *comparison, err error) {
			run, err := guarded(func() (tracer.Runnable, error) { return x.w.c.cfg.Set.CompileStage(stage, x.request(s)) })
			if err != nil {
				return nil, err
			}
			return s.try(run)
		}
		c, err := compile(s)
		x.tell(string(stage), c, err)
		if c == nil {
			continue
		}
		x.fault.Stage, x.fault.Value, x.kind = string(stage), c.NumericsValue, "captured"
		if s.train {
			x.fault.Part = "forward and backward"
		}
		x.node(s, compile)
		return true
	}
	return false
}

// guarded makes a panic of a compiler an error.
func guarded[T any](f func() (T, error)) (out T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	return f()
}

// piece is a pure graph with the inputs of a call.
type piece struct {
	part aot.Part
	*subject
}

// pieces runs the pure graphs of s operator by operator and keeps what each was given.
func (x *search) pieces(s *subject) (list []piece, err error) {
	run, err := guarded(func() (tracer.Runnable, error) {
		return backends.CompileParts(x.request(s), func(p aot.Part, in []torch.Value) []torch.Value {
			torch.NoGrad(func() {
				one, _ := newSubject(p.Graph, in)
				list = append(list, piece{p, one})
			})
			return p.Graph.RunUntaped(in)
		})
	})
	if err == nil {
		_, err = s.execute(run, false)
	}
	return list, err
}

// pure looks for the fault in what the inductor does to the pure graphs.
func (x *search) pure(s *subject) bool {
	pieces, err := x.pieces(s)
	if err != nil {
		x.say("pure graphs: %v", err)
		return false
	}
	for _, stage := range backends.PureStages {
		for _, p := range pieces {
			if x.pureStage(stage, p) {
				return true
			}
		}
	}
	return false
}

func (x *search) pureStage(stage backends.Stage, p piece) bool {
	var last *backends.StagedPart
	compile := func(s *subject) (*comparison, error) {
		part := p.part
		part.Graph = s.g
		if s.g != p.part.Graph {
			part.Replaces = nil
		}
		staged, err := guarded(func() (*backends.StagedPart, error) { return x.w.c.cfg.Set.CompilePart(stage, part, x.request(s)) })
		if err != nil {
			return nil, err
		}
		if s.g == p.part.Graph {
			last = staged
		}
		return s.try(staged.Run)
	}
	c, err := compile(p.subject)
	x.tell(fmt.Sprintf("%s, %s graph", stage, p.part.Stage), c, err)
	if c == nil {
		return false
	}
	x.fault.Stage, x.fault.Part, x.fault.Value, x.kind = string(stage), p.part.Stage, c.NumericsValue, "pure"
	x.repro = p.subject
	x.node(p.subject, compile)
	if stage == backends.StageCode {
		x.kernels(p, last)
	}
	if x.fault.Kernel == "" && x.fault.Node != "" && stage != backends.StageLowering {
		if names := last.KernelsOf(x.fault.Node); len(names) > 0 {
			x.fault.Kernel = names[len(names)-1]
		}
	}
	return true
}

// kernels holds what each kernel writes beside what the interpreter makes of the same kernel,
// each on what the kernels before it have written.
func (x *search) kernels(p piece, code *backends.StagedPart) {
	plain, err := guarded(func() (*backends.StagedPart, error) {
		return x.w.c.cfg.Set.CompilePart(backends.StageFusion, p.part, x.request(p.subject))
	})
	if err != nil {
		return
	}
	type written struct {
		kernel *tracer.KernelRun
		copies []torch.Value
	}
	run := func(s *backends.StagedPart) (list []written) {
		_, _ = p.execute(func(in []torch.Value) []torch.Value {
			return s.Kernels(in, func(k *tracer.KernelRun) {
				var outs []torch.Value
				for _, o := range k.Outputs {
					outs = append(outs, o.T)
				}
				list = append(list, written{k, copyInputs(outs, false)})
			})
		}, false)
		return list
	}
	got, want := run(code), run(plain)
	if len(got) != len(want) {
		return
	}
	for i, g := range got {
		for j, v := range g.copies {
			c := compare(g.kernel.Name, tensor(v), tensor(want[i].copies[j]), nil)
			c.Ops, c.Note = fmt.Sprint(g.kernel.Ops), "writes "+g.kernel.Outputs[j].Name+"; eager is here the interpreter"
			if len(g.kernel.Lines) > 0 {
				c.Pos = &g.kernel.Lines[0]
			}
			if len(x.fault.Nodes) < 200 {
				x.fault.Nodes = append(x.fault.Nodes, c.NumericsValue)
			}
			if c.differs() && x.fault.Kernel == "" {
				x.fault.Kernel = g.kernel.Name
			}
		}
	}
}

// node searches the first node with which the part of the graph up to it differs, and looks
// whether it does alone.
func (x *search) node(s *subject, compile func(*subject) (*comparison, error)) {
	cuts := cutsOf(s.g)
	low, high := 0, len(cuts)-1 // the whole graph differs
	for low < high && !x.late() {
		mid := (low + high) / 2
		c, err := compile(s.prefix(cuts[mid]))
		if err != nil {
			x.say("nodes up to %s: not run: %v", cuts[mid].Name, err)
			return
		}
		if c != nil {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if low < high {
		x.say("the search for the node was ended after %s", searchTime)
		return
	}
	if len(cuts) == 0 {
		return
	}
	n := cuts[high]
	small := s.prefix(n)
	if c, err := compile(small); err == nil && c != nil {
		x.repro = small
	}
	x.fault.Node, x.fault.Pos = n.Name, PosOf(n)
	if row := callOf(n).OpRow(); row != nil {
		x.fault.Op = row.Name
	}
	x.say("the part of the graph up to %s is the smallest that differs", n.Name)
	alone, err := s.alone(callOf(n))
	if err != nil {
		x.say("%s alone: not run: %v", n.Name, err)
		return
	}
	c, err := compile(alone)
	x.tell(n.Name+" alone, on the inputs that it has there", c, err)
	if c != nil {
		x.fault.Alone, x.repro = true, alone
		x.fault.Nodes = append(x.fault.Nodes, named(c.NumericsValue, n))
	}
}

func named(v logs.NumericsValue, n *graph.Node) logs.NumericsValue {
	v.Note, v.What, v.Pos = v.What, n.Name, PosOf(n)
	if row := callOf(n).OpRow(); row != nil {
		v.Ops = row.Name
	}
	return v
}

// callOf is the call that n is, or takes a result of.
func callOf(n *graph.Node) *graph.Node {
	if n.Op == ops.None && n.Apply == nil && n.Flow == nil && n.Kind == graph.CallFunction {
		from, _ := n.Item()
		return from
	}
	return n
}

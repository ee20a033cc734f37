package eval

import (
	"strings"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file records the steps of a trace, so that people can walk through it afterwards.

// What is recorded of one trace at most. Beyond maxRecorded steps only those count that add a
// node, and beyond twice as many none; an instruction that adds nothing again and again is recorded
// a few times.
const (
	maxRecorded = 4096
	maxRepeats  = 4
)

// stepRecord is the steps of a trace so far.
type stepRecord struct {
	tr     *Trace
	out    logs.TraceSteps
	places map[logs.Pos]int
	lastAt int // place of the newest step

	// The instruction that is being evaluated, and what there was before it.
	in     ssa.Instruction
	code   *codeLines
	pc     int // in that
	asked  []*ssa.Value
	step   logs.StepOnce
	left   bool // it is recorded only where it adds something
	last   *graph.Node
	inputs int
	guards int
}

func newStepRecord(tr *Trace) *stepRecord {
	return &stepRecord{tr: tr, places: map[logs.Pos]int{}, lastAt: -1}
}

// before takes down the instruction that is about to be evaluated.
func (r *stepRecord) before() {
	tr := r.tr
	r.in = tr.th.Top().Instr()
	r.last, r.inputs, r.guards = tr.Graph.Last(), len(tr.inputs), len(tr.Guards.List)
	r.step = logs.StepOnce{At: -1}
	switch r.in.(type) {
	case *ssa.Phi, *ssa.DebugRef, *ssa.Jump:
		r.in = nil // nothing that people wrote
		return
	}
	if r.code, r.pc = tr.top().code, tr.th.Top().PC; r.code.seen == nil {
		r.code.seen, r.code.steps = make([]uint8, len(r.code.pos)), make([]int, len(r.code.pos))
	}
	r.left = r.code.seen[r.pc] >= maxRepeats || len(r.out.Steps) >= maxRecorded
	r.step.At, r.step.Depth, r.step.Instr = r.place(), len(tr.shadows)-1, opcode(r.in)
	if r.left {
		return
	}
	r.asked = r.in.Operands(r.asked[:0])
	for _, v := range r.asked {
		if *v == nil {
			continue
		}
		if r.step.On == nil {
			r.step.On = make([]string, 0, len(r.asked))
		}
		r.step.On = append(r.step.On, tr.variable(*v))
	}
}

// after completes the step.
func (r *stepRecord) after() {
	tr := r.tr
	if r.in == nil {
		return
	}
	for _, in := range tr.inputs[min(r.inputs, len(tr.inputs)):] {
		r.step.Nodes = append(r.step.Nodes, tr.Graph.Line(in.node))
	}
	for n := r.next(); n != nil; n = n.Next() {
		if n.Kind != graph.Output && n.Kind != graph.Placeholder {
			r.step.Nodes = append(r.step.Nodes, tr.Graph.Line(n))
		}
	}
	for _, g := range tr.Guards.List[min(r.guards, len(tr.Guards.List)):] {
		r.step.Guards = append(r.step.Guards, guard.Record(g).Text)
	}
	if v, gives := r.in.(ssa.Value); gives && !r.left && len(tr.shadows)-1 == r.step.Depth {
		if as := tr.variable(v); !strings.HasPrefix(as, "ConstantVariable(") {
			r.step.Set, r.step.As = stepName(v), as
		}
	}
	r.keep()
}

// next is the first node that the step appended to the graph.
func (r *stepRecord) next() *graph.Node {
	if r.last == nil {
		return r.tr.Graph.First()
	}
	return r.last.Next()
}

// keep adds the step to the record where it says something: what it adds, a new line or
// value.
func (r *stepRecord) keep() {
	adds := len(r.step.Nodes)+len(r.step.Guards) > 0
	full := len(r.out.Steps) >= 2*maxRecorded
	if r.step.At < 0 || full || !adds && (r.left || r.step.As == "" && r.step.At == r.lastAt) {
		r.out.Left++
		return
	}
	if n := &r.code.seen[r.pc]; *n < maxRepeats {
		*n++
	}
	r.lastAt = r.step.At
	r.out.Steps = append(r.out.Steps, r.step)
}

// place is the number of the program's line that the instruction is at, -1 for none. Those of torch's own code are at the
// line that calls it: one for all steps of a call, as those who called wait for it.
func (r *stepRecord) place() int {
	known, top := &r.code.steps[r.pc], r.tr.top()
	if r.code.torch {
		known = &top.steps
	}
	if *known != 0 {
		return *known - 2
	}
	p, at := r.tr.Pos(), -1
	if r.code.torch {
		p = r.tr.userPos()
	}
	if p.File != "" {
		at = r.intern(p)
	}
	if !r.code.torch || top.user != nil { // else it is a line of torch's own, which is another for the next step
		*known = at + 2
	}
	return at
}

// intern is the number of a line.
func (r *stepRecord) intern(p logs.Pos) int {
	p.Col, p.EndCol = 0, 0
	i, known := r.places[p]
	if !known {
		i = len(r.out.Places)
		r.places[p] = i
		r.out.Places = append(r.out.Places, p)
	}
	return i
}

// broke completes the record of a trace that has broken: its last step is the instruction
// that did.
func (r *stepRecord) broke(brk *replay.Break) {
	r.out.End = strings.TrimSpace(brk.Code + " " + replay.BreakTitle(brk) + ": " + brk.Detail)
	if r.in != nil && r.step.At >= 0 {
		r.out.Steps = append(r.out.Steps, r.step)
	}
}

// ended adds what the end of the trace asks for, and gives the record.
func (r *stepRecord) ended() logs.TraceSteps {
	list := r.tr.Guards.List
	if n := len(r.out.Steps); n > 0 && r.guards <= len(list) {
		end := logs.StepOnce{At: r.out.Steps[n-1].At, Instr: "end of the trace"}
		for _, g := range list[r.guards:] {
			end.Guards = append(end.Guards, guard.Record(g).Text)
		}
		if len(end.Guards) > 0 {
			r.out.Steps = append(r.out.Steps, end)
		}
	}
	return r.out
}

// stepName is what the program calls a value.
func stepName(v ssa.Value) string {
	if name := value.ExprName(v); name != "" {
		return name
	}
	return value.LocalName(v)
}

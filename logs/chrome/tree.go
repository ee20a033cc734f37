package chrome

import (
	"cmp"
	"slices"
	"strings"
)

// This file finds what each event lies within: events of a thread nest by their times.

const none = int32(-1)

// place is what an event lies within; of a region, a graph and so on it has the event itself, too.
type place struct {
	parent     int32 // index of events
	region     int32 // event
	graph      int32 // event of a graph's call
	fn         int32 // event of a CompiledFunction
	op         int32 // outermost operator within the graph, or outside of any
	annotation int32 // event
	python     int32 // event of the program's own function
	lookup     int32
	back       bool
	step       bool // within one
}

var nowhere = place{none, none, none, none, none, none, none, none, false, false}

// tree is a trace whose events are in order: by thread, then outer before inner.
type tree struct {
	*trace
	places []place
	steps  []span // in order, disjoint
	marked string
	main   int32 // thread of the steps
}

type span struct{ from, to int64 }

func grow(t *trace) *tree {
	slices.SortFunc(t.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.ts, b.ts), cmp.Compare(b.dur, a.dur),
			cmp.Compare(rank(b.kind), rank(a.kind)))
	})
	tr := &tree{trace: t, places: make([]place, len(t.events))}
	tr.findSteps()
	tr.markCalls()
	var stack []int32
	for i := range t.events {
		e := &t.events[i]
		for len(stack) > 0 && !tr.within(e, stack[len(stack)-1]) {
			stack = stack[:len(stack)-1]
		}
		p := nowhere
		if len(stack) > 0 {
			p = tr.places[stack[len(stack)-1]]
			p.parent = stack[len(stack)-1]
		}
		tr.enter(&p, int32(i))
		tr.places[i] = p
		if e.kind != memory && e.kind != deviceWork {
			stack = append(stack, int32(i))
		}
	}
	return tr
}

// rank orders events that begin and end together, outer first.
func rank(k kind) int {
	switch k {
	case step:
		return 6
	case annotation, python:
		return 5
	case region:
		return 4
	case function, plumbing:
		return 3
	case graphCall:
		return 2
	case operator, lookup:
		return 1
	}
	return 0
}

// within says whether e begins while event i lasts. Ends are rounded, so that an event may
// seem to end after what it lies within.
func (t *tree) within(e *event, i int32) bool {
	o := &t.events[i]
	return o.thread == e.thread && e.ts < o.ts+o.dur
}

// enter makes the place of an event from that of its parent.
func (t *tree) enter(p *place, i int32) {
	e := &t.events[i]
	p.step = t.inStep(e.ts)
	p.back = p.back || e.back
	switch e.kind {
	case region:
		if p.graph == none {
			p.region, p.op, p.fn = i, none, none
		}
	case function:
		p.fn = i
	case graphCall:
		if p.graph == none {
			p.graph, p.op = i, none
		}
	case lookup:
		p.lookup = i
	case annotation:
		p.annotation = i
	case operator:
		if p.op == none {
			p.op = i
		}
	case python:
		if _, ok := ownFunction(t.names[e.name]); ok {
			p.python = i
		}
	}
}

// findSteps takes the steps of the thread that has most of them.
func (t *tree) findSteps() {
	count := map[int32]int{}
	for i := range t.events {
		if t.events[i].kind == step {
			count[t.events[i].thread]++
		}
	}
	t.main = none
	for thread, n := range count {
		if t.main == none || n > count[t.main] || n == count[t.main] && thread < t.main {
			t.main = thread
		}
	}
	var from, to int64
	mark := int64(-1) // begin of the step that is open
	for i := range t.events {
		e := &t.events[i]
		switch {
		case e.kind != step || e.thread != t.main:
		case t.names[e.name] == ourStep:
			if t.marked = ourStep; mark >= 0 {
				t.steps = append(t.steps, span{mark, e.ts})
			}
			mark = e.ts
		default:
			t.marked, _, _ = strings.Cut(t.names[e.name], "#")
			t.steps = append(t.steps, span{e.ts, e.ts + e.dur})
		}
		if i == 0 || e.ts < from {
			from = e.ts
		}
		to = max(to, e.ts+e.dur)
	}
	if t.main == none && to > from {
		t.steps = []span{{from, to}}
		t.main = t.busiest()
	}
}

// busiest is the thread with most compiled regions, else with most operators.
func (t *tree) busiest() int32 {
	regions, ops := make([]int, len(t.threads)), make([]int, len(t.threads))
	for i := range t.events {
		switch t.events[i].kind {
		case region:
			regions[t.events[i].thread]++
		case operator:
			ops[t.events[i].thread]++
		}
	}
	best := int32(0)
	for i := range t.threads {
		if cmp.Or(cmp.Compare(regions[i], regions[best]), cmp.Compare(ops[i], ops[best])) > 0 {
			best = int32(i)
		}
	}
	return best
}

func (t *tree) inStep(ts int64) bool {
	i, found := slices.BinarySearchFunc(t.steps, ts, func(s span, ts int64) int { return cmp.Compare(s.from, ts) })
	return found || i > 0 && ts < t.steps[i-1].to
}

// markCalls makes a CompiledFunction without a marked call of its graph the call: older
// releases mark none.
func (t *tree) markCalls() {
	var open []int32 // functions
	has := map[int32]bool{}
	for i := range t.events {
		e := &t.events[i]
		for len(open) > 0 && !t.within(e, open[len(open)-1]) {
			open = open[:len(open)-1]
		}
		switch e.kind {
		case function:
			open = append(open, int32(i))
		case graphCall:
			for _, f := range open {
				has[f] = true
			}
		}
	}
	for i := range t.events {
		if e := &t.events[i]; e.kind == function && !has[int32(i)] {
			e.kind = graphCall
		}
	}
}

// ownFunction says whether a function of Python is the program's: "train.py(14): step".
func ownFunction(name string) (at Op, own bool) {
	file, rest, ok := strings.Cut(name, "(")
	number, fn, ok2 := strings.Cut(rest, "): ")
	if strings.Trim(number, "0123456789") != "" {
		return Op{}, false
	}
	if !ok || !ok2 || number == "" || strings.HasPrefix(file, "torch/") || strings.HasPrefix(file, "<") {
		return Op{}, false
	}
	for _, part := range []string{"/site-packages/", "/dist-packages/", "/lib/python", "/torchinductor", "tcdbg_hooks/"} {
		if strings.Contains(file, part) {
			return Op{}, false
		}
	}
	return Op{File: file, Func: fn}, !slices.Contains(libraryFiles, file)
}

// libraryFiles are those of the standard library that are often between a program and PyTorch:
// the profiler names them without their folder.
var libraryFiles = []string{
	"abc.py", "contextlib.py", "copy.py", "dataclasses.py", "enum.py", "functools.py", "inspect.py", "random.py", "runpy.py",
	"threading.py", "typing.py", "weakref.py",
}

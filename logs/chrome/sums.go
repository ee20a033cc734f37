package chrome

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// This file adds up what the events of the steps say.

// Bounds of what a profile lists.
const (
	maxOps     = 2000
	maxKernels = 5000
)

// Read reads a Chrome trace and adds it up.
func Read(r io.Reader) (*Profile, error) {
	t, err := read(r)
	if err != nil {
		return nil, err
	}
	if len(t.events) == 0 {
		return &Profile{Foreign: true, Rank: t.rank}, nil
	}
	s := &sums{
		tree: grow(t), p: &Profile{Stacked: t.stacked, Rank: t.rank}, regions: map[string]*Region{}, graphs: map[Graph]int{},
		kernels: map[kernelKey]*Kernel{}, ops: map[Op]*Op{}, compiles: map[int64]string{}, launches: map[int64]int32{},
	}
	s.add()
	return s.p, nil
}

type kernelKey struct {
	graph int
	name  string
}

// sums are a profile in the making. The keys of graphs and ops have no times.
type sums struct {
	*tree
	p        *Profile
	regions  map[string]*Region
	graphs   map[Graph]int
	kernels  map[kernelKey]*Kernel
	ops      map[Op]*Op
	compiles map[int64]string // by sequence number of the forward CompiledFunction; "": several
	launches map[int64]int32  // event by correlation
}

func (s *sums) add() {
	s.p.Marked = s.marked
	for _, st := range s.steps {
		s.p.Steps = append(s.p.Steps, st.to-st.from)
	}
	s.number()
	for i := range s.events {
		if s.places[i].step {
			s.event(int32(i))
		}
	}
	s.left()
	s.unmarked()
	s.lookups()
	s.device()
	s.parts()
	s.say()
	s.order()
}

// number finds which entry each backward belongs to: both have the forward's sequence number.
func (s *sums) number() {
	for i := range s.events {
		e, p := &s.events[i], &s.places[i]
		if e.link == 0 || e.back || p.region == none || p.fn != int32(i) && p.graph != int32(i) {
			continue
		}
		compile := s.compileOf(p.region)
		if old, ok := s.compiles[e.link]; ok && old != compile {
			compile = ""
		}
		s.compiles[e.link] = compile
	}
}

func (s *sums) compileOf(event int32) string {
	if event == none {
		return ""
	}
	return strings.Trim(strings.TrimPrefix(s.names[s.events[event].name], regionPrefix), "[]")
}

func (s *sums) region(compile string) *Region {
	r := s.regions[compile]
	if r == nil {
		r = &Region{Compile: compile}
		s.regions[compile] = r
		s.p.Regions = append(s.p.Regions, r)
	}
	return r
}

// event counts one event of a step.
func (s *sums) event(i int32) {
	e, p := &s.events[i], &s.places[i]
	switch {
	case e.kind == region && p.region == i:
		s.region(s.compileOf(i)).add(e.dur)
	case p.graph == i:
		s.p.Graphs[s.graphOf(i)].add(e.dur)
	case e.kind == operator && p.op == i && p.lookup == none:
		if p.graph != none {
			if k := s.kernel(p.graph, s.names[e.name]); k != nil {
				k.add(e.dur)
			}
			return
		}
		s.op(i).add(e.dur)
	case e.kind == launch:
		if e.link != 0 {
			s.launches[e.link] = i
		}
	case e.kind == memory:
		s.peak(e, p)
	}
}

// graphOf is the graph of a call, as an index of Graphs.
func (s *sums) graphOf(call int32) int {
	e, p := &s.events[call], &s.places[call]
	key := Graph{Compile: s.compileOf(p.region), Backward: p.back}
	if name := s.names[e.name]; strings.HasPrefix(name, callPrefix) {
		key.Key, _, _ = strings.Cut(strings.TrimPrefix(name, callPrefix), " ")
	}
	if p.back {
		key.Compile = ""
		fn := p.fn
		if e.link != 0 {
			fn = call
		}
		if fn != none {
			key.Compile = s.compiles[s.events[fn].link]
		}
	}
	n, ok := s.graphs[key]
	if !ok {
		n = len(s.p.Graphs)
		s.graphs[key] = n
		g := key
		s.p.Graphs = append(s.p.Graphs, &g)
	}
	return n
}

// graphNumber is what generated code puts before the name of a C++ kernel.
var graphNumber = regexp.MustCompile(`^graph_\d+_`)

// kernel is the row of what a graph calls; nil: there are too many.
func (s *sums) kernel(call int32, name string) *Kernel {
	name = graphNumber.ReplaceAllString(name, "")
	key := kernelKey{s.graphOf(call), name}
	k := s.kernels[key]
	if k == nil {
		if len(s.kernels) >= maxKernels {
			return nil
		}
		k = &Kernel{Graph: key.graph, Name: name, Extern: !generated(name)}
		s.kernels[key] = k
		s.p.Kernels = append(s.p.Kernels, k)
	}
	return k
}

// op is the row of an operator outside of graphs.
func (s *sums) op(i int32) *Op {
	p := &s.places[i]
	var key Op
	if p.python != none {
		key, _ = ownFunction(s.names[s.events[p.python].name])
	}
	key.Name = strings.TrimPrefix(s.names[s.events[i].name], engine)
	key.Compile, key.Under, key.Backward = s.compileOf(p.region), s.under(p), p.back
	o := s.ops[key]
	if o == nil {
		copied := key
		o = &copied
		s.ops[key] = o
		s.p.Eager = append(s.p.Eager, o)
	}
	return o
}

func (s *sums) under(p *place) string {
	if p.annotation == none {
		return ""
	}
	return s.names[s.events[p.annotation].name]
}

// peak takes the most that was allocated.
func (s *sums) peak(e *event, p *place) {
	device := s.names[e.name]
	i := slices.IndexFunc(s.p.Peaks, func(o *Peak) bool { return o.Device == device })
	if i < 0 {
		i = len(s.p.Peaks)
		s.p.Peaks = append(s.p.Peaks, &Peak{Device: device, Bytes: -1})
	}
	if e.bytes <= s.p.Peaks[i].Bytes {
		return
	}
	out := &Peak{Device: device, Bytes: e.bytes, Compile: s.compileOf(p.region), Backward: p.back, Under: s.under(p)}
	if p.graph != none {
		out.Compile = s.p.Graphs[s.graphOf(p.graph)].Compile
	}
	s.p.Peaks[i] = out
}

// left is what regions spend after their graph, outside of those within and of compiled backward graphs.
func (s *sums) left() {
	from := map[int32]int64{} // by event of a region: the end of its graph
	inner := map[int32]int64{}
	for i := range s.events {
		e, p := &s.events[i], &s.places[i]
		if !p.step || p.parent == none {
			continue
		}
		outer := s.places[p.parent].region
		switch {
		case outer == none:
		case e.kind == region && p.region == int32(i):
			inner[outer] += e.dur
		case p.back:
			if p.graph == int32(i) && s.places[p.parent].graph == none {
				inner[outer] += e.dur
			}
		case e.kind == function || p.graph == int32(i):
			if _, ok := from[outer]; !ok {
				from[outer] = e.ts + e.dur
			}
		}
	}
	for i := range s.events {
		e, p := &s.events[i], &s.places[i]
		if !p.step || e.kind != region || p.region != int32(i) {
			continue
		}
		begin, ok := from[int32(i)]
		if !ok {
			begin = e.ts
		}
		s.region(s.compileOf(int32(i))).Left += max(0, e.ts+e.dur-begin-inner[int32(i)])
	}
}

// unmarked finds the entries of whose graph no call is marked although its kernels ran, and
// drops what cannot be told of them.
func (s *sums) unmarked() {
	for _, o := range s.p.Eager {
		if o.Compile != "" && generated(graphNumber.ReplaceAllString(o.Name, "")) {
			r := s.region(o.Compile)
			r.Unmarked, r.Left = true, 0
		}
	}
	n := len(s.p.Eager)
	s.p.Eager = slices.DeleteFunc(s.p.Eager, func(o *Op) bool { return o.Compile != "" && s.region(o.Compile).Unmarked })
	if len(s.p.Eager) < n {
		s.p.Problems = append(s.p.Problems, "some graphs have no mark in it: their operators cannot be told from eager ones and are "+
			"not listed")
	}
}

// generated says whether a name is that of a kernel that Inductor made.
func generated(name string) bool {
	return strings.HasPrefix(name, "cpp_") || strings.HasPrefix(name, "triton_")
}

// lookups gives each region the search for it: the last one before it, beside it.
func (s *sums) lookups() {
	last := map[int32]int32{} // by parent
	for i := range s.events {
		e, p := &s.events[i], &s.places[i]
		beside := p.parent
		if beside == none {
			beside = -2 - e.thread
		}
		switch {
		case !p.step:
		case e.kind == lookup:
			last[beside] = int32(i)
		case e.kind == region && p.region == int32(i):
			if l, ok := last[beside]; ok {
				s.region(s.compileOf(int32(i))).Lookup.add(s.events[l].dur)
				delete(last, beside)
			}
		}
	}
}

// parts divides the steps.
func (s *sums) parts() {
	parts := &s.p.Parts
	for i := range s.events {
		e, p := &s.events[i], &s.places[i]
		if !p.step || e.thread != s.main && !p.back {
			continue
		}
		switch {
		case p.graph == int32(i) && p.lookup == none:
			parts.Graphs += e.dur
		case e.kind == lookup && p.graph == none && (p.parent == none || s.places[p.parent].lookup == none):
			parts.Lookups += e.dur
		case e.kind == operator && p.op == int32(i) && p.graph == none && p.lookup == none:
			parts.Eager += e.dur - s.compiledWithin(int32(i))
		}
	}
	var all int64
	for _, n := range s.p.Steps {
		all += n
	}
	parts.Rest = max(0, all-parts.Graphs-parts.Lookups-parts.Eager)
}

// compiledWithin is the time that graphs take within an operator, such as one that calls back.
func (s *sums) compiledWithin(i int32) (ns int64) {
	end := s.events[i].ts + s.events[i].dur
	for j := i + 1; int(j) < len(s.events) && s.events[j].thread == s.events[i].thread && s.events[j].ts < end; j++ {
		if s.places[j].graph == j || s.events[j].kind == lookup {
			ns += s.events[j].dur
		}
	}
	return ns
}

// say says what the trace does not tell.
func (s *sums) say() {
	say := func(format string, args ...any) { s.p.Problems = append(s.p.Problems, fmt.Sprintf(format, args...)) }
	if len(s.steps) == 0 {
		say("it holds no event that took time")
		return
	}
	if s.marked == "" {
		say("it marks no steps: times are of the whole recording")
	}
	if len(s.p.Regions) == 0 {
		say("no compiled function was called in it")
	}
	if s.skipped > 0 {
		say("%d of its events could not be read", s.skipped)
	}
	if len(s.kernels) >= maxKernels {
		say("it has more than %d kernels: those after are not listed", maxKernels)
	}
}

// order sorts the operators by time, and adds up those that have no room.
func (s *sums) order() {
	slices.SortStableFunc(s.p.Eager, func(a, b *Op) int { return cmp.Compare(max(b.Nanos, b.Device), max(a.Nanos, a.Device)) })
	for _, o := range s.p.Eager[min(maxOps, len(s.p.Eager)):] {
		s.p.Rest.Calls += o.Calls
		s.p.Rest.Nanos += o.Nanos
	}
	s.p.Eager = s.p.Eager[:min(maxOps, len(s.p.Eager))]
	slices.SortStableFunc(s.p.Kernels, func(a, b *Kernel) int { return cmp.Compare(a.Graph, b.Graph) })
	slices.SortFunc(s.p.Peaks, func(a, b *Peak) int { return cmp.Compare(a.Device, b.Device) })
}

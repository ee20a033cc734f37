package explain

import (
	"cmp"
	"fmt"
	"slices"

	"tcdbg/logs"
	"tcdbg/logs/chrome"
)

// This file is what a profiler measured of steady steps, beside what the trace says of
// their graphs, kernels and breaks.

// Profile is the steps of one process that torch.profiler recorded.
type Profile struct {
	*chrome.Profile
	Rank   int
	File   string          // of the Chrome trace
	Stacks *chrome.Profile // one more step, with Python stacks and memory; nil: none
	// Apart is why its entries are not those of the trace, "" where they are.
	Apart    string
	Compiles map[string]*Compile // by id as it is written: 0/1
}

// Total is how long all steps took.
func (p *Profile) Total() (ns int64) {
	for _, n := range p.Steps {
		ns += n
	}
	return ns
}

// PerStep is the mean over the steps.
func (p *Profile) PerStep(ns int64) int64 { return ns / int64(max(1, len(p.Steps))) }

// MemoryPeaks are those of the step that was recorded with memory, else of the steps.
func (p *Profile) MemoryPeaks() []*chrome.Peak {
	if p.Stacks != nil && len(p.Stacks.Peaks) > 0 {
		return p.Stacks.Peaks
	}
	return p.Peaks
}

// CostKind is what took time in a step.
type CostKind string

// The kinds of costs.
const (
	GraphCost  CostKind = "graph"    // a compiled graph, its kernels included
	KernelCost CostKind = "kernel"   // one kernel of a graph
	ExternCost CostKind = "extern"   // an operator of a library that a graph calls
	EagerCost  CostKind = "eager"    // an operator outside of graphs
	LookupCost CostKind = "guards"   // finding the entry for a call
	LeftCost   CostKind = "break"    // outside of graphs after a break
	IdleCost   CostKind = "GPU idle" // a GPU had nothing to do after a graph
)

// Cost is one row of a profile. Costs lie within each other: a graph has its kernels, a break the
// operators that run eagerly after it.
type Cost struct {
	Kind     CostKind
	Name     string
	Compile  string   // id, "" outside of compiled functions
	Of       *Compile // nil: not known
	Backward bool
	Under    string // annotation
	Pos      logs.Pos
	In       string // function of Python, where no line is known
	Kernel   *Kernel
	Break    *Break
	Calls    int64 // over all steps
	Nanos    int64 // on the processor, over all steps; -1: none of its own
	Device   int64 // on GPUs
}

// Worth is what rows are sorted by.
func (c *Cost) Worth() int64 { return max(c.Nanos, c.Device) }

// Costs lists what took time, most first.
func (p *Profile) Costs() []*Cost {
	var out []*Cost
	for _, g := range p.Graphs {
		name := "graph"
		if g.Backward {
			name = "backward graph"
		}
		out = append(out, p.cost(&Cost{
			Kind: GraphCost, Name: name, Compile: g.Compile, Backward: g.Backward, Calls: g.Calls, Nanos: g.Nanos, Device: g.Device,
		}))
	}
	for _, k := range p.Kernels {
		g := p.Graphs[k.Graph]
		c := &Cost{
			Kind: KernelCost, Name: k.Name, Compile: g.Compile, Backward: g.Backward, Calls: k.Calls, Nanos: k.Nanos, Device: k.Device,
		}
		if k.Extern {
			c.Kind = ExternCost
		}
		out = append(out, p.cost(c))
	}
	for _, r := range p.Regions {
		out = append(out, p.regionCosts(r)...)
	}
	for _, o := range p.Eager {
		out = append(out, p.eagerCost(o))
	}
	slices.SortStableFunc(out, func(a, b *Cost) int { return cmp.Compare(b.Worth(), a.Worth()) })
	return out
}

func (p *Profile) cost(c *Cost) *Cost {
	if c.Of = p.Compiles[c.Compile]; c.Of != nil && c.Of.Frame != nil {
		c.Pos = c.Of.Frame.Pos
	}
	return c
}

// regionCosts are those of an entry beside its graph's.
func (p *Profile) regionCosts(r *chrome.Region) []*Cost {
	var out []*Cost
	if r.Lookup.Calls > 0 {
		out = append(out, p.cost(&Cost{
			Kind: LookupCost, Name: "finding the entry", Compile: r.Compile, Calls: r.Lookup.Calls, Nanos: r.Lookup.Nanos,
		}))
	}
	b := breakOf(p.Compiles[r.Compile])
	if b == nil || p.Unmarked(r) {
		return out
	}
	c := p.cost(&Cost{
		Kind: LeftCost, Name: "outside of graphs after the break", Compile: r.Compile, Calls: r.Calls,
		Nanos: r.Left, Break: b,
	})
	c.Pos = b.Line()
	out = append(out, c)
	if r.Idle > 0 {
		c := p.cost(&Cost{
			Kind: IdleCost, Name: "the GPU had nothing to do after the graph", Compile: r.Compile, Nanos: -1,
			Device: r.Idle, Break: b,
		})
		c.Pos = b.Line()
		out = append(out, c)
	}
	return out
}

// breakOf is the break at which a compile's graph ends; nil: none, or it cannot be told which.
func breakOf(c *Compile) (found *Break) {
	if c == nil {
		return nil
	}
	for _, b := range c.Breaks {
		switch {
		case b.During:
		case found != nil && found.Pos != b.Pos:
			return nil
		default:
			found = b
		}
	}
	return found
}

// eagerCost is that of an operator outside of graphs. After a break it belongs to the line
// that broke; else a step with stacks may tell the function.
func (p *Profile) eagerCost(o *chrome.Op) *Cost {
	c := p.cost(&Cost{
		Kind: EagerCost, Name: o.Name, Compile: o.Compile, Backward: o.Backward, Under: o.Under,
		Calls: o.Calls, Nanos: o.Nanos, Device: o.Device, In: inFunction(o),
	})
	c.Pos = logs.Pos{}
	if c.Break = breakOf(c.Of); c.Break != nil && p.unmarkedGraph(o.Compile) {
		c.Break = nil // it may be of the graph before the break
	}
	if c.Break != nil {
		c.Pos = c.Break.Line()
	}
	if c.In == "" && p.Stacks != nil {
		c.In = p.stacked(o)
	}
	return c
}

// stacked is the function that the step with stacks has for an operator; "" where it has none
// or several.
func (p *Profile) stacked(o *chrome.Op) string {
	found := ""
	for _, s := range p.Stacks.Eager {
		if s.Name != o.Name || s.Compile != o.Compile || s.Under != o.Under || s.Backward != o.Backward {
			continue
		}
		in := inFunction(s)
		if in == "" || found != "" && found != in {
			return ""
		}
		found = in
	}
	return found
}

func inFunction(o *chrome.Op) string {
	if o.Func == "" {
		return ""
	}
	return FunctionOf(logs.Pos{Func: o.Func}, nil) + " in " + o.File
}

// Profiled says whether a profiler measured the kernels of the report: one that it does not have
// was not called in its steps.
func (r *Report) Profiled() bool { return len(r.Profiles) > 0 }

// Of is what the times of the profile are of: a step, or all of a recording that marks none.
func (p *Profile) Of() string {
	if p.Marked == "" {
		return "in all"
	}
	return "a step"
}

// Summary says what a step takes and where, in lines.
func (p *Profile) Summary() []string {
	first := Count(len(p.Steps), "steady step")
	if p.Marked == "" {
		first = "one recording that marks no steps"
	}
	fast, slow := slices.Min(p.Steps), slices.Max(p.Steps)
	first += ", " + Nanos(p.PerStep(p.Total()))
	if len(p.Steps) > 1 {
		first += fmt.Sprintf(" each (%s to %s)", Nanos(fast), Nanos(slow))
	}
	if p.Stacked {
		first += ", recorded with stacks, which makes them slower"
	}
	out := []string{first, p.partsText()}
	for _, g := range p.GPUs {
		out = append(out, fmt.Sprintf("GPU %d: busy %s %s, idle %s between its kernels", g.Device, Nanos(p.PerStep(g.Busy)), p.Of(),
			Nanos(p.PerStep(g.Idle))))
	}
	for _, m := range p.MemoryPeaks() {
		of := "in a step"
		if p.Stacks != nil && len(p.Stacks.Peaks) > 0 { // other steps may do other things
			of = "in one more step"
		}
		out = append(out, fmt.Sprintf("memory allocated %s: at most %s on %s%s", of, Bytes(m.Bytes), m.Device, p.where(m)))
	}
	if p.Apart != "" {
		out = append(out, "not joined to the trace: "+p.Apart)
	}
	return append(out, p.Remarks()...)
}

// Remarks are what the recording does not tell, as sentences.
func (p *Profile) Remarks() []string {
	out := slices.Clone(p.Problems)
	for _, r := range p.Regions {
		if p.unmarkedGraph(r.Compile) && !r.Unmarked {
			return append(out, "some graphs have no mark in it, as with backend eager or aot_eager: "+
				"their operators are among the eager ones")
		}
	}
	return out
}

func (p *Profile) partsText() string {
	share := shares(p.Total(), p.Parts.Graphs, p.Parts.Eager, p.Parts.Lookups, p.Parts.Rest)
	graphs := share[0]
	if slices.ContainsFunc(p.Regions, p.Unmarked) {
		graphs = "at least " + graphs
		if p.Parts.Graphs == 0 {
			graphs = "not measured"
		}
	}
	return fmt.Sprintf("in graphs %s, eager operators %s, finding entries %s, Python and waiting %s",
		graphs, share[1], share[2], share[3])
}

// Unmarked says whether the recording has calls of an entry but none of its graph, so that the
// graph's operators cannot be told from those after a break.
func (p *Profile) Unmarked(r *chrome.Region) bool { return r.Unmarked || p.unmarkedGraph(r.Compile) }

// unmarkedGraph says it of an entry whose graph the trace has.
func (p *Profile) unmarkedGraph(compile string) bool {
	c := p.Compiles[compile]
	return c != nil && c.Graph != nil && len(c.Graph.Ops) > 0 &&
		!slices.ContainsFunc(p.Graphs, func(g *chrome.Graph) bool { return g.Compile == compile })
}

// Share is a part in percent of a whole.
func Share(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

// shares are parts of a whole in percent, rounded so that they add up: those with the largest remainders
// are rounded up.
func shares(whole int64, parts ...int64) []string {
	percent, order := make([]int64, len(parts)), make([]int, len(parts))
	var sum, shown int64
	for i, p := range parts {
		order[i], sum = i, sum+p
		percent[i] = 100 * p / max(whole, 1)
		shown += percent[i]
	}
	rest := func(i int) int64 { return 100*parts[i] - percent[i]*whole }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest(b), rest(a)) })
	up := (200*sum+whole)/max(2*whole, 1) - shown
	out := make([]string, len(parts))
	for n, i := range order {
		if int64(n) < up {
			percent[i]++
		}
		out[i] = fmt.Sprintf("%d%%", percent[i])
		if whole <= 0 {
			out[i] = "-"
		}
	}
	return out
}

// where is what ran when the most was allocated.
func (p *Profile) where(m *chrome.Peak) string {
	var out string
	if m.Compile != "" {
		out = ", in " + m.Compile
	}
	if m.Backward {
		out += ", in the backward pass"
	}
	if m.Compile == "" && m.Under != "" {
		out += ", in " + m.Under
	}
	return out
}

// Text is a cost in words: what it is, of which function, in which pass.
func (c *Cost) Text() string {
	out := c.Name
	if c.Compile != "" {
		out += " of " + c.Compile
		if c.Of != nil && c.Of.Frame != nil {
			out += " " + FrameTitle(c.Of.Frame)
		}
	}
	if c.Backward && c.Kind != GraphCost {
		out += " (backward)"
	}
	if c.Under != "" {
		out += ", in " + c.Under
	}
	return out
}

// Place is the line of a cost, or the function of Python that it is in; "" where neither is known. Of an operator
// after a break it is the line that broke.
func (c *Cost) Place(short func(logs.Pos) string) string {
	switch {
	case c.Kind == EagerCost && c.Break != nil && c.Pos.Line > 0:
		return "break at " + short(c.Pos)
	case c.Pos.Line > 0:
		return short(c.Pos)
	case c.In != "":
		return c.In
	}
	return ""
}

package fold

import (
	"context"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// This file turns the fold's state into a Report that never changes. What
// later records may change is copied; texts and finished parts are shared.

// Snapshot is the report so far. Without new records it is the same one.
func (f *Fold) Snapshot() *explain.Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dirty && f.snap != nil {
		return f.snap
	}
	r := copyReport(f)
	diagnose.Analyse(r)
	f.snap, f.dirty = r, false
	return r
}

// copier maps the fold's objects to the report's.
type copier struct {
	frames   map[*explain.Frame]*explain.Frame
	compiles map[*explain.Compile]*explain.Compile
	graphs   map[*explain.Graph]*explain.Graph
	breaks   map[*explain.Break]*explain.Break
	failures map[*explain.Failure]*explain.Failure
}

func copyReport(f *Fold) *explain.Report {
	r := &explain.Report{
		Title: f.title, Engine: f.engine, Start: f.start, End: f.end, Live: f.live, State: f.state,
		ByKind: make(map[string]int64, len(f.byKind)), Passes: f.passes[:len(f.passes):len(f.passes)],
		Caches:    f.caches[:len(f.caches):len(f.caches)],
		Schedules: f.schedules[:len(f.schedules):len(f.schedules)],
		Side:      f.side[:len(f.side):len(f.side)], UnlistedGuards: max(f.guards-maxShapeGuards, 0), LeftOut: f.leftOut,
	}
	for k, n := range f.byKind {
		r.ByKind[k] = n
	}
	if r.Engine == "" && (f.textual || len(f.order) > 0) {
		r.Engine = likelyEngine(f)
	}
	r.Source = f.source
	r.Redacted = f.redacted
	r.Textual = f.textual && f.byKind["chromium_event"] == 0
	c := &copier{
		map[*explain.Frame]*explain.Frame{},
		map[*explain.Compile]*explain.Compile{},
		map[*explain.Graph]*explain.Graph{},
		map[*explain.Break]*explain.Break{},
		map[*explain.Failure]*explain.Failure{nil: nil},
	}
	copyFailures(f, r, c)
	copyFrames(f, r, c)
	copyKernels(f, r)
	for _, s := range f.symbols {
		cp := *s
		r.Symbols = append(r.Symbols, &cp)
	}
	for _, fu := range f.fusions {
		cp := *fu
		cp.Steps, cp.Ops, cp.Schedule = slices.Clone(fu.Steps), slices.Clone(fu.Ops), fu.Schedule[:len(fu.Schedule):len(fu.Schedule)]
		cp.Origins = slices.Clone(fu.Origins)
		cp.Round, cp.Refused, cp.Scores = 0, nil, nil
		r.Fusions = append(r.Fusions, &cp)
	}
	r.Autotuned = slices.Clone(f.autotuned) // which nothing changes
	diagnose.NameWrapped(r)
	noteExports(f, r)
	copyPhases(f, r)
	copySources(f, r)
	copySession(f, r)
	copyNumerics(f, r)
	copyCalls(f, r, c)
	r.StepsMissing = f.stepsMissing
	copyProfiles(f, r)
	r.Lowered = f.lowered
	f.total(r)
	return r
}

// likelyEngine tells by the program's files who wrote a log that does not say it:
// releases of PyTorch before 2.9, and text logs.
func likelyEngine(f *Fold) string {
	for _, fr := range f.order {
		if strings.HasSuffix(fr.Pos.File, ".go") {
			return "tcdbg"
		}
		for _, c := range fr.Compiles {
			for _, b := range c.Breaks {
				if strings.HasSuffix(b.Pos.File, ".go") {
					return "tcdbg"
				}
			}
			if rc := c.Recompile; rc != nil && len(rc.Failures) > 0 && strings.HasSuffix(rc.Failures[0].Pos.File, ".go") {
				return "tcdbg"
			}
		}
	}
	return "PyTorch"
}

func copyFailures(f *Fold, r *explain.Report, c *copier) {
	r.Failures = make([]*explain.Failure, len(f.failures))
	for i, fl := range f.failures {
		cp := *fl
		r.Failures[i], c.failures[fl] = &cp, &cp
	}
}

func copyFrames(f *Fold, r *explain.Report, c *copier) {
	order := compiledFrames(f)
	r.Frames = make([]*explain.Frame, len(order))
	blocks := make([]explain.Frame, len(order))
	for i, fr := range order {
		blocks[i] = *fr
		r.Frames[i] = &blocks[i]
		c.frames[fr] = &blocks[i]
	}
	for _, comp := range f.compOrd {
		if c.frames[comp.Frame] != nil {
			c.compiles[&comp.Compile] = copyCompile(f, comp, c)
		}
	}
	for i, fr := range order {
		cp := r.Frames[i]
		cp.Parent = c.frames[fr.Parent]
		cp.Resumes = make([]*explain.Frame, 0, len(fr.Resumes))
		for _, x := range fr.Resumes {
			if res := c.frames[x]; res != nil {
				cp.Resumes = append(cp.Resumes, res)
			}
		}
		cp.Compiles = make([]*explain.Compile, len(fr.Compiles))
		for j, x := range fr.Compiles {
			cp.Compiles[j] = c.compiles[x]
		}
		for _, k := range cp.Compiles {
			if k.Graph != nil {
				r.Graphs = append(r.Graphs, k.Graph)
			}
		}
	}
}

// compiledFrames are the frames that Dynamo compiled or tried to. torch.export gives ids
// to the sizes that it makes, and never begins a compile under them.
func compiledFrames(f *Fold) []*explain.Frame {
	hollow := map[*explain.Frame]bool{}
	for _, comp := range f.compOrd {
		h, known := hollow[comp.Frame]
		hollow[comp.Frame] = comp.hollow() && (h || !known)
	}
	out := make([]*explain.Frame, 0, len(f.order))
	for _, fr := range f.order {
		if !hollow[fr] {
			out = append(out, fr)
		}
	}
	return out
}

// hollow says whether nothing but symbols and remarks has a compile's id.
func (c *compile) hollow() bool {
	return !c.begun && !c.metrics && !c.guarded && !c.limit && c.Graph == nil && len(c.stages)+len(c.Outputs)+len(c.Breaks) == 0 &&
		c.errText == "" && c.errBreak == nil && c.Recompile == nil && c.Failure == nil && c.phases == 0 && c.Frame.Name == "" &&
		c.Frame.Calls < 0
}

func copyCompile(f *Fold, comp *compile, c *copier) *explain.Compile {
	cp := comp.Compile
	cp.Frame, cp.Failure = c.frames[comp.Frame], c.failures[comp.Failure]
	cp.Seconds += comp.bwd
	if cp.Seconds == 0 {
		cp.Seconds = comp.phases
	}
	if cp.Status == explain.Compiling && !f.live {
		cp.Status = comp.guess()
		if f.textual && cp.Status == explain.Empty && comp.Graph == nil {
			cp.Status = explain.Compiled // the log of graphs was off
		}
		if cp.Status == explain.Compiling && f.textual {
			cp.Status = explain.Compiled // a text log says nothing of ends
		}
		if cp.Frame.Status == explain.Compiling {
			cp.Frame.Status = cp.Status
		}
	}
	if g := comp.Graph; g != nil {
		cg := *g
		cp.Graph = &cg
		c.graphs[g] = &cg
	} else if len(comp.stages) > 0 && comp.hasGraphStage() {
		cp.Graph = &explain.Graph{ID: comp.ID, Stages: comp.stages[:len(comp.stages):len(comp.stages)]}
	}
	cp.Breaks = make([]*explain.Break, len(comp.Breaks))
	for i, b := range comp.Breaks {
		cp.Breaks[i] = copyBreak(b, &cp)
		if cp.Status == explain.Skipped && b.Outcome == "resumed" {
			cp.Breaks[i].Outcome = "skipped" // the message does not say it: the frame's end does
		}
		if cp.Status == explain.Failed && b.Outcome == "resumed" {
			cp.Breaks[i].Outcome = "error" // what came later: no code was made that could go on
		}
		if cp.Graph != nil && len(cp.Breaks[i].Before) == 0 && i == len(comp.Breaks)-1 && b.Outcome != "skipped" {
			cp.Breaks[i].Before = cp.Graph.Ops
		}
	}
	if comp.Recompile != nil {
		rc := *comp.Recompile
		rc.Compile = &cp
		rc.Failures = slices.Clone(rc.Failures)
		cp.Recompile = &rc
	}
	return &cp
}

// guess is the outcome of a compile whose metrics are missing.
func (c *compile) guess() explain.Status {
	switch {
	case c.limit:
		return explain.Limit
	case c.errText != "" && len(c.Breaks) > 0:
		return explain.Skipped
	case c.errText != "":
		return explain.Failed
	case c.Graph != nil && len(c.Graph.Ops) == 0 && len(c.Graph.Stages) > 0 && (c.Graph.LoadNodes != nil || c.named):
		return explain.Empty
	case c.Graph != nil || len(c.stages) > 0 || len(c.Outputs) > 0:
		return explain.Compiled
	case c.guarded:
		return explain.Empty
	case len(c.Breaks) > 0 && c.Breaks[len(c.Breaks)-1].Outcome == "skipped":
		return explain.Skipped
	case len(c.Breaks) > 0:
		return explain.Compiled
	}
	return explain.Compiling
}

func (c *compile) hasGraphStage() bool {
	for _, s := range c.stages {
		switch s.Name {
		case "dynamo", "forward", "joint", "backward", "inference", "pre-grad", "post-grad", "compiled autograd":
			return true
		}
	}
	return false
}

func copyBreak(b *explain.Break, owner *explain.Compile) *explain.Break {
	cp := *b
	cp.Compile = owner
	cp.Chained = make([]*explain.Break, len(b.Chained))
	for i, ch := range b.Chained {
		cp.Chained[i] = copyBreak(ch, owner)
	}
	return &cp
}

func copyKernels(f *Fold, r *explain.Report) {
	blocks := make([]explain.Kernel, len(f.outputs))
	r.Kernels = make([]*explain.Kernel, len(f.outputs))
	for i, k := range f.outputs {
		blocks[i] = *k
		r.Kernels[i] = &blocks[i]
	}
}

// openPhases are the phases whose end has not come, by their start.
func openPhases(f *Fold) []explain.Phase {
	var out []explain.Phase
	for _, rs := range f.ranks {
		for of, s := range rs.stacks {
			for i, p := range s.open {
				at := time.UnixMicro(int64(p.start))
				dur := max(f.end.Sub(at), 0)
				self := time.Duration(p.self * 1e3)
				if i == len(s.open)-1 {
					self += max(f.end.Sub(time.UnixMicro(int64(s.at))), 0)
				}
				out = append(out, explain.Phase{
					Name: p.name, ID: p.id, Start: at, Dur: dur, Self: min(self, dur), Depth: i, Open: true,
					Source: of.source, Thread: of.thread,
				})
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return a.Start.Before(b.Start) || a.Start.Equal(b.Start) && (a.Depth < b.Depth || a.Depth == b.Depth && a.Name < b.Name)
	})
	return out
}

func copyPhases(f *Fold, r *explain.Report) {
	f.phases.bound()
	phases := make([]explain.Phase, 0, f.phases.kept)
	for _, l := range f.phases.order {
		phases = append(phases, l.kept...)
	}
	open := openPhases(f)
	if f.live {
		phases = append(phases, open...)
	} else {
		r.Unclosed = open
	}
	r.PhasesLeftOut, r.DeepPhases = f.phases.left, f.deepPhases
	r.Instants, r.InstantsLeftOut = slices.Clone(f.instants), f.instantsLeftOut
	sort.SliceStable(phases, func(i, j int) bool {
		if !phases[i].Start.Equal(phases[j].Start) {
			return phases[i].Start.Before(phases[j].Start)
		}
		return phases[i].Depth < phases[j].Depth
	})
	r.Phases = make([]*explain.Phase, len(phases))
	for i := range phases {
		r.Phases[i] = &phases[i]
	}
	within := map[string]float64{} // seconds in phases of a name that ended within one that has not
	for _, rs := range f.ranks {
		for _, s := range rs.stacks {
			for _, p := range s.open {
				within[p.name] += p.alike / 1e6
			}
		}
	}
	for _, name := range f.sumOrder {
		s := *f.sums[name]
		s.Seconds += within[name]
		s.Self = min(s.Self, s.Seconds) // the clock may have been set
		r.PhaseSums = append(r.PhaseSums, s)
	}
	sort.SliceStable(r.PhaseSums, func(i, j int) bool { return r.PhaseSums[i].Self > r.PhaseSums[j].Self })
}

func copySources(f *Fold, r *explain.Report) {
	if f.store != nil {
		r.Stats = f.store.Stats()
		r.Sources = f.store.Sources()
	}
	paths := map[int]string{}
	for _, s := range r.Sources {
		paths[s.Rank] = s.Path
	}
	var ranks []int
	for n, rs := range f.ranks {
		if n >= 0 && rs.records > 0 {
			ranks = append(ranks, n)
		}
	}
	sort.Ints(ranks)
	for _, n := range ranks {
		rk := &explain.Rank{Rank: n, Path: paths[n], Caches: string(f.ranks[n].caches), Self: maps.Clone(f.ranks[n].selfs)}
		rk.Totals.Records = f.ranks[n].records
		r.Ranks = append(r.Ranks, rk)
	}
}

// total counts, once for the run and once for each rank.
func (f *Fold) total(r *explain.Report) {
	t := &r.Totals
	t.Records, t.UnexplainedRecords = f.records, f.unknown
	t.CompileSeconds = f.backward
	places := map[string]bool{}
	byRank := map[int]*explain.Totals{}
	rankPlaces := map[int]map[string]bool{}
	for _, rk := range r.Ranks {
		byRank[rk.Rank] = &rk.Totals
		rankPlaces[rk.Rank] = map[string]bool{}
	}
	for _, fr := range r.Frames {
		countFrame(t, fr, places)
		if rt := byRank[fr.ID.Rank]; rt != nil {
			countFrame(rt, fr, rankPlaces[fr.ID.Rank])
		}
	}
	for _, fl := range r.Failures {
		t.Failures++
		if rt := byRank[fl.ID.Rank]; rt != nil {
			rt.Failures++
		}
	}
	for _, k := range r.Kernels {
		if k.Lang != "extern" {
			t.Kernels++
			if rt := byRank[k.ID.Rank]; rt != nil {
				rt.Kernels++
			}
		}
	}
}

func countFrame(t *explain.Totals, fr *explain.Frame, places map[string]bool) {
	n := fr.Sum()
	t.Frames++
	t.Compiles += n.Compiles
	t.Graphs += n.Graphs
	t.Ops += n.Ops
	t.Breaks += n.Breaks
	t.Recompiles += n.Recompiles
	t.Restarts += n.Restarts
	t.CompileSeconds += n.Seconds
	for _, c := range fr.Compiles {
		for _, b := range c.Breaks {
			if key := diagnose.BreakKey(b); !places[key] {
				places[key] = true
				t.DistinctBreaks++
			}
		}
	}
}

// textKinds are the records whose text the fold reads.
var textKinds = map[string]bool{
	"dynamo_output_graph": true, "dynamo_cpp_guards_str": true, "dynamo_graph_break_reason": true, "dynamo_error": true,
	"recompile_reasons": true, "make_fx_fail_partial": true, "inductor_output_code": true,
	"inductor_provenance_tracking_node_mappings":       true,
	"inductor_provenance_tracking_kernel_stack_traces": true, "compiled_autograd_graph": true, "torch_log": true,
}

func readsText(r *logs.Record) bool { return textKinds[r.Content()] }

// All reads a store to its end and returns the report.
func All(st *logs.Store, title string) (*explain.Report, error) {
	f := New(st)
	f.SetTitle(title)
	err := st.Read(context.Background(), f.Add)
	return f.Snapshot(), err
}

package fold

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file folds the artifacts that only our engine writes.

// versioned decodes into v and counts the record as unexplained when its
// version is unknown.
func (f *Fold) versioned(r *logs.Record, v logs.Versioned) bool {
	if decode(r, v) {
		return true
	}
	f.unknown++
	return false
}

// ofCompile decodes a record of ours that belongs to a compile; nil where it does not.
func ofCompile(f *Fold, r *logs.Record, v logs.Versioned) *compile {
	if !f.versioned(r, v) {
		return nil
	}
	return f.compileOf(r)
}

func tcdbgRun(f *Fold, r *logs.Record) {
	var v logs.RunInfo
	if !f.versioned(r, &v) {
		return
	}
	f.engine = "tcdbg"
	if v.Tcdbg != "" {
		f.engine = "tcdbg " + v.Tcdbg
	}
	if f.title == "" {
		f.title = strings.TrimSpace(v.Program + " " + strings.Join(v.Args, " "))
	}
	f.extend(f.at(r), 0)
}

func tcdbgFrame(f *Fold, r *logs.Record) {
	var v logs.FrameInfo
	if !f.versioned(r, &v) || !r.HasID {
		return
	}
	fr := f.frameOf(r)
	fr.Name, fr.Pos, fr.From, fr.Static, fr.Again = f.intern(v.Name), f.pos(v.Pos), v.From, v.Static, v.Again
	fr.Captured = f.interned(v.Captured)
	if v.Made != nil {
		fr.MadeAt = f.pos(*v.Made)
	}
	if fr.Parent != nil || v.Parent < 0 {
		return
	}
	if p := f.frames[frameKey{r.Rank, r.Epoch, r.Autograd, v.Parent}]; p != nil && p != fr {
		fr.Parent = p
		p.Resumes = append(p.Resumes, fr)
	}
}

// tcdbgBreak adds to the break what PyTorch's text cannot say; the text may
// come before or after.
func tcdbgBreak(f *Fold, r *logs.Record) {
	var v logs.Break
	if !f.versioned(r, &v) {
		return
	}
	c := f.compileOf(r)
	if c == nil {
		c = f.textCompile(r, v.Pos)
	}
	fresh := &explain.Break{Code: f.intern(v.Code), Type: f.intern(v.Type), Pos: f.pos(v.Pos), Seq: r.Seq}
	br := c.breaks[diagnose.BreakKey(fresh)]
	if br == nil {
		br = fresh
		c.breaks[diagnose.BreakKey(br)] = br
		f.hold(heldBreak)
		c.Breaks = append(c.Breaks, br)
		br.Compile = &c.Compile
	}
	cause, known := breaks.Lookup(v.Code)
	if br.Type == "" {
		br.Type = cause.Type
	}
	br.Pos, br.Context, br.Fixability = f.pos(v.Pos), f.intern(v.Detail), f.intern(v.Fixability)
	br.Stack, br.Value, br.Before = f.stack(v.Stack), f.stack(v.Value), f.interned(v.Before)
	if known && br.Explanation == "" {
		br.Explanation = cause.Explanation
	}
	br.Hints = cause.Hints // as they are proven today, whatever the trace has recorded
	if br.Fixability == "" {
		br.Fixability = string(cause.Fixability)
	}
	br.Outcome = "resumed"
	switch {
	case v.Fullgraph:
		br.Outcome = "error"
	case v.Resume == "":
		br.Outcome = "skipped"
	}
	attributeBreak(br)
	if c.Frame.Name == "" {
		c.Frame.Name = f.intern(v.Frame)
		f.named(c.Frame)
	}
}

func tcdbgGuards(f *Fold, r *logs.Record) {
	var v logs.Guards
	c := ofCompile(f, r, &v)
	if c == nil {
		return
	}
	load := r.Loader()
	t := &explain.GuardTree{Leaves: len(v.Guards), Load: func() *explain.GuardNode { return guardsFromArtifact(load()) }}
	if c.Guards != nil {
		t.Micros = c.Guards.Micros
	}
	c.guarded, c.Guards = true, t
}

// guardsFromArtifact makes a tree of a guard list: one manager per source.
func guardsFromArtifact(text string) *explain.GuardNode {
	r := logs.NewRecord("tcdbg_guards", []byte(text))
	var v logs.Guards
	if !decode(r, &v) {
		return nil
	}
	root := &explain.GuardNode{Text: "RootGuardManager"}
	managers := map[string]*explain.GuardNode{}
	for _, g := range v.Guards {
		m := managers[g.Source]
		if m == nil {
			m = &explain.GuardNode{Source: g.Source, Text: "GuardManager"}
			managers[g.Source] = m
			root.Children = append(root.Children, m)
		}
		m.Children = append(m.Children, &explain.GuardNode{Kind: g.Kind, Source: g.Source, Text: g.Text, Code: g.Pos.Code, Pos: g.Pos})
	}
	return root
}

// tcdbgMiss replaces the text reasons of a recompile by all failing guards
// with expected and actual.
func tcdbgMiss(f *Fold, r *logs.Record) {
	var v logs.GuardMiss
	c := ofCompile(f, r, &v)
	if c == nil {
		return
	}
	rc := c.Recompile
	if rc == nil {
		rc = &explain.Recompile{Compile: &c.Compile, Seq: r.Seq}
		c.Recompile = rc
	}
	rc.Call, rc.Older = v.Call, v.Older
	rc.Failures, rc.Complete = nil, true
	for _, g := range v.Failures {
		fail := explain.ParseReason(g.Message)
		fail.Entry = entryName(c.ID.Frame, g.Entry)
		if !strings.Contains(fail.Source, g.Guard.Source) { // else an expression of it
			fail.Source = g.Guard.Source
		}
		fail.Source, fail.Text = f.intern(fail.Source), f.intern(g.Message)
		fail.Pos, fail.Argument = f.pos(g.Guard.Pos), f.intern(g.Argument)
		fail.Origin = g.Origin
		placeValue(&fail)
		fail.Nameless = g.Argument == "" && g.Guard.Source != ""
		fail.Single = sizeAt(g.Guard.Expected, fail.Dim) == "1"
		fail.Map = g.Guard.Kind == "DICT_LENGTH"
		// The message of a size names the size, the guard the whole tensor.
		if fail.Expected == "" {
			fail.Expected = f.intern(g.Guard.Expected)
		}
		if fail.Actual == "" {
			fail.Actual = f.intern(outcome(fail.Expected, g.Actual))
		}
		if g.Dim >= 0 {
			fail.Dim = g.Dim
		}
		rc.Failures = append(rc.Failures, fail)
		if len(rc.Raw) < len(v.Failures) {
			rc.Raw = append(rc.Raw, fail.Entry+": "+fail.Text)
		}
	}
	explain.OwnKindFirst(rc)
	if v.Limit {
		c.Status, c.limit, c.Frame.Status = explain.Limit, true, explain.Limit
	}
}

// outcome says of a comparison, whose guard finds true or false, what that means: of one that
// expects "not > 3" and finds "true (n = 4)", "> 3 (n = 4)".
func outcome(expected, actual string) string {
	if expected == "true" || expected == "false" {
		return actual
	}
	if rest, ok := strings.CutPrefix(actual, "true ("); ok {
		if asked, not := strings.CutPrefix(expected, "not "); not {
			return asked + " (" + rest
		}
	}
	if rest, ok := strings.CutPrefix(actual, "false ("); ok {
		return "not " + expected + " (" + rest
	}
	return actual
}

// sizeAt is one size of a tensor that is written as float32[1, 17], "" for none.
func sizeAt(tensor string, dim int) string {
	_, list, ok := strings.Cut(strings.TrimSuffix(tensor, "]"), "[")
	if sizes := strings.Split(list, ", "); ok && dim >= 0 && dim < len(sizes) {
		return sizes[dim]
	}
	return ""
}

// placeValue names the kind of a value's guard by where the value is kept: an expression of
// a variable does not begin with its name.
func placeValue(g *explain.GuardFailure) {
	switch {
	case strings.HasSuffix(g.Source, diagnose.TrainingFlag):
		g.Kind = breaks.TrainingChanged
	case g.Kind == breaks.ValueChanged && g.Origin == logs.OriginGlobal:
		g.Kind = breaks.GlobalChanged
	case g.Kind == breaks.ValueChanged && g.Origin == logs.OriginCaptured:
		g.Kind = breaks.ClosureChanged
	}
}

func entryName(frame, entry int) string { return strconv.Itoa(frame) + "/" + strconv.Itoa(entry) }

// tcdbgStep counts steps; the Logs screen shows them from the store.
func tcdbgStep(f *Fold, r *logs.Record) {
	if c := f.compileOf(r); c != nil {
		c.Steps++
	}
}

func tcdbgGraphCode(f *Fold, r *logs.Record) {
	var v logs.GraphCode
	c := ofCompile(f, r, &v)
	if c == nil {
		return
	}
	if c.Graph == nil {
		c.Graph = &explain.Graph{ID: c.ID, Stages: c.stages}
		c.stages = nil
	}
	g := c.Graph
	g.Name, g.Table, g.Ops = f.intern(v.Name), v.Table, f.interned(v.Ops)
	c.Ops = len(v.Ops)
	load := r.Loader()
	g.Stages = append(g.Stages, explain.Stage{Name: "go", Seq: r.Seq, Load: func() string {
		var v logs.GraphCode
		if !decode(logs.NewRecord("tcdbg_graph_code", []byte(load())), &v) {
			return ""
		}
		return v.Go
	}})
}

func tcdbgGraphInputs(f *Fold, r *logs.Record) {
	var v logs.GraphInputs
	c := ofCompile(f, r, &v)
	if c == nil || c.Graph == nil {
		return
	}
	load := r.Loader()
	c.Graph.LoadInputs = func() logs.GraphInputs {
		var v logs.GraphInputs
		decode(logs.NewRecord("tcdbg_graph_inputs", []byte(load())), &v)
		return v
	}
}

func tcdbgNodeModules(f *Fold, r *logs.Record) {
	var v logs.NodeModules
	c := ofCompile(f, r, &v)
	if c == nil || c.Graph == nil {
		return
	}
	load := r.Loader()
	read := func() logs.NodeModules {
		var v logs.NodeModules
		decode(logs.NewRecord("tcdbg_node_modules", []byte(load())), &v)
		return v
	}
	if v.Stage == "" {
		c.Graph.LoadModules = read
		return
	}
	stages := slices.Clone(c.Graph.Stages)
	for i := len(stages) - 1; i >= 0; i-- {
		if stages[i].Name == v.Stage {
			stages[i].LoadModules = read
			break
		}
	}
	c.Graph.Stages = stages
}

func tcdbgPass(f *Fold, r *logs.Record) {
	var v logs.PassStep
	if !f.versioned(r, &v) {
		return
	}
	f.compileOf(r)
	v.Stage, v.Pass = f.intern(v.Stage), f.intern(v.Pass)
	f.hold(heldEvent)
	f.passes = append(f.passes, &explain.PassRun{ID: f.id(r), Step: v, Seq: r.Seq})
}

// tcdbgSchedule opens the decisions over one graph: a compile has two where
// there is a backward.
func tcdbgSchedule(f *Fold, r *logs.Record) {
	var v logs.Schedule
	if !f.versioned(r, &v) {
		return
	}
	id := f.id(r)
	id.Attempt = 0
	delete(f.fusing, id)
	fu := f.fusionOf(id, f.compileOf(r))
	fu.Seq, fu.Graph, fu.Ops = r.Seq, f.intern(v.Graph), f.interned(v.Ops)
	load := r.Loader()
	fu.Start = func() (logs.Schedule, bool) {
		var v logs.Schedule
		ok := decode(logs.NewRecord("tcdbg_schedule", []byte(load())), &v)
		return v, ok
	}
}

func tcdbgFusion(f *Fold, r *logs.Record) {
	var v logs.FusionStep
	if !f.versioned(r, &v) {
		return
	}
	fu := f.fusionOf(f.id(r), f.compileOf(r))
	f.hold(heldEvent)
	fu.Steps = append(fu.Steps, v)
	if fu.Before == 0 && v.Kernels > 0 {
		fu.Before = v.Kernels
		if v.Fused {
			fu.Before++
		}
	}
	fu.After = v.Kernels
}

// tcdbgTogether marks refusals between kernels that run together.
func tcdbgTogether(f *Fold, r *logs.Record) {
	var v logs.Together
	if !f.versioned(r, &v) {
		return
	}
	steps := f.fusionOf(f.id(r), f.compileOf(r)).Steps
	for _, i := range v.Steps {
		if i >= 0 && i < len(steps) {
			steps[i].Together = true
		}
	}
}

// fusionOf is the open list of decisions of a compile.
func (f *Fold) fusionOf(id explain.ID, c *compile) *explain.Fusion {
	id.Attempt = 0
	fu := f.fusing[id]
	if fu == nil {
		fu = &explain.Fusion{ID: id}
		if c != nil && c.Graph != nil {
			fu.Graph = c.Graph.Name
		}
		f.fusing[id] = fu
		f.hold(heldEvent)
		f.fusions = append(f.fusions, fu)
	}
	return fu
}

func tcdbgMemory(f *Fold, r *logs.Record) {
	var v logs.MemoryPlan
	if !f.versioned(r, &v) {
		return
	}
	if c := f.compileOf(r); c != nil {
		c.Memory = &v
	}
}

// tcdbgSaved comes after the graph, of which it says what its backward pass is given.
func tcdbgSaved(f *Fold, r *logs.Record) {
	var v logs.SavedValues
	if c := ofCompile(f, r, &v); c != nil && c.Graph != nil {
		c.Graph.Saved = &v
	}
}

func tcdbgProvenance(f *Fold, r *logs.Record) {
	var v logs.Provenance
	c := ofCompile(f, r, &v)
	if c == nil {
		return
	}
	if c.kernels == nil {
		c.kernels = map[string]*explain.Kernel{}
	}
	code := c.outputOf(v.Graph)
	for _, k := range v.Kernels {
		out := &explain.Kernel{
			ID: c.ID, Name: f.intern(k.Name), Lang: "c", Reason: f.intern(k.Reason), Hoisted: k.Hoisted, Ops: f.interned(k.Ops),
			From: k.From, To: k.To, Bytes: k.Bytes, FLOPs: k.FLOPs, Nanos: -1, Fused: len(k.Ops), Lines: k.Lines,
		}
		if k.Extern { // what it moves and computes is not counted
			out.Lang, out.Bytes, out.FLOPs = "extern", -1, -1
		}
		for _, l := range k.Lines {
			out.Nodes = appendNew(out.Nodes, l.Nodes...)
			for _, p := range l.Pos {
				out.Pos = addPos(out.Pos, f.pos(p))
			}
		}
		if code != nil {
			f.attach(out, code)
		}
		c.kernels[out.Name] = out
		f.hold(heldKernel)
		f.outputs = append(f.outputs, out)
		f.kernels[kernelKey{r.Rank, r.Epoch, v.Graph, k.Name}] = out
	}
}

// outputOf is the output code of one of our graphs, nil when it comes later: a
// compile has two, forward and backward, with kernels of the same names.
func (c *compile) outputOf(graph string) *explain.OutputCode {
	for _, out := range c.Outputs {
		if out.Path == entryPrefix+graph+".c" {
			return out
		}
	}
	return nil
}

// entryPrefix begins the names of our output code's files.
const entryPrefix = "tc_entry_"

// roleOfFile is the pass that one of our output codes belongs to, "" for others'. That of a body of
// control flow is the role of the graph which it is in.
func roleOfFile(name string) string {
	graph, ours := strings.CutPrefix(name, entryPrefix)
	graph = strings.TrimSuffix(graph, ".c")
	if body := explain.FlowBody(graph); body != "" {
		graph = strings.TrimSuffix(graph, "_"+body)
	}
	switch {
	case !ours:
		return ""
	case strings.HasSuffix(graph, "_backward"):
		return "backward"
	case strings.HasSuffix(graph, "_forward"):
		return "forward"
	}
	return "inference"
}

// tcdbgAggregate takes calls and run times; each record holds the sums since
// the start, so the last one counts.
func tcdbgAggregate(f *Fold, r *logs.Record) {
	var v logs.Aggregate
	if !f.versioned(r, &v) {
		return
	}
	for _, a := range v.Frames {
		fr := f.frames[frameKey{r.Rank, r.Epoch, r.Autograd, a.Frame}]
		if fr == nil {
			continue
		}
		fr.Calls, fr.Hits, fr.RunNanos, fr.EagerOps = a.Calls, a.Hits, a.RunNanos, a.EagerOps
		fr.Made = a.Made
		fr.GuardTimed, fr.GuardNanos, fr.Left, fr.LeftNanos = a.GuardTimed, a.GuardNanos, a.Left, a.LeftNanos
	}
	for _, e := range v.Entries {
		if c := f.compiles[compileKey{frameKey{r.Rank, r.Epoch, r.Autograd, e.Frame}, e.Compile}]; c != nil {
			c.Served = &explain.Served{Inside: e.Inside, Outside: e.Outside}
		}
	}
	for _, t := range v.Kernels {
		if k := f.kernels[kernelKey{r.Rank, r.Epoch, t.Graph, t.Kernel}]; k != nil {
			k.Calls, k.Timed, k.Nanos = t.Calls, t.Timed, t.Nanos
		}
	}
}

// tcdbgCompilerFailure makes a failure of a graph that the interpreter runs.
func tcdbgCompilerFailure(f *Fold, r *logs.Record) {
	var v logs.CompilerFailure
	if !f.versioned(r, &v) || !r.HasID {
		return
	}
	fr := f.frameOf(r)
	fl := &explain.Failure{
		ID: f.id(r), Type: explain.CompilerFailed, Reason: f.intern(v.Error), Frame: fr.Name, Pos: fr.Pos, Seq: r.Seq,
	}
	fl.Fix = diagnose.FixFailure(fl, f.engine)
	f.hold(heldEvent + len(fl.Reason))
	f.failures = append(f.failures, fl)
}

func tcdbgState(f *Fold, r *logs.Record) {
	var v logs.State
	if !f.versioned(r, &v) {
		return
	}
	f.state = v
	switch v.State {
	case "exited":
		f.live = false
		f.goesOn(v.Process, v.Thread, false)
	case "running":
		f.goesOn(v.Process, v.Thread, false)
	}
	f.extend(f.at(r), 0)
}

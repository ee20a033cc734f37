package tracer

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tcdbg/graph"
	"tcdbg/graph/exported"
	"tcdbg/logs"
	"tcdbg/logs/calls"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/torch/export"
)

// This file compiles programs that PyTorch exported (torch.LoadExported). There is nothing to
// trace: the file holds the graph, and its ranges take the place of guards. What the compiler decides on
// sizes beyond them is asked of every call, and a call that does not fit compiles an entry of its own.

// maxExportedEntries bounds the entries of one program; further calls run eagerly.
const maxExportedEntries = 64

// exportedProgram is one program with its entries.
type exportedProgram struct {
	t  *Tracer
	p  *torch.ExportedProgram
	fc *frameCache
	at logs.Pos

	mu      sync.Mutex
	entries atomic.Pointer[[]*exportedEntry]
}

// exportedEntry is a compiled form.
type exportedEntry struct {
	id     logs.CompileID
	key    string // of modes and gradients
	env    *sym.Env
	run    Runnable
	inputs []int // positions of the graph's placeholders among the program's inputs
}

// fits reports whether all that the entry relies on holds for the sizes of a call.
func (e *exportedEntry) fits(key string, sizes map[string]int64) bool {
	if e.key != key {
		return false
	}
	look := func(s *sym.Symbol) int64 { return sizes[s.Name] }
	for _, s := range e.env.Symbols {
		v, known := sizes[s.Name]
		if fixed, is := s.Fixed(); is && fixed != v || known && v >= 2 && (v < s.Min || v > s.Max) {
			return false
		}
	}
	return !slices.ContainsFunc(e.env.Guards, func(g sym.Guard) bool { return !g.Rel.Holds(look) })
}

// runExported is what torch.RunExported is given.
func (t *Tracer) runExported(p *torch.ExportedProgram, inputs []torch.Value, sizes map[string]int64) []torch.Value {
	v, ok := t.exported.Load(p)
	if !ok {
		v, _ = t.exported.LoadOrStore(p, t.newExported(p))
	}
	return v.(*exportedProgram).call(inputs, sizes)
}

func (t *Tracer) newExported(p *torch.ExportedProgram) *exportedProgram {
	x := &exportedProgram{t: t, p: p, at: exportedPlace(p)}
	x.fc = &frameCache{id: t.nextFrame(), parent: -1, name: x.at.Func, made: &atomic.Int64{}, dynamic: map[string]map[int]bool{}, at: x.at}
	x.fc.made.Store(1)
	if t.cfg.Calls {
		x.fc.track = &callTrack{}
	}
	x.entries.Store(&[]*exportedEntry{})
	t.register(x.fc)
	return x
}

// exportedPlace is where the program begins: the line of Python that its first call comes from.
func exportedPlace(p *torch.ExportedProgram) logs.Pos {
	name := strings.TrimSuffix(filepath.Base(p.Path()), filepath.Ext(p.Path()))
	for i := range p.Program().Nodes {
		if s := p.Program().Nodes[i].Stack; len(s) > 0 {
			return logs.Pos{File: s[0].File, Line: s[0].Line, Func: name + "." + s[0].Func, Code: s[0].Code}
		}
	}
	return logs.Pos{File: filepath.ToSlash(p.Path()), Line: 1, Func: name + ".forward"}
}

// call runs one call.
func (x *exportedProgram) call(inputs []torch.Value, sizes map[string]int64) []torch.Value {
	n := x.fc.calls.Add(1)
	key := modeKey(inputs, sizes)
	begun := time.Now()
	e, made := x.find(key, inputs, sizes)
	if e == nil {
		out := x.p.RunEagerly(inputs, sizes)
		x.record(n, begun, nil, false, sizes)
		return out
	}
	given := make([]torch.Value, len(e.inputs))
	for i, at := range e.inputs {
		given[i] = inputs[at]
	}
	start := time.Now()
	out := e.run(given)
	x.fc.nanos.Add(int64(time.Since(start)))
	if !made {
		x.fc.hits.Add(1)
		begun = start
	}
	x.record(n, begun, e, made, sizes)
	return out
}

// modeKey tells calls apart of which the compiler makes different code: gradients are wanted of other inputs,
// or other sizes are 0 or 1.
func modeKey(inputs []torch.Value, sizes map[string]int64) string {
	var sb strings.Builder
	fmt.Fprint(&sb, torch.GradEnabled())
	for _, v := range inputs {
		if t, ok := v.(*torch.Tensor); ok {
			fmt.Fprintf(&sb, " %v", t.RequiresGrad())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if v := sizes[name]; v < 2 {
			fmt.Fprintf(&sb, " %s=%d", name, v)
		}
	}
	return sb.String()
}

func (x *exportedProgram) find(key string, inputs []torch.Value, sizes map[string]int64) (e *exportedEntry, made bool) {
	among := func() *exportedEntry {
		list := *x.entries.Load()
		if i := slices.IndexFunc(list, func(e *exportedEntry) bool { return e.fits(key, sizes) }); i >= 0 {
			return list[i]
		}
		return nil
	}
	if e := among(); e != nil {
		return e, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := among(); e != nil { // compiled while we waited
		return e, false
	}
	old := *x.entries.Load()
	if len(old) >= maxExportedEntries {
		return nil, false
	}
	e = x.compile(logs.CompileID{Frame: x.fc.id, Compile: len(old)}, inputs, sizes)
	e.key = key
	list := append(slices.Clone(old), e)
	x.entries.Store(&list)
	return e, true
}

// compile makes an entry.
func (x *exportedProgram) compile(id logs.CompileID, inputs []torch.Value, sizes map[string]int64) *exportedEntry {
	t := x.t
	t.compiles.Add(1)
	rec := &recorder{t: t, id: id, fc: x.fc, begun: time.Now(), stack: []logs.Pos{x.at}, at: x.at}
	rec.begunExported()
	g, err := exported.Build(x.p, fmt.Sprintf("__compiled_fn_%d", t.nextGraph()), inputs, sizes)
	if err != nil {
		panic(&torch.Error{Op: "exported program", Msg: err.Error()})
	}
	e := &exportedEntry{id: id, env: g.Env}
	r := &Request{ID: id, Module: graph.NewModule(g), Mode: modes.Default, Log: t.sink, Changing: map[string]bool{}}
	for i, in := range x.p.Program().Inputs {
		if in.Kind == export.Fixed {
			continue
		}
		e.inputs = append(e.inputs, i)
		r.Example = append(r.Example, inputs[i])
		if in.Kind == export.User {
			r.Changing["L."+in.Name] = true
		}
	}
	rec.graph = time.Now()
	rec.captured(r.Module, false)
	named := options{named: "inductor"}
	if t.cfg.DefaultBackend != "" {
		named.named = t.cfg.DefaultBackend
	}
	rec.inputs(r, named)
	if e.run, err = t.backendFor(named).Compile(r); err != nil {
		panic(&torch.Error{Op: "exported program", Msg: fmt.Sprintf("backend %s failed on graph %s: %v", named.named, g.Name, err)})
	}
	rec.doneExported(x.p.Program(), g)
	return e
}

// record counts a call in the track of the program.
func (x *exportedProgram) record(n int64, begun time.Time, e *exportedEntry, made bool, sizes map[string]int64) {
	if x.fc.track == nil {
		return
	}
	ns := int64(time.Since(begun))
	r := calls.Run{
		First: n, Count: 1, Start: begun.UnixNano(), End: begun.UnixNano() + ns, Outcome: calls.Hit, Entry: calls.NoEntryNumber,
		Timed: 1, Nanos: ns, Min: ns, Max: ns,
	}
	switch {
	case e == nil:
		r.Outcome, r.Why = calls.Eager, calls.AtLimit
	case made:
		r.Outcome, r.Entry = calls.Compiled, e.id.Compile
	default:
		r.Entry = e.id.Compile
	}
	for _, s := range x.p.Program().Symbols {
		if v, ok := sizes[s.Name]; ok {
			r.Sizes = append(r.Sizes, calls.Size{Name: x.p.Program().SourceOf(s.Name), Min: v, Max: v})
		}
	}
	x.fc.track.add(&r)
}

// begunExported writes that the compile of an exported program has begun.
func (r *recorder) begunExported() {
	r.t.sink.Emit(logs.Out{
		Kind: "dynamo_start", ID: r.id, Place: logs.Here(), Meta: map[string]any{"stack": r.t.sink.Stack(frames(r.stack))},
	})
	r.t.sink.Emit(logs.Artifact(r.id, logs.FrameInfo{Name: r.fc.name, Pos: r.at, Parent: -1}))
	r.t.event("B", "dynamo", r.id, r.begun)
}

// doneExported writes the ranges that the entry relies on, as guards, and metrics.
func (r *recorder) doneExported(p *export.Program, g *graph.Graph) {
	r.t.event("E", "backend_compile", r.id, time.Now())
	var list []logs.Guard
	for _, s := range p.Symbols {
		text := p.SourceOf(s.Name) + " " + s.Bounds()
		list = append(list, logs.Guard{Source: p.SourceOf(s.Name), Kind: "SHAPE_ENV", Text: text, Expected: s.Bounds(), Pos: r.at})
	}
	for _, gd := range g.Env.Guards {
		text := gd.Rel.String()
		list = append(list, logs.Guard{Source: "", Kind: "SHAPE_ENV", Text: text, Expected: text, Pos: r.at})
	}
	r.t.sink.Emit(logs.Artifact(r.id, logs.Guards{Guards: list}))
	m := r.compiled(len(list))
	m["graph_op_count"], m["graph_node_count"], m["graph_input_count"] = g.NumOps(), g.Len(), len(g.Placeholders())
	r.t.sink.Emit(logs.Out{Kind: "compilation_metrics", ID: r.id, Meta: m, Place: logs.Here()})
}

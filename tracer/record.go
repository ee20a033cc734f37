package tracer

import (
	"encoding/json"
	"fmt"
	"go/types"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"
)

// This file writes the trace of one compile: PyTorch's records with PyTorch's
// texts, and beside them the structured ones that only tcdbg has.

// recorder is one compile being written down.
type recorder struct {
	t     *Tracer
	id    logs.CompileID
	fc    *frameCache
	begun time.Time
	graph time.Time // when the trace was done
	stack []logs.Pos
	at    logs.Pos // where the frame begins
	nodes int
	// guards is nil until they are known.
	guards *guardTexts
}

func (t *Tracer) begin(c *Compiled, tr *eval.Trace, fc *frameCache, id logs.CompileID) *recorder {
	t.compiles.Add(1)
	r := &recorder{t: t, id: id, fc: fc, begun: time.Now(), stack: tr.UserStack()}
	r.at = t.framePos(c, fc, r.stack)
	fc.at = r.at
	t.sink.Emit(logs.Out{
		Kind: "dynamo_start", ID: id, Place: logs.Here(),
		Meta: map[string]any{"stack": t.sink.Stack(frames(r.stack))},
	})
	info := logs.FrameInfo{
		Name: fc.name, Pos: r.at, Parent: fc.parent, From: fc.from, Static: c.opts.dynamic == dynamicNever, Again: fc.again,
	}
	if c.madeAt.File != "" {
		info.Made = &c.madeAt
	}
	for _, v := range c.fn.FreeVars {
		info.Captured = append(info.Captured, v.Name())
	}
	t.sink.Emit(logs.Artifact(id, info))
	t.event("B", "dynamo", id, r.begun)
	return r
}

// framePos is where a frame begins: the declaration of the compiled function,
// or the line at which it resumes.
func (t *Tracer) framePos(c *Compiled, fc *frameCache, stack []logs.Pos) logs.Pos {
	fn := c.fn
	at := fn.Pos()
	if o := fn.Object(); o != nil && !at.IsValid() {
		at = o.Pos() // of a method value, which has no text of its own
	}
	if fc.parent >= 0 {
		return eval.LastOfProgram(stack)
	}
	if !at.IsValid() {
		return eval.Last(stack)
	}
	p := t.prog.Fset.Position(at)
	return logs.Pos{
		File: filepath.ToSlash(p.Filename), Line: p.Line, Col: p.Column,
		Func: value.FuncName(fn), Code: strings.TrimRight(t.prog.SourceLine(p.Filename, p.Line), " \t\r"),
	}
}

func frames(ps []logs.Pos) []logs.Frame {
	out := make([]logs.Frame, len(ps))
	for i, p := range ps {
		out[i] = logs.Frame{File: p.File, Line: p.Line, Name: p.Func, Loc: strings.TrimSpace(p.Code)}
	}
	return out
}

// symbolRange is what a symbol may be, as PyTorch prints it.
func symbolRange(x *sym.Symbol) string {
	if !x.Unbacked {
		return fmt.Sprintf("[%d, int_oo]", x.Min)
	}
	lo, hi := "-int_oo", "int_oo"
	if x.Low != math.MinInt64 {
		lo = strconv.FormatInt(x.Low, 10)
	}
	if x.High != math.MaxInt64 {
		hi = strconv.FormatInt(x.High, 10)
	}
	return "[" + lo + ", " + hi + "]"
}

// event writes one chromium event.
func (t *Tracer) event(phase, name string, id logs.CompileID, at time.Time) {
	body, _ := json.Marshal(map[string]any{
		"name": name, "ph": phase, "ts": at.UnixMicro(), "cat": "dynamo_timed", "tid": 0, "pid": 0,
		"args": map[string]any{"compile_id": fmt.Sprintf("%d/%d", id.Frame, id.Compile)},
	})
	t.sink.Emit(logs.Out{Kind: "chromium_event", ID: id, Payload: body, Place: logs.Here()})
}

// traced writes what the trace found: the break, the guards.
func (r *recorder) traced(c *Compiled, tr *eval.Trace, entry *replay.Entry) {
	r.graph = time.Now()
	r.numbers(tr)
	for _, x := range tr.Shapes.Symbols {
		o := tr.Symbols[x]
		r.t.sink.Emit(logs.Out{Kind: "create_symbol", ID: r.id, Place: logs.Here(), Meta: map[string]any{
			"symbol": x.Name, "val": fmt.Sprint(o.Hint), "vr": symbolRange(x), "source": x.Source,
			"user_stack": r.t.sink.Stack(frames(o.At)),
		}})
		if v, fixed := x.Fixed(); fixed {
			meta := map[string]any{
				"symbol": x.Name, "sources": []string{x.Source}, "value": fmt.Sprint(v), "reason": "the program needs the number",
			}
			if at, ok := x.FixedAt().(logs.Pos); ok && at.File != "" {
				meta["user_stack"] = r.t.sink.Stack(frames([]logs.Pos{at}))
			}
			r.t.sink.Emit(logs.Out{Kind: "symbolic_shape_specialization", ID: r.id, Place: logs.Here(), Meta: meta})
		}
	}
	if entry.Break == nil {
		return
	}
	b := r.breakRecord(c, tr, entry)
	c.account.note(nil, &b, nil, 0)
	r.t.sink.Emit(logs.Text(r.id, "dynamo_graph_break_reason", breakText(b)))
	r.t.sink.Emit(logs.Artifact(r.id, b))
}

// numbers writes the floats that are inputs, as PyTorch does: symbols of their own kind.
func (r *recorder) numbers(tr *eval.Trace) {
	seen := map[*value.Source]bool{}
	for _, n := range tr.Graph.Placeholders() {
		in := tr.NumberOf[n]
		in.Expr.Leaves(func(s *value.Source) {
			if seen[s] || !tr.IsOpen(s) {
				return
			}
			r.t.sink.Emit(logs.Out{Kind: "create_symbol", ID: r.id, Place: logs.Here(), Meta: map[string]any{
				"symbol": fmt.Sprintf("zf%d", len(seen)), "val": guard.ValueText(tr.In, s.Type, tr.Entry.At(s)), "vr": "[-oo, oo]",
				"source":     s.Name,
				"user_stack": r.t.sink.Stack(frames(in.At)),
			}})
			seen[s] = true
		})
	}
}

func (r *recorder) breakRecord(c *Compiled, tr *eval.Trace, entry *replay.Entry) logs.Break {
	stack := tr.UserStack()
	b := logs.Break{
		Code: entry.Break.Code, Type: replay.BreakTitle(entry.Break), Detail: entry.Break.Detail,
		Pos: eval.Last(stack), Stack: stack, Frame: r.fc.name, Fullgraph: c.opts.fullgraph,
	}
	if cause, ok := breaks.Lookup(entry.Break.Code); ok {
		b.Fixability = string(cause.Fixability)
	}
	if entry.Graph != nil {
		b.Before = entry.Graph.OpNames()
	}
	if v := entry.Break.Value; v != nil {
		if t, ok := tr.TensorOf(v); ok {
			b.Value = eval.ValueChain(tr.Nodes[t])
		}
	}
	b.Resume = fmt.Sprintf("torch_dynamo_resume_in_%s_at_%d", b.Pos.Func, b.Pos.Line)
	return b
}

// breakText is the message in PyTorch's layout.
func breakText(b logs.Break) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "Graph break in user code at %s:%d\nGraph Break Reason: ", b.Pos.File, b.Pos.Line)
	if b.Code != breaks.DataDependentBranching {
		sb.WriteString("Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n\n")
	}
	sb.WriteString(reasonText(b))
	sb.WriteString("\nUser code traceback:\n")
	for _, p := range b.Stack {
		fmt.Fprintf(&sb, "  File \"%s\", line %d, in %s\n    %s\n", p.File, p.Line, p.Func, strings.TrimSpace(p.Code))
	}
	return sb.String()
}

// reasonText ends with the link to PyTorch's page of the code, if it has one.
func reasonText(b logs.Break) string {
	var sb strings.Builder
	cause, _ := breaks.Lookup(b.Code)
	fmt.Fprintf(&sb, "%s\n  Explanation: %s\n", b.Type, cause.Explanation)
	for _, h := range cause.Hints {
		fmt.Fprintf(&sb, "  Hint: %s\n", h)
	}
	fmt.Fprintf(&sb, "\n  Developer debug context: %s\n\n", b.Detail)
	if cause.Own {
		return sb.String()
	}
	fmt.Fprintf(
		&sb,
		" For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/%s.html\n",
		strings.ToLower(b.Code),
	)
	return sb.String()
}

// fullgraph is the error of a break under fullgraph.
func (r *recorder) fullgraph(c *Compiled, tr *eval.Trace, entry *replay.Entry) *torch.Error {
	b := r.breakRecord(c, tr, entry)
	var sb strings.Builder
	sb.WriteString(reasonText(b))
	sb.WriteString("\nfrom user code:\n")
	for _, p := range b.Stack {
		fmt.Fprintf(&sb, "  File \"%s\", line %d, in %s\n    %s\n", p.File, p.Line, p.Func, strings.TrimSpace(p.Code))
	}
	sb.WriteString(r.verbose(tr, entry))
	r.t.sink.Emit(logs.Text(r.id, "dynamo_error", sb.String()))
	r.metrics(tr, entry, "Unsupported", b.Type)
	return &torch.Error{Op: "torch.Compile", Msg: "fullgraph=true: " + sb.String()}
}

// verbose is what Settings.Verbose adds to an error: the graph so far.
func (r *recorder) verbose(tr *eval.Trace, entry *replay.Entry) string {
	if !compiler.Config().Verbose {
		return ""
	}
	var sb strings.Builder
	if entry.Graph == nil {
		sb.WriteString("\nno operator was captured before it\n")
		return sb.String()
	}
	fmt.Fprintf(&sb, "\nthe graph that was captured:\n%s\n%d guards\n", graph.NewModule(entry.Graph).Code(), len(tr.Guards.List))
	return sb.String()
}

// verboseWithStack is verbose for errors that do not say where the program is.
func (r *recorder) verboseWithStack(tr *eval.Trace, entry *replay.Entry) string {
	text := r.verbose(tr, entry)
	if text == "" {
		return ""
	}
	var sb strings.Builder
	sb.WriteString("\nthe program's stack, the innermost call last:\n")
	for _, p := range tr.UserStack() {
		fmt.Fprintf(&sb, "  File \"%s\", line %d, in %s\n    %s\n", p.File, p.Line, p.Func, strings.TrimSpace(p.Code))
	}
	return sb.String() + text
}

// suppressed writes that a graph could not be compiled and its frame runs eagerly, in PyTorch's words.
func (r *recorder) suppressed(c *Compiled, tr *eval.Trace, entry *replay.Entry, err error) {
	text := fmt.Sprintf("WON'T CONVERT %s %s line %d \ndue to: \n%s%s", r.fc.name, r.at.File, r.at.Line, err, r.verboseWithStack(tr, entry))
	r.t.sink.Emit(logs.Text(r.id, "dynamo_error", text))
	r.metrics(tr, entry, "BackendCompilerFailed", err.Error())
	c.t.cfg.note(text + "\nit runs eagerly, as SuppressErrors asks")
}

// violated is the error of a size that was marked as dynamic and is a constant.
func (r *recorder) violated(tr *eval.Trace, entry *replay.Entry, text string) *torch.Error {
	const kind = "ConstraintViolationError"
	r.t.sink.Emit(logs.Text(r.id, "dynamo_error", text))
	r.metrics(tr, entry, kind, text)
	return &torch.Error{Op: "torch.Compile", Kind: kind, Msg: text}
}

// captured writes the graph. That of settled is not changed any more, nor is what its sizes are.
func (r *recorder) captured(m *graph.Module, settled bool) {
	r.nodes = m.G.Len()
	code := logs.Out{Kind: "dynamo_output_graph", ID: r.id, Place: logs.Here(), Meta: map[string]any{"sizes": shapesOf(m.G)}}
	text := func() []byte { return []byte(m.Code()) }
	table := func() []byte {
		return logs.Payload(logs.GraphCode{Name: m.Name(), Go: m.GoCode(), Table: m.G.Table(), Ops: m.Ops()})
	}
	if !settled {
		now := [][]byte{text(), table()}
		text, table = func() []byte { return now[0] }, func() []byte { return now[1] }
	}
	logs.EmitMade(r.t.sink, code, text)
	logs.EmitArtifactMade[logs.GraphCode](r.t.sink, r.id, table)
	r.t.event("E", "dynamo", r.id, time.Now())
	r.t.event("B", "backend_compile", r.id, time.Now())
}

// shapesOf are the shapes of the tensors of a graph, for JSON.
func shapesOf(g *graph.Graph) map[string]any {
	sizes := map[string]any{}
	for _, n := range g.Nodes() {
		meta, ok := n.Meta.(*ops.TensorMeta)
		if !ok {
			continue
		}
		dims := make([]any, len(meta.Shape))
		for i, s := range meta.Shape {
			if v, isConst := s.IsConst(); isConst {
				dims[i] = v
			} else {
				dims[i] = s.String()
			}
		}
		sizes[n.Name] = dims
	}
	return sizes
}

// done writes guards and metrics of a finished compile.
func (r *recorder) done(c *Compiled, tr *eval.Trace, entry *replay.Entry) {
	name := "backend_compile"
	if entry.Graph == nil {
		name = "dynamo"
	}
	r.t.event("E", name, r.id, time.Now())
	r.guarded(entry.Guards)
	logs.EmitMade(r.t.sink, logs.Out{Kind: "dynamo_cpp_guards_str", ID: r.id, Place: logs.Here()}, r.guards.tree)
	logs.EmitArtifactMade[logs.Guards](r.t.sink, r.id, r.guards.records)
	var list []logs.Guard
	if c.account != nil {
		list = guardRecords(entry.Guards).Guards
	}
	var opNames []string
	if entry.Graph != nil {
		opNames = entry.Graph.OpNames()
	}
	c.account.note(opNames, nil, list, time.Since(r.begun))
	r.bytecode(tr, entry)
	r.metrics(tr, entry, "", "")
}

// guardTexts is what a trace says of the guards of a compile.
type guardTexts struct {
	of            int // guards
	tree, records func() []byte
}

// guarded has the texts of guards made beside what follows: a network has thousands of guards, which are known before its graph is
// compiled and written afterwards. Where the compile has added some the texts are made again.
func (r *recorder) guarded(list []*guard.Guard) {
	if r.guards == nil || r.guards.of != len(list) {
		r.guards = &guardTexts{
			of:      len(list),
			tree:    logs.Ahead(r.t.sink, func() []byte { return guard.Tree(list) }),
			records: logs.Ahead(r.t.sink, func() []byte { return logs.Payload(guardRecords(list)) }),
		}
	}
}

func guardRecords(list []*guard.Guard) logs.Guards {
	out := make([]logs.Guard, len(list))
	for i, g := range list {
		out[i] = guard.Record(g)
	}
	return logs.Guards{Guards: out}
}

// bytecode writes the code of the frames, and what each hit of the entry does in its place.
func (r *recorder) bytecode(tr *eval.Trace, entry *replay.Entry) {
	if !r.t.cfg.Bytecode {
		return
	}
	head := fmt.Sprintf("%s %s line %d\n", r.fc.name, r.at.File, r.at.Line)
	var b strings.Builder
	b.WriteString(head)
	for _, f := range tr.Frames {
		replay.WriteCode(&b, f.Code, f.PC)
		if m, ok := f.Code.Fn.Object().(*types.Func); ok && f.Code.Fn.Synthetic != "" { // a method value calls the method
			if fn := r.t.prog.FuncValue(m); fn != nil && fn != f.Code.Fn && f.PC == 0 && len(fn.Blocks) > 0 {
				replay.WriteCode(&b, r.t.in.Code(fn), 0)
			}
		}
	}
	r.t.sink.Emit(logs.Text(r.id, "tcdbg_ssa", b.String()))
	r.t.sink.Emit(logs.Text(r.id, "tcdbg_entry", head+entry.Text(r.t.in)))
}

// compiled are the metrics of a compile that came to its end, without a graph.
func (r *recorder) compiled(guards int) map[string]any {
	now := time.Now()
	return map[string]any{
		"compile_id": fmt.Sprintf("%d/%d", r.id.Frame, r.id.Compile), "co_name": r.fc.name,
		"co_filename": r.at.File, "co_firstlineno": r.at.Line,
		"cache_size": r.id.Compile, "accumulated_cache_size": r.id.Compile,
		"entire_frame_compile_time_s":       now.Sub(r.begun).Seconds(),
		"dynamo_cumulative_compile_time_us": now.Sub(r.begun).Microseconds(),
		"backend_compile_time_s":            now.Sub(r.graph).Seconds(),
		"start_time_us":                     r.begun.UnixMicro(), "end_time_us": now.UnixMicro(),
		"restart_reasons": []string{}, "is_forward": true, "log_format_version": 3,
		"fail_type": nil, "fail_reason": nil, "has_guarded_code": true,
		"guard_count": guards, "graph_op_count": 0, "graph_node_count": 0, "graph_input_count": 0,
	}
}

func (r *recorder) metrics(tr *eval.Trace, entry *replay.Entry, failType, failReason string) {
	m := r.compiled(len(entry.Guards))
	if entry.Graph != nil {
		m["graph_op_count"], m["graph_node_count"] = entry.Graph.NumOps(), entry.Graph.Len()
		m["graph_input_count"] = len(entry.Inputs)
	}
	if failType != "" {
		m["fail_type"], m["fail_reason"] = failType, failReason
		m["fail_user_frame_filename"], m["fail_user_frame_lineno"] = tr.Pos().File, tr.Pos().Line
		m["guard_count"], m["has_guarded_code"] = nil, false
	}
	r.t.sink.Emit(logs.Out{Kind: "compilation_metrics", ID: r.id, Meta: m, Place: logs.Here()})
}

package tracer

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
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
}

func (t *Tracer) begin(tr *trace, fc *frameCache, id logs.CompileID) *recorder {
	r := &recorder{t: t, id: id, fc: fc, begun: time.Now(), stack: tr.userStack()}
	r.at = t.framePos(tr, fc, r.stack)
	fc.at = r.at
	t.sink.Emit(logs.Out{
		Kind: "dynamo_start", ID: id, Place: logs.Here(),
		Meta: map[string]any{"stack": t.sink.Stack(frames(r.stack))},
	})
	info := logs.FrameInfo{Name: fc.name, Pos: r.at, Parent: fc.parent, From: fc.from, Static: tr.c.opts.dynamic == dynamicNever}
	if tr.c.madeAt.File != "" {
		info.Made = &tr.c.madeAt
	}
	for _, v := range tr.c.fn.FreeVars {
		info.Captured = append(info.Captured, v.Name())
	}
	t.sink.Emit(logs.Artifact(id, info))
	t.event("B", "dynamo", id, r.begun)
	return r
}

// framePos is where a frame begins: the declaration of the compiled function,
// or the line at which it resumes.
func (t *Tracer) framePos(tr *trace, fc *frameCache, stack []logs.Pos) logs.Pos {
	fn := tr.c.fn
	at := fn.Pos()
	if o := fn.Object(); o != nil && !at.IsValid() {
		at = o.Pos() // of a method value, which has no text of its own
	}
	if fc.parent >= 0 {
		return lastOfProgram(stack)
	}
	if !at.IsValid() {
		return last(stack)
	}
	p := t.prog.Fset.Position(at)
	return logs.Pos{
		File: filepath.ToSlash(p.Filename), Line: p.Line, Col: p.Column,
		Func: funcName(fn), Code: strings.TrimRight(t.prog.SourceLine(p.Filename, p.Line), " \t\r"),
	}
}

// lastOfProgram is the innermost place that is not torch's own, else the
// innermost.
func lastOfProgram(ps []logs.Pos) logs.Pos {
	return last(ofProgram(ps))
}

// ofProgram is a stack without torch's own places at its end.
func ofProgram(ps []logs.Pos) []logs.Pos {
	for i, p := range slices.Backward(ps) {
		if !ownSource(p.File) {
			return ps[:i+1]
		}
	}
	return ps
}

func last(ps []logs.Pos) logs.Pos {
	if len(ps) == 0 {
		return logs.Pos{}
	}
	return ps[len(ps)-1]
}

func frames(ps []logs.Pos) []logs.Frame {
	out := make([]logs.Frame, len(ps))
	for i, p := range ps {
		out[i] = logs.Frame{File: p.File, Line: p.Line, Name: p.Func, Loc: strings.TrimSpace(p.Code)}
	}
	return out
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
func (r *recorder) traced(tr *trace, seg *segment) {
	r.graph = time.Now()
	r.numbers(tr)
	for _, x := range tr.env.Symbols {
		o := tr.symbols[x]
		r.t.sink.Emit(logs.Out{Kind: "create_symbol", ID: r.id, Place: logs.Here(), Meta: map[string]any{
			"symbol": x.Name, "val": fmt.Sprint(o.hint), "vr": fmt.Sprintf("[%d, int_oo]", x.Min), "source": x.Source,
			"user_stack": r.t.sink.Stack(frames(o.at)),
		}})
		if v, fixed := x.Fixed(); fixed {
			r.t.sink.Emit(logs.Out{Kind: "symbolic_shape_specialization", ID: r.id, Place: logs.Here(), Meta: map[string]any{
				"symbol": x.Name, "sources": []string{x.Source}, "value": fmt.Sprint(v), "reason": "the program needs the number",
			}})
		}
	}
	if seg.brk == nil {
		return
	}
	b := r.breakRecord(tr, seg)
	tr.c.account.note(nil, &b, nil, 0)
	r.t.sink.Emit(logs.Text(r.id, "dynamo_graph_break_reason", breakText(b)))
	r.t.sink.Emit(logs.Artifact(r.id, b))
}

// numbers writes the floats that are inputs, as PyTorch does: symbols of their own kind.
func (r *recorder) numbers(tr *trace) {
	seen := map[*source]bool{}
	for _, n := range tr.graph.Placeholders() {
		in := tr.numberOf[n]
		in.expr.leaves(func(s *source) {
			if seen[s] || !tr.isOpen(s) {
				return
			}
			r.t.sink.Emit(logs.Out{Kind: "create_symbol", ID: r.id, Place: logs.Here(), Meta: map[string]any{
				"symbol": fmt.Sprintf("zf%d", len(seen)), "val": tr.valueText(s.typ, tr.entry.at(s)), "vr": "[-oo, oo]", "source": s.name,
				"user_stack": r.t.sink.Stack(frames(in.at)),
			}})
			seen[s] = true
		})
	}
}

func (r *recorder) breakRecord(tr *trace, seg *segment) logs.Break {
	stack := tr.userStack()
	b := logs.Break{
		Code: seg.brk.code, Type: breakTitle(seg.brk), Detail: seg.brk.detail,
		Pos: last(stack), Stack: stack, Frame: r.fc.name, Fullgraph: tr.c.opts.fullgraph,
	}
	if cause, ok := breaks.Lookup(seg.brk.code); ok {
		b.Fixability = string(cause.Fixability)
	}
	if seg.graph != nil {
		b.Before = seg.graph.OpNames()
	}
	if v := seg.brk.value; v != nil {
		if t, ok := tensorOf(tr, v); ok {
			b.Value = valueChain(tr.nodes[t])
		}
	}
	b.Resume = fmt.Sprintf("torch_dynamo_resume_in_%s_at_%d", b.Pos.Func, b.Pos.Line)
	return b
}

func tensorOf(tr *trace, v ssa.Value) (*torch.Tensor, bool) {
	if !isTensor(v.Type()) {
		return nil, false
	}
	t := tr.tensorAt(v)
	return t, tr.nodes[t] != nil
}

// valueChain is how a node's value came about: from an input down, each step
// with its line. Where an operator has several tensor inputs the first is
// followed.
func valueChain(n *graph.Node) []logs.Pos {
	var out []logs.Pos
	for n != nil && len(out) < 64 {
		p := logs.Pos{Func: n.Name}
		if n.Kind == graph.Placeholder {
			p.Func = n.Source
		} else if row := n.OpRow(); row != nil {
			p.Func = row.Name
		}
		if len(n.Stack) > 0 {
			f := n.Stack[len(n.Stack)-1]
			p.File, p.Line, p.Col, p.Code = f.File, f.Line, f.Col, f.Code
		}
		out = append([]logs.Pos{p}, out...)
		ins := n.Inputs()
		if len(ins) == 0 {
			break
		}
		n = ins[0]
	}
	return out
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
	fmt.Fprintf(&sb, " For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/%s.html\n", strings.ToLower(b.Code))
	return sb.String()
}

// fullgraph is the error of a break under fullgraph.
func (r *recorder) fullgraph(tr *trace, seg *segment) *torch.Error {
	b := r.breakRecord(tr, seg)
	var sb strings.Builder
	sb.WriteString(reasonText(b))
	sb.WriteString("\nfrom user code:\n")
	for _, p := range b.Stack {
		fmt.Fprintf(&sb, "  File \"%s\", line %d, in %s\n    %s\n", p.File, p.Line, p.Func, strings.TrimSpace(p.Code))
	}
	r.t.sink.Emit(logs.Text(r.id, "dynamo_error", sb.String()))
	r.metrics(tr, seg, "Unsupported", b.Type)
	return &torch.Error{Op: "torch.Compile", Msg: "fullgraph=true: " + sb.String()}
}

// captured writes the graph.
func (r *recorder) captured(tr *trace, m *graph.Module) {
	sizes := map[string]any{}
	for _, n := range m.G.Nodes() {
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
	r.nodes = m.G.Len()
	r.t.sink.Emit(logs.Out{
		Kind: "dynamo_output_graph", ID: r.id, Payload: []byte(m.Code()), Place: logs.Here(),
		Meta: map[string]any{"sizes": sizes},
	})
	r.t.sink.Emit(logs.Artifact(r.id, logs.GraphCode{Name: m.Name(), Go: m.GoCode(), Table: m.G.Table(), Ops: m.Ops()}))
	r.t.event("E", "dynamo", r.id, time.Now())
	r.t.event("B", "backend_compile", r.id, time.Now())
}

// done writes guards and metrics of a finished compile.
func (r *recorder) done(tr *trace, seg *segment) {
	name := "backend_compile"
	if seg.graph == nil {
		name = "dynamo"
	}
	r.t.event("E", name, r.id, time.Now())
	r.t.sink.Emit(logs.Out{Kind: "dynamo_cpp_guards_str", ID: r.id, Payload: []byte(guardTree(seg.guards)), Place: logs.Here()})
	list := make([]logs.Guard, len(seg.guards))
	for i, g := range seg.guards {
		list[i] = guardRecord(g)
	}
	r.t.sink.Emit(logs.Artifact(r.id, logs.Guards{Guards: list}))
	var opNames []string
	if seg.graph != nil {
		opNames = seg.graph.OpNames()
	}
	tr.c.account.note(opNames, nil, list, time.Since(r.begun))
	r.metrics(tr, seg, "", "")
}

func guardRecord(g *guard) logs.Guard {
	rec := logs.Guard{Kind: g.kind, Text: g.text, Expected: g.want, Pos: g.pos}
	if g.src != nil {
		rec.Source = g.src.name
	}
	return rec
}

func (r *recorder) metrics(tr *trace, seg *segment, failType, failReason string) {
	now := time.Now()
	m := map[string]any{
		"compile_id": fmt.Sprintf("%d/%d", r.id.Frame, r.id.Compile), "co_name": r.fc.name,
		"co_filename": r.at.File, "co_firstlineno": r.at.Line,
		"cache_size": r.id.Compile, "accumulated_cache_size": r.id.Compile,
		"entire_frame_compile_time_s":       now.Sub(r.begun).Seconds(),
		"dynamo_cumulative_compile_time_us": now.Sub(r.begun).Microseconds(),
		"backend_compile_time_s":            now.Sub(r.graph).Seconds(),
		"start_time_us":                     r.begun.UnixMicro(), "end_time_us": now.UnixMicro(),
		"restart_reasons": []string{}, "is_forward": true, "log_format_version": 3,
		"fail_type": nil, "fail_reason": nil, "has_guarded_code": true,
		"guard_count": len(seg.guards), "graph_op_count": 0, "graph_node_count": 0, "graph_input_count": 0,
	}
	if seg.graph != nil {
		m["graph_op_count"], m["graph_node_count"] = seg.graph.NumOps(), seg.graph.Len()
		m["graph_input_count"] = len(seg.inputs)
	}
	if failType != "" {
		m["fail_type"], m["fail_reason"] = failType, failReason
		m["fail_user_frame_filename"], m["fail_user_frame_lineno"] = tr.pos().File, tr.pos().Line
		m["guard_count"], m["has_guarded_code"] = nil, false
	}
	r.t.sink.Emit(logs.Out{Kind: "compilation_metrics", ID: r.id, Meta: m, Place: logs.Here()})
}

// guardTree prints guards as PyTorch prints its tree: managers nested by
// source, one leaf a line, with the user's line as a comment.
func guardTree(gs []*guard) string {
	var sb strings.Builder
	sb.WriteString("\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n")
	tree := &guardNode{children: map[*source]*guardNode{}}
	for _, g := range gs {
		tree.place(g.src).leaves = append(tree.place(g.src).leaves, g)
	}
	tree.print(&sb, "| ")
	return sb.String()
}

// guardNode is a guard manager: one source.
type guardNode struct {
	src      *source
	children map[*source]*guardNode
	order    []*guardNode
	leaves   []*guard
}

func (n *guardNode) place(s *source) *guardNode {
	if s == nil {
		return n
	}
	up := n.place(s.parent)
	c := up.children[s]
	if c == nil {
		c = &guardNode{src: s, children: map[*source]*guardNode{}}
		up.children[s] = c
		up.order = append(up.order, c)
	}
	return c
}

func (n *guardNode) print(sb *strings.Builder, indent string) {
	for _, g := range n.leaves {
		fmt.Fprintf(sb, "%s+- %s: %s%s\n", indent, g.kind, g.text, guardComment(g))
	}
	for _, c := range n.order {
		fmt.Fprintf(sb, "%s+- GuardManager: source=%s, accessed_by=%s, type=<class '%s'>\n", indent, c.src.name, c.src.accessor(), typeName(c.src.typ))
		c.print(sb, indent+"| ")
	}
}

func guardComment(g *guard) string {
	if g.pos.File == "" {
		return ""
	}
	return fmt.Sprintf("  # %s  # %s:%d in %s", strings.TrimSpace(g.pos.Code), g.pos.File, g.pos.Line, g.pos.Func)
}

// accessor names the step from the parent, in the style of PyTorch's accessors.
func (s *source) accessor() string {
	switch s.kind {
	case srcRegister:
		return "FrameLocalsGuardAccessor(key='" + localName(s.value) + "')"
	case srcGlobal:
		return "DictGetItemGuardAccessor('" + s.global.Name() + "')"
	case srcField:
		return "GetAttrGuardAccessor(" + s.argument()[strings.LastIndexByte(s.argument(), '.')+1:] + ")"
	case srcElem, srcItem:
		return fmt.Sprintf("ListGetItemGuardAccessor(%d)", s.index)
	case srcMapValue:
		return "DictGetItemGuardAccessor(" + s.key.text + ")"
	case srcDynamic:
		return "TypeGuardAccessor"
	case srcFree:
		return fmt.Sprintf("ClosureGuardAccessor(%d)", s.index)
	}
	return "DerefGuardAccessor"
}

// logMiss writes why no entry of a frame fits: every failing guard of every
// entry.
func (t *Tracer) logMiss(fc *frameCache, id logs.CompileID, fs []*host.Frame, old []*segment, limit bool) {
	miss := logs.GuardMiss{Call: fc.calls.Load(), Limit: limit}
	var reasons []string
	for i := len(old) - 1; i >= 0; i-- { // newest first, as PyTorch lists them
		fails := failuresOf(old[i], newAddresses(t.in, fs, old[i].sources))
		miss.Failures = append(miss.Failures, fails...)
		if len(fails) > 0 {
			reasons = append(reasons, fmt.Sprintf("%d/%d: %s", fc.id, old[i].id.Compile, fails[0].Message))
		}
	}
	body, _ := json.MarshalIndent(reasons, "", "")
	t.sink.Emit(logs.Out{
		Kind: "artifact", ID: id, Payload: body, Place: logs.Here(),
		Meta: map[string]string{"name": "recompile_reasons", "encoding": "json"},
	})
	t.sink.Emit(logs.Artifact(id, miss))
	if limit {
		r := &recorder{t: t, id: id, fc: fc, begun: time.Now(), graph: time.Now()}
		r.limitReached(reasons)
	}
}

// limitReached writes the metrics of a frame that is given up.
func (r *recorder) limitReached(reasons []string) {
	reason := "Dynamo recompile limit exceeded"
	if len(reasons) > 0 {
		reason += ": " + reasons[0]
	}
	r.t.sink.Emit(logs.Out{Kind: "compilation_metrics", ID: r.id, Place: logs.Here(), Meta: map[string]any{
		"compile_id": fmt.Sprintf("%d/%d", r.id.Frame, r.id.Compile), "co_name": r.fc.name, "co_filename": r.fc.at.File, "co_firstlineno": r.fc.at.Line,
		"fail_type": "Unsupported", "fail_reason": reason, "guard_count": nil, "has_guarded_code": nil,
		"cache_size": r.id.Compile, "recompile_reason": strings.Join(reasons, "\n"), "log_format_version": 3,
		"start_time_us": r.begun.UnixMicro(), "end_time_us": time.Now().UnixMicro(),
	}})
}

// failuresOf tests all guards of an entry one by one. Guards whose path is
// broken by an earlier failure are left out, but never the first one.
func failuresOf(s *segment, a *addresses) []logs.GuardFailure {
	var out []logs.GuardFailure
	for _, g := range s.guards {
		if g.test(a) {
			continue
		}
		f := g.actual(a)
		if f.broken && len(out) > 0 {
			continue
		}
		msg := f.message
		if msg == "" {
			msg = g.text + guardComment(g)
		}
		gf := logs.GuardFailure{Entry: s.id.Compile, Guard: guardRecord(g), Actual: f.actual, Message: msg, Dim: f.dim}
		if g.src != nil {
			gf.Origin = g.src.origin()
			if g.src.isSpelled() {
				gf.Argument = g.src.argument()
			}
		}
		out = append(out, gf)
	}
	return out
}

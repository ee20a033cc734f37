package fold

import (
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file folds what only text logs say: fusion decisions, schedules,
// performance hints, CUDA graphs, and messages without a compile id.

// textCompile gives a compile to a record without ids, as text logs without
// trace ids have them: one frame for each function.
func (f *Fold) textCompile(r *logs.Record, p logs.Pos) *compile {
	name := logs.JSONString(r.Field("function"))
	file := logs.JSONString(r.Field("file"))
	if file == "" {
		file = p.File
	}
	if line, ok := logs.JSONInt(r.Field("line")); ok && p.Line == 0 {
		p.Line = int(line)
	}
	if name == "" {
		name = p.Func
	}
	key := file + "\x00" + name
	if name == "" {
		key = file + ":" + strconv.Itoa(p.Line)
	}
	frame, ok := f.synthetic[key]
	if !ok {
		frame = -2 - len(f.synthetic)
		if f.synthetic == nil {
			f.synthetic = map[string]int{}
		}
		f.hold(len(key))
		f.synthetic[key] = frame
	}
	again := *r
	again.HasID, again.ID = true, logs.CompileID{Frame: frame}
	if r.Is("recompile_reasons") {
		again.ID.Compile = len(f.frameOf(&again).Compiles)
		if again.ID.Compile == 0 {
			again.ID.Compile = 1
		}
	}
	c := f.compileOf(&again)
	if c.Frame.Name == "" {
		c.Frame.Name = f.intern(name)
		c.Frame.Pos = f.pos(logs.Pos{File: file, Line: p.Line, Func: name})
		f.named(c.Frame)
	}
	if c.Status == explain.Compiling {
		c.Status, c.Frame.Status = explain.Compiled, explain.Compiled
	}
	return c
}

// pastedGraph gives a graph without ids a frame of its own.
func (f *Fold) pastedGraph(r *logs.Record, g *fx.Graph) *compile {
	f.pasted++
	p := logs.Pos{Func: "graph " + strconv.Itoa(f.pasted)}
	if g != nil {
		for _, n := range g.Nodes {
			if n.Source.File != "" {
				p.Func = n.Source.Func + " (graph " + strconv.Itoa(f.pasted) + ")"
				p.File, p.Line = n.Source.File, n.Source.Line
				break
			}
		}
	}
	if name := logs.JSONString(r.Field("function")); name != "" {
		p.Func = name + " (graph " + strconv.Itoa(f.pasted) + ")"
	}
	again := *r
	again.SetMeta(nil)
	return f.textCompile(&again, p)
}

// pastedError notes a compiler's error that was printed without a compile id.
func (f *Fold) pastedError(r *logs.Record, text string) {
	msg := explain.LastError(text)
	name, _, _ := strings.Cut(msg, ": ")
	if !explain.IsExceptionName(name) {
		f.note(r, "error", text)
		return
	}
	b := explain.ParseError(text)
	c := f.textCompile(r, b.Place)
	c.errBreak, c.errText, c.errSeq = b, f.intern(msg), r.Seq
	typ := name[strings.LastIndexByte(name, '.')+1:]
	f.fail(c, &metrics{failType: typ, failReason: strings.TrimSpace(strings.TrimPrefix(msg, name+": "))})
	c.Frame.Status = c.Status
}

// frameName takes the function that a text log names for a compile.
func (f *Fold) frameName(r *logs.Record) {
	c := f.compileOf(r)
	at, ok := f.lastPos(r.Stack("stack"))
	if c == nil || !ok || c.Frame.Name != "" {
		return
	}
	c.Frame.Pos = at
	c.Frame.Name = c.Frame.Pos.Func
	f.adopt(c.Frame)
}

// textLog folds a message of a text log that has no record of its own.
func textLog(f *Fold, r *logs.Record) {
	f.textual = true
	name := logs.JSONString(r.Field("name"))
	text := r.Text()
	switch name {
	case "frame":
		f.frameName(r)
		return
	case "fusion", "loop_ordering", "schedule":
		if fusionLine(f, r, text) {
			return
		}
	case "trace_source", "trace_call", "trace_bytecode":
		traceLine(f, r, name, text)
		return
	case "ir_pre_fusion", "ir_post_fusion":
		fusionLoops(f, r, name == "ir_pre_fusion", text)
		return
	case "graph_sizes", "bytecode", "output", "verbose_guards", "loop_tiling", "benchmarking", "inductor_metrics":
		return
	}
	for _, k := range []struct{ words, kind string }{
		{"torch._dynamo hit config.", "limit"},
		{"skipping cudagraphs due to", "cudagraphs"},
		{"Graph break from `Tensor.item()`", "hint"},
		{"Graph break from Tensor.item()", "hint"},
		{"Online softmax is disabled", "perf_hints"},
	} {
		if strings.Contains(text, k.words) {
			f.note(r, k.kind, text)
			if k.kind == "limit" {
				limitWarning(f, r, text)
			}
			return
		}
	}
	switch name {
	case "dynamic": // steps of the solver; what they mean for the program are records of their own
	case "perf_hints", "cudagraphs", "compiled_autograd", "explain", "autotuning":
		f.note(r, name, text)
	}
}

// limitWarning reads "torch._dynamo hit config.recompile_limit (8)".
func limitWarning(f *Fold, r *logs.Record, text string) {
	c := f.compileOf(r)
	if c == nil {
		return
	}
	c.Status, c.limit, c.Frame.Status = explain.Limit, true, explain.Limit
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "function: '"); ok {
			name, at, _ := strings.Cut(rest, "' (")
			if c.Frame.Name == "" {
				c.Frame.Name = f.intern(name)
				at = strings.TrimSuffix(at, ")")
				if i := strings.LastIndexByte(at, ':'); i > 0 {
					c.Frame.Pos = f.pos(logs.Pos{File: at[:i], Line: explain.Atoi(at[i+1:]), Func: name})
				}
				f.named(c.Frame)
			}
		}
		if rest, ok := strings.CutPrefix(line, "last reason: "); ok && c.Recompile == nil {
			f.setReasons(c, []string{rest}, r.Seq)
		}
	}
}

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
	case "graph_sizes", "bytecode", "output", "ir_pre_fusion", "ir_post_fusion",
		"verbose_guards", "loop_tiling", "benchmarking", "inductor_metrics":
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

// fusionLine folds one message of the fusion log.
func fusionLine(f *Fold, r *logs.Record, text string) bool {
	line := strings.TrimSpace(explain.FirstLine(text))
	id := f.id(r)
	id.Attempt = 0
	if strings.HasPrefix(line, "===== attempting fusion (1/") && f.fusing[id] != nil && f.fusing[id].Round > 0 {
		delete(f.fusing, id) // the backward of the same compile
	}
	fu := f.fusionOf(f.id(r), f.compileOf(r))
	switch {
	case strings.HasPrefix(line, "===== attempting fusion ("):
		fu.Round++
		if n := numberBefore(line, " nodes"); fu.Before == 0 {
			fu.Before, fu.After = n, n
		}
	case strings.HasPrefix(line, "cannot fuse "):
		refusal(f, fu, line)
	case strings.HasPrefix(line, "fusing "):
		a, b, _ := strings.Cut(strings.TrimPrefix(line, "fusing "), " with ")
		fu.Steps = append(
			fu.Steps,
			logs.FusionStep{Round: fu.Round, A: f.intern(a), B: f.intern(b), Fused: true, Result: f.intern(a + "_" + b)},
		)
	case strings.HasPrefix(line, "completed fusion round"):
		if _, rest, ok := strings.Cut(line, " nodes into "); ok {
			fu.After = numberBefore(rest, " nodes")
		}
	case strings.Contains(line, " has ") && strings.HasSuffix(line, " shared data"):
		sharedData(f, fu, line)
	case strings.HasPrefix(line, "Schedule:"):
		fu.Schedule = append(fu.Schedule, r.Loader())
	case line == "fuse_nodes_once, candidates:", strings.Contains(line, schedulerNode):
		for line := range strings.SplitSeq(text, "\n") {
			candidate(f, fu, strings.TrimSpace(line))
		}
	case strings.HasPrefix(line, "found "), strings.HasPrefix(line, "===== fusion complete"):
	default:
		return false
	}
	return true
}

const (
	schedulerNode = "SchedulerNode(name='op"
	maxGap        = 1 << 10 // between two numbers
)

// candidate reads a node of the scheduler, "SchedulerNode(name='op1'), Reduction(['[64]',
// 'sum', 'origins=OrderedSet([sum_1, relu])', ...": its number and the operator that it
// computes, the first of those it came from. Groups repeat the nodes in them.
func candidate(f *Fold, fu *explain.Fusion, line string) {
	kind, rest, ok := strings.Cut(line, schedulerNode)
	number, rest, closed := strings.Cut(rest, "'")
	n, err := strconv.Atoi(number)
	if !ok || !closed || err != nil || n < 0 || n > len(fu.Ops)+maxGap || strings.Contains(kind, "(") {
		return
	}
	op := ""
	switch kind {
	case "ExternKernel":
		op = "extern op" + number
	case "NopKernel":
		op = "nop op" + number
	case "":
		if _, origins, ok := strings.Cut(rest, "'origins="); ok {
			if i := strings.IndexAny(origins, "[{"); i >= 0 {
				origins = origins[i+1:]
			}
			op = strings.TrimRight(origins[:max(strings.IndexAny(origins, ",]}"), 0)], "0123456789")
			op = strings.TrimRight(op, "_")
		}
	}
	if op == "" || n < len(fu.Ops) && fu.Ops[n] != "" {
		return
	}
	for len(fu.Ops) <= n {
		fu.Ops = append(fu.Ops, "")
		f.hold(heldName)
	}
	fu.Ops[n] = f.intern(op)
}

// refusal reads "cannot fuse A with B: REASON".
func refusal(f *Fold, fu *explain.Fusion, line string) {
	pair, reason, _ := strings.Cut(strings.TrimPrefix(line, "cannot fuse "), ": ")
	if rest, ok := strings.CutPrefix(pair, "(benchmark)"); ok {
		pair, reason = rest, "benchmark: "+reason
	}
	a, b, _ := strings.Cut(pair, " with ")
	step := logs.FusionStep{Round: fu.Round, A: f.intern(a), B: f.intern(b), Reason: f.intern(reason), Score: fu.Scores[a+"\x00"+b]}
	if fu.Refused == nil {
		fu.Refused = map[string]int{}
	}
	key := a + "\x00" + b
	if i, again := fu.Refused[key]; again && fu.Steps[i].Reason == reason { // pairs are tried again as groups grow
		return
	}
	fu.Refused[key] = len(fu.Steps)
	fu.Steps = append(fu.Steps, step)
}

func sharedData(f *Fold, fu *explain.Fusion, line string) {
	pair, rest, _ := strings.Cut(line, " has ")
	a, b, _ := strings.Cut(pair, " and ")
	if fu.Scores == nil {
		fu.Scores = map[string]int64{}
	}
	fu.Scores[a+"\x00"+b] = int64(numberBefore(rest, " shared"))
}

// numberBefore reads the number in front of a word.
func numberBefore(s, word string) int {
	i := strings.Index(s, word)
	if i < 0 {
		return 0
	}
	j := i
	for j > 0 && s[j-1] >= '0' && s[j-1] <= '9' {
		j--
	}
	return explain.Atoi(s[j:i])
}

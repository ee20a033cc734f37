package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/rewrite"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tui/theme"
)

// This file is a feed made by hand: a captioning program with two breaks, a
// recompile chain, guards, graphs, kernels, fusion decisions and a timeline.

type fakeFeed struct {
	report  *explain.Report
	run     Run
	records []Record
	output  []OutputLine
	files   map[string][]string
	sent    []string
	exports map[string]string
	before  *explain.Report // the run before
	applied []string
	// noSchedule makes Schedule fail.
	noSchedule bool
}

func (f *fakeFeed) Before() (*explain.Report, string, error) {
	if f.before == nil {
		return nil, "", errors.New("no earlier run of captioner.go is saved")
	}
	return f.before, "20260301-model-0001", nil
}

func (f *fakeFeed) Apply(file string, hunks []explain.Hunk) error {
	if len(f.applied) > 0 {
		return rewrite.ErrChanged
	}
	for _, h := range hunks {
		f.applied = append(append(f.applied, fmt.Sprintf("%s:%d", file, h.Line)), h.Lines...)
	}
	return nil
}

func (f *fakeFeed) Undo() (string, error) {
	if len(f.applied) == 0 {
		return "", errors.New("no fix was written since tcdbg started")
	}
	f.applied = nil
	return "model.go", nil
}

func (f *fakeFeed) Snapshot() *explain.Report { return f.report }

func (f *fakeFeed) Run() Run { return f.run }

func (f *fakeFeed) Records() Records { return fakeRecords{f} }

func (f *fakeFeed) Output() Output { return fakeOutput{f} }

func (f *fakeFeed) Path(name string) string { return name }

func (f *fakeFeed) Interrupt() {
	f.sent = append(f.sent, "interrupt")
	f.run.Paused = false // a program that stands gets the signal when it goes on
}

func (f *fakeFeed) Leave() error {
	f.sent = append(f.sent, "leave")
	return nil
}

func (f *fakeFeed) Rerun() error {
	if !f.run.Again {
		return errors.New("a saved run cannot run again")
	}
	f.sent = append(f.sent, "rerun")
	return nil
}

func (f *fakeFeed) Watch(on bool) error {
	f.run.Watched, f.run.Changes = on, "1 break fixed"
	return nil
}

func (f *fakeFeed) Source(name string) ([]string, error) {
	if l, ok := f.files[name]; ok {
		return l, nil
	}
	return nil, errors.New("no such file")
}

func (f *fakeFeed) Send(c ctl.Command) error {
	text := strings.TrimSpace(string(c.Verb) + " " + c.Arg)
	for _, x := range []struct {
		name string
		n    int
	}{{"point", c.Point}, {"level", c.Level}, {"pid", c.Process}} {
		if x.n != 0 {
			text += fmt.Sprintf(" %s %d", x.name, x.n)
		}
	}
	if c.Thread != "" {
		text += " thread " + c.Thread
	}
	f.sent = append(f.sent, text)
	switch c.Verb {
	case ctl.Pause:
		f.run.Paused, f.run.Where = true, "model.go:52"
	case ctl.Continue:
		f.run.Paused = false
	}
	return nil
}

func (f *fakeFeed) Export(name, text string) (string, error) {
	if f.exports == nil {
		f.exports = map[string]string{}
	}
	f.exports[name] = text
	return "runs/" + name, nil
}

type fakeRecords struct{ f *fakeFeed }

func (r fakeRecords) Len() int { return len(r.f.records) }

func (r fakeRecords) At(i int) Record { return r.f.records[i] }

func (r fakeRecords) Payload(i int) string { return fmt.Sprintf("payload %d of %s", i, r.At(i).Kind) }

func (r fakeRecords) Search(_ context.Context, q string, hit func(int), progress func(float64)) {
	for i := range r.f.records {
		if theme.IndexFold(r.Payload(i), q) >= 0 {
			hit(i)
		}
	}
	progress(1)
}

type fakeOutput struct{ f *fakeFeed }

func (o fakeOutput) Len() int { return len(o.f.output) }

func (o fakeOutput) Line(i int) OutputLine { return o.f.output[i] }

const (
	modelFile = "/home/ann/captioner/model.go"
	nnFile    = "/home/ann/tcdbg/torch/nn/linear.go"
)

func at(line int, fn, code string) logs.Pos {
	return logs.Pos{File: modelFile, Line: line, Func: fn, Code: code}
}

func cid(frame, compile int) explain.ID {
	return explain.ID{Rank: -1, CompileID: logs.CompileID{Frame: frame, Compile: compile}}
}

// richReport is the report of the captioner.
func richReport() *explain.Report {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := &explain.Report{Title: "captioner.go", Engine: "tcdbg 0.1.0", Start: t0, End: t0.Add(3200 * time.Millisecond)}
	enc := addFrame(r, 0, "Encoder.Forward", at(18, "Encoder.Forward",
		"func (e *Encoder) Forward(x *torch.Tensor) *torch.Tensor {"), []string{"conv2d", "relu", "conv2d", "relu", "max_pool2d", "linear"})
	dec := addFrame(r, 1, "Decoder.Forward", at(41, "Decoder.Forward",
		"func (d *Decoder) Forward(x, b *torch.Tensor) *torch.Tensor {"), []string{"attention", "add", "layer_norm"})
	res := addFrame(r, 2, "torch_dynamo_resume_in_Decoder.Forward_at_52", at(52, "Decoder.Forward", ""),
		[]string{"mul", "add", "gelu", "linear"})
	res.EagerOps = 0
	res.Parent, dec.Resumes = dec, []*explain.Frame{res}
	step := addFrame(r, 3, "step", at(77, "step", "func step(x *torch.Tensor) *torch.Tensor {"), []string{"reshape", "mul", "sum"})
	enc.Calls, enc.Hits, enc.RunNanos, enc.EagerOps = 12, 11, 12*3_100_000, 0
	dec.Calls, dec.Hits, dec.RunNanos, dec.EagerOps = 12, 11, 12*1_900_000, 2
	step.Calls, step.Hits, step.RunNanos, step.EagerOps = 3, 0, 3*200_000, 8
	addBreaks(r, dec)
	addRecompiles(r, step)
	addGuards(dec.Compiles[0])
	addNodes(dec.Compiles[0].Graph)
	addKernels(r)
	addFusion(r)
	addPhases(r, t0)
	r.Totals = explain.Totals{
		Records: 812, Frames: 4, Compiles: 6, Graphs: len(r.Graphs), Breaks: 13, DistinctBreaks: 2,
		Recompiles: 2, Kernels: len(r.Kernels), CompileSeconds: 0.41, Ops: 22,
	}
	r.Advice = []explain.Advice{
		{
			Text: "branch on a tensor's value", Pos: r.Breaks[0].Lead.Pos, Fix: r.Breaks[0].Fix, Cost: "2 graphs, 12 times",
			Break: r.Breaks[0],
		},
		{
			Text: "batch 8, 9, 10: compiled 3 times", Pos: r.Recompiles[0].Failures[0].Pos, Fix: r.Recompiles[0].Fix,
			Cost: "0.06 s once each", Cause: &explain.RecompileCause{}, Frame: step,
		},
	}
	return r
}

func addFrame(r *explain.Report, id int, name string, pos logs.Pos, ops []string) *explain.Frame {
	f := &explain.Frame{ID: cid(id, 0), Name: name, Pos: pos, Status: explain.Compiled, Calls: -1, EagerOps: -1}
	g := &explain.Graph{ID: cid(id, 0), Name: fmt.Sprintf("__compiled_fn_%d", id+1), Ops: ops, Inputs: 2}
	c := &explain.Compile{ID: cid(id, 0), Frame: f, Status: explain.Compiled, Attempts: 1, Seconds: 0.07, Graph: g, Ops: len(ops)}
	f.Compiles = []*explain.Compile{c}
	r.Frames = append(r.Frames, f)
	r.Graphs = append(r.Graphs, g)
	return f
}

func addBreaks(r *explain.Report, dec *explain.Frame) {
	pos := at(52, "Decoder.Forward", "\tif b.Sum().Lt(0).Bool() {")
	pos.Col, pos.EndCol = 5, 26
	c := dec.Compiles[0]
	lead := &explain.Break{
		Code: "GB0170", Type: "Data-dependent branching", Fixability: "fixable by you", Outcome: "resumed", Pos: pos, Compile: c,
		Explanation: "The branch needs a number, and the graph holds only how it is computed.",
		Hints:       []string{"Use torch.Where instead of the branch.", "Compute the condition outside the compiled function."},
		Stack:       []logs.Pos{at(14, "main", "out := m.Forward(img)"), at(31, "Model.Forward", "h = d.Forward(h, b)"), pos},
		Value: []logs.Pos{
			at(41, "b (argument 1)", ""), at(52, "Sum()", "b.Sum()"), at(52, "Lt(0)", ".Lt(0)"),
			at(52, "Bool()", ".Bool()"),
		},
		Before: c.Graph.Ops, After: r.Graphs[2],
		Raw: "Data-dependent branching\n  Explanation: ...",
	}
	c.Breaks = []*explain.Break{lead}
	g := &explain.BreakGroup{
		Key: "GB0170 Decoder.Forward", Lead: lead, Graphs: 2, Seconds: 0.06, EagerOps: 2,
		Fix: explain.Fix{Text: "torch.Where keeps both sides in the graph", Lines: []string{
			"-if b.Sum().Lt(0).Bool() { b = b.Mul(-1) }", "+b = torch.Where(b.Sum().Lt(0), b.Mul(-1), b)",
		}},
	}
	g.Rewrite = &explain.Rewrite{Hunks: []explain.Hunk{{Line: 52, Lines: g.Fix.Lines}}}
	for range 12 {
		g.Breaks = append(g.Breaks, lead)
	}
	print := &explain.Break{
		Code: "GB0059", Type: "Call of a printing function", Fixability: "fixable by you",
		Pos: at(57, "Decoder.Forward", "\tfmt.Println(h.Shape())"), Compile: c, Explanation: "Printing happens outside any graph.",
	}
	after := &explain.BreakGroup{Key: "GB0059 Decoder.Forward", Lead: print, Breaks: []*explain.Break{print}, CausedBy: g, EagerOps: -1}
	g.Causes = []*explain.BreakGroup{after}
	lib := &explain.Break{
		Type: "Skipped function", Noise: true,
		Pos: logs.Pos{File: "/usr/lib/python3/site-packages/torch/nn/parallel/distributed.py", Line: 1600},
	}
	noise := &explain.BreakGroup{Key: "noise", Lead: lib, Breaks: []*explain.Break{lib}, EagerOps: -1}
	r.Breaks = []*explain.BreakGroup{g, after, noise}
}

func addRecompiles(r *explain.Report, step *explain.Frame) {
	for i := 1; i <= 2; i++ {
		g := &explain.Graph{ID: cid(3, i), Name: fmt.Sprintf("__compiled_fn_%d", 4+i), Ops: step.Compiles[0].Graph.Ops, Inputs: 1}
		c := &explain.Compile{
			ID: cid(3, i), Frame: step, Status: explain.Compiled, Seconds: 0.03, Graph: g,
			Stack: []logs.Pos{at(16, "main", "step(x)")},
		}
		rc := &explain.Recompile{
			Key: "step size x 0", Compile: c, Complete: true,
			Failures: []explain.GuardFailure{{
				Entry: fmt.Sprintf("3/%d", i-1), Source: "x", Kind: "size", Dim: 0, Expected: fmt.Sprint(7 + i), Actual: fmt.Sprint(8 + i),
				Text: fmt.Sprintf("tensor 'x' size mismatch at index 0. expected %d, actual %d", 7+i, 8+i),
				Pos:  at(80, "step", "\ty := x.Reshape(8, -1)"),
			}},
			Fix: explain.Fix{Text: "compiler.MarkDynamic(x, 0), or x.Reshape(x.Size(0), -1)"},
			Raw: []string{fmt.Sprintf("3/%d: tensor 'x' size mismatch at index 0. expected %d, actual %d", i-1, 7+i, 8+i)},
		}
		c.Recompile = rc
		step.Compiles = append(step.Compiles, c)
		r.Graphs = append(r.Graphs, g)
		r.Recompiles = append(r.Recompiles, rc)
	}
}

func addGuards(c *explain.Compile) {
	leaf := func(kind, source, text string, p logs.Pos) *explain.GuardNode {
		return &explain.GuardNode{Kind: kind, Source: source, Text: text, Pos: p, Code: p.Code}
	}
	root := &explain.GuardNode{Source: "L", Children: []*explain.GuardNode{
		{Source: "L['x']", Type: "*torch.Tensor", Children: []*explain.GuardNode{
			leaf("TENSOR_MATCH", "L['x']", "float32 [8, 16, 64], stride [1024, 64, 1]",
				at(44, "Decoder.Forward", "h := d.attn.Forward(x)")),
			{Kind: "NO_HASATTR", Source: "L['x']", Noise: true},
		}},
		{Source: "L['d']", Type: "*main.Decoder", Children: []*explain.GuardNode{
			leaf("ID_MATCH", "L['d'].attn", "same module", at(44, "Decoder.Forward", "h := d.attn.Forward(x)")),
			leaf("EQUALS_MATCH", "L['d'].heads", "== 4", at(45, "Decoder.Forward", "for i := range d.heads {")),
		}},
	}}
	c.Guards = &explain.GuardTree{Leaves: 4, Noise: 1, Micros: 0.21, Load: func() *explain.GuardNode { return root }}
}

func addNodes(g *explain.Graph) {
	nodes := []explain.GraphNode{
		{Name: "l_x_", Op: "placeholder", Target: "L_x_", Type: "f32[8, 16, 64]"},
		{Name: "l_b_", Op: "placeholder", Target: "L_b_", Type: "f32[8, 16, 64]"},
		{
			Name: "attention", Op: "call_function", Target: "aten.attention", Type: "f32[8, 16, 64]", Args: []string{"l_x_"},
			Pos: at(44, "Decoder.Forward", "\th := d.attn.Forward(x)"),
		},
		{
			Name: "add", Op: "call_function", Target: "aten.add", Type: "f32[8, 16, 64]", Args: []string{"attention", "l_x_"},
			Pos: at(45, "Decoder.Forward", "\th = h.Add(x)"),
		},
		{
			Name: "layer_norm", Op: "call_function", Target: "aten.layer_norm", Type: "f32[8, 16, 64]", Args: []string{"add"},
			Pos: at(46, "Decoder.Forward", "\th = d.norm.Forward(h)"),
		},
		{
			Name: "sum_1", Op: "call_function", Target: "aten.sum", Type: "f32[]", Args: []string{"l_b_"},
			Pos: at(52, "Decoder.Forward", "\tif b.Sum().Lt(0).Bool() {"),
		},
		{Name: "output", Op: "output", Target: "output", Args: []string{"layer_norm", "sum_1"}},
	}
	g.LoadNodes = func() []explain.GraphNode { return nodes }
	g.Stages = []explain.Stage{{Name: "dynamo", Load: func() string {
		return "class GraphModule(torch.nn.Module):\n    def forward(self, L_x_: \"f32[8, 16, 64]\"):\n        # File: model.go:45 " +
			"in Forward, code: h = h.Add(x)\n        add: \"f32[8, 16, 64]\" = attention + l_x_;  attention = None\n        return (add,)\n"
	}}}
}

func addKernels(r *explain.Report) {
	src := []string{
		"static void fused_add_layer_norm_1(float* __restrict__ out, const float* a, const float* x)",
		"{",
		"    for (long i = 0; i < 8192; i++) { // rows",
		"        vf t = load(a + i) + load(x + i);",
		"        store(out + i, t * 0.5f);",
		"    }",
		"}",
	}
	r.Kernels = []*explain.Kernel{
		{
			ID: cid(1, 0), Name: "fused_attention_0", Lang: "extern", Reason: "template: no fusion into attention",
			Ops: []string{"attention"}, Nodes: []string{"attention"},
			Pos: []logs.Pos{at(44, "Decoder.Forward", "\th := d.attn.Forward(x)")}, Bytes: 1 << 20, Calls: 12, Timed: 12,
			Nanos: 12 * 1_100_000, Fused: 1,
		},
		{
			ID: cid(1, 0), Name: "fused_add_layer_norm_1", Lang: "c", Ops: []string{"add", "layer_norm"},
			Nodes: []string{"add", "layer_norm"},
			Pos:   []logs.Pos{at(45, "Decoder.Forward", "\th = h.Add(x)"), at(46, "Decoder.Forward", "\th = d.norm.Forward(h)")},
			Load:  func() string { return strings.Join(src, "\n") }, From: 10, Bytes: 98304, FLOPs: 81920, Calls: 12, Timed: 10,
			Nanos: 10 * 90_000, Fused: 2,
			Lines: []logs.KernelLine{
				{Line: 13, Nodes: []string{"add"}, Pos: []logs.Pos{at(45, "Decoder.Forward", "\th = h.Add(x)")}},
				{Line: 14, Nodes: []string{"layer_norm"}, Pos: []logs.Pos{at(46, "Decoder.Forward", "\th = d.norm.Forward(h)")}},
			},
			Output: &explain.OutputCode{
				ID: cid(1, 0), Path: "output_code.py",
				Load: func() string { return "# wrapper\n" + strings.Join(src, "\n") },
			},
		},
		{
			ID: cid(2, 0), Name: "fused_mul_add_gelu_0", Lang: "c", Ops: []string{"mul", "add", "gelu"},
			Nodes: []string{"mul", "add_1", "gelu"}, Pos: []logs.Pos{at(53, "Decoder.Forward", "\t\tb = b.Mul(-1)")}, Bytes: -1,
			Nanos: -1, Fused: 3,
		},
	}
}

func addFusion(r *explain.Report) {
	r.Passes = []*explain.PassRun{
		{ID: cid(1, 0), Step: logs.PassStep{
			Stage: "aot", Pass: "decompose", Index: 0, Before: "a = layer_norm(x)\nreturn a",
			After: "m = mean(x)\nv = var(x)\na = norm(x, m, v)\nreturn a", Micros: 140,
		}},
		{ID: cid(1, 0), Step: logs.PassStep{Stage: "aot", Pass: "cse", Index: 1, Before: "a\n", After: "a\n", Micros: 12}},
	}
	start := func() (logs.Schedule, bool) { return logs.Schedule{}, true }
	ops := []string{"mm", "add", "relu", "mul", "sum", "amax"}
	r.Fusions = []*explain.Fusion{{
		ID: cid(1, 0), Graph: "__compiled_fn_2", Before: 4, After: 2, Seq: 9, Ops: ops, Start: start,
		Steps: []logs.FusionStep{
			{Round: 1, A: "op1", B: "op2", Kind: "vertical", Fused: true, Score: 131072, Result: "op1_op2", Kernels: 5},
			{Round: 1, A: "op1_op2", B: "op3", Kind: "vertical", Fused: true, Score: 131072, Result: "op1_op2_op3", Kernels: 4},
			{
				Round: 1, A: "op0", B: "op1_op2_op3", Kind: "epilogue", Reason: "template",
				Why:   "mm is a template over 8x64, add runs over 8x64: an epilogue would fit, but mm is an extern kernel here.",
				Score: 64, Kernels: 4,
			},
			{
				Round: 2, A: "op4", B: "op5", Kind: "horizontal", Reason: "reduction of another group",
				Why: "sum iterates (8192), amax reduces (8, 1024).", Kernels: 4,
			},
		},
	}}
}

// Schedule fuses what the steps of addFusion fuse.
func (f *fakeFeed) Schedule(fu *explain.Fusion, decisions int) ([]Kernel, error) {
	if f.noSchedule {
		return nil, errors.New("the scheduler of this version decides otherwise")
	}
	groups := []string{"op0", "op1", "op2", "op3", "op4", "op5"}
	for i := range max(0, decisions) {
		if s := fu.Steps[i]; s.Fused {
			at := slices.Index(groups, s.A)
			groups[at] = s.Result
			groups = slices.DeleteFunc(groups, func(g string) bool { return g == s.B })
		}
	}
	var out []Kernel
	for _, g := range groups {
		var ops []string
		body := ""
		for _, op := range strings.Split(g, "_") {
			n, _ := strconv.Atoi(op[2:])
			ops = append(ops, fu.Ops[n])
			body += "  " + fu.Ops[n] + ";\n"
		}
		k := Kernel{
			Node: g, Ranges: "[8192]", Ops: ops, Name: "fused_" + strings.Join(ops, "_"),
			Source: "void fused_" + strings.Join(ops, "_") + "() {\n" + body + "}\n",
		}
		if g == "op0" {
			k.Name, k.Source = "extern_mm_0", ""
		}
		out = append(out, k)
	}
	return out, nil
}

func addPhases(r *explain.Report, t0 time.Time) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for i, p := range []struct {
		name        string
		frame, n    int
		from, d, dp int
	}{
		{"compile Encoder.Forward", 0, 0, 0, 140, 0},
		{"trace", 0, 0, 0, 30, 1},
		{"inductor", 0, 0, 30, 110, 1},
		{"cc", 0, 0, 60, 75, 2},
		{"compile Decoder.Forward", 1, 0, 200, 210, 0},
		{"trace", 1, 0, 200, 60, 1},
		{"inductor", 1, 0, 262, 140, 1},
		{"compile step", 3, 0, 900, 60, 0},
		{"compile step", 3, 1, 1300, 60, 0},
		{"compile step", 3, 2, 1800, 60, 0},
	} {
		_ = i
		r.Phases = append(r.Phases, &explain.Phase{
			Name: p.name, ID: cid(p.frame, p.n), Start: t0.Add(ms(p.from)), Dur: ms(p.d),
			Depth: p.dp,
		})
	}
	r.PhaseSums = []explain.PhaseSum{
		{Name: "inductor", Count: 2, Seconds: 0.25, Self: 0.175},
		{Name: "trace", Count: 2, Seconds: 0.09, Self: 0.09},
		{Name: "cc", Count: 1, Seconds: 0.075, Self: 0.075},
	}
	selfTimes(r.Phases)
}

// selfTimes gives each phase what those within it leave: they come after it, and lie deeper.
func selfTimes(phases []*explain.Phase) {
	var open []*explain.Phase
	for _, p := range phases {
		p.Self = p.Dur
		if open = open[:min(p.Depth, len(open))]; len(open) > 0 {
			open[len(open)-1].Self -= p.Dur
		}
		open = append(open, p)
	}
}

// richFeed is the captioner as a live run.
func richFeed() *fakeFeed {
	f := &fakeFeed{
		report: richReport(),
		run:    Run{Title: "captioner.go", Root: "/home/ann/captioner", Live: true, Control: true, Elapsed: 3200 * time.Millisecond},
		output: []OutputLine{
			{Text: "epoch 1 loss 0.52"},
			{Text: "warning: slow \x1b[31mdisk\x1b[0m", Err: true},
			{Text: "epoch 2 loss 0.31"},
		},
		files: map[string][]string{},
	}
	for i, k := range []string{
		"artifact:tcdbg_run", "dynamo_start", "dynamo_output_graph", "artifact:dynamo_graph_break_reason",
		"dynamo_cpp_guards_str", "inductor_output_code", "artifact:recompile_reasons", "compilation_metrics",
	} {
		f.records = append(f.records, Record{
			Time: fmt.Sprintf("12:00:0%d.000", i), Kind: k, ID: "1/0", Rank: -1,
			Bytes: int64(100 * i), Summary: "",
		})
	}
	lines := make([]string, 84)
	for i := range lines {
		lines[i] = fmt.Sprintf("\t// line %d", i+1)
	}
	for n, code := range map[int]string{
		18: "func (e *Encoder) Forward(x *torch.Tensor) *torch.Tensor {",
		41: "func (d *Decoder) Forward(x, b *torch.Tensor) *torch.Tensor {",
		44: "\th := d.attn.Forward(x)", 45: "\th = h.Add(x)", 46: "\th = d.norm.Forward(h)", 52: "\tif b.Sum().Lt(0).Bool() {",
		53: "\t\tb = b.Mul(-1)",
		54: "\t}", 57: "\tfmt.Println(h.Shape())", 77: "func step(x *torch.Tensor) *torch.Tensor {", 80: "\ty := x.Reshape(8, -1)",
	} {
		lines[n-1] = code
	}
	f.files[modelFile] = lines
	return f
}

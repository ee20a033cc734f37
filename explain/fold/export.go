package fold

import (
	"strconv"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file folds what torch.export and AOTInductor write. They compile a model
// ahead of time, outside of any frame: their records carry no compile id but the
// stack of the program instead.

// exported finds or makes the compile of an exported model that a record without
// an id belongs to; nil where the record's stack does not tell that it is one.
func exported(f *Fold, r *logs.Record) *compile {
	if c := f.exporting[r.Source]; c != nil {
		return c
	}
	stack := f.framesToPos(r.Stack(""))
	if len(stack) == 0 {
		return nil
	}
	c := exportCompile(f, r, "exported model")
	c.Stack = stack
	for i := len(stack) - 1; i >= 0; i-- {
		if !explain.FrameworkFile(stack[i].File) { // who asked for it
			c.Frame.Pos = stack[i]
			c.Stack = stack[:i+1]
			break
		}
	}
	f.exporting[r.Source] = c
	return c
}

// compiling is the compile of a record: a frame's, else the exported model that is
// being compiled; nil where there is none.
func (f *Fold) compiling(r *logs.Record) *compile {
	if c := f.compileOf(r); c != nil {
		return c
	}
	return f.exporting[r.Source]
}

// exportCompile makes a frame of its own for a compile without an id.
func exportCompile(f *Fold, r *logs.Record, name string) *compile {
	f.pasted++
	again := *r
	again.SetMeta(nil)
	c := f.textCompile(&again, logs.Pos{Func: name + "\x00" + strconv.Itoa(f.pasted)}) // models have no names that tell them apart
	c.Frame.Name, c.Frame.Pos.Func = name, name
	c.Start, c.began = f.at(r), r.Micros
	return c
}

// exportStage adds a text to an exported model: its graph, and its C++ code with
// the kernels in it.
func exportStage(f *Fold, r *logs.Record, c *compile, s explain.Stage) {
	switch {
	case r.Content() == "aot_inference_graph":
		exportGraph(f, r, c)
	case r.Kind == "graph_dump":
		switch logs.JSONString(r.Field("name")) {
		case "inductor_aot_kernel_code":
			exportKernels(f, r, c, cppFunctions(r.View()))
		case "inductor_aot_wrapper_code":
			exportKernels(f, r, c, shimCalls(r.View()))
		}
	}
	f.hold(heldStage)
	c.addStage(s)
}

func exportGraph(f *Fold, r *logs.Record, c *compile) {
	g := fx.Parse(r.View())
	if g == nil || c.Graph != nil {
		return
	}
	load := r.Loader()
	c.Graph = &explain.Graph{ID: c.ID, Ops: f.interned(g.Operators()), Inputs: g.Placeholders(), Stages: c.stages}
	c.Graph.LoadNodes = func() []explain.GraphNode { return explain.NodesOf(fx.Parse(load())) }
	c.Ops, c.stages = len(c.Graph.Ops), nil
}

// exportKernels notes the kernels of a generated C++ file: those that it defines or,
// of the wrapper, the library's that it calls.
func exportKernels(f *Fold, r *logs.Record, c *compile, kernels []codeKernel) {
	if len(kernels) == 0 {
		return
	}
	out := &explain.OutputCode{ID: c.ID, Path: f.intern(logs.JSONString(r.Field("filename"))), Role: "inference", Load: r.Loader()}
	f.hold(heldOutput)
	c.Outputs = append(c.Outputs, out)
	if c.kernels == nil {
		c.kernels = map[string]*explain.Kernel{}
	}
	ops, nodes := c.operators(), f.placesOf(c.Graph)
	for _, k := range kernels {
		if k.lang == "cpp" {
			k.ops = opsFromName(k.name, ops)
		}
		f.addKernel(c, out, &k, nodes)
	}
}

// shimCalls finds the library's kernels that a C++ wrapper calls through the C
// functions of AOTInductor, as aoti_torch_cpu_addmm_out(...): one entry each.
func shimCalls(text string) []codeKernel {
	var out []codeKernel
	at := map[string]int{}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		name, op := shimName(line)
		if name == "" {
			continue
		}
		if i, again := at[name]; again {
			out[i].count++
			continue
		}
		at[name] = len(out)
		out = append(
			out,
			codeKernel{
				name: strings.Clone(name), lang: "extern", from: n, to: n, ops: []string{strings.Clone(op)}, count: 1,
				reason: "a library kernel, called from C++",
			},
		)
	}
	return out
}

// shimName reads the function and its operator out of a wrapper's line
// "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(buf0, ...": functions of no
// device are no kernels.
func shimName(line string) (name, op string) {
	_, call, ok := strings.Cut(line, "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_")
	if !ok {
		return "", ""
	}
	fn, _, ok := strings.Cut(call, "(")
	device, op, named := strings.Cut(fn, "_")
	switch device {
	case "cpu", "cuda", "xpu", "mps":
		if ok && named {
			return "aoti_torch_" + fn, strings.TrimSuffix(op, "_out")
		}
	}
	return "", ""
}

// cppFunctions finds the functions of a C++ file that others can call: they begin
// with extern "C" and end with a bracket in the first column.
func cppFunctions(text string) []codeKernel {
	var out []codeKernel
	open, n := false, 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if rest, ok := strings.CutPrefix(line, `extern "C"`); ok && !open {
			head, _, _ := strings.Cut(rest, "(")
			if words := strings.Fields(head); len(words) > 0 && strings.Contains(rest, "(") {
				out = append(out, codeKernel{name: strings.Clone(words[len(words)-1]), lang: "cpp", from: n, to: n})
				open = true
			}
		}
		if open && strings.HasPrefix(line, "}") {
			out[len(out)-1].to, open = n, false
		}
	}
	return out
}

// exportMetrics ends an exported model, or tells of an export that failed.
func exportMetrics(f *Fold, r *logs.Record, m *metrics) {
	c := f.exporting[r.Source]
	if c == nil && m.failType == "" {
		return
	}
	delete(f.exporting, r.Source)
	if c == nil {
		c = exportCompile(f, r, "torch.export")
		c.Frame.Pos = f.pos(logs.Pos{File: m.failFile, Line: m.failLine, Func: "torch.export"})
	}
	c.Seconds = plausible((time.Duration(r.Micros-c.began) * time.Microsecond).Seconds())
	if m.start > 0 {
		c.Start = time.UnixMicro(m.start)
		if took := plausible(f.at(r).Sub(c.Start).Seconds()); f.calibrated[r.Source] && took > c.Seconds { // before its first record, too
			c.Seconds = took
		}
		f.extend(c.Start, time.Duration(c.Seconds*float64(time.Second)))
	}
	load := r.MetaLoader()
	c.LoadMetrics = func() map[string]any { return metricsMap(load()) }
	c.metrics = true
	if m.failType == "" {
		return
	}
	c.errBreak, c.errSeq = explain.ParseError(m.failReason), r.Seq
	f.fail(c, m)
	c.Frame.Status = c.Status
}

// outsideOfCompiles says whether a record has an id under which nothing is compiled, as
// torch.export has while it traces a model without Dynamo.
func outsideOfCompiles(f *Fold, r *logs.Record) bool {
	c := f.compiles[compileKey{frameKey{r.Rank, r.Epoch, r.Autograd, r.ID.Frame}, max(r.ID.Compile, 0)}]
	return r.HasID && (c == nil || c.hollow())
}

// exportStopped is the failure of an export whose trace of the model ended in an error: the
// trace has the graph up to there, and nothing of the error. Graphs within one another, as
// the branches of a cond, end with it.
func exportStopped(f *Fold, r *logs.Record, last string, at logs.Pos) {
	if f.stopped[r.Source] {
		return
	}
	f.stopped[r.Source] = true
	reason := "tracing stopped before its first operator; the error is not in the trace"
	if last != "" {
		reason = "tracing stopped after " + last + "; the error is not in the trace"
	}
	fl := &explain.Failure{ID: f.id(r), Type: "error", Reason: f.intern(reason), Frame: "torch.export", Pos: f.pos(at), Seq: r.Seq}
	f.hold(heldEvent + len(reason))
	f.failures = append(f.failures, fl)
}

// noteExports says so where a model was exported.
func noteExports(f *Fold, r *explain.Report) {
	for key := range f.described {
		if c := f.compiles[key]; c == nil || c.hollow() {
			r.Exports = true
		}
	}
}

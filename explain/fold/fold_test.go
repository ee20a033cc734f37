package fold

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/gate"
	"tcdbg/explain/render"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// TraceOf writes a trace with the engine's own writer and opens it.
func traceOf(t testing.TB, emit func(w *logs.Writer)) *explain.Report {
	t.Helper()
	return report(t, traces.Written(t, emit))
}

func id(frame, compile int) logs.CompileID { return logs.CompileID{Frame: frame, Compile: compile} }

// engineRun is a run of our own engine: bar breaks on a branch and resumes, is
// compiled again for another size, and runs kernels.
func engineRun(w *logs.Writer) {
	pos := logs.Pos{File: "/u/model.go", Line: 12, Col: 5, EndCol: 9, Func: "bar", Code: "if b.Sum().Lt(0).Bool() {"}
	w.Emit(logs.Artifact(logs.NoCompile, logs.RunInfo{Tcdbg: "0.1", Program: "model.go", Args: []string{"-x"}}))
	frame := func(f, c int, name string, parent int) {
		w.Emit(logs.Out{
			Kind: "dynamo_start", ID: id(f, c),
			Meta: map[string]any{"stack": w.Stack([]logs.Frame{
				{File: "/u/model.go", Line: 30, Name: "main"},
				{File: "/u/model.go", Line: 10, Name: name},
			})},
		})
		w.Emit(logs.Artifact(id(f, c), logs.FrameInfo{
			Name: name, Pos: logs.Pos{File: "/u/model.go", Line: 10 + f, Func: name},
			Parent: parent,
		}))
	}
	done := func(f, c int, s float64, ops int) {
		w.Emit(logs.Out{
			Kind: "compilation_metrics", ID: id(f, c),
			Meta: map[string]any{"guard_count": 1, "has_guarded_code": true, "graph_op_count": ops, "entire_frame_compile_time_s": s},
		})
	}
	graph := func(f, c int) {
		w.Emit(logs.Out{
			Kind: "dynamo_output_graph", ID: id(f, c),
			Payload: []byte("class GraphModule(torch.nn.Module):\n    def forward(self, L_a_: \"f32[8][1]cpu\"):\n        l_a_ = " +
				"L_a_\n\n        # File: /u/model.go:11 in bar, code: a.Abs()\n        abs_1: \"f32[8][1]cpu\" = torch.abs(l_a_);  " +
				"l_a_ = None\n        return (abs_1,)\n"),
		})
		w.Emit(logs.Artifact(id(f, c), logs.GraphCode{Name: "g", Go: "func g() {}", Table: "opcode ...", Ops: []string{"abs"}}))
	}
	frame(0, 0, "bar", -1)
	w.Emit(logs.Text(id(0, 0), "dynamo_graph_break_reason",
		"Graph break in user code at /u/model.go:12\nGraph Break Reason: Data-dependent branching\n  Explanation: own words\n\n For "+
			"more details about this graph break, please visit: x/gb/gb0170.html\n"))
	w.Emit(logs.Artifact(id(0, 0), logs.Break{
		Code: breaks.DataDependentBranching, Type: "Data-dependent branching", Fixability: "fixable by you", Pos: pos,
		Stack: []logs.Pos{{File: "/u/model.go", Line: 30, Func: "main"}, pos},
		Value: []logs.Pos{{Line: 12, Func: "Sum"}}, Before: []string{"abs"}, Frame: "bar", Resume: "torch_dynamo_resume_in_bar_at_12",
	}))
	graph(0, 0)
	w.Emit(logs.Artifact(id(0, 0), logs.Guards{Guards: []logs.Guard{{Source: "L['a']", Kind: "TENSOR_MATCH", Text: "size=[8]"}}}))
	w.Emit(logs.Out{
		Kind: "inductor_output_code", ID: id(0, 0), Meta: map[string]string{"filename": "tc_entry_g.c"},
		Payload: []byte("void k(void) {\n}\n"),
	})
	w.Emit(logs.Artifact(id(0, 0), logs.Provenance{Graph: "g", Kernels: []logs.Kernel{
		{
			Name: "fused_abs_0", Graph: "g", Ops: []string{"abs"}, Bytes: 64, From: 1, To: 2,
			Lines: []logs.KernelLine{{Line: 1, Nodes: []string{"abs_1"}, Pos: []logs.Pos{pos}}},
		},
		{Name: "aten.mm", Extern: true, Reason: "no template", Ops: []string{"mm"}},
	}}))
	w.Emit(logs.Artifact(id(0, 0), logs.Schedule{Graph: "g_forward", Code: "forward", Ops: []string{"abs", "add"}}))
	w.Emit(logs.Artifact(id(0, 0), logs.FusionStep{A: "op0", B: "op1", Fused: true, Kernels: 1}))
	w.Emit(logs.Artifact(id(0, 0), logs.Schedule{Graph: "g_backward", Code: "backward"}))
	w.Emit(logs.Artifact(id(0, 0), logs.FusionStep{A: "op0", B: "op1", Kernels: 2}))
	w.Emit(logs.Artifact(id(0, 0), logs.PassStep{Stage: "aot", Pass: "cse"}))
	w.Emit(logs.Artifact(id(0, 0), logs.MemoryPlan{ArenaBytes: 64, SumBytes: 128}))
	done(0, 0, 0.5, 1)
	frame(1, 0, "torch_dynamo_resume_in_bar_at_12", 0)
	graph(1, 0)
	done(1, 0, 0.25, 1)
	w.Emit(logs.Text(id(0, 1), "recompile_reasons", `["0/0: tensor 'L['a']' size mismatch at index 0. expected 8, actual 9"]`))
	w.Emit(logs.Artifact(id(0, 1), logs.GuardMiss{Call: 3, Failures: []logs.GuardFailure{{
		Entry: 0, Guard: logs.Guard{Source: "L['a']", Kind: "TENSOR_MATCH", Expected: "float32[8]", Pos: pos}, Actual: "float32[9]",
		Message: "tensor 'L['a']' size mismatch at index 0. expected 8, actual 9", Argument: "x", Dim: 0,
	}}}))
	frame(0, 1, "bar", -1)
	done(0, 1, 0.1, 1)
	w.Emit(logs.Artifact(logs.NoCompile, logs.Aggregate{
		Frames: []logs.FrameCalls{
			{Frame: 0, Calls: 5, Hits: 3, EagerOps: 0},
			{Frame: 1, Calls: 5, Hits: 4, EagerOps: 2},
		},
		Kernels: []logs.KernelTime{{Graph: "g", Kernel: "fused_abs_0", Calls: 50, Timed: 5, Nanos: 100}},
	}))
	w.Emit(logs.Artifact(logs.NoCompile, logs.State{State: "exited", Code: 0}))
}

// TestEngineRun: our own trace gives the same report as PyTorch's would, with
// what only our engine knows.
func TestEngineRun(t *testing.T) {
	r := traceOf(t, engineRun)
	n := r.Totals
	if n.UnexplainedRecords != 0 || n.Frames != 2 || n.Compiles != 3 || n.Graphs != 2 || n.Breaks != 1 || n.Recompiles != 1 ||
		n.Kernels != 1 {
		t.Errorf("totals %+v", n)
	}
	if r.Engine != "tcdbg 0.1" || r.Live || r.State.State != "exited" {
		t.Errorf("engine %q, live %v, state %+v", r.Engine, r.Live, r.State)
	}
	bar := r.Frames[0]
	if bar.Calls != 5 || bar.Whole().EagerOps != 2 || len(bar.Resumes) != 1 || r.Frames[1].Parent != bar {
		t.Errorf("frame %+v", bar)
	}
	g := r.Breaks[0]
	if b := g.Lead; b.Pos.Col != 5 || b.Outcome != "resumed" || b.After == nil || b.Fixability != "fixable by you" ||
		g.EagerOps != 2 || g.Seconds != 0.25 {
		t.Errorf("break %+v in %+v", b, g)
	}
	rc := r.Recompiles[0]
	if f := rc.Failures[0]; f.Expected != "8" || f.Actual != "9" || f.Dim != 0 || f.Pos.Line != 12 || rc.Call != 3 || !rc.Complete {
		t.Errorf("recompile %+v", rc)
	}
	if want := "size 0 of x changes (8 -> 9): call compiler.MarkDynamic(x, 0) before the first call"; rc.Fix.Text != want {
		t.Errorf("advice %q, want %q", rc.Fix.Text, want)
	}
	k := r.Kernels[0]
	if k.Load() != "void k(void) {\n}\n" || k.Nanos != 100 || k.Timed != 5 || k.Calls != 50 || k.RunNanos() != 1000 ||
		k.Lang != "c" || r.Kernels[1].Lang != "extern" {
		t.Errorf("kernel %+v", k)
	}
	if len(r.Fusions) != 2 {
		t.Fatalf("%d lists of decisions for a forward and a backward", len(r.Fusions))
	}
	fu, back := r.Fusions[0], r.Fusions[1]
	if fu.Graph != "g_forward" || fu.Before != 2 || fu.After != 1 || len(fu.Steps) != 1 || len(fu.Ops) != 2 || back.Before != 2 ||
		back.After != 2 || back.Seq <= fu.Seq {
		t.Errorf("decisions %+v, %+v", fu, back)
	}
	if s, ok := back.Start(); !ok || s.Code != "backward" {
		t.Errorf("the backward begins with %+v", s)
	}
	if nodes := r.Graphs[0].Nodes(); len(nodes) != 3 || nodes[1].Target != "torch.abs" || nodes[1].Pos.Line != 11 {
		t.Errorf("nodes %+v", nodes)
	}
	if root := bar.Compiles[0].Guards.Root(); root == nil || root.Children[0].Children[0].Text != "size=[8]" {
		t.Errorf("guards %+v", root)
	}
}

// TestInventedKeyRaisesByOne: unexplained_records counts exactly the records
// of unknown kinds, and of unknown versions.
func TestInventedKeyRaisesByOne(t *testing.T) {
	r := traceOf(t, func(w *logs.Writer) {
		engineRun(w)
		w.Emit(logs.Out{Kind: "brand_new", ID: logs.NoCompile})
	})
	if n := r.Totals.UnexplainedRecords; n != 1 || r.ByKind["brand_new"] != 1 {
		t.Errorf("%d unexplained, %d of the new kind", n, r.ByKind["brand_new"])
	}
	r = traceOf(t, func(w *logs.Writer) {
		w.Emit(logs.Text(logs.NoCompile, "unheard_of", "x"))
		w.Emit(logs.Text(logs.NoCompile, "tcdbg_break", `{"v": 99, "data": {}}`))
	})
	if n := r.Totals.UnexplainedRecords; n != 2 {
		t.Errorf("%d unexplained, want the new artifact and the new version", n)
	}
}

// TestSnapshotsDoNotChange: a snapshot stays as it was taken while records
// come in.
func TestSnapshotsDoNotChange(t *testing.T) {
	for name, every := range map[string]int{"train_small": 150, "loops": 7} {
		t.Run(name, func(t *testing.T) { snapshotsOf(t, "../testdata/traces/pytorch-2.15/"+name+".log.zst", every) })
	}
}

func snapshotsOf(t *testing.T, path string, every int) {
	st, err := logs.Open([]string{path}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	f := New(st)
	f.SetLive(true)
	var snaps []*explain.Report
	var texts []string
	n := 0
	done := make(chan struct{})
	go func() { // another goroutine reads snapshots meanwhile: for the race detector
		defer close(done)
		for range 50 {
			if err := render.WriteText(&bytes.Buffer{}, f.Snapshot()); err != nil {
				t.Error(err)
			}
		}
	}()
	err = st.Read(context.Background(), func(r *logs.Record) {
		f.Add(r)
		if n++; n%every == 0 {
			s := f.Snapshot()
			snaps = append(snaps, s)
			texts = append(texts, rendered(t, s))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	for i, s := range snaps {
		if rendered(t, s) != texts[i] {
			t.Errorf("snapshot %d changed after it was taken", i)
		}
	}
	if a, b := f.Snapshot(), f.Snapshot(); a != b {
		t.Error("without new records a snapshot is made again")
	}
}

func rendered(t testing.TB, r *explain.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// program is a PyTorch trace of functions with prints, as a person edits them.
type program struct {
	fn, code string
	line     int
}

func traceOfProgram(t testing.TB, list []program) *explain.Report {
	return traceOf(t, func(w *logs.Writer) {
		for i, p := range list {
			w.Emit(logs.Out{
				Kind: "dynamo_start", ID: id(i, 0),
				Meta: map[string]any{"stack": w.Stack([]logs.Frame{{File: "/u/m.py", Line: p.line - 1, Name: p.fn}})},
			})
			w.Emit(logs.Text(id(i, 0), "dynamo_graph_break_reason",
				fmt.Sprintf("Graph break in user code at /u/m.py:%d\nGraph Break Reason: Encountered graph break when attempting to "+
					"trace CALL: a function call, e.g. f(x, y):\n\nFailed to trace builtin operator\n  Explanation: x\n\nUser code "+
					"traceback:\n  File \"/u/m.py\", line %d, in %s\n    %s\n", p.line, p.line, p.fn, p.code)))
		}
	})
}

// TestDiffByCause: edits elsewhere move breaks, they do not make new ones.
func TestDiffByCause(t *testing.T) {
	base := []program{{"f", "print('a')", 10}, {"f", "print('b')", 12}, {"g", "print('c')", 20}}
	for _, c := range []struct {
		name              string
		after             []program
		fresh, fixed, mov int
	}{
		{"nothing", base, 0, 0, 0},
		{"20 lines above", []program{{"f", "print('a')", 30}, {"f", "print('b')", 32}, {"g", "print('c')", 40}}, 0, 0, 3},
		{"renamed function", []program{{"f", "print('a')", 10}, {"f", "print('b')", 12}, {"h", "print('c')", 20}}, 0, 0, 1},
		{"swapped", []program{{"f", "print('b')", 10}, {"f", "print('a')", 12}, {"g", "print('c')", 20}}, 0, 0, 2},
		{"one fixed", base[1:], 0, 1, 0},
		{"one new", append([]program{{"k", "print('d')", 50}}, base...), 1, 0, 0},
		{"line edited a little", []program{{"f", "print('a', x)", 10}, base[1], base[2]}, 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := gate.Diff(traceOfProgram(t, base), traceOfProgram(t, c.after)).Breaks
			if len(d.New) != c.fresh || len(d.Fixed) != c.fixed || len(d.Moved) != c.mov {
				t.Errorf("%d new, %d fixed, %d moved; want %d, %d, %d: %+v", len(d.New), len(d.Fixed), len(d.Moved), c.fresh,
					c.fixed, c.mov, d)
			}
		})
	}
}

func TestDiffText(t *testing.T) {
	a, b := report(t, "../testdata/traces/pytorch-2.11/trace_00_gb_cpu.log.zst"),
		report(t, "../testdata/traces/pytorch-2.11/trace_03_fg_cpu.log.zst")
	var out bytes.Buffer
	if err := render.WriteDiffText(&out, gate.Diff(a, b)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "0 new, 19 fixed, 0 moved") {
		t.Errorf("diff is\n%s", out.String())
	}
	out.Reset()
	if err := render.WriteDiffJSON(&out, gate.Diff(a, a)); err != nil {
		t.Fatal(err)
	}
	var j struct{ Breaks struct{ Same int } }
	if err := json.Unmarshal(out.Bytes(), &j); err != nil || j.Breaks.Same != 19 { // the one within another goes with it
		t.Errorf("a report against itself: %v, %d the same", err, j.Breaks.Same)
	}
}

// TestCheck: limits, baseline, and annotations that GitHub understands.
func TestCheck(t *testing.T) {
	base := []program{{"f", "print('a')", 10}, {"g", "print('b')", 20}}
	r := traceOfProgram(t, base)
	if v := gate.Check(r, gate.NoLimits, nil); len(v) != 0 {
		t.Errorf("without limits: %+v", v)
	}
	l := gate.NoLimits
	if l.MaxBreaks = 2; len(gate.Check(r, l, nil)) != 0 {
		t.Error("two breaks violate a limit of two")
	}
	l.MaxBreaks = 1
	v := gate.Check(r, l, nil)
	if len(v) != 3 || v[0].Rule != "max-breaks" || v[1].Pos.Line != 10 {
		t.Errorf("violations %+v", v)
	}
	var out bytes.Buffer
	if err := gate.WriteAnnotations(&out, v[1:2], "/u"); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "::error file=m.py,line=10,title=tcdbg break::GB0059 ") {
		t.Errorf("annotation %q", out.String())
	}
	out.Reset()
	if err := gate.WriteAnnotations(&out, []gate.Violation{{Rule: "r", Message: "a\nb%", Pos: logs.Pos{File: "x,y", Line: 1}}},
		""); err != nil || out.String() != "::error file=x%2Cy,line=1,title=tcdbg r::a%0Ab%25\n" {
		t.Errorf("annotation %q, %v", out.String(), err)
	}
	var file bytes.Buffer
	if err := gate.WriteBaseline(&file, gate.NewBaseline(r)); err != nil {
		t.Fatal(err)
	}
	known, err := gate.ReadBaseline(&file)
	if err != nil {
		t.Fatal(err)
	}
	moved := traceOfProgram(t, []program{{"f", "print('a')", 15}, {"g2", "print('b')", 29}})
	if v := gate.Check(moved, gate.NoLimits, known); len(v) != 0 {
		t.Errorf("moved breaks are not in the baseline: %+v", v)
	}
	more := traceOfProgram(t, append(base, program{"h", "print('zzz')", 40}))
	if v := gate.Check(more, gate.NoLimits, known); len(v) != 1 || v[0].Pos.Line != 40 {
		t.Errorf("one new break gives %+v", v)
	}
	if _, err := gate.ReadBaseline(strings.NewReader(`{"version": 7}`)); err == nil {
		t.Error("an unknown version is read")
	}
}

// TestHostileText: nothing of a trace reaches a terminal or a page unescaped.
func TestHostileText(t *testing.T) {
	evil := "\x1b[31m<script>alert(1)</script>\u202e\u009b2J\u007f../../x\x07\r::error::"
	r := traceOf(t, func(w *logs.Writer) {
		w.Emit(logs.Out{
			Kind: "dynamo_start", ID: id(0, 0),
			Meta: map[string]any{"stack": w.Stack([]logs.Frame{{File: evil, Line: 1, Name: evil}})},
		})
		w.Emit(logs.Text(id(0, 0), "dynamo_graph_break_reason",
			"Graph break in user code at "+evil+":3\nGraph Break Reason: "+evil+"\n  Explanation: "+evil+"\n"))
		w.Emit(logs.Text(id(0, 1), "recompile_reasons", "0/0: tensor '"+evil+"' size mismatch at index 0. expected 1, actual 2"))
		w.Emit(logs.Text(logs.NoCompile, "unknown_"+evil, evil))
	})
	r.Title = evil
	r.Phases = append(r.Phases, &explain.Phase{Name: evil, Start: time.Unix(1, 0), Dur: time.Second})
	l := gate.NoLimits
	l.MaxBreaks, l.MaxRecompiles = 0, 0
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"text":        func(b *bytes.Buffer) error { return render.WriteText(b, r) },
		"html":        func(b *bytes.Buffer) error { return render.WriteHTML(b, r) },
		"json":        func(b *bytes.Buffer) error { return render.WriteJSON(b, r) },
		"chrome":      func(b *bytes.Buffer) error { return render.WriteChrome(b, r) },
		"diff JSON":   func(b *bytes.Buffer) error { return render.WriteDiffJSON(b, gate.Diff(&explain.Report{}, r)) },
		"baseline":    func(b *bytes.Buffer) error { return gate.WriteBaseline(b, gate.NewBaseline(r)) },
		"diff":        func(b *bytes.Buffer) error { return render.WriteDiffText(b, gate.Diff(&explain.Report{}, r)) },
		"annotations": func(b *bytes.Buffer) error { return gate.WriteAnnotations(b, gate.Check(r, l, nil), "") },
		"violations":  func(b *bytes.Buffer) error { return gate.WriteViolations(b, gate.Check(r, l, nil)) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, bad := range []string{"\x1b", "\x07", "\r", "\u202e", "\u009b", "\u007f"} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
		if name == "html" && strings.Contains(b.String(), "<script>alert") {
			t.Error("html holds the trace's script")
		}
		if name == "annotations" && strings.Count(b.String(), "\n") != strings.Count(b.String(), "::error file")+
			strings.Count(b.String(), "::error title") {
			t.Errorf("a trace makes annotations of its own:\n%s", b.String())
		}
	}
}

// TestChromeTraceIsValid: Perfetto wants an object with traceEvents.
func TestChromeTraceIsValid(t *testing.T) {
	var b bytes.Buffer
	if err := render.WriteChrome(&b, report(t, "../testdata/traces/pytorch-2.15/train_small.log.zst")); err != nil {
		t.Fatal(err)
	}
	var v struct {
		OtherData   struct{ Start time.Time }
		TraceEvents []struct {
			Name, Ph string
			TS       float64
			Dur      *float64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, e := range v.TraceEvents {
		if e.Ph == "X" {
			whole++
			if e.Dur == nil || *e.Dur < 0 || e.TS < 0 {
				t.Errorf("event %+v", e)
			}
		}
	}
	if v.OtherData.Start.Year() != 2026 {
		t.Errorf("the trace begins at %v", v.OtherData.Start)
	}
	if whole != 445 {
		t.Errorf("%d phases, want 445: one for each pair of events", whole)
	}
}

// TestShareOfOperators: the text tells how much runs compiled where every frame
// knows what it left eager, and says nothing where one does not.
func TestShareOfOperators(t *testing.T) {
	for _, c := range []struct {
		eager int64
		want  bool
	}{{2, true}, {-1, false}} {
		old, ops := &explain.Compile{Graph: &explain.Graph{Ops: make([]string, 9)}},
			&explain.Compile{Graph: &explain.Graph{Ops: make([]string, 6)}}
		// a call runs one of the graphs
		r := &explain.Report{Frames: []*explain.Frame{{EagerOps: 0, Compiles: []*explain.Compile{old, ops}}, {EagerOps: c.eager}}}
		r.Totals.Ops = 15
		var sb strings.Builder
		if err := render.WriteText(&sb, r); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(sb.String(), "75% of operators run compiled (6 of 8)") != c.want {
			t.Errorf("eager operators %d:\n%s", c.eager, sb.String())
		}
	}
}

// TestKernelsOfBothPasses: the kernels of a forward and of a backward graph have the
// same names, and each shows the source of its own pass, whichever record came first.
func TestKernelsOfBothPasses(t *testing.T) {
	for _, codeFirst := range []bool{false, true} {
		r := traceOf(t, func(w *logs.Writer) {
			w.Emit(logs.Out{
				Kind: "dynamo_start", ID: id(0, 0),
				Meta: map[string]any{"stack": w.Stack([]logs.Frame{{File: "/u/model.go", Line: 3, Name: "f"}})},
			})
			for _, graph := range []string{"g_joint_forward", "g_joint_backward"} {
				code := logs.Out{
					Kind: "inductor_output_code", ID: id(0, 0),
					Meta:    map[string]string{"filename": "tc_entry_" + graph + ".c"},
					Payload: []byte("steps of " + graph + "\nkernel of " + graph + "\n"),
				}
				kernels := logs.Artifact(id(0, 0),
					logs.Provenance{
						Graph:   graph,
						Kernels: []logs.Kernel{{Name: "fused_mul_0", Graph: graph, Ops: []string{"mul"}, From: 2, To: 2}},
					})
				if codeFirst {
					w.Emit(code)
					w.Emit(kernels)
				} else {
					w.Emit(kernels)
					w.Emit(code)
				}
			}
			w.Emit(logs.Artifact(logs.NoCompile, logs.Aggregate{Kernels: []logs.KernelTime{
				{Graph: "g_joint_forward", Kernel: "fused_mul_0", Calls: 2, Timed: 1, Nanos: 5},
				{Graph: "g_joint_backward", Kernel: "fused_mul_0", Calls: 2, Timed: 1, Nanos: 7},
			}}))
		})
		if len(r.Kernels) != 2 || r.Kernels[0].Load() != "kernel of g_joint_forward\n" ||
			r.Kernels[1].Load() != "kernel of g_joint_backward\n" {
			t.Errorf("code first %v: %d kernels; the first is %q, the last %q", codeFirst, len(r.Kernels), r.Kernels[0].Load(),
				r.Kernels[len(r.Kernels)-1].Load())
		}
		if all, back := r.KernelNanos(), r.BackwardNanos(); all != 24 || back != 14 {
			t.Errorf("code first %v: kernels took %v ns, of them backward %v; want 24 and 14", codeFirst, all, back)
		}
	}
}

// TestTargetCode: a kernel has its part of the graph's module in every language that did not
// run, or why there is none; the modules belong to the output code. A record without a
// language is Triton.
func TestTargetCode(t *testing.T) {
	r := traceOf(t, func(w *logs.Writer) {
		w.Emit(logs.Out{
			Kind: "dynamo_start", ID: id(0, 0),
			Meta: map[string]any{"stack": w.Stack([]logs.Frame{{File: "/u/model.go", Line: 3, Name: "f"}})},
		})
		w.Emit(logs.Artifact(id(0, 0), logs.Provenance{
			Graph:   "g",
			Kernels: []logs.Kernel{{Name: "fused_mul_0", Graph: "g", From: 1, To: 1}, {Name: "fused_sort_1", Graph: "g", From: 1, To: 1}},
		}))
		w.Emit(logs.Out{
			Kind: "inductor_output_code", ID: id(0, 0), Meta: map[string]string{"filename": "tc_entry_g.c"},
			Payload: []byte("void k(void) {}\n"),
		})
		w.Emit(logs.Artifact(id(0, 0), logs.TargetCode{
			Graph: "g", Text: "import triton\ndef fused_mul_0():\n    \"two\"\n",
			Missing: "sort is not generated", Kernels: []logs.TargetKernel{
				{Name: "fused_mul_0", From: 2, To: 3},
				{Name: "fused_sort_1", Missing: "sort is not generated"},
				{Name: "unknown", From: 1, To: 1},
			},
		}))
		for range 2 {
			w.Emit(logs.Artifact(id(0, 0), logs.TargetCode{
				Graph: "g", Language: "cuda", Ext: ".cu", Text: "// g\nvoid k() {}\n",
				Kernels: []logs.TargetKernel{{Name: "fused_mul_0", From: 2, To: 2}},
			}))
		}
	})
	k := r.Kernels
	if len(k) != 2 || k[0].In("triton") == nil || k[0].In("triton").Load() != "def fused_mul_0():\n    \"two\"\n" {
		t.Errorf("%d kernels; the first's other forms are %+v", len(k), k[0].Others)
	}
	if c := k[0].In("cuda"); c == nil || c.Load() != "void k() {}\n" || k[1].In("cuda") != nil {
		t.Errorf("the first's CUDA form is %+v", c)
	}
	if tr := k[1].In("triton"); tr == nil || tr.Load != nil || tr.Missing != "sort is not generated" {
		t.Errorf("a kernel without text has %+v", tr)
	}
	if o := k[0].Output.Others; len(o) != 2 || !strings.HasPrefix(o[0].Load(), "import triton\n") ||
		o[0].Missing == "" || o[0].Ext != ".py" ||
		o[1].Language != "cuda" || o[1].Ext != ".cu" {
		t.Errorf("the output code has the modules %+v", o)
	}
	if r.Totals.UnexplainedRecords != 0 {
		t.Errorf("%d records unexplained", r.Totals.UnexplainedRecords)
	}
}

// TestKernelTimes: the costliest kernel is first, with its share of the time
// of all, its calls and its rates; one that never ran says so.
func TestKernelTimes(t *testing.T) {
	r := &explain.Report{Kernels: []*explain.Kernel{
		{Name: "small", Lang: "c", Bytes: 1000, FLOPs: 500, Calls: 100, Timed: 10, Nanos: 10_000},
		{Name: "never", Lang: "extern", Bytes: -1, FLOPs: -1},
		{Name: "large", Lang: "c", Bytes: 1000, FLOPs: 8000, Calls: 100, Timed: 100, Nanos: 300_000},
	}}
	var sb strings.Builder
	tw := &render.TextWriter{W: bufio.NewWriter(&sb)}
	tw.Kernels(r)
	_ = tw.W.Flush() // into memory
	want := []string{
		"large", "3.0 us  75 %    100 calls    0.3 GB/s    2.7 GFLOP/s",
		"small", "1.0 us  25 %    100 calls    1.0 GB/s    0.5 GFLOP/s",
		"never", "never ran",
	}
	rest := sb.String()
	for _, w := range want {
		i := strings.Index(rest, w)
		if i < 0 {
			t.Fatalf("%q is not there, or not in order:\n%s", w, sb.String())
		}
		rest = rest[i:]
	}
}

// TestResumedFunctionOfItsName: of several functions of one name a part belongs to the one
// that has its line, whichever was compiled last.
func TestResumedFunctionOfItsName(t *testing.T) {
	names := []string{"forward", "forward", "torch_dynamo_resume_in_forward_at_11", "torch_dynamo_resume_in_forward_at_18"}
	r := traceOf(t, func(w *logs.Writer) {
		for i, line := range []int{17, 7, 11, 18} {
			w.Emit(logs.Out{
				Kind: "dynamo_start", ID: id(i, 0),
				Meta: map[string]any{"stack": w.Stack([]logs.Frame{{File: "/u/gnn.py", Line: line, Name: names[i]}})},
			})
		}
	})
	if outer, inner := r.Frames[0], r.Frames[1]; r.Frames[2].Parent != inner || r.Frames[3].Parent != outer {
		t.Errorf("line 11 resumes %v, line 18 %v", r.Frames[2].Parent, r.Frames[3].Parent)
	}
}

package fold

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/explain/gate"
	"tcdbg/explain/render"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// TestChangedChecksInWords: whole arguments are shown, never a cut bracket.
func TestChangedChecksInWords(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{
			"check_tensor(x, Tensor, DispatchKeySet(CPU, AutogradCPU), torch.float32, size=[16, 32], stride=[32, 1])",
			"check_tensor(x, Tensor, DispatchKeySet(CPU, AutogradCPU), torch.float32, size=[None, 32], stride=[32, 1])",
			"size=[16, 32] -> size=[None, 32]",
		},
		{
			"check_tensor(x, torch.float32, requires_grad=False)", "check_tensor(x, torch.float64, requires_grad=True)",
			"torch.float32 -> torch.float64, requires_grad=False -> requires_grad=True",
		},
		{"len(L['l']) == 1", "len(L['l']) == 2", "1 -> 2"},
		{"", "___check_type_id(L['k'], 10731296), type=<class 'int'>", "new: the type of k is int"},
		{"L['k'] == 1", "", "gone: L['k'] == 1"},
		{"a == b", "a", "a == b -> a"},
		{
			`___check_global_state() against {"grad_mode":true,"threads":1}`,
			`___check_global_state() against {"grad_mode":false,"threads":1}`, `"grad_mode":true -> "grad_mode":false`,
		},
		{"check_no_aliasing(L['a'], L['b'])", "check_no_aliasing(L['a'], L['b'], L['c'])", "check_no_aliasing with c"},
	} {
		if got := render.ChangeText(c.old, c.now); got != c.want {
			t.Errorf("%q against %q: %q, want %q", c.old, c.now, got, c.want)
		}
	}
}

// TestAdviceFitsTheEngine: a Go program and a Python program get their own
// names, another built-in than print is called by its name, and a hint that
// only says how likely a fix is is no advice.
func TestAdviceFitsTheEngine(t *testing.T) {
	jump := &explain.Break{Code: breaks.DataDependentBranching}
	if s := diagnose.FixBreak(jump, "PyTorch 2.15.0").Text; !strings.Contains(s, "torch.where") {
		t.Errorf("to a PyTorch program: %q", s)
	}
	if s := diagnose.FixBreak(jump, "tcdbg 1").Text; strings.Contains(s, "torch.where") || s == "" {
		t.Errorf("to a Go program: %q", s)
	}
	open := &explain.Break{Code: breaks.BuiltinPrint, Context: "builtin open [<class 'X'>] False"}
	if s := diagnose.FixBreak(open, "PyTorch").Text + open.Title(); strings.Contains(s, "print") || !strings.Contains(s, "built-in open") {
		t.Errorf("of open: %q", s)
	}
	odd := &explain.Break{Code: "GB8977", Hints: []string{
		"It may be possible to write Dynamo tracing rules for this code.",
		"Define the class outside.",
	}}
	if f := diagnose.FixBreak(odd, "PyTorch"); f.Text != "PyTorch says (untried): Define the class outside." || f.Label() != "" {
		t.Errorf("an untried hint: %s%s", f.Label(), f.Text)
	}
	index := &explain.Break{
		Code: breaks.DataDependentOperator, Pos: logs.Pos{Code: "return f(x)"},
		Hints: []string{"Enable tracing of data-dependent output operators with `torch._dynamo.config.capture_scalar_outputs = True`"},
	}
	if f := diagnose.FixBreak(index, "PyTorch"); f.Text != "" {
		t.Errorf("a hint that ends programs: %s%s", f.Label(), f.Text)
	}
}

// TestSizeRelations: a range of sizes is shown whole, and the line that asked
// for it is the first of the two that the comment names.
func TestSizeRelations(t *testing.T) {
	g := explain.ParseReason("0/0: 2 <= x.size()[0] <= 5  # if x.shape[0] > 5:  # w/p.py:4 in f (user code shown is first use of " +
		"this value--the guard itself is not due user code) and if x.shape[0] > 5:  # w/p.py:9 in f " +
		"(_dynamo/variables/tensor.py:3083 in evaluate_expr)")
	if g.Source != "2 <= x.size()[0] <= 5" || g.Expected != "" || g.Pos.Line != 4 || g.Pos.Func != "f" ||
		g.Pos.Code != "if x.shape[0] > 5:" {
		t.Errorf("%+v", g)
	}
	if g := explain.ParseReason("0/0: 2 <= x.size()[0]  # c  # p.py:4 in f"); g.Source != "2 <= x.size()[0]" || g.Expected != "" {
		t.Errorf("%+v", g)
	}
}

// TestFailureDetails: the line that a reason only announces is shown as well.
func TestFailureDetails(t *testing.T) {
	f := &explain.Failure{
		Type:   "BackendCompilerFailed",
		Reason: "backend='bad' raised:\n\nRuntimeError: no device\nSet TORCHDYNAMO_VERBOSE=1",
	}
	if d := f.Details(); len(d) != 1 || d[0] != "RuntimeError: no device" {
		t.Errorf("details %q", d)
	}
	f = &explain.Failure{
		Type:   "ConstraintViolationError",
		Reason: "Constraints violated (L['x'].size()[0])!\n  - You marked it as dynamic.",
	}
	if d := f.Details(); len(d) != 1 || d[0] != "You marked it as dynamic." {
		t.Errorf("details %q", d)
	}
}

// TestExportIsNoCompile: torch.export describes its inputs under an id that
// nothing else has; that is no frame.
func TestExportIsNoCompile(t *testing.T) {
	r := foldText(t, `V1121 12:00:00.000000 7 torch/a.py:1] {"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}
V1121 12:00:00.000000 7 torch/a.py:1] {"describe_source": {"describer_id": 9, "id": 0, "source": "L['x']"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}
V1121 12:00:00.000000 7 torch/a.py:1] {"describe_source": {"describer_id": 9, "id": 0, "source": "L['x']"}, "frame_id": 2, "frame_compile_id": 0, "attempt": 0}
`)
	if r.Totals.Frames != 1 || len(r.Frames[0].Compiles[0].Sources) != 1 {
		t.Errorf("%d frames", r.Totals.Frames)
	}
	if r.Engine != "PyTorch" {
		t.Errorf("engine %q of a trace without a version", r.Engine)
	}
}

// foldText folds a trace that is given as text.
func foldText(t testing.TB, text string) *explain.Report {
	t.Helper()
	r, err := All(traces.OfText(t, text), "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLimitOfOlderReleases: 2.6 records a reached limit as the failure of a
// backward compile.
func TestLimitOfOlderReleases(t *testing.T) {
	id := func(n int) string {
		return fmt.Sprintf(`, "frame_id": 0, "frame_compile_id": %d, "attempt": 0}`+"\n", n)
	}
	head := "V1121 12:00:00.000000 7 torch/a.py:1] "
	r := foldText(t, head+`{"dynamo_start": {"stack": []}`+id(0)+head+
		`{"compilation_metrics": {"co_name": "f", "graph_op_count": 1, "guard_count": 3}`+id(0)+
		head+`{"dynamo_start": {"stack": []}`+id(1)+head+
		`{"bwd_compilation_metrics": {"fail_type": "RecompileLimitExceeded", "fail_reason": "cache_size_limit reached"}`+id(1))
	if n := r.Totals; r.Frames[0].Status != explain.Limit || n.Failures != 0 || n.Recompiles != 0 || n.Compiles != 1 {
		t.Errorf("%s: %+v", r.Frames[0].Status, n)
	}
}

// TestForwardAndBackwardFuseApart: one compile may schedule two graphs.
func TestForwardAndBackwardFuseApart(t *testing.T) {
	head := "V1121 12:00:00.000000 7 s.py:1] [0/0] [__fusion] "
	r := foldText(t, head+"===== attempting fusion (1/10): 3 nodes =====\n"+head+
		"completed fusion round (1/10): fused 3 nodes into 2 nodes\n"+
		head+"===== attempting fusion (2/10): 2 nodes =====\n"+head+"===== attempting fusion (1/10): 6 nodes =====\n"+head+
		"cannot fuse a with b: no shared data\n")
	if len(r.Fusions) != 2 || r.Fusions[0].Before != 3 || r.Fusions[0].After != 2 || r.Fusions[1].Before != 6 || r.Fusions[1].After != 6 {
		t.Errorf("%d fusions: %+v", len(r.Fusions), r.Fusions)
	}
}

// TestRenamedFunctionKeepsItsGraphs: another name alone is no other graph.
func TestRenamedFunctionKeepsItsGraphs(t *testing.T) {
	run := func(name string, ops int) *explain.Report {
		fr := &explain.Frame{Name: name}
		fr.Compiles = []*explain.Compile{{Frame: fr, Graph: &explain.Graph{Ops: make([]string, ops)}}}
		return &explain.Report{Frames: []*explain.Frame{fr}}
	}
	if d := gate.GraphChanges(run("step", 3), run("train_step", 3)); len(d) != 0 {
		t.Errorf("%q", d)
	}
	if d := gate.GraphChanges(run("step", 3), run("train_step", 4)); len(d) != 2 {
		t.Errorf("%q", d)
	}
}

// TestRemarksInOneLine: a remark that is JSON shows its content, not its first
// bracket.
func TestRemarksInOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"[\n\"all_reduce\",\n\"wait_tensor\"\n]":   "all_reduce, wait_tensor",
		"{\n\"a\": [1,\n2]\n}":                     `{ "a": [1, 2] }`,
		"[\n{\"op\": \"x\"}\n]":                    `[ {"op": "x"} ]`,
		"Explain output:\nGraph Count: 2":          "Explain output: Graph Count: 2",
		"[":                                        "[",
		"compiled code ran\nand more of no matter": "compiled code ran",
	} {
		if got := render.Announced(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestFailureHasAFix: a break that fullgraph does not allow is removed like any
// other; where the break is told too, it has the advice.
func TestFailureHasAFix(t *testing.T) {
	r := foldText(t, `V1121 12:00:00.000000 7 torch/a.py:1] {"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}
V1121 12:00:00.000000 7 torch/a.py:1] {"artifact": {"name": "dynamo_error", "encoding": "string"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": ""}
	torch._dynamo.exc.Unsupported: Data-dependent branching
	  Explanation: Detected data-dependent branching.
	  Hint: Use torch.cond.
	
	 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html
	
	from user code:
	   File "/w/m.py", line 7, in f
	    if x.sum() > 0:
V1121 12:00:00.000000 7 torch/a.py:1] {"compilation_metrics": {"co_name": "f", "fail_type": "Unsupported", "fail_reason": "Data-dependent branching"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}
`)
	if len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Fix.Text, "torch.where") {
		t.Fatalf("failures %+v", r.Failures)
	}
	var text strings.Builder
	if err := render.WriteText(&text, r); err != nil || !strings.Contains(text.String(), "    fix: Compute both sides") {
		t.Errorf("no fix below the failure: %v\n%s", err, text.String())
	}
}

// TestRecompileTextNamesTheLine: a pasted message without a prefix gives its
// function the line that it names.
func TestRecompileTextNamesTheLine(t *testing.T) {
	r := foldText(t, "Recompiling function fn in /w/script.py:40\n    triggered by the following guard failure(s):\n    - 0/0: "+
		"tensor 'L['x']' size mismatch at index 0. expected 4, actual 8\n")
	if len(r.Frames) != 1 || r.Frames[0].Pos.Line != 40 {
		t.Errorf("frames %+v", r.Frames)
	}
}

// TestCountsOfATextLog: what a text log has none of may have been there, and its log off. A
// trace has every record: there none is 0.
func TestCountsOfATextLog(t *testing.T) {
	for path, want := range map[string]string{
		"pytorch-2.15/loops.txt.zst": "11 frames, 11 compiles, no graphs logged, 11 breaks at 7 places, no recompiles logged, no " +
			"kernels logged, no failures logged, compile time unknown\n",
		"pytorch-2.15/loops.log.zst": ", 0 recompiles, ",
	} {
		r := report(t, "../testdata/traces/"+path)
		var text, html strings.Builder
		if err := errors.Join(render.WriteText(&text, r), render.WriteHTML(&html, r)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s: no %q in %.300s", path, want, text.String())
		}
		if got := strings.Contains(html.String(), "<b>none logged:</b><span>recompiles</span>"); got != strings.Contains(path, ".txt") {
			t.Errorf("%s: HTML says none logged: %v", path, got)
		}
		if got := strings.Contains(html.String(), "<b>unknown:</b><span>compile time</span>"); got != strings.Contains(path, ".txt") {
			t.Errorf("%s: HTML says that compile time is unknown: %v", path, got)
		}
		if got := strings.Contains(text.String(), "\nRECOMPILES: none logged\n"); got != strings.Contains(path, ".txt") {
			t.Errorf("%s: the section of recompiles says none logged: %v", path, got)
		}
	}
}

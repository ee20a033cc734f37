package fold

import (
	"bytes"
	"context"
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

// fakeFailure is a failure whose operator could not be run on tensors without
// data, as PyTorch records one.
func fakeFailure(said string) *explain.Failure {
	return &explain.Failure{
		Type: "TorchRuntimeError", Code: "GB4315",
		Reason: "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: " +
			"call_function <built-in function matmul>(*(FakeTensor(..., size=(3, 4)), FakeTensor(..., device='cuda:0', size=(5,))), " +
			"**{}): got " + said +
			"\n  Hint: Your code may result in an error when running in eager. Please double check.\n\n  Developer debug context: \n",
		Hints: []string{"Your code may result in an error when running in eager. Please double check."},
	}
}

// TestOperatorThatFailed: what the operator said and on what it was called are
// below the failure; that the code may fail in eager too is no advice.
func TestOperatorThatFailed(t *testing.T) {
	f := fakeFailure(`RuntimeError('a and b\nmust have, it\'s said, one size.')`)
	want := "RuntimeError: a and b must have, it's said, one size, in matmul(tensor[3, 4], tensor[5])"
	if d := f.Details(); len(d) != 1 || d[0] != want {
		t.Errorf("details %q, want %q", d, want)
	}
	if fix := diagnose.FixFailure(f, "PyTorch 2.15.0"); fix.Text != "" {
		t.Errorf("advice %q", fix.Text)
	}
	f = fakeFailure(`RuntimeError('There was no fake impl registered for <CustomOpDef(mine::op)>.')`)
	if fix := diagnose.FixFailure(f, "PyTorch 2.15.0"); !strings.Contains(fix.Text, "register_fake") {
		t.Errorf("advice %q on an operator without a shape rule", fix.Text)
	}
	for call, want := range map[string]string{
		"call_method new_full(*(x, [1, 2], 0), **{})":                       "new_full(x, [1, 2], 0)",
		"call_function <function pad at 0x7f00>(*(x,), **{'value': 1})":     "pad(x, 'value': 1)",
		"call_function mine.op.default(*(FakeTensor(..., size=()),), **{})": "mine.op.default(tensor[])",
		"something else": "something else",
	} {
		if got := explain.OperatorCall(call); got != want {
			t.Errorf("%q: %q, want %q", call, got, want)
		}
	}
}

// TestBackendAdvice: whose backend failed decides what helps.
func TestBackendAdvice(t *testing.T) {
	for want, f := range map[string]*explain.Failure{
		"REPRO_AFTER":     {Type: "InductorError", Reason: "LoweringException: RuntimeError: no"},
		"TORCHDYNAMO":     {Type: "BackendCompilerFailed", Reason: "backend='inductor' raised:\nAssertionError: "},
		`backend="eager"`: {Type: "BackendCompilerFailed", Reason: "backend='mine' raised:\nValueError: no"},
		"variable CXX":    {Type: "InductorError", Reason: "InvalidCxxCompiler: No working C++ compiler found"},
		"triton":          {Type: "BackendCompilerFailed", Reason: "backend='inductor' raised:\nTritonMissing: Cannot find"},
		"":                {Type: "RuntimeError", Reason: "no"},
	} {
		if got := diagnose.FixFailure(f, "PyTorch 2.15.0").Text; !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s, %q: advice %q, want %q", f.Type, f.Reason, got, want)
		}
		if got := diagnose.FixFailure(f, "tcdbg").Text; got != "" {
			t.Errorf("%s: %q for a Go program", f.Type, got)
		}
	}
}

// TestFailureHasTheWordsOfItsBreak: text, HTML and JSON call a failure what they
// call a break of the same cause.
func TestFailureHasTheWordsOfItsBreak(t *testing.T) {
	f := &explain.Failure{
		Type: "Unsupported", Code: breaks.BuiltinPrint, Reason: "Failed to trace builtin operator",
		Context: "builtin open [] False",
	}
	words := (&explain.Break{Code: f.Code, Context: f.Context}).Title()
	if !strings.Contains(words, "built-in open") || f.Title() != words {
		t.Fatalf("%q against %q", f.Title(), words)
	}
	r := &explain.Report{Failures: []*explain.Failure{f}}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return render.WriteText(b, r) },
		"HTML": func(b *bytes.Buffer) error { return render.WriteHTML(b, r) },
		"JSON": func(b *bytes.Buffer) error { return render.WriteJSON(b, r) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || !strings.Contains(b.String(), words) {
			t.Errorf("%s: %v, lacks %q", name, err, words)
		}
	}
}

// TestBrokenConstraint: a size that was marked dynamic and became a constant is
// told with the line that made it one.
func TestBrokenConstraint(t *testing.T) {
	head := "V1121 12:00:00.000000 7 torch/a.py:1] "
	id := `, "frame_id": 1, "frame_compile_id": 0, "attempt": 0}` + "\n"
	r := foldText(t, head+`{"str": ["/w/m.py", 0]}`+"\n"+
		head+`{"dynamo_start": {"stack": [{"line": 6, "name": "g", "filename": 0}]}`+id+
		head+`{"symbolic_shape_specialization": {"symbol": "s8", "sources": ["L['x'].size()[0]"], "value": "6", "reason": "solved", `+
		`"user_stack": [{"line": 8, "name": "g", "filename": 0, "loc": "if x.shape[0] == 6:"}]}`+id+
		head+`{"symbolic_shape_specialization": {"symbol": "s7", "sources": ["L['y'].size()[1]"], "value": "3", "reason": "solved", `+
		`"user_stack": [{"line": 7, "name": "g", "filename": 0}]}`+id+
		head+`{"compilation_metrics": {"co_name": "g", "co_filename": "/w/m.py", "co_firstlineno": 6, "fail_type": `+
		`"ConstraintViolationError", "fail_reason": "Constraints violated (L['x'].size()[0])! For more information, run with `+
		`TORCH_LOGS.\n  - You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (6). If you're using `+
		`mark_dynamic, remove it."}`+id)
	if len(r.Failures) != 1 {
		t.Fatalf("%d failures", len(r.Failures))
	}
	f := r.Failures[0]
	if f.Title() != "size 0 of x is marked dynamic, and this code makes it the constant 6" || len(f.Details()) != 0 {
		t.Errorf("%q, %q", f.Title(), f.Details())
	}
	if f.Pos.Line != 8 || f.Pos.Code != "if x.shape[0] == 6:" || !strings.Contains(f.Fix.Text, "maybe_mark_dynamic(x, 0)") {
		t.Errorf("at %+v: %q", f.Pos, f.Fix.Text)
	}
}

// TestNewTryIsNoRecompile: after a compile that failed there is no entry that
// could be replaced.
func TestNewTryIsNoRecompile(t *testing.T) {
	metrics := func(compile int, fields string) string {
		n := string(rune('0' + compile))
		id := `, "frame_id": 0, "frame_compile_id": ` + n + `, "attempt": 0}` + "\n"
		head := "V1121 12:00:00.000000 7 torch/a.py:1] "
		return head + `{"dynamo_start": {"stack": []}` + id + head + `{"compilation_metrics": {"co_name": "f", ` + fields + `}` + id
	}
	failed, fine := `"fail_type": "UserError", "fail_reason": "no"`, `"graph_op_count": 1, "guard_count": 3`
	for _, c := range []struct {
		first, second string
		want          int
	}{{failed, fine, 0}, {fine, fine, 1}, {fine, failed, 1}} {
		r := foldText(t, metrics(0, c.first)+metrics(1, c.second))
		if r.Totals.Recompiles != c.want || len(r.Recompiles) != c.want {
			t.Errorf("%d recompiles, %d listed, want %d", r.Totals.Recompiles, len(r.Recompiles), c.want)
		}
	}
}

// TestRecordsOfCauses: breaks, recompiles and failures name the record that tells
// them.
func TestRecordsOfCauses(t *testing.T) {
	var out struct{ breaks, recompiles, failures int }
	for _, path := range []string{"../testdata/traces/pytorch-2.15/loops.log.zst", "../testdata/traces/pytorch-2.15/train_small.log.zst"} {
		r := report(t, path)
		st := traces.Open(t, path)
		if err := st.Read(context.Background(), func(*logs.Record) {}); err != nil {
			t.Fatal(err)
		}
		check := func(seq int64, want string) {
			if rec, err := st.Record(int(seq)); err != nil || rec.Content() != want {
				t.Errorf("%s: record %d is no %s: %v", path, seq, want, err)
			}
		}
		for _, g := range r.Breaks {
			check(g.Lead.Seq, "dynamo_graph_break_reason")
			out.breaks++
		}
		for _, rc := range r.Recompiles {
			check(rc.Seq, "recompile_reasons")
			out.recompiles++
		}
		for _, f := range r.Failures {
			check(f.Seq, "dynamo_error")
			out.failures++
		}
	}
	if out.breaks == 0 || out.recompiles == 0 || out.failures == 0 {
		t.Errorf("nothing was compared: %+v", out)
	}
}

// TestPlaceOfFailure: the innermost line that the user can change.
func TestPlaceOfFailure(t *testing.T) {
	lib := logs.Pos{File: "/v/lib/python3.11/site-packages/torch/_library/custom_ops.py", Line: 877}
	model := logs.Pos{File: "/v/lib/python3.11/site-packages/torchvision/transform.py", Line: 250}
	mine := logs.Pos{File: "/w/m.py", Line: 17}
	for _, c := range []struct {
		stack []logs.Pos
		want  logs.Pos
	}{
		{[]logs.Pos{mine, lib}, mine},
		{[]logs.Pos{mine, model, lib}, model},
		{[]logs.Pos{mine, model}, model},
		{[]logs.Pos{lib}, lib},
	} {
		f := &explain.Failure{Pos: c.stack[len(c.stack)-1], Stack: c.stack}
		if got := f.Place(); got != c.want {
			t.Errorf("%+v: at %+v", c.stack, got)
		}
	}
}

// TestOperatorThatFailedInOldReleases: 2.6 words the same without a code.
func TestOperatorThatFailedInOldReleases(t *testing.T) {
	r := foldText(t, `V1121 12:00:00.000000 7 torch/a.py:1] {"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}
V1121 12:00:00.000000 7 torch/a.py:1] {"compilation_metrics": {"co_name": "g", "fail_type": "TorchRuntimeError", "fail_reason": "Failed running call_function <built-in function matmul>(*(FakeTensor(..., size=(3, 4)), FakeTensor(..., size=(5, 6))), **{}):\na and b must have\nthe same\n\nfrom user code:\n"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}
`)
	if f := r.Failures[0]; f.Code != explain.OperatorFailed ||
		strings.Join(f.Details(), "|") != "a and b must have the same, in matmul(tensor[3, 4], tensor[5, 6])" {
		t.Errorf("%s %q", f.Code, f.Details())
	}
}

// TestArgumentsOfOldReleases: L['x'] is an argument, L['self'].x an attribute, and an
// element is neither.
func TestArgumentsOfOldReleases(t *testing.T) {
	for reason, want := range map[string]string{
		"L['s'] == 'a'": breaks.ValueChanged, "s == 'a'": breaks.ValueChanged, "L['self'].n == 3": breaks.AttributeChanged,
		"L['d']['n'] == 3": breaks.ValueChanged,
	} {
		if g := explain.ParseReason("0/0: " + reason); g.Kind != want {
			t.Errorf("%s: %s, want %s", reason, g.Kind, want)
		}
	}
}

// TestStackAloneIsNoBreak: the warning on item() has a stack, the break comes after.
func TestStackAloneIsNoBreak(t *testing.T) {
	r := foldText(t, "Graph break: from user code at:\n  File \"/w/m.py\", line 33, in item\n    def item(x):return "+
		"x*x.sum().item()\n\n\nGraph break in user code at /w/m.py:33\nGraph Break Reason: Encountered graph break when attempting "+
		"to trace CALL: a function call, e.g. f(x, y):\n\nUnsupported Tensor.item() call with capture_scalar_outputs=False\n  "+
		"Explanation: no.\n\nUser code traceback:\n  File \"/w/m.py\", line 33, in item\n    def item(x):return x*x.sum().item()\n")
	if r.Totals.Breaks != 1 || r.Breaks[0].Lead.Code != "GB0124" {
		t.Errorf("%d breaks", r.Totals.Breaks)
	}
}

// TestFailuresInComparisons: a failure that went away is fixed, one that lines were
// inserted above has moved, and what the caches answered is compared.
func TestFailuresInComparisons(t *testing.T) {
	run := func(line int, hit string) *explain.Report {
		fr := &explain.Frame{Name: "g"}
		fr.Compiles = []*explain.Compile{{Frame: fr, Status: explain.Failed}}
		r := &explain.Report{Frames: []*explain.Frame{fr}, Caches: []explain.CacheEvent{{Cache: "fx_graph", Hit: hit}}}
		if line > 0 {
			r.Failures = []*explain.Failure{{
				Type: "TorchRuntimeError", Code: explain.OperatorFailed, Frame: "g",
				Pos: logs.Pos{File: "/w/m.py", Line: line, Code: "return x @ y"},
			}}
		}
		return r
	}
	for _, c := range []struct {
		a, b                      *explain.Report
		fresh, fixed, moved, same int
		words                     string
	}{
		{run(3, "miss"), run(0, "miss"), 0, 1, 0, 0, "- fixed  m.py:3  GB4315 TorchRuntimeError: operator failed"},
		{run(0, "miss"), run(3, "miss"), 1, 0, 0, 0, "+ new    m.py:3"},
		{run(3, "miss"), run(23, "miss"), 0, 0, 1, 0, "> moved  m.py:3 -> m.py:23"},
		{run(3, "miss"), silent(run(3, "miss")), 0, 0, 0, 1, "no difference but time"},
		{run(3, "miss"), silent(run(4, "miss")), 1, 1, 0, 0, "+ new    m.py:4"},
		{run(3, "miss"), run(3, "hit"), 0, 0, 0, 1, "~ cache fx_graph: 1 x hit, before 1 x miss"},
		{run(3, "miss"), run(3, "miss"), 0, 0, 0, 1, "no difference but time"},
	} {
		d := gate.Diff(c.a, c.b)
		if f := d.Failures; len(f.New) != c.fresh || len(f.Fixed) != c.fixed || len(f.Moved) != c.moved || f.Same != c.same {
			t.Errorf("%+v", f)
		}
		var b bytes.Buffer
		if err := render.WriteDiffText(&b, d); err != nil || !strings.Contains(b.String(), c.words) {
			t.Errorf("%v lacks %q:\n%s", err, c.words, b.String())
		}
	}
}

// silent takes the line's text from a report, as older releases do.
func silent(r *explain.Report) *explain.Report {
	r.Failures[0].Pos.Code = ""
	return r
}

// TestLostFramesAreToldOnce: a failure at a break is compared with the breaks.
func TestLostFramesAreToldOnce(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/retinanet.log.zst")
	if got := gate.FailureCauses(r); len(r.Failures) != 2 || len(got) != 1 || got[0].Code != explain.OperatorFailed+"TorchRuntimeError" {
		t.Errorf("%d failures, compared %+v", len(r.Failures), got)
	}
}

// TestCheckNamesFailures: a limit on failures names them, with line and advice.
func TestCheckNamesFailures(t *testing.T) {
	l := gate.NoLimits
	l.MaxFailures = 1
	var b bytes.Buffer
	if err := gate.WriteViolations(&b, gate.Check(report(t, "../testdata/traces/pytorch-2.15/mark_dynamic.log.zst"), l, nil)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"max-failures: 2 failures, at most 1 allowed",
		"failure: mark_dynamic.py:8 in g: g failed: ConstraintViolationError: size 0 of x", "maybe_mark_dynamic(x, 0)",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

// TestErrorsThatFollowEachOther: the link ends a cause; what the program prints next,
// and its next error, are not of it.
func TestErrorsThatFollowEachOther(t *testing.T) {
	link := " For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb%s.html\n"
	r := foldText(t, "===== gen\nEXC <class 'torch._dynamo.exc.Unsupported'> Attempt to trace generator\n  Explanation: Generators "+
		"cannot be compiled.\n\n  Developer debug context: \n\n"+fmt.Sprintf(link, "0003")+
		"===== loop\nEXC <class 'torch._dynamo.exc.Unsupported'> Data-dependent branching\n  Explanation: Detected data-dependent "+
		"branching.\n\n  Developer debug context: x\n\n"+fmt.Sprintf(link, "0170")+
		"\nfrom user code:\n   File \"/w/m.py\", line 44, in loop\n    if x.mean()>i:x=x*2\n")
	if len(r.Failures) != 2 || r.Failures[0].Code != "GB0003" || r.Failures[1].Code != "GB0170" || r.Failures[1].Pos.Line != 44 {
		for _, f := range r.Failures {
			t.Errorf("%s %s at %+v", f.Code, f.Type, f.Pos)
		}
		t.Fatalf("%d failures", len(r.Failures))
	}
}

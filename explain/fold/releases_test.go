package fold

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/gate"
	"tcdbg/tracer/breaks"
)

// These tests hold together what releases of PyTorch say differently.

// brokenFor is the report of a break with a reason of one line, at a line of code.
func brokenFor(t *testing.T, reason, code string) *explain.Report {
	t.Helper()
	return foldText(t, payload(`{"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, "frame_id": 0, `+
		`"frame_compile_id": 0, "attempt": 0`,
		"Graph break in user code at /w/a.py:4\nGraph Break Reason: "+reason+
			"\nUser code traceback:\n  File \"/w/a.py\", line 4, in f\n    "+code+"\n"))
}

// A builtin that 2.6 cannot trace has the advice that later releases' reason gives.
func TestOldReasonOfABuiltin(t *testing.T) {
	for builtin, c := range map[string]struct{ line, fix string }{
		"time.perf_counter":  {"t0 = time.perf_counter()", "Measure outside of the compiled function."},
		"None.Random.random": {"if random.random() < eps:", "Call random.random outside of the compiled function"},
		"posix.getpid":       {"n = os.getpid()", "Call os.getpid before the compiled function"},
	} {
		r := brokenFor(t, "Unsupported: Graph break due to unsupported builtin "+builtin+". This function is either", c.line)
		if g := r.Breaks[0]; !strings.HasPrefix(g.Fix.Text, c.fix) {
			t.Errorf("%s: %s %q, want %q", builtin, g.Lead.Code, g.Fix.Text, c.fix)
		}
	}
}

// TestOldReasons: a reason of one line has the code that its block has today.
func TestOldReasons(t *testing.T) {
	for _, list := range [][]explain.WordsOfCode{explain.OldReasons, explain.OldOpenings} {
		for _, m := range list {
			c, ok := breaks.Lookup(m.Code)
			if !ok || c.Type == "" {
				t.Errorf("%q: no cause has the code %q", m.Words, m.Code)
			}
		}
	}
	for reason, want := range map[string]struct{ code, title string }{
		"Input tensor for tolist must be an integer tensor": {
			breaks.TensorToList,
			"tensor read out as a list",
		},
		"Logger not supported for non-export cases. To avoid graph breaks caused by": {breaks.LoggerCall, "logging call"},
		"builtin: open [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False": {
			breaks.BuiltinPrint,
			"call to built-in open",
		},
		"call_function BuiltinVariable(input) [ConstantVariable()] {}": {
			breaks.BuiltinPrint,
			"call to built-in input",
		},
		`SKIPPED INLINING <code object reduce at 0x7f99cc3de970, file "/v/f.py", line 24>: `: {
			breaks.SkippedInline,
			"call to a function marked as skipped",
		},
		"Graph break due to unsupported builtin time.perf_counter. This function is either a Python builtin (e.g. _warnings.warn) or": {
			breaks.SkippedFunction,
			"call to a skipped function",
		},
		"Unsupported: Dynamic control flow is not supported at the moment. Please use functorch": {
			breaks.DataDependentBranching, "branch on a tensor's value",
		},
		"unsupported operator: mylib2.raw.default (see https://docs.google.com/document/d/1 for how to fix)": {
			"GB0090", "Operator does not support running with fake tensors",
		},
		"call_method NNModuleVariable() eval [] {}": {breaks.UnsupportedMethod, "unsupported method"},
		"a new one, with hasattr () within, of <object at 0x7f99cc3de970> here": {
			"",
			"a new one, with hasattr () within, of <object> here",
		},
	} {
		r := brokenFor(t, reason, "g(x)")
		if len(r.Breaks) != 1 {
			t.Fatalf("%q: %d breaks", reason, len(r.Breaks))
		}
		if b := r.Breaks[0].Lead; b.Code != want.code || b.Title() != want.title {
			t.Errorf("%q: %s %q, want %s %q", reason, b.Code, b.Title(), want.code, want.title)
		}
	}
}

// TestBreakInPolyfill: the Python form of a built-in is Dynamo's, the line that calls
// it is the user's.
func TestBreakInPolyfill(t *testing.T) {
	const file = "/v/site-packages/torch/_dynamo/polyfills/builtins.py"
	text := "Graph break in user code at " + file +
		":60\nGraph Break Reason: Unsupported method call\n\nUser code traceback:\n  File \"/w/a.py\", line 9, in f\n    return " +
		"sum(g())\n  File \"" + file + "\", line 60, in sum\n    return functools.reduce(operator.add, iterable, start)\n"
	b := explain.ParseBreak(text)
	if b.Place.File != "/w/a.py" || b.Place.Line != 9 || b.Place.Func != "f" || len(b.Stack) != 2 {
		t.Errorf("at %+v, stack %+v", b.Place, b.Stack)
	}
	if b := explain.ParseBreak(strings.ReplaceAll(text, "/w/a.py", file)); b.Place.File != file {
		t.Errorf("without a line of the user: %+v", b.Place)
	}
}

// TestCachedCodeIsNoise: the wrapper that Inductor generated is not the user's.
func TestCachedCodeIsNoise(t *testing.T) {
	const name = "c5wsrg4nl4rr34eifjzamfas4lib4camq6nfmvho5f76v4uvywf2.py"
	for file, want := range map[string]bool{
		"/home/u/.cache/inductor/5w/" + name:                 true,
		"/home/u/.cache/inductor/6w/" + name:                 false,
		"/home/u/5w/c5wsrg.py":                               false,
		"/home/u/5w/" + strings.ToUpper(name[:3]) + name[3:]: false,
	} {
		if got := explain.FrameworkFile(file); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}

// flagGuards are the words of releases on a flag that was True.
var flagGuards = map[string]string{
	"2.7":  "___check_obj_id(flag, 139989945380768)",
	"2.8":  "___check_obj_id(flag, 139989945380768), type=<class 'bool'>",
	"2.11": "flag == True",
}

func recompileOfFlag(t *testing.T, guard string) *explain.Report {
	t.Helper()
	return foldText(t, "Recompiling function f in /w/a.py:1\n    triggered by the following guard failure(s):\n    - 0/0: "+guard+
		"  # return x if flag else y  # a.py:2 in f\n")
}

// TestFlagsOfReleases: a flag that changed is no object to be created once, and is the
// same cause in each release.
func TestFlagsOfReleases(t *testing.T) {
	want := recompileOfFlag(t, flagGuards["2.11"])
	for release, guard := range flagGuards {
		r := recompileOfFlag(t, guard)
		if len(r.Recompiles) != 1 {
			t.Fatalf("%s: %d recompiles", release, len(r.Recompiles))
		}
		if fix := r.Recompiles[0].Fix.Text; release == "2.7" && !strings.Contains(fix, "two entries are normal") ||
			strings.HasSuffix(fix, "not in every call") {
			t.Errorf("%s: %s", release, fix)
		}
		if d := gate.Diff(r, want); !d.Empty() {
			t.Errorf("%s: against 2.11: %+v", release, d.Recompiles)
		}
	}
	if r := recompileOfFlag(t, "___check_obj_id(G['F'], 9), type=<class 'module'>"); !strings.HasSuffix(r.Recompiles[0].Fix.Text,
		"not in every call") {
		t.Errorf("a module: %s", r.Recompiles[0].Fix.Text)
	}
}

// TestManyDtypes: all dtypes that a tensor came with are named.
func TestManyDtypes(t *testing.T) {
	const head = "Recompiling function f in /w/a.py:1\n    triggered by the following guard failure(s):\n    - "
	r := foldText(t, "V1121 12:00:00.000000 7 torch/a.py:1] [0/1] [__recompiles] "+
		strings.ReplaceAll(head+"0/0: tensor 'x' dtype mismatch. expected Float, actual Double", "\n",
			"\nV1121 12:00:00.000000 7 torch/a.py:1] [0/1] [__recompiles] ")+
		"\nV1121 12:00:01.000000 7 torch/a.py:1] [0/2] [__recompiles] "+
		strings.ReplaceAll(head+"0/1: tensor 'x' dtype mismatch. expected Double, actual Half", "\n",
			"\nV1121 12:00:01.000000 7 torch/a.py:1] [0/2] [__recompiles] ")+"\n")
	for _, rc := range r.Recompiles {
		if want := "x comes as Float, as Double and as Half: convert it before the call"; rc.Fix.Text != want {
			t.Errorf("%q, want %q", rc.Fix.Text, want)
		}
	}
	if len(r.Recompiles) != 2 {
		t.Errorf("%d recompiles", len(r.Recompiles))
	}
}

// TestCausesOfReleases: a diff over releases shows what changed in the program, not how
// a release words it.
func TestCausesOfReleases(t *testing.T) {
	fake := "Dynamo failed to run FX node with fake tensors: call_function <built-in function matmul>(*(FakeTensor(..., size=(4, " +
		"4)),), **{}): got RuntimeError('no')"
	error := func(typ, reason string) string {
		return `V1121 12:00:00.000000 7 torch/a.py:1] {"dynamo_start": {"stack": [{"line": 1, "name": "f", "filename": 0}]}, ` +
			`"frame_id": 0, "frame_compile_id": 0, "attempt": 0}` + "\n" +
			`V1121 12:00:00.000000 7 torch/a.py:1] {"compilation_metrics": {"co_name": "f", "fail_type": "` + typ +
			`", "fail_reason": "` + reason + `", "has_guarded_code": false}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}` + "\n"
	}
	autocast := func(name string) string {
		return "Recompiling function f in /w/a.py:1\n    triggered by the following guard failure(s):\n    - 0/0: GLOBAL_STATE " +
			"changed: " + name + " \n"
	}
	for what, texts := range map[string][2]string{
		"autocast": {autocast("autocast"), autocast("autocast(cpu)_enabled")},
		"inductor": {
			error("BackendCompilerFailed", `backend='inductor' raised:\nInvalidCxxCompiler: none`),
			error("InductorError", "InvalidCxxCompiler: none"),
		},
		"fake tensors": {
			error("TorchRuntimeError", fake),
			error("TorchRuntimeError", `RuntimeError when making fake tensor call\n  Explanation: `+fake),
		},
	} {
		d := gate.Diff(foldText(t, texts[0]), foldText(t, texts[1]))
		if !sameCauses(&d.Recompiles) || !sameCauses(&d.Failures) {
			t.Errorf("%s: %+v, %+v", what, d.Recompiles, d.Failures)
		}
	}
	if d := gate.Diff(foldText(t, autocast("autocast")), foldText(t, autocast("grad_mode"))); sameCauses(&d.Recompiles) {
		t.Error("autocast and grad_mode are one cause")
	}
}

func sameCauses(c *gate.Changes) bool { return len(c.New)+len(c.Fixed) == 0 }

// TestNamedConstraint: torch.export names a dimension as the program does, and its
// message has the line.
func TestNamedConstraint(t *testing.T) {
	reason := `Constraints violated (b)! For more information, run with TORCH_LOGS=\"+dynamic\".\n  - You marked b as dynamic but ` +
		`your code specialized it to be a constant (4). If you're using mark_dynamic, remove it.\n\nUser stack:\n  File ` +
		`\"/v/site-packages/torch/_dynamo/functional_export.py\", line 218, in forward\n    res = self._export_root(*args)\n  File ` +
		`\"/w/exp.py\", line 22, in forward\n    return x.view(4, 8)\n\nSuggested fixes:\n  b = 4`
	r := foldText(t, `V1121 12:00:00.000000 7 torch/a.py:1] {"compilation_metrics": {"fail_type": "ConstraintViolationError", `+
		`"fail_reason": "`+reason+`"}}`+"\n")
	if len(r.Failures) != 1 {
		t.Fatalf("%d failures", len(r.Failures))
	}
	f := r.Failures[0]
	if f.Title() != "the dimension b is marked dynamic, and this code makes it the constant 4" || f.Pos.File != "/w/exp.py" ||
		f.Pos.Line != 22 || f.Fix.Text != "give Dim.AUTO instead of b, which allows a constant; for one program for all sizes, let "+
		"this line hold for every size" {
		t.Errorf("%s at %+v: %s", f.Title(), f.Pos, f.Fix.Text)
	}
}

package fold

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/explain/render"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// TestAdviceNamesTheCallee: as the line spells it, where it does.
func TestAdviceNamesTheCallee(t *testing.T) {
	for _, c := range []struct{ code, context, line, engine, want string }{
		{
			breaks.SkippedFunction, "module: posix, qualname: getpid, skip reason: <missing reason>", "return x + os.getpid()",
			"PyTorch", "Call os.getpid before",
		},
		{breaks.SkippedFunction, "module: a, qualname: C.f, skip reason: none", "y = make().f(x)", "PyTorch", "Call C.f outside"},
		{breaks.SkippedFunction, "module: a, qualname: f.<locals>.g, skip reason: none", "y = g(x)", "PyTorch", "Call it outside"},
		{breaks.SkippedFunction, "", "y = g(x)", "PyTorch", "Call it outside"},
		{breaks.Disabled, "<function off at 0x7f>", "return off(x)", "PyTorch", "Leave the call of off outside"},
		{breaks.Disabled, "<bound method Net.off of Net()>", "return self.off(x)", "PyTorch", "Leave the call of self.off outside"},
		{breaks.UnknownNativeCall, "call of strings.Repeat", "s := strings.Repeat(a, n)", "tcdbg", "Call strings.Repeat before"},
		{breaks.UnknownNativeCall, "a tensor is passed to native code", "g(x)", "tcdbg", "Call it before"},
	} {
		b := &explain.Break{Code: c.code, Context: c.context, Pos: logs.Pos{Code: c.line}}
		if got := diagnose.FixBreak(b, c.engine).Text; !strings.Contains(got, c.want) {
			t.Errorf("%s in %q: %q, want %q", c.context, c.line, got, c.want)
		}
	}
}

// TestDisabledBecause: the reason that the program gives, which may hold brackets.
func TestDisabledBecause(t *testing.T) {
	for explanation, want := range map[string]string{
		"Skip calling function `f` since it was wrapped with `torch.compiler.disable` (reason: slow (on CPUs))": "slow (on CPUs)",
		"Skip calling function `f` since it was wrapped with `torch.compiler.disable` (reason: None)":           "",
		"Skip calling function `f`": "",
	} {
		if got := diagnose.DisabledBecause(&explain.Break{Code: breaks.Disabled, Explanation: explanation}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := diagnose.DisabledBecause(&explain.Break{Code: breaks.BuiltinPrint, Explanation: "(reason: x)"}); got != "" {
		t.Errorf("%q of another break", got)
	}
}

// TestSizesThatCannotBeOpen: 0 and 1 are never open, and a size that was marked in
// vain is not to be marked again.
func TestSizesThatCannotBeOpen(t *testing.T) {
	fr := &explain.Frame{Name: "f"}
	failed := &explain.Compile{Frame: fr, Status: explain.Failed, Failure: &explain.Failure{
		Type: "ConstraintViolationError", Pos: posAt("/w/a.py", 7),
		Reason: "Constraints violated\n  - You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (8).",
	}}
	for _, c := range []struct {
		dim                    int
		expected, actual, want string
		marked                 bool
	}{
		{0, "8", "9", "mark_dynamic(x, 0)", false},
		{0, "8", "9", "a.py:7 needs size 0 of x as a number", true},
		{1, "8", "9", "mark_dynamic(x, 1)", true},
		{0, "450", "0", "0 and 1 have an entry of their own", false},
		{0, "1", "5", "0 and 1 have an entry of their own", false},
	} {
		fr.Compiles = nil
		if c.marked {
			fr.Compiles = []*explain.Compile{failed}
		}
		rc := &explain.Recompile{
			Compile: &explain.Compile{Frame: fr},
			Failures: []explain.GuardFailure{{
				Kind: breaks.SizeChanged, Source: "L['x']", Dim: c.dim, Expected: c.expected,
				Actual: c.actual,
			}},
		}
		if got := diagnose.FixRecompile(rc, "PyTorch 2.15.0").Text; !strings.Contains(got, c.want) {
			t.Errorf("%s -> %s, marked %v: %q, want %q", c.expected, c.actual, c.marked, got, c.want)
		}
	}
}

// TestKernelsCalledTwice: a kernel that a wrapper calls several times counts as the
// lines of all its calls; the list of another artifact takes the place of the first.
func TestKernelsCalledTwice(t *testing.T) {
	f := New(nil)
	into := map[string][]string{}
	f.readLists([]byte(`{"mm:1": ["a"], "cpp_fused_relu_0:2": ["r"], "mm:3": ["b", "c"]}`), into)
	if got := strings.Join(into["mm"], " "); got != "a b c" {
		t.Errorf("nodes %q", got)
	}
	f.readLists([]byte(`{"mm:1": ["d"]}`), into)
	if got := strings.Join(into["mm"], " "); got != "d" {
		t.Errorf("nodes %q of the second artifact", got)
	}
}

// TestCostliestRecompilesFirst: by seconds, not by number; one that hit the limit before
// all, and a resumed part with its function.
func TestCostliestRecompilesFirst(t *testing.T) {
	r := &explain.Report{}
	add := func(name string, seconds float64, s explain.Status, parent *explain.Frame) *explain.Frame {
		fr := &explain.Frame{Name: name, Pos: posAt("/w/"+name+".py", 1), Parent: parent}
		c := &explain.Compile{Frame: fr, Seconds: seconds, Status: s}
		fr.Compiles = []*explain.Compile{c}
		r.Recompiles = append(r.Recompiles, &explain.Recompile{Compile: c})
		return fr
	}
	add("often", 1, explain.Compiled, nil)
	add("often", 1, explain.Compiled, nil)
	dear := add("dear", 1, explain.Compiled, nil)
	add("torch_dynamo_resume_in_dear_at_3", 9, explain.Compiled, dear)
	add("limited", 0, explain.Limit, nil)
	var b bytes.Buffer
	if err := render.WriteText(&b, r); err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, name := range []string{"  limited limited.py", "  dear dear.py", "  dear from line 3 on", "  often often.py"} {
		at := strings.Index(b.String(), name)
		if at < last {
			t.Errorf("%s is at %d, after %d", name, at, last)
		}
		last = at
	}
}

// TestFailuresThatTheProgramSaw: the others are counted, and their breaks tell more.
func TestFailuresThatTheProgramSaw(t *testing.T) {
	r := &explain.Report{Failures: []*explain.Failure{{Type: "Unsupported", Eager: true}, {Type: "InductorError"}}}
	raised, eager := r.Raised()
	if len(raised) != 1 || raised[0].Type != "InductorError" || !strings.HasPrefix(eager, "1 left its function") {
		t.Errorf("%d raised, %q", len(raised), eager)
	}
	r.Failures = append(r.Failures, r.Failures[0])
	if _, eager = r.Raised(); !strings.HasPrefix(eager, "2 left their functions") {
		t.Error(eager)
	}
	r.Failures = r.Failures[1:2]
	if _, eager = r.Raised(); eager != "" {
		t.Error(eager)
	}
}

// TestRaisedOnTorchsBehalf: what the standard library raises for torch is noise; what it
// raises for the program, and what torch raises, the program asked for.
func TestRaisedOnTorchsBehalf(t *testing.T) {
	const user, torch, std = "/w/a.py", "/v/lib/python3.11/site-packages/torch/autograd/graph.py", "/v/lib/python3.11/inspect.py"
	for _, c := range []struct {
		files []string
		noise bool
	}{
		{[]string{user, torch, std}, true},
		{[]string{user, torch, std, std}, true},
		{[]string{user, std}, false},
		{[]string{user, torch}, false},
		{[]string{user, torch, user}, false},
	} {
		stack := ""
		for i, file := range c.files {
			stack += "  File \"" + file + "\", line " + strconv.Itoa(i+1) + ", in f\n    x\n"
		}
		last := c.files[len(c.files)-1] + ":" + strconv.Itoa(len(c.files))
		text := "Graph break in user code at " + last +
			"\nGraph Break Reason: x:\n\nObserved exception\n  Explanation: e\n\n  Developer debug context: raised exception " +
			"KeyError('k')\n\n For more details about this graph break, please visit: " +
			"https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0088.html\n\nUser code traceback:\n" + stack
		b := New(nil).newBreak(explain.ParseBreak(text), text)
		if b.Code != breaks.ObservedPanic || b.Noise != c.noise {
			t.Errorf("%v: %s, noise %v at %s", c.files, b.Code, b.Noise, b.Pos.File)
		}
	}
}

// TestWhoseLine: nobody calls a line fixable by the user that is not the user's; what
// other hints say of it stays.
func TestWhoseLine(t *testing.T) {
	const site = "/v/lib/python3.11/site-packages/"
	for _, c := range []struct{ file, hint, want string }{
		{"/w/a.py", "user error", "fixable by you"},
		{site + "torch/nn/modules/module.py", "user error", "inside the framework"},
		{"/v/lib/python3.11/contextlib.py", "user error", "inside the framework"},
		{site + "lightning/loop.py", "user error", "in an installed library"},
		{site + "lightning/loop.py", "fundamental", "fundamental"},
	} {
		hint := map[string]string{
			"user error":  "Dynamo has detected that tracing the code will result in an error when running in eager.",
			"fundamental": "This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace through your code.",
		}[c.hint]
		block := "type\n  Explanation: e\n  Hint: " + hint + "\n"
		text := "Graph break in user code at " + c.file + ":1\nGraph Break Reason: x:\n\n" + block + "\n" + explain.ChainMark +
			"\n\n" + block
		b := New(nil).newBreak(explain.ParseBreak(text), text)
		if len(b.Chained) != 1 {
			t.Fatalf("%s: %d chained", c.file, len(b.Chained))
		}
		for _, one := range []*explain.Break{b, b.Chained[0]} {
			if one.Fixability != c.want || one.Noise != explain.FrameworkFile(c.file) {
				t.Errorf("%s, %s: %q, noise %v", c.file, c.hint, one.Fixability, one.Noise)
			}
		}
	}
}

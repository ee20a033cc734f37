package fold

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// These tests hold what a recompile is put down to, and what the user is told to do.

// recompiledBy makes a frame whose compiles each met the given reasons.
func recompiledBy(f *Fold, reasons ...[]string) *explain.Frame {
	fr := &explain.Frame{Name: "step", Pos: f.pos(posAt("/w/a.py", 3))}
	for i := range len(reasons) + 1 {
		c := &compile{Compile: explain.Compile{Frame: fr, Status: explain.Compiled}}
		c.ID.Compile = i
		fr.Compiles = append(fr.Compiles, &c.Compile)
		if i > 0 {
			f.setReasons(c, reasons[i-1], 0)
		}
	}
	return fr
}

// TestNearestEntryTellsTheCause: of a call that alternates between two kinds, the entry of
// its own kind tells what changed; a list that grows has no such entry.
func TestNearestEntryTellsTheCause(t *testing.T) {
	for _, c := range []struct {
		name    string
		reasons [][]string
		want    []string // of each recompile, the source that its first check is about
	}{
		{"two modes", [][]string{
			{"0/0: self.training == True"},
			{"0/1: self.training == False", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9"},
		}, []string{"self.training", "x"}},
		{"a newer mode is not left", [][]string{
			{"0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9"},
			{"0/1: self.training == True", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9"},
		}, []string{"x", "self.training"}},
		{"a list grows", [][]string{
			{"0/0: len(calls) == 1"},
			{"0/1: len(calls) == 2", "0/0: len(calls) == 1"},
			{"0/2: len(calls) == 3", "0/1: len(calls) == 2", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9"},
		}, []string{"calls", "calls", "calls"}},
		{"a dict that is filled, and what it holds", [][]string{
			{"0/0: not self.rows"},
			{"0/1: len(self.rows['score']) == 1", "0/0: not self.rows"},
			{"0/0: not self.rows", "0/2: len(self.rows['score']) == 2", "0/1: self.rows['score'][0] == 1.5"},
		}, []string{"self.rows", "self.rows['score']", "self.rows['score']"}},
		{"three names", [][]string{
			{"0/0: name == 'a'"},
			{"0/0: name == 'a'", "0/1: tensor 'x' size mismatch at index 0. expected 8, actual 9"},
		}, []string{"name", "name"}},
		{"an entry that is gone", [][]string{
			{"0/7: self.training == True", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9"},
		}, []string{"self.training"}},
	} {
		fr := recompiledBy(New(nil), c.reasons...)
		for i, want := range c.want {
			if got := explain.PlainSource(fr.Compiles[i+1].Recompile.Failures[0].Source); strings.TrimSuffix(got,
				".training") != strings.TrimSuffix(want, ".training") {
				t.Errorf("%s: recompile %d is put down to %s, want %s", c.name, i+1, got, want)
			}
		}
	}
}

// TestForbiddenRecompilesHaveReasons: the message of error_on_recompile has the reasons,
// with their stacks.
func TestForbiddenRecompilesHaveReasons(t *testing.T) {
	head, reasons := explain.NotAllowed("Recompiling function f in /w/a.py:3\n    triggered by the following guard failure(s):\n" +
		"    - 0/1: k == 2  # y=x*k  # a.py:4 in f\n    - User stack trace:\n    -   File \"/w/a.py\", line 4, in f\n    -     " +
		"y=x*k\n    - 0/0: k == 1")
	if head != "Recompiling function f in /w/a.py:3" || len(reasons) != 2 {
		t.Fatalf("%q, %q", head, reasons)
	}
	g := explain.ParseReason(reasons[0])
	if g.Entry != "0/1" || g.Expected != "2" || g.Pos.File != "/w/a.py" || g.Pos.Line != 4 {
		t.Errorf("%+v", g)
	}
}

// TestChecksOfTorchItself: a check that no line of the program asked for has torch's own
// line in brackets, which is not shown as the program's.
func TestChecksOfTorchItself(t *testing.T) {
	g := explain.ParseReason("1/0: (x.size()[0] // 4) == 1  # (_prims_common/__init__.py:285 in check_contiguous_sizes_strides)")
	if g.Pos.File != "_prims_common/__init__.py" || g.Pos.Line != 285 || g.Pos.Func != "check_contiguous_sizes_strides" ||
		g.Pos.Code != "" {
		t.Errorf("%+v", g.Pos)
	}
	if g.Kind != breaks.ShapeRelation || diagnose.FixRelation(&g).Text != "" {
		t.Errorf("%s: %q", g.Kind, diagnose.FixRelation(&g).Text)
	}
	fr := &explain.Frame{Name: "r", Pos: posAt("/w/a.py", 34)}
	rc := &explain.Recompile{Compile: &explain.Compile{Frame: fr}, Failures: []explain.GuardFailure{g}}
	if a := diagnose.RecompileAdvice(&explain.RecompileCause{Recompiles: []*explain.Recompile{rc}}); a.Pos.File != "/w/a.py" {
		t.Errorf("advice at %+v", a.Pos)
	}
}

// TestRelationsHaveAdvice: where the line or the relation tells enough.
func TestRelationsHaveAdvice(t *testing.T) {
	for reason, want := range map[string]string{
		"0/0: 2 <= x.size()[0] <= 16  # if x.size(0) > 16:  # /w/a.py:6 in f": "an entry for each side is normal",
		"0/0: 2 <= x.size()[0]":                     "a size of 0 or 1 has an entry of its own",
		"0/0: 2 <= x.size()[0] <= 4096":             "",
		"0/0: x.size()[0] == y.size()[0]":           "",
		"0/0: Mod(x.size()[0], 4) == 0":             "", // no pair of programs proves one
		"0/0: GLOBAL_STATE changed: grad_mode a b ": "",
	} {
		g := explain.ParseReason(reason)
		if got := diagnose.FixRelation(&g).Text; want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

// TestSettingsAreListed: global state that differs in several settings names them apart.
func TestSettingsAreListed(t *testing.T) {
	g := explain.ParseReason("0/0: GLOBAL_STATE changed: grad_mode autocast(cpu)_enabled ")
	if g.Source != "grad_mode, autocast(cpu)_enabled" {
		t.Errorf("%q", g.Source)
	}
}

// TestLibrariesAreNamed: a break in an installed library says what remains to do: where
// the program calls it, or within a model that is the library's as a whole.
func TestLibrariesAreNamed(t *testing.T) {
	const lib = "/v/lib/python3.11/site-packages/torchvision/ops/boxes.py"
	for _, c := range []struct{ compiledFile, want string }{
		{"/w/a.py", "The line is torchvision's: where it cannot change, keep what a.py:5 calls outside"},
		{lib, "The line is torchvision's: where it cannot change, keep nms outside"},
	} {
		fr := &explain.Frame{Name: "forward", Pos: posAt(c.compiledFile, 3)}
		b := &explain.Break{
			Code: breaks.DynamicShapeOperator, Context: "aten.nonzero.default",
			Compile: &explain.Compile{Frame: fr}, Pos: posAt(lib, 54),
		}
		b.Pos.Func = "nms"
		inside := posAt(c.compiledFile, 5)
		inside.Func = "forward"
		main := posAt("/w/main.py", 9)
		main.Func = "<module>"
		b.Stack = append(b.Stack, main, inside, b.Pos)
		if got := diagnose.FixBreak(b, "PyTorch 2.15.0").Text; !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		b.Pos.File = "/w/ops.py"
		if got := diagnose.FixBreak(b, "PyTorch 2.15.0").Text; strings.Contains(got, "The line is") {
			t.Errorf("the program's own line: %q", got)
		}
	}
}

// TestLostFunctionsCostMost: a function that runs eagerly as a whole pays with every call,
// so its break comes before one that was costly to compile.
func TestLostFunctionsCostMost(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/varied.log.zst")
	for i, fn := range []string{"masked", "topk_loop", "early"} {
		if g := r.Breaks[i]; len(g.Lost) != 1 || g.Lost[0] != fn || g.Seconds != 0 {
			t.Errorf("break %d: lost %q, %.1f s", i, g.Lost, g.Seconds)
		}
		if a := r.Advice[i]; !strings.Contains(a.Cost, fn+" runs eagerly") {
			t.Errorf("advice %d: %s, %s", i, a.Text, a.Cost)
		}
	}
	if g := r.Breaks[3]; len(g.Lost) != 0 || g.Seconds == 0 {
		t.Errorf("then %+v", g.Lead)
	}
}

// TestRefusalsOfTorch: what torch refuses is told at the program's line, with the words of
// the exception.
func TestRefusalsOfTorch(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/flex.log.zst")
	if g := r.Breaks[0]; g.Lead.Noise || g.Lead.Pos.Line != 35 {
		t.Errorf("%+v", g.Lead.Pos)
	}
	for _, f := range r.Failures {
		if d := f.Details(); len(d) != 1 || !strings.HasPrefix(d[0],
			"NotImplementedError: FlexAttention does not support backward on CPU.") {
			t.Errorf("%s: %q", f.Frame, d)
		}
	}
}

func posAt(file string, line int) logs.Pos { return logs.Pos{File: file, Line: line} }

// TestForeignEntriesLast: an entry of another backend, or of another thread's making,
// tells less than one that the call's values did not fit.
func TestForeignEntriesLast(t *testing.T) {
	rc := &explain.Recompile{Compile: &explain.Compile{Frame: &explain.Frame{}}}
	for _, s := range []string{
		"0/3: BACKEND_MATCH failure: torch.compile detected different backend callables.",
		"0/2: Unexpected recompilation: runtime guards failed", "0/1: tensor 'x' size mismatch at index 0. expected 4, actual 5",
		"0/0: tensor 'x' size mismatch at index 0. expected 3, actual 5",
	} {
		rc.Failures = append(rc.Failures, explain.ParseReason(s))
	}
	explain.NearestFirst(rc)
	var got []string
	for _, g := range rc.Failures {
		got = append(got, g.Entry)
	}
	if s := strings.Join(got, " "); s != "0/1 0/0 0/3 0/2" {
		t.Error(s)
	}
}

// TestForeignGuards: of a value that a library's line asks for the advice says whose line
// it is; a tensor is the user's wherever it is read.
func TestForeignGuards(t *testing.T) {
	const lib = "/v/lib/python3.11/site-packages/lightning/loop.py"
	for _, c := range []struct {
		kind, file string
		want       bool
	}{
		{breaks.LengthChanged, lib, true},
		{breaks.AttributeChanged, lib, true},
		{breaks.LengthChanged, "/w/a.py", false},
		{breaks.SizeChanged, lib, false},
		{breaks.AttributeChanged, "/v/lib/python3.11/site-packages/torch/optim/adam.py", false},
	} {
		rc := &explain.Recompile{Fix: explain.Fix{Text: "x"}, Failures: []explain.GuardFailure{{Kind: c.kind, Pos: posAt(c.file, 3)}}}
		if got := diagnose.ForeignGuard(rc); (got != "") != c.want || c.want && !strings.Contains(got, "lightning's") {
			t.Errorf("%s at %s: %q", c.kind, c.file, got)
		}
	}
	if got := diagnose.ForeignGuard(&explain.Recompile{
		Fix:      explain.Fix{Text: "x"},
		Failures: []explain.GuardFailure{{Kind: breaks.LengthChanged, Source: "L['kwargs']", Pos: posAt(lib, 3)}},
	}); got != "" {
		t.Errorf("%q of the call's keywords", got)
	}
	if got := diagnose.ForeignGuard(&explain.Recompile{Failures: []explain.GuardFailure{{
		Kind: breaks.LengthChanged,
		Pos:  posAt(lib, 3),
	}}}); got != "" {
		t.Errorf("%q without an advice", got)
	}
}

// TestEntryOfTheCallsKindFirst: of the entries of a program of ours, all of whose failed
// guards are known, the newest of the call's own kind tells what changed.
func TestEntryOfTheCallsKindFirst(t *testing.T) {
	const grad, scale = "requires_grad", "closure"
	fail := func(entry, kind string) explain.GuardFailure { return explain.GuardFailure{Entry: entry, Kind: kind} }
	for name, c := range map[string]struct {
		failures []explain.GuardFailure
		first    string
	}{
		"another kind is newer": {[]explain.GuardFailure{fail("0/1", grad), fail("0/1", scale), fail("0/0", scale)}, "0/0 closure"},
		"the newest is its own": {[]explain.GuardFailure{fail("0/2", scale), fail("0/1", grad), fail("0/0", scale)}, "0/2 closure"},
		"none is of its kind":   {[]explain.GuardFailure{fail("0/1", scale), fail("0/1", grad), fail("0/0", grad)}, "0/1 closure"},
		"a size of 1 is another": {
			[]explain.GuardFailure{fail("0/2", grad), fail("0/1", "stride"), {Entry: "0/1", Expected: ">= 2"}}, "0/2 requires_grad",
		},
		"the newest of its kind": {[]explain.GuardFailure{fail("0/2", grad), fail("0/1", scale), fail("0/0", "size")}, "0/1 closure"},
	} {
		rc := &explain.Recompile{Failures: c.failures}
		explain.OwnKindFirst(rc)
		if g := rc.Failures[0]; g.Entry+" "+g.Kind != c.first || len(rc.Failures) != len(c.failures) {
			t.Errorf("%s: %s %s, want %s", name, g.Entry, g.Kind, c.first)
		}
	}
}

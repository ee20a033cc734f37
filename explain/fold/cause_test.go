package fold

import (
	"strconv"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// recompiled is a frame with one recompile per failure.
func recompiled(name string, failures ...explain.GuardFailure) *explain.Frame {
	fr := &explain.Frame{Name: name}
	fr.Compiles = append(fr.Compiles, &explain.Compile{Frame: fr})
	for _, g := range failures {
		c := &explain.Compile{Frame: fr, Seconds: 1}
		c.ID.Compile = len(fr.Compiles)
		c.Recompile = &explain.Recompile{Compile: c, Failures: []explain.GuardFailure{g}}
		c.Recompile.Fix = diagnose.FixRecompile(c.Recompile, "PyTorch")
		fr.Compiles = append(fr.Compiles, c)
	}
	return fr
}

func length(source string, n int) explain.GuardFailure {
	return explain.GuardFailure{Source: source, Kind: breaks.LengthChanged, Dim: -1, Expected: strconv.Itoa(n)}
}

// TestCauses: a frame with a changed size and a growing list has two causes;
// the one that hit the limit comes first and says what grows.
func TestCauses(t *testing.T) {
	size := explain.GuardFailure{Source: "L['x']", Kind: breaks.SizeChanged, Dim: 0, Expected: "8", Actual: "9"}
	fr := recompiled("f", size, length("G['calls']", 1), length("G['calls']", 2), length("G['calls']", 3))
	fr.Compiles[4].Status = explain.Limit
	causes := diagnose.Causes(fr)
	if len(causes) != 2 || len(causes[1].Recompiles) != 3 {
		t.Fatalf("%d causes, want a size and a length with three recompiles", len(causes))
	}
	r := &explain.Report{Frames: []*explain.Frame{fr}}
	diagnose.Advise(r)
	if len(r.Advice) != 2 || !strings.HasPrefix(r.Advice[0].Fix.Text, "calls grows with every call") {
		t.Fatalf("first advice %+v", r.Advice)
	}
	if !strings.Contains(r.Advice[0].Cost, "limit reached") {
		t.Errorf("cost %q does not tell of the limit", r.Advice[0].Cost)
	}
	if want := "size 0 of x changes (8 -> 9): call torch._dynamo.maybe_mark_dynamic(x, 0) before the first call, and the same for " +
		"every other input that has this size"; r.Advice[1].Fix.Text != want {
		t.Errorf("second fix %q, want %q", r.Advice[1].Fix.Text, want)
	}
}

// TestArgumentDoesNotGrow: a list that the caller passes has another length in each call;
// nothing tells that it is one list to which the function appends.
func TestArgumentDoesNotGrow(t *testing.T) {
	for _, source := range []string{"xs", "L['xs']"} {
		var fr explain.Frame
		for n := range 4 {
			c := &explain.Compile{ID: explain.ID{CompileID: logs.CompileID{Compile: n}}, Frame: &fr, Status: explain.Compiled}
			if n > 0 {
				c.Recompile = &explain.Recompile{
					Compile: c, Failures: []explain.GuardFailure{length(source, n)},
					Facts: &explain.TraceFacts{},
				}
			}
			fr.Compiles = append(fr.Compiles, c)
		}
		if c := diagnose.Causes(&fr); len(c) != 1 || strings.Contains(c[0].Fix.Text, "grows") {
			t.Errorf("%s: %d causes, %q", source, len(c), c[0].Fix.Text)
		}
	}
}

// TestCausesOfElements: the elements of one list are one cause, a list whose
// length goes up and down does not grow.
func TestCausesOfElements(t *testing.T) {
	value := func(i int) explain.GuardFailure {
		return explain.GuardFailure{Source: "G['k'][" + strconv.Itoa(i) + "]", Kind: breaks.ValueChanged, Dim: -1, Expected: "7"}
	}
	if n := len(diagnose.Causes(recompiled("f", value(0), value(1), value(12)))); n != 1 {
		t.Errorf("%d causes, want 1", n)
	}
	c := diagnose.Causes(recompiled("f", length("G['k']", 1), length("G['k']", 3), length("G['k']", 2)))
	if strings.Contains(c[0].Fix.Text, "grows") {
		t.Errorf("advice %q on a list that shrinks too", c[0].Fix.Text)
	}
}

// TestCausesOfRanks: one function on two ranks is one advice.
func TestCausesOfRanks(t *testing.T) {
	size := explain.GuardFailure{Source: "L['x']", Kind: breaks.SizeChanged, Dim: 0, Expected: "8", Actual: "9"}
	r := &explain.Report{Frames: []*explain.Frame{recompiled("f", size), recompiled("f", size), recompiled("g", size)}}
	diagnose.Advise(r)
	if len(r.Advice) != 2 || !strings.HasPrefix(r.Advice[0].Cost, "2 recompiles") {
		t.Fatalf("advice %+v", r.Advice)
	}
}

// TestFixValue: what to do about a constant depends on how many values it can have;
// where the trace does not tell what became of a number, nothing is advised.
func TestFixValue(t *testing.T) {
	for _, c := range []struct{ kind, source, expected, engine, want string }{
		{breaks.ValueChanged, "L['k']", "3", "PyTorch", ""},
		{breaks.ValueChanged, "L['f']", "True", "PyTorch", "f is a flag: two entries are normal"},
		{
			breaks.AttributeChanged, "L['m'].Verbose", "false", "tcdbg 0.1",
			"m.Verbose is a flag: two entries are normal; if it changes with every call, use torch.Where on it as a tensor",
		},
		{
			breaks.ValueChanged, "L['mode']", "'train'", "PyTorch",
			"there is an entry for each value of mode (here 'train'): keep them few, or choose by it before the compiled function",
		},
		{breaks.GlobalChanged, "G['K']", "3", "PyTorch", ""},
	} {
		rc := &explain.Recompile{Compile: &explain.Compile{Frame: &explain.Frame{Name: "f"}}}
		rc.Failures = []explain.GuardFailure{{Kind: c.kind, Source: c.source, Expected: c.expected, Dim: -1}}
		if got := diagnose.FixRecompile(rc, c.engine).Text; got != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.expected, got, c.want)
		}
	}
}

// TestAdviceOfACauseIsOne: every recompile of a cause has the cause's advice, and
// the limit is told as what it does.
func TestAdviceOfACauseIsOne(t *testing.T) {
	for path, want := range map[string][2]string{
		"regional": {"is an int attribute of a module", "limit reached: runs eagerly"},
		"limits":   {"there is an entry for each value of s", "limit reached: fails"},
	} {
		r := report(t, "../testdata/traces/pytorch-2.15/"+path+".log.zst")
		n := 0
		for _, rc := range r.Recompiles {
			if rc.Failures[0].Kind == breaks.RequiresGradChanged || rc.Compile.ID.Frame == 0 {
				continue
			}
			n++
			if !strings.Contains(rc.Fix.Text, want[0]) {
				t.Errorf("%s %s: %q", path, rc.Compile.ID.CompileID, rc.Fix.Text)
			}
		}
		if n < 7 || !strings.Contains(r.Advice[0].Cost, want[1]) {
			t.Errorf("%s: %d recompiles, %q", path, n, r.Advice[0].Cost)
		}
	}
}

// TestAdviceNamesWhatTheCallerHas: a keyword of a wrapper is the caller's, the
// learning rate is the program's, an argument of generated code is nobody's.
func TestAdviceNamesWhatTheCallerHas(t *testing.T) {
	for _, c := range []struct {
		engine, file, reason, want string
		status                     explain.Status
	}{
		{
			"PyTorch 2.15.0", "/v/site-packages/transformers/generic.py",
			"tensor 'kwargs['ids']' size mismatch at index 1. expected 12, actual 9", "mark_dynamic(ids, 1)", explain.Compiled,
		},
		{
			"PyTorch 2.15.0", "/v/site-packages/torch/nn/parallel.py",
			"tensor 'kwargs['ids']' size mismatch at index 1. expected 12, actual 9", "", explain.Compiled,
		},
		{
			"PyTorch 2.15.0", "/w/m.py", "tensor 'x' size mismatch at index 0. expected 4, actual 5",
			"the compile that leaves it open failed", explain.Failed,
		},
		{"PyTorch 2.15.0", "<eval_with_key>.1", "tensor 'sizes[0]' size mismatch at index 1. expected 3, actual 5", "", explain.Compiled},
		{
			"PyTorch 2.15.0", "/v/site-packages/torch/optim/adam.py", "L['self'].param_groups[0]['lr'] == 0.01", "lr=torch.tensor",
			explain.Compiled,
		},
		{"tcdbg 0.1", "model.go", "-L['b'].groups[0].Lr == -0.1", "kw.Lr(torch.NewTensor(...))", explain.Compiled},
		{"PyTorch 2.15.0", "/w/m.py", "BACKEND_MATCH failure: torch.compile detected different backend callables. Cached backend: " +
			"_TorchCompileInductorWrapper (id=0x7f). New backend: _TorchCompileInductorWrapper (id=0x8f). If this is unexpected, " +
			"wrap your backend", "call it once", explain.Compiled},
		{"PyTorch 2.15.0", "/w/m.py", "Unexpected recompilation: runtime guards failed even though they passed during " +
			"recompilation-reason analysis.", "before they start", explain.Compiled},
		{
			"PyTorch 2.15.0", "/w/m.py", "tensor '___from_numpy(a)' size mismatch at index 0. expected 3, actual 4",
			"torch.from_numpy(a)", explain.Compiled,
		},
		{
			"PyTorch 2.15.0", "/w/m.py", "len(G['STATS']) == 1  # STATS.append(x)  # w/m.py:3 in f", "STATS grows with every call",
			explain.Compiled,
		},
		{"PyTorch 2.15.0", "/w/m.py", "len(xs) == 1  # for x in xs:  # w/m.py:3 in f", "keep these few", explain.Compiled},
		{
			"PyTorch 2.15.0", "/w/m.py", "expected type of 'self' to be <class '__main__.A'>, but found <class '__main__.B'>",
			"objects of several classes", explain.Compiled,
		},
		{"PyTorch 2.15.0", "/w/m.py", "___check_obj_id(mode, 140), type=<class '__main__.Mode'>  # case Mode.FAST:  # w/m.py:3 in " +
			"f", "each object that mode is", explain.Compiled},
		{
			"PyTorch 2.15.0", "/w/m.py", "___check_obj_id(net, 140), type=<class '__main__.Net'>  # y = net(x)  # w/m.py:3 in f",
			"make each once", explain.Compiled,
		},
		{"PyTorch 2.15.0", "/w/m.py", "L['self'].kind is None", "two entries are normal", explain.Compiled},
	} {
		rc := &explain.Recompile{
			Compile: &explain.Compile{
				Status: c.status,
				Frame:  &explain.Frame{Name: "f", Pos: logs.Pos{File: c.file}},
			},
			Failures: []explain.GuardFailure{explain.ParseReason("0/0: " + c.reason)},
		}
		if fix := diagnose.FixRecompile(rc, c.engine).Text; fix == "" != (c.want == "") || !strings.Contains(fix, c.want) {
			t.Errorf("%s in %s: %q, want %q", c.reason, c.file, fix, c.want)
		}
	}
}

// TestResumedPartsFollow: what goes on with a function recompiles with it for the
// same cause, which is told once.
func TestResumedPartsFollow(t *testing.T) {
	state := func(fr *explain.Frame) *explain.Frame {
		c := &explain.Compile{ID: explain.ID{CompileID: logs.CompileID{Compile: 1}}, Frame: fr, Seconds: 1}
		c.Recompile = &explain.Recompile{
			Compile:  c,
			Failures: []explain.GuardFailure{explain.ParseReason("0/0: GLOBAL_STATE changed: grad_mode ")},
			Fix:      explain.Fix{Text: "set it"},
		}
		fr.Compiles = []*explain.Compile{{Frame: fr}, c}
		return fr
	}
	step := state(&explain.Frame{Name: "step", Pos: logs.Pos{File: "/w/m.py", Line: 4}})
	rest := state(&explain.Frame{Name: "torch_dynamo_resume_in_step_at_8", Pos: logs.Pos{File: "/w/m.py", Line: 8}, Parent: step})
	if got := diagnose.MergedCauses(&explain.Report{Frames: []*explain.Frame{step, rest}}); len(got) != 1 ||
		len(got[0].Recompiles) != 2 || got[0].Seconds != 2 {
		t.Errorf("%d causes", len(got))
	}
}

// TestCounterIsNoZeroOrOne: a counter that leaves an entry for 2 behind is a constant of
// each graph, whatever its first values were; nothing is said to be settled. Nor is it where
// nobody knows what the newest entry holds, as the trace ends with it.
func TestCounterIsNoZeroOrOne(t *testing.T) {
	number := func(n int) explain.GuardFailure {
		return explain.GuardFailure{Source: "G['step_no']", Kind: breaks.GlobalChanged, Dim: -1, Expected: strconv.Itoa(n)}
	}
	for _, x := range []struct {
		values []int
		guards *explain.GuardTree
		row    string
	}{
		{[]int{0, 1}, &explain.GuardTree{Load: func() *explain.GuardNode { return &explain.GuardNode{} }}, "number-zero-one"},
		{[]int{0, 1}, nil, ""},
		{[]int{1, 2}, nil, ""},
	} {
		var failures []explain.GuardFailure
		for _, n := range x.values {
			failures = append(failures, number(n))
		}
		fr := recompiled("f", failures...)
		for _, c := range fr.Compiles[1:] {
			c.Guards = x.guards
			f := diagnose.RecompileFinding(c.Recompile, &explain.TraceFacts{Any: true})
			if fix := diagnose.AdviseRecompile(f); fix.Row != x.row {
				t.Errorf("of %v: %q from row %q, want row %q", x.values, fix.Text, fix.Row, x.row)
			}
		}
	}
}

// TestSizesOfAllEntriesAreMarked: a size that changes in two kinds of calls, of which one passes a
// tensor more, is marked in all tensors of both.
func TestSizesOfAllEntriesAreMarked(t *testing.T) {
	size := explain.GuardFailure{Kind: breaks.SizeChanged, Source: "L['users']", Expected: "16", Actual: "12"}
	fr := recompiled("run_batch", size, size)
	fr.Pos = logs.Pos{File: "/m/recsys.py", Line: 81}
	x := &explain.TraceFacts{Any: true, Symbols: map[explain.ID][]*explain.Symbol{}}
	for i, other := range []string{"held_out", "genres"} {
		rc := fr.Compiles[i+1].Recompile
		for n, name := range []string{"users", other} {
			id := fr.Compiles[i+1].ID
			symbol := &explain.Symbol{ID: id, Name: "s" + strconv.Itoa(n), Source: "L['" + name + "'].size()[0]"}
			x.Symbols[id] = append(x.Symbols[id], symbol)
		}
		rc.Facts, rc.Fix = x, diagnose.AdviseRecompile(diagnose.RecompileFinding(rc, x))
	}
	causes := diagnose.Causes(fr)
	if len(causes) != 1 {
		t.Fatalf("%d causes", len(causes))
	}
	for _, want := range []string{"(users, 0)", "(held_out, 0)", "(genres, 0)", "all of them that are tensors in that call"} {
		if !strings.Contains(causes[0].Fix.Text, want) {
			t.Errorf("%q lacks %q", causes[0].Fix.Text, want)
		}
	}
	fr.Compiles = fr.Compiles[:2]
	if fix := diagnose.Causes(fr)[0].Fix; strings.Contains(fix.Text, "genres") || strings.Contains(fix.Text, "in that call") {
		t.Errorf("of one entry: %q", fix.Text)
	}
}

// TestWhatHelpsBeforeTheLimitHelpsAtIt: a value that the function itself changes is changed outside
// at the limit, too; of others, the advice at the limit takes the place of that on the first entries.
func TestWhatHelpsBeforeTheLimitHelpsAtIt(t *testing.T) {
	value := explain.GuardFailure{Kind: breaks.AttributeChanged, Source: "L['self'].stats['windows']", Dim: -1, Expected: "1.0"}
	for first, want := range map[string]string{"number-written-back": "number-written-back", "number-constant": "limit"} {
		fr := recompiled("process", value, value)
		fr.Compiles[1].Recompile.Fix = explain.Fix{Row: first, Text: "at first"}
		fr.Compiles[2].Recompile.Fix, fr.Compiles[2].Status = explain.Fix{Row: "limit", Text: "at the limit"}, explain.Limit
		if got := diagnose.Causes(fr)[0].Fix.Row; got != want {
			t.Errorf("%s, then limit: %q, want %q", first, got, want)
		}
	}
}

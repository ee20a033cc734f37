package fold

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
)

// TestBuiltInModules: modules of PyTorch itself are told by their classes and the lines
// that call them, each on its own, although one function is compiled for all; the first
// compile of another module is no recompile.
func TestBuiltInModules(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/builtin_modules.log.zst")
	var got []string
	for _, fr := range r.Frames {
		n := 0
		for range fr.Recompiles {
			n++
		}
		got = append(got, fmt.Sprintf("%s:%d %d compiles %d recompiles", fr.Name, fr.Pos.Line, len(fr.Compiles), n))
	}
	want := "Sequential:11 2 compiles 1 recompiles, Linear:12 1 compiles 0 recompiles, LayerNorm:13 1 compiles 0 recompiles"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	if len(r.Recompiles) != 1 || r.Totals.Recompiles != 1 || r.Totals.Frames != 3 {
		t.Fatalf("%d recompiles, totals %+v", len(r.Recompiles), r.Totals)
	}
	rc := r.Recompiles[0]
	if g := rc.Failures[0]; g.Argument != "x" || g.Expected != "32" || g.Actual != "16" || !strings.Contains(rc.Fix.Text, "(x, 0)") {
		t.Errorf("argument %q, %s -> %s, fix %q", g.Argument, g.Expected, g.Actual, rc.Fix.Text)
	}
}

// TestSimpleCalls: an argument is named where the line is one call and nothing else.
func TestSimpleCalls(t *testing.T) {
	for code, want := range map[string]string{
		"y = seq(x)": "x", "seq(x, mask)": "x|mask", "self.y = self.model.enc(x)": "x", "return seq(x)": "", "y = seq(torch.randn(3))": "",
		"for n in (32, 16): seq(x)": "", "a = f(x) + g(y)": "", "y = seq(x, mask=m)": "", "y = seq(*xs)": "", "": "", "y = seq()": "",
	} {
		if got := strings.Join(diagnose.SimpleCall(code), "|"); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}

// shownFrames are the frames of a report as it lists them, with their compiles and recompiles.
func shownFrames(r *explain.Report) string {
	var got []string
	for _, fr := range r.Frames {
		s := fr.Sum()
		got = append(got, fmt.Sprintf("%s:%d %d compiles %d recompiles", fr.Name, fr.Pos.Line, s.Compiles, s.Recompiles))
	}
	return strings.Join(got, ", ")
}

// TestModulesOfOneCache: each entry is named by what its own compile tells. Dynamo declines
// an LSTM before it looks at it, so that its entry guards on no module; and of Sequential
// the method was compiled. Neither is the Embedding that came before them. What one of them
// is compiled for is compared with its own entries alone.
func TestModulesOfOneCache(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/modules_one_cache.log.zst")
	want := "Embedding:9 2 compiles 1 recompiles, an RNN, GRU or LSTM:10 1 compiles 0 recompiles, Sequential:11 2 compiles 1 recompiles, " +
		"TransformerEncoderLayer:12 1 compiles 0 recompiles, Conv2d:13 1 compiles 0 recompiles, TransformerEncoderLayer:16 1 " +
		"compiles 1 recompiles"
	if got := shownFrames(r); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var reasons []string
	for _, rc := range r.Recompiles {
		for _, g := range rc.Failures {
			reasons = append(reasons, rc.Compile.Frame.Name+" "+explain.FailureText(&g))
		}
	}
	wantReasons := "Embedding a size changed: args[0] dim 1, expected 5, actual 9|Sequential a size changed: args[0] dim 1, " +
		"expected 5, actual 9|TransformerEncoderLayer global state changed: grad_mode"
	if got := strings.Join(reasons, "|"); got != wantReasons {
		t.Errorf("%s\nwant %s", got, wantReasons)
	}
	if got := advices(r); strings.Contains(got, "what wraps the model") ||
		!strings.Contains(got, "modules_one_cache.py:10: nothing of this call is compiled: Dynamo leaves RNN, GRU and LSTM") {
		t.Error(got)
	}
	for _, a := range r.Advice {
		if a.Pos.Line == 10 && a.Fix.Row != "rnn" {
			t.Errorf("an LSTM: %+v", a.Fix)
		}
	}
}

// TestModulesReachTheLimit: eleven modules of one class have eleven entries, and the limit
// holds for all of them. The sizes of their parameters tell them apart. What a guard on a parameter says is that another module was called,
// not that an input has another size; and the compile that was refused, which has neither
// guards nor a stack, belongs to them.
func TestModulesReachTheLimit(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/modules_limit.log.zst")
	want := "Linear:4 1 compiles 0 recompiles"
	for i := 2; i <= 8; i++ {
		want += fmt.Sprintf(", Linear #%d:4 1 compiles 0 recompiles", i)
	}
	if got := shownFrames(r); got != want+", Linear #9:4 0 compiles 0 recompiles" {
		t.Errorf("%s, want %s", got, want)
	}
	if len(r.Recompiles) == 0 {
		t.Error("the limit is not told")
	}
	for _, rc := range r.Recompiles {
		if !strings.Contains(rc.Fix.Text, "compile the function or the module that calls them") {
			t.Errorf("%v: %q", rc.Compile.ID, rc.Fix.Text)
		}
	}
	if fr := r.Frames[len(r.Frames)-1]; fr.Status != explain.Limit {
		t.Errorf("status %s", fr.Status)
	}
}

// TestClassByAFailedGuard: a guard on what a module holds is checked after its type, on the
// module, a method or an argument it is not.
func TestClassByAFailedGuard(t *testing.T) {
	entries := map[string]diagnose.WrappedAs{
		"0/0": {Class: "Linear", File: "/w/a.py", Line: 4, Held: nil},
		"0/1": {Class: "", File: "/w/a.py", Line: 5, Held: nil},
	}
	for _, c := range []struct{ entry, source, want string }{
		{"0/0", "fn._parameters['bias']", "Linear"},
		{"0/0", "L['fn'].__self__._modules['0']", "Linear"},
		{"0/0", "fn", ""},
		{"0/0", "L['fn'].__self__", ""},
		{"0/0", "L['fn'].__func__.__code__", ""},
		{"0/0", "args[0]", ""},
		{"0/1", "fn.bias", ""},
	} {
		x := &explain.Compile{Recompile: &explain.Recompile{Failures: []explain.GuardFailure{{Entry: c.entry, Source: c.source}}}}
		if got, _ := diagnose.ClassOf(x, entries); got != c.want {
			t.Errorf("%v: %q", c, got)
		}
	}
}

// TestModulesOnOneLine: three modules of one class that one line calls, two of them alike.
// The third has other sizes and a row of its own; that the second exists no record tells,
// and a remark says so. What an input's size recompiles is compared with entries of the
// same module alone, on whichever line it is called.
func TestModulesOnOneLine(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/modules_one_line.log.zst")
	want := "Sequential:9 1 compiles 0 recompiles, Sequential #2:9 1 compiles 0 recompiles, Sequential #2:11 1 compiles 1 " +
		"recompiles, Sequential:11 1 compiles 1 recompiles"
	if got := shownFrames(r); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, rc := range r.Recompiles {
		if len(rc.Failures) != 1 || rc.Failures[0].Source != "args[0]" {
			t.Errorf("%s: %+v", rc.Compile.Frame.Name, rc.Failures)
		}
	}
	if n := len(r.Side); n == 0 || r.Side[n-1].Text != diagnose.SharedRows {
		t.Errorf("remarks %v", r.Side)
	}
}

// TestLSTMAmongOtherModules: the entry of an LSTM guards on no module, as Dynamo declines it
// unseen. A module called later is served by it, and leaves no record: LayerNorm, called in
// line 11 first, is compiled in line 14. The report shows it where it was compiled, names the
// LSTM's entry after no other module, and says that such an entry may serve others.
func TestLSTMAmongOtherModules(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/modules_lstm.log.zst")
	want := "an RNN, GRU or LSTM:10 1 compiles 0 recompiles, LayerNorm:14 1 compiles 0 recompiles, " +
		"an RNN, GRU or LSTM:15 1 compiles 0 recompiles, an RNN, GRU or LSTM:16 1 compiles 0 recompiles"
	if got := shownFrames(r); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var said []string
	for _, s := range r.Side {
		said = append(said, s.Text)
	}
	if !slices.Contains(said, diagnose.UnguardedEntry) {
		t.Errorf("remarks %q", said)
	}
	for _, name := range []string{"modules_one_line", "builtin_modules"} {
		for _, s := range report(t, "../testdata/traces/pytorch-2.15/"+name+".log.zst").Side {
			if s.Text == diagnose.UnguardedEntry {
				t.Errorf("%s has no such entry", name)
			}
		}
	}
}

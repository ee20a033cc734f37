package fold

import (
	"fmt"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// TestMethodsOfOneNameAreApart: two classes of a file have a method forward each; where the
// one calls the other and runs eagerly, the other is called within a compiled function.
func TestMethodsOfOneNameAreApart(t *testing.T) {
	const file = "/m/net.py"
	x := &explain.TraceFacts{
		Frames: map[[2]string][]int{{file, "forward"}: {25, 11}},
		Eager:  map[explain.CallSite]bool{{File: file, Line: 25}: true},
	}
	inner := &explain.Compile{
		Frame: &explain.Frame{Name: "forward", Pos: logs.Pos{File: file, Line: 11}},
		Stack: []logs.Pos{{File: file, Line: 29, Func: "forward"}, {File: file, Line: 12, Func: "forward"}},
	}
	if !x.CalledWithin(inner) {
		t.Error("the method at line 11, called by that at line 25, is not found to be called within it")
	}
	lines := make([]string, 40)
	lines[24], lines[28] = "    def forward(self, x):", "        return self.inner(x)"
	x.Source = explain.NewSource(func(string) ([]string, error) { return lines, nil })
	inner.Stack[0].Code = "return self.inner(x)"
	if !x.CalledWithin(inner) {
		t.Error("it is not found where the file can be read")
	}
	lines[26] = "    def train_step(self, x):" // the line is of a method that is not compiled
	if x.CalledWithin(inner) {
		t.Error("a method that eager code calls is called within the compiled one before it")
	}
	x.Source, x.Eager = nil, nil
	if x.CalledWithin(inner) {
		t.Error("a function that is compiled whole runs eagerly")
	}
	x.Eager = map[explain.CallSite]bool{{File: file, Line: 25}: true}
	inner.Stack[0].Line = 14
	if x.CalledWithin(inner) {
		t.Error("a method that calls itself is called within another one")
	}
}

// TestStaysConstant: what an entry has as a constant is read from its guards, and without
// guards nothing is known.
func TestStaysConstant(t *testing.T) {
	g := &explain.GuardFailure{Source: "L['n']", Expected: "1"}
	of := func(text string) *explain.Compile {
		root := &explain.GuardNode{Children: []*explain.GuardNode{{Kind: "EQUALS_MATCH", Source: "L['n']", Text: text}}}
		return &explain.Compile{Guards: &explain.GuardTree{Load: func() *explain.GuardNode { return root }}}
	}
	for _, c := range []struct {
		compile         *explain.Compile
		constant, known bool
	}{{of("L['n'] == 2"), true, true}, {of("L['n'] == 0"), false, true}, {&explain.Compile{}, false, false}} {
		if constant, known := diagnose.StaysConstant(c.compile, g); constant != c.constant || known != c.known {
			t.Errorf("constant %v, known %v, want %v, %v", constant, known, c.constant, c.known)
		}
	}
}

// TestConstantAfterZeroAndOne: where an entry that was made after a number was 0, then 1, has
// another value of it as a constant, it is not said that nothing is to be changed.
func TestConstantAfterZeroAndOne(t *testing.T) {
	for last, want := range map[string]string{"calls['n'] == 2": "number-global", "calls['n'] == 1": "number-zero-one"} {
		fr := &explain.Frame{Name: "show", Pos: logs.Pos{File: "/m/hook.py", Line: 3}}
		for i, check := range []string{"calls['n'] == 0", "calls['n'] == 1", last} {
			root := &explain.GuardNode{Kind: "EQUALS_MATCH", Source: "calls['n']", Text: check}
			c := &explain.Compile{Frame: fr, Guards: &explain.GuardTree{Load: func() *explain.GuardNode { return root }}}
			c.ID.Compile = i
			fr.Compiles = append(fr.Compiles, c)
		}
		rc := &explain.Recompile{Compile: fr.Compiles[1], Failures: []explain.GuardFailure{{
			Kind: breaks.GlobalChanged, Source: "calls['n']", Entry: "0/0", Expected: "0",
		}}}
		fr.Compiles[1].Recompile = rc
		f := diagnose.RecompileFinding(rc, &explain.TraceFacts{Any: true})
		if row, _ := advice.For(f); row.ID != want {
			t.Errorf("then %s: row %q, want %q", last, row.ID, want)
		}
	}
}

// TestZeroIsAnOutcomeOfABranch: of an int that is not negative, "not t > 0" leaves one value, and
// no line needs it as a constant for that.
func TestZeroIsAnOutcomeOfABranch(t *testing.T) {
	const reason = "range_refined_to_singleton"
	for _, c := range []struct {
		value, reason string
		want          advice.Number
	}{{"0", reason, advice.Branched}, {"7", reason, advice.Constant}, {"0", "static", advice.Constant}} {
		fr := &explain.Frame{Name: "denoise"}
		comp := &explain.Compile{Frame: fr, ShapeGuards: []explain.ShapeGuard{{Expr: "s57 <= 0"}}}
		fr.Compiles = []*explain.Compile{comp}
		symbol := &explain.Symbol{ID: comp.ID, Name: "s57", Source: "L['t']", Specialized: c.value, Reason: c.reason}
		x := &explain.TraceFacts{Any: true, Symbols: map[explain.ID][]*explain.Symbol{comp.ID: {symbol}}}
		rc := &explain.Recompile{Compile: comp, Failures: []explain.GuardFailure{{
			Kind: breaks.ValueChanged, Source: "L['t']", Expected: "> 0",
		}}}
		if f := diagnose.RecompileFinding(rc, x); f.Number != c.want {
			t.Errorf("%s (%s): number %d, want %d", c.value, c.reason, f.Number, c.want)
		}
	}
}

// TestGuardsOfRestartedTracing: a guard that makes a size a constant holds for the attempt of
// tracing that asked for it; what is left after a graph break started tracing over may have
// the size open, and then marking it helps.
func TestGuardsOfRestartedTracing(t *testing.T) {
	const record = `V1121 12:00:00.000000 7 torch/a.py:1] {%s, "frame_id": 0, "frame_compile_id": 1, "attempt": %d}` + "\n"
	start := fmt.Sprintf(record, `"dynamo_start": {"stack": []}`, 0)
	for asked, want := range []advice.Number{advice.Branched, advice.Constant} {
		r := foldText(t, start+fmt.Sprintf(record, `"guard_added_fast": {"expr": "Eq(s23, 5)"}`, asked))
		if len(r.Frames) != 1 || len(r.Frames[0].Compiles) != 1 {
			t.Fatalf("%d frames", len(r.Frames))
		}
		c := r.Frames[0].Compiles[0]
		id := c.ID
		id.Attempt = 1
		x := &explain.TraceFacts{Any: true, Symbols: map[explain.ID][]*explain.Symbol{c.ID: {{
			ID: id, Name: "s23",
			Source: "L['ids'].size()[0]",
		}}}}
		rc := &explain.Recompile{Compile: c, Failures: []explain.GuardFailure{{
			Kind: breaks.SizeChanged, Source: "L['ids']",
			Expected: "6", Actual: "5",
		}}}
		if f := diagnose.RecompileFinding(rc, x); f.Number != want {
			t.Errorf("a guard of attempt %d: number %d, want %d", asked, f.Number, want)
		}
	}
}

// TestManyValuesAreCounted: of three values, each has an entry for every setting of another cause;
// recompiles for them are no sign of many values. Three that fail in one call have a fourth.
func TestManyValuesAreCounted(t *testing.T) {
	for _, c := range []struct {
		left [][]string // the values of the entries that were left, by recompile
		many bool
	}{
		{[][]string{{"'a'"}, {"'b'"}, {"'a'"}, {"'b'"}}, false},
		{[][]string{{"'a'"}, {"'b'", "'a'"}, {"'c'", "'b'"}}, false},
		{[][]string{{"'a'"}, {"'b'", "'a'"}, {"'c'", "'b'", "'a'"}}, true},
		{[][]string{{"'a'"}, {"'b'"}, {"'c'"}, {"'d'"}}, true},
	} {
		frame := &explain.Frame{Name: "f", Pos: logs.Pos{File: "/m/f.py", Line: 3}}
		var last *explain.Recompile
		for _, values := range c.left {
			compile := &explain.Compile{Frame: frame}
			last = &explain.Recompile{Compile: compile}
			for _, value := range values {
				last.Failures = append(last.Failures, explain.GuardFailure{Kind: breaks.ValueChanged, Source: "mode", Expected: value})
			}
			compile.Recompile = last
			frame.Compiles = append(frame.Compiles, compile)
		}
		if f := diagnose.RecompileFinding(last, &explain.TraceFacts{}); f.ManyValues != c.many {
			t.Errorf("%v: many values: %v", c.left, f.ManyValues)
		}
	}
}

// TestSizesAreMarkedInEveryEntry: where a function is compiled for another cause than a size,
// too, before the size changed or after it, a tensor that is marked in the first call alone
// is unmarked when that entry is made.
func TestSizesAreMarkedInEveryEntry(t *testing.T) {
	size := explain.GuardFailure{Kind: breaks.SizeChanged, Source: "L['x']", Expected: "6", Actual: "5"}
	for other, want := range map[string]bool{breaks.SizeChanged: false, breaks.GlobalStateChanged: true} {
		for _, first := range []bool{true, false} {
			fr := &explain.Frame{}
			for i, f := range []explain.GuardFailure{size, {Kind: other, Source: "L['x']"}} {
				c := &explain.Compile{Frame: fr}
				c.ID.Compile = i + 1
				c.Recompile = &explain.Recompile{Compile: c, Failures: []explain.GuardFailure{f}}
				fr.Compiles = append(fr.Compiles, c)
			}
			rc := fr.Compiles[0].Recompile
			if first {
				fr.Compiles[0], fr.Compiles[1] = fr.Compiles[1], fr.Compiles[0]
			}
			if f := diagnose.RecompileFinding(rc, &explain.TraceFacts{}); f.Recompiled != want {
				t.Errorf("%s, before it: %v: compiled for another cause is %v", other, first, f.Recompiled)
			}
		}
	}
}

// TestWhatFilledTheLimit: a recompile that reaches the limit is told which other cause made at
// least half of the entries before it.
func TestWhatFilledTheLimit(t *testing.T) {
	const calls, size, grad = "0/0: self.calls == 1", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9",
		"0/0: GLOBAL_STATE changed: grad_mode "
	for _, c := range []struct {
		reasons []string
		by      string
		times   int
	}{
		{[]string{calls, calls, size, grad}, "self.calls", 2},
		{[]string{calls, size, calls, calls}, "", 0}, // it is the cause itself
		{[]string{calls, size, "0/0: k == 2", grad}, "", 0},
		{[]string{grad}, "", 0},
	} {
		var reasons [][]string
		for _, r := range c.reasons {
			reasons = append(reasons, []string{r})
		}
		fr := recompiledBy(New(nil), reasons...)
		last := fr.Compiles[len(fr.Compiles)-1]
		if f := diagnose.RecompileFinding(last.Recompile, &explain.TraceFacts{}); f.FilledBy != "" {
			t.Errorf("%v: below the limit, filled by %q", c.reasons, f.FilledBy)
		}
		last.Status = explain.Limit
		f := diagnose.RecompileFinding(last.Recompile, &explain.TraceFacts{})
		if f.FilledBy != c.by || f.FilledTimes != c.times || c.by != "" && f.Before != len(c.reasons)-1 {
			t.Errorf("%v: %d of %d by %q", c.reasons, f.FilledTimes, f.Before, f.FilledBy)
		}
	}
}

package fold

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// TestNumberThatBecameInput: a number which the next compile leaves open asks for no
// change; one that stays a constant, or a size, has the advice that it had.
func TestNumberThatBecameInput(t *testing.T) {
	id := logs.CompileID{Frame: 0, Compile: 1}
	report := func(engine string, symbols ...explain.Symbol) *explain.Report {
		r := &explain.Report{Engine: engine}
		for i := range symbols {
			r.Symbols = append(r.Symbols, &symbols[i])
		}
		return r
	}
	at := explain.ID{CompileID: id}
	for name, c := range map[string]struct {
		r      *explain.Report
		source string
		want   string
	}{
		"an input": {
			report("tcdbg 0.1.0", explain.Symbol{ID: at, Source: "L['beta']"}), "beta",
			"beta was baked in by the first compile and is now dynamic",
		},
		"in an expression": {
			report("tcdbg 0.1.0", explain.Symbol{ID: at, Source: "L['count']"}), "(count + 1)",
			"count was baked in by the first compile and is now dynamic",
		},
		"beside an input": {report("tcdbg 0.1.0", explain.Symbol{ID: at, Source: "(L['k'] * L['n'])"}), "k", ""},
		"another number":  {report("tcdbg 0.1.0", explain.Symbol{ID: at, Source: "L['k']"}), "beta", ""},
		"fixed again":     {report("tcdbg 0.1.0", explain.Symbol{ID: at, Source: "L['k']", Specialized: "4"}), "k", ""},
		"a size":          {report("tcdbg 0.1.0", explain.Symbol{ID: at, Source: "L['x'].size()[0]"}), "x", ""},
		"another entry's": {report("tcdbg 0.1.0",
			explain.Symbol{ID: explain.ID{CompileID: logs.CompileID{Compile: 2}}, Source: "L['k']"}), "k", ""},
		"a program of PyTorch": {report("PyTorch 2.15.0", explain.Symbol{ID: at, Source: "L['k']"}), "k", ""},
	} {
		rc := &explain.Recompile{
			Compile:  &explain.Compile{ID: at},
			Failures: []explain.GuardFailure{{Kind: breaks.ValueChanged, Source: c.source, Expected: "2"}},
		}
		fix, ok := diagnose.BecameInput(rc, diagnose.OpenNumbers(c.r))
		if ok != (c.want != "") || !strings.Contains(fix.Text, c.want) {
			t.Errorf("%s: %q, want %q", name, fix.Text, c.want)
		}
	}
}

// TestSettledAdviceComesLast: what asks for no change comes after what does, costlier
// or not.
func TestSettledAdviceComesLast(t *testing.T) {
	dear := &explain.RecompileCause{Fix: explain.Fix{Text: "nothing", Settled: true}, Seconds: 60}
	dearer := &explain.RecompileCause{Fix: explain.Fix{Text: "nothing", Settled: true}, Seconds: 61}
	cheap := &explain.RecompileCause{Fix: explain.Fix{Text: "something"}, Seconds: 1}
	if !(diagnose.CauseWeight(cheap) > diagnose.CauseWeight(dearer) && diagnose.CauseWeight(dearer) > diagnose.CauseWeight(dear)) {
		t.Errorf("weights %g, %g, %g", diagnose.CauseWeight(cheap), diagnose.CauseWeight(dearer), diagnose.CauseWeight(dear))
	}
}

// TestMirroredComparison reads bounds whose number is on the left, alone and beside one on the right.
func TestMirroredComparison(t *testing.T) {
	for text, want := range map[string][2]string{
		"0/1: 2 <= L['i']":  {"i", ">= 2"},
		"0/1: 25 > L['i']":  {"i", "< 25"},
		"0/1: L['i'] >= 2":  {"i", ">= 2"},
		"0/1: L['i'] == 24": {"i", "24"},

		"0/1: 1 <= L['i'] <= 5":           {"1 <= i <= 5", ""},
		"0/1: -3 < L['i'] < 0.5":          {"-3 < i < 0.5", ""},
		"0/1: 2 <= L['x'].size()[0] <= 9": {"2 <= x.size()[0] <= 9", ""},
	} {
		f := explain.ParseReason(text)
		if explain.PlainSource(f.Source) != want[0] || f.Expected != want[1] {
			t.Errorf("%s: source %q, expected %q, want %q", text, f.Source, f.Expected, want)
		}
	}
}

// TestLocalsAfterBreak: what changes in a local of a resumed part is the break's doing, and
// what the caller passes is not.
func TestLocalsAfterBreak(t *testing.T) {
	from := logs.CompileID{Frame: 0}
	first := &explain.Frame{Name: "f"}
	first.Compiles = []*explain.Compile{{
		ID: explain.ID{CompileID: from}, Frame: first,
		Breaks: []*explain.Break{{Pos: logs.Pos{File: "model.go", Line: 7}}},
	}}
	after := func(from *logs.CompileID, origin, argument string) *explain.Recompile {
		fr := &explain.Frame{Name: "f from line 8 on", Parent: first, From: from}
		return &explain.Recompile{
			Compile: &explain.Compile{Frame: fr},
			Failures: []explain.GuardFailure{{
				Kind: breaks.ValueChanged, Expected: "2", Origin: origin, Argument: argument,
				Nameless: argument == "", Pos: logs.Pos{Code: "return x.Mul(n)"},
			}},
		}
	}
	const follows = "is handed across the graph break at model.go:7"
	for name, c := range map[string]struct {
		rc   *explain.Recompile
		want string
	}{
		"a local":             {after(&from, logs.OriginLocal, "n"), "n " + follows},
		"a range's counter":   {after(&from, logs.OriginLocal, ""), "what changed " + follows},
		"an argument":         {after(&from, logs.OriginArgument, "n"), "pass n as a tensor"},
		"no break before":     {after(nil, logs.OriginLocal, "n"), "pass n as a tensor"},
		"a break of no trace": {after(&logs.CompileID{Frame: 9}, logs.OriginLocal, "n"), "pass n as a tensor"},
	} {
		if fix := diagnose.GoRecompile(c.rc); !strings.Contains(fix.Text, c.want) {
			t.Errorf("%s: %q", name, fix.Text)
		}
	}
}

// TestAdviceThatFollowsComesAfter: what goes with another finding is listed after what a
// person can act on, however much compile time it cost, and before what needs no change.
func TestAdviceThatFollowsComesAfter(t *testing.T) {
	follows := &explain.RecompileCause{Fix: explain.Fix{Text: "follows from a break", Row: "after-break"}, Seconds: 60}
	actionable := &explain.RecompileCause{Fix: explain.Fix{Text: "mark it", Row: "size"}, Seconds: 1e-3}
	settled := &explain.RecompileCause{Fix: explain.Fix{Text: "nothing", Settled: true}, Seconds: 60}
	if diagnose.CauseWeight(follows) >= diagnose.CauseWeight(actionable) {
		t.Error("a consequence comes before what can be acted on")
	}
	if diagnose.CauseWeight(follows) <= diagnose.CauseWeight(settled) {
		t.Error("a consequence comes after what needs no change")
	}
}

// A guard that an expression of a number equals a number makes it a constant of the entry.
func TestAnEqualityWithANumberPins(t *testing.T) {
	for guard, want := range map[string]bool{
		"Eq(FloatTrueDiv(zf30, 20.0), 0.025)": true,
		"Eq((((s23 - 1)//4)) + 1, 6)":         true,
		"Eq(s77, s39)":                        false,
		"Eq(Mod(s77, 8), 4)":                  false,
		"Eq(s77, 1)":                          false,
		"s22 > 32":                            false,
		"Ne(s52, -1)":                         false,
	} {
		if diagnose.Pins(guard) != want {
			t.Errorf("%s: %v", guard, !want)
		}
	}
}

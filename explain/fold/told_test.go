package fold

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// These tests hold that an advice says no more than the trace tells.

// guardedBy is a compile of a frame whose entry has one guard.
func guardedBy(fr *explain.Frame, kind, source, text string) *explain.Compile {
	root := &explain.GuardNode{Children: []*explain.GuardNode{{Kind: kind, Source: source, Text: text}}}
	c := &explain.Compile{Frame: fr, Guards: &explain.GuardTree{Load: func() *explain.GuardNode { return root }}}
	c.ID.Compile = len(fr.Compiles)
	fr.Compiles = append(fr.Compiles, c)
	return c
}

// recompileOf is a recompile for one guard.
func recompileOf(c *explain.Compile, g explain.GuardFailure) *explain.Recompile {
	return &explain.Recompile{Compile: c, Failures: []explain.GuardFailure{g}}
}

// TestAnEntryOfTheSameSettingsTellsTheCause: PyTorch checks gradient mode first, so an entry
// that failed for something else has the call's mode, and a call of its own mode found it.
func TestAnEntryOfTheSameSettingsTellsTheCause(t *testing.T) {
	fr := recompiledBy(New(nil),
		[]string{"0/0: GLOBAL_STATE changed: grad_mode "},
		[]string{"0/0: GLOBAL_STATE changed: grad_mode ", "0/1: not self.feats"},
	)
	for i, want := range []string{breaks.GlobalStateChanged, breaks.ValueChanged} {
		if got := fr.Compiles[i+1].Recompile.Failures[0].Kind; got != want {
			t.Errorf("recompile %d is put down to %s, want %s", i+1, got, want)
		}
	}
}

// TestASizeThatIsLeftToMark: the first change of a size came with that of a number, and needed
// its entry; the second did not.
func TestASizeThatIsLeftToMark(t *testing.T) {
	size := explain.GuardFailure{Source: "L['t']", Kind: breaks.SizeChanged, Dim: 0, Expected: "32", Actual: "48"}
	fr := recompiled("f", size, size)
	fr.Compiles[1].Recompile.Fix = explain.Fix{Text: "one entry more is normal", Row: "size-and-value", Settled: true}
	fr.Compiles[2].Recompile.Fix = explain.Fix{Text: "mark it", Row: "size"}
	if causes := diagnose.Causes(fr); len(causes) != 1 || causes[0].Fix.Row != "size" {
		t.Errorf("%+v", causes[0].Fix)
	}
}

// TestTheLineThatAsksForANumber: every use of an int keeps it from 0 and 1; the line to name is
// one that asks more.
func TestTheLineThatAsksForANumber(t *testing.T) {
	at := func(line int) logs.Pos { return logs.Pos{File: "/w/rank.py", Line: line, Code: "x"} }
	for _, c := range []struct {
		guards []explain.ShapeGuard
		want   string
	}{
		{[]explain.ShapeGuard{
			{Expr: "s16 >= 0", Pos: at(73)},
			{Expr: "Ne(s16, 1)", Pos: at(73)},
			{Expr: "Ne(20, s16)", Pos: at(74)},
			{Expr: "s16 >= 2", Pos: at(75)},
		}, "rank.py:74"},
		{[]explain.ShapeGuard{{Expr: "Ne(s16, 0)", Pos: at(70)}, {Expr: "s16 >= 2", Pos: at(73)}}, "rank.py:70"},
	} {
		fr := &explain.Frame{Name: "dcg", Pos: at(71)}
		comp := &explain.Compile{Frame: fr, ShapeGuards: c.guards}
		rc := recompileOf(comp, explain.GuardFailure{Kind: breaks.ValueChanged, Source: "L['k']", Expected: "5"})
		x := &explain.TraceFacts{Any: true, Symbols: map[explain.ID][]*explain.Symbol{comp.ID: {{Name: "s16", Source: "L['k']"}}}}
		if f := diagnose.RecompileFinding(rc, x); f.Number != advice.Branched || f.NumberPlace != c.want {
			t.Errorf("number %d at %s, want %s", f.Number, f.NumberPlace, c.want)
		}
	}
}

// TestANumberThatBecomesNone: the new entry tells that there is none.
func TestANumberThatBecomesNone(t *testing.T) {
	fr := &explain.Frame{Name: "f"}
	c := guardedBy(fr, "NONE_MATCH", "L['margin']", "L['margin'] is None")
	rc := recompileOf(c, explain.GuardFailure{Kind: breaks.ValueChanged, Source: "L['margin']", Expected: "0.0"})
	if f := diagnose.RecompileFinding(rc, &explain.TraceFacts{Any: true}); f.Guard != breaks.NoneChanged {
		t.Errorf("guard %s", f.Guard)
	}
}

// TestANumberThatOpensWithoutAGraph: what a part of a function hands on without computing with it
// has no symbol; the entry after the change asks for its type or for its value.
func TestANumberThatOpensWithoutAGraph(t *testing.T) {
	for kind, want := range map[string]advice.Number{"TYPE_MATCH": advice.Input, "EQUALS_MATCH": advice.Unknown} {
		fr := &explain.Frame{Name: "f"}
		c := &explain.Compile{Frame: fr} // it ended at a break and made no entry
		fr.Compiles = append(fr.Compiles, c)
		guardedBy(fr, kind, "L['req'].top_p", "")
		rc := recompileOf(c, explain.GuardFailure{Kind: breaks.AttributeChanged, Source: "L['req'].top_p", Expected: "1.5"})
		if f := diagnose.RecompileFinding(rc, &explain.TraceFacts{Any: true}); f.Number != want {
			t.Errorf("%s: number %d, want %d", kind, f.Number, want)
		}
	}
}

// TestWhatNoCallerMarks: marking the arguments leaves the entry to what a hook has put aside,
// whose size changed, too; parameters and buffers are of their module.
func TestWhatNoCallerMarks(t *testing.T) {
	for source, want := range map[string]bool{
		"L['student'].feats['last'].size()[0]": true, "L['self']._buffers['table'].size()[0]": false, "L['y'].size()[0]": false,
	} {
		fr := &explain.Frame{Name: "criterion"}
		c := &explain.Compile{Frame: fr}
		rc := recompileOf(c, explain.GuardFailure{Kind: breaks.SizeChanged, Source: "L['s']", Dim: 0, Expected: "20", Actual: "10"})
		symbols := []*explain.Symbol{{Name: "s1", Source: "L['s'].size()[0]"}, {Name: "s2", Source: source}}
		x := &explain.TraceFacts{Any: true, Symbols: map[explain.ID][]*explain.Symbol{c.ID: symbols}}
		f := diagnose.RecompileFinding(rc, x)
		if row, _ := advice.For(f); f.Hidden != want || (row.ID == "size-now-open") != want {
			t.Errorf("%s: hidden %v, row %s", source, f.Hidden, row.ID)
		}
	}
}

// TestAVariableOfTheFunctionAround: a hook's dict is empty in its first call.
func TestAVariableOfTheFunctionAround(t *testing.T) {
	g := explain.GuardFailure{
		Kind: breaks.ValueChanged, Expected: "false", Pos: logs.Pos{File: "/w/kd.py", Line: 47, Func: "hook"},
		Source: "L['self']._forward_hooks[list(dict.keys(L['self']._forward_hooks))[0]].__closure__[1].cell_contents",
	}
	rc := &explain.Recompile{Compile: &explain.Compile{Frame: &explain.Frame{Name: "forward"}}, Failures: []explain.GuardFailure{g}}
	f := diagnose.RecompileFinding(rc, &explain.TraceFacts{Any: true})
	if row, _ := advice.For(f); row.ID != "empty" || f.Name != "a variable of the function around hook" {
		t.Errorf("row %s of %q", row.ID, f.Name)
	}
}

// TestANumberThatOneSideOfABranchNeeds: the guard that fails is on what the branch computes of the
// number, and on the side that the call takes another line needs the number as a constant.
func TestANumberThatOneSideOfABranchNeeds(t *testing.T) {
	at := logs.Pos{File: "/w/tab.py", Line: 109, Code: `print(f"step {self.steps}")`}
	for _, c := range []struct{ specialised, row string }{{"7", "number-in-text"}, {"", "number-range"}} {
		comp := &explain.Compile{Frame: &explain.Frame{Name: "on_batch_end"}}
		guard := explain.GuardFailure{
			Kind: breaks.AttributeChanged, Source: "((1 + self.steps) % 4)", Expected: "!= 0", Text: "((1 + self.steps) % 4) != 0",
			Pos: logs.Pos{File: "/w/tab.py", Line: 108, Code: "if self.steps % 4 == 0:"},
		}
		symbol := &explain.Symbol{Name: "s1", Source: "L['self'].steps", Specialized: c.specialised, Pos: at}
		x := &explain.TraceFacts{Any: true, Symbols: map[explain.ID][]*explain.Symbol{comp.ID: {symbol}}}
		f := diagnose.RecompileFinding(recompileOf(comp, guard), x)
		if row, _ := advice.For(f); row.ID != c.row {
			t.Errorf("specialised to %q: row %q, want %s", c.specialised, row.ID, c.row)
		}
	}
}

// TestANumberThatLaterEntriesHave: an input in one entry, and a constant of each that follows on
// the other side of a branch.
func TestANumberThatLaterEntriesHave(t *testing.T) {
	guard := explain.GuardFailure{Source: "L['step']", Kind: breaks.ValueChanged, Expected: "3"}
	for later, want := range map[string]string{"number-in-text": "number-in-text", "number-branch": "number-branch"} {
		fr := recompiled("f", guard, guard)
		fr.Compiles[1].Recompile.Fix = explain.Fix{Text: "an entry for each outcome is normal", Row: "number-branch", Settled: true}
		fr.Compiles[2].Recompile.Fix = explain.Fix{Text: "later", Row: later, Settled: later == "number-branch"}
		if causes := diagnose.Causes(fr); len(causes) != 1 || causes[0].Fix.Row != want {
			t.Errorf("%s: %+v", later, causes[0].Fix)
		}
	}
}

// TestWhatAnObjectKeepsDoesNotCrossTheBreak: an element of what self keeps is asked for after a
// break, and its change is left when that break is gone; what the break hands on has no name.
func TestWhatAnObjectKeepsDoesNotCrossTheBreak(t *testing.T) {
	for source, want := range map[string]string{"L['self'].stats['pg']": "list-grows", "L['out'][0]": "after-break"} {
		fr := &explain.Frame{Name: "torch_dynamo_resume_in_loss_at_134", Pos: logs.Pos{File: "/w/rl.py", Line: 134}}
		fr.Parent = &explain.Frame{Name: "loss", Pos: logs.Pos{File: "/w/rl.py", Line: 121}}
		line := logs.Pos{File: "/w/rl.py", Line: 138, Code: `self.stats["pg"].append(pg.item())`}
		guard := explain.GuardFailure{Kind: breaks.ValueChanged, Source: source, Expected: "false", Pos: line}
		f := diagnose.RecompileFinding(recompileOf(&explain.Compile{Frame: fr}, guard), &explain.TraceFacts{Any: true})
		if row, _ := advice.For(f); row.ID != want {
			t.Errorf("%s: row %q, want %s", source, row.ID, want)
		}
	}
}

package fold

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// TestSizesThatAnotherEntryAsksFor: the compile after a change of a size may end at a graph break
// before it meets an input of the same size that another entry has as a constant; left unmarked,
// that input makes a constant of the size that is marked.
func TestSizesThatAnotherEntryAsksFor(t *testing.T) {
	const x, y = "check_tensor(L['x'], Tensor, size=[32, 20], stride=[20, 1])", "check_tensor(L['y'], Tensor, size=[32], stride=[1])"
	entry := func(fr *explain.Frame, tensors ...string) *explain.Compile {
		root := &explain.GuardNode{}
		for i := 0; i < len(tensors); i += 2 {
			root.Children = append(root.Children, &explain.GuardNode{Kind: "TENSOR_MATCH", Source: tensors[i], Text: tensors[i+1]})
		}
		c := &explain.Compile{Frame: fr, Guards: &explain.GuardTree{Load: func() *explain.GuardNode { return root }}}
		c.ID.Compile = len(fr.Compiles)
		fr.Compiles = append(fr.Compiles, c)
		return c
	}
	for _, c := range []struct {
		older, newer []string
		partial      bool
	}{
		{[]string{"L['x']", x, "L['y']", y}, []string{"L['x']", x}, true},
		{[]string{"L['x']", x, "L['y']", y}, []string{"L['x']", x, "L['y']", y}, false},
		{[]string{"L['x']", x, "L['y']", "check_tensor(L['y'], Tensor, size=[7])"}, []string{"L['x']", x}, false},
		{[]string{"L['x']", x, "L['self'].net._buffers['mean']", y}, []string{"L['x']", x}, false},
	} {
		fr := &explain.Frame{Name: "loss", Pos: logs.Pos{File: "/m/distill.py", Line: 3}}
		entry(fr, c.older...)
		compile := entry(fr, c.newer...)
		rc := &explain.Recompile{Compile: compile, Failures: []explain.GuardFailure{{
			Kind: breaks.SizeChanged, Source: "L['x']", Entry: "0/0", Expected: "32", Actual: "22",
		}}}
		compile.Recompile = rc
		open := &explain.Symbol{ID: compile.ID, Name: "s0", Source: "L['x'].size()[0]"}
		facts := &explain.TraceFacts{Any: true, Symbols: map[explain.ID][]*explain.Symbol{compile.ID: {open}}}
		if f := diagnose.RecompileFinding(rc, facts); f.Partial != c.partial || len(f.Changed) != 1 {
			t.Errorf("%v, then %v: partial %v, changed %v", c.older, c.newer, f.Partial, f.Changed)
		}
	}
}

// TestALengthThatADictGuardMet: a dict's own guard is told as what the call had, "len(d) != 2", which
// is no condition that an entry holds for; one with a place is.
func TestALengthThatADictGuardMet(t *testing.T) {
	for text, want := range map[string]string{
		"0/0: len(self.usage) != 0":                                   "0",
		"0/0: len(d) != 2":                                            "2",
		"0/0: len(xs) == 2  # for x in xs:  # /w/m.py:3 in f":         "2",
		"0/0: len(xs) != 2  # if len(xs) != 2:  # /w/model.go:3 in f": "!= 2",
	} {
		if g := explain.ParseReason(text); g.Kind != breaks.LengthChanged || g.Expected != want {
			t.Errorf("%s: %s, expected %q, want %q", text, g.Kind, g.Expected, want)
		}
	}
}

package fold

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// TestMethodsOfOneNameAreApart: two classes of a file have a method forward each; where the
// one calls the other and runs eager, the other is called within a compiled function.
func TestMethodsOfOneNameAreApart(t *testing.T) {
	const file = "/m/net.py"
	x := &explain.TraceFacts{Frames: map[[2]string][]int{{file, "forward"}: {25, 11}}, Eager: map[explain.CallSite]bool{{File: file, Line: 25}: true}}
	inner := &explain.Compile{
		Frame: &explain.Frame{Name: "forward", Pos: logs.Pos{File: file, Line: 11}},
		Stack: []logs.Pos{{File: file, Line: 29, Func: "forward"}, {File: file, Line: 12, Func: "forward"}},
	}
	if !x.CalledWithin(inner) {
		t.Error("the method at line 11, called by that at line 25, is not found to be called within it")
	}
	lines := make([]string, 40)
	lines[24], lines[28] = "    def forward(self, x):", "        return self.inner(x)"
	x.Source = &explain.Source{Files: map[string][]string{file: lines}}
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
		t.Error("a function that is compiled whole runs eager")
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

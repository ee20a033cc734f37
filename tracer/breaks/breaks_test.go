package breaks

import (
	"regexp"
	"strings"
	"testing"
)

// TestEveryRowIsWhole: each code has the right form, a type and a known class.
func TestEveryRowIsWhole(t *testing.T) {
	form := regexp.MustCompile(`^GB\d{4}$`)
	if n := len(Codes()); n < 592+20 {
		t.Fatalf("%d codes, want PyTorch's 592 and ours", n)
	}
	for _, code := range Codes() {
		c, ok := Lookup(code)
		if !ok || !form.MatchString(code) || c.Type == "" || c.Fixability == "" {
			t.Errorf("row %q is incomplete: %+v", code, c)
		}
	}
}

// TestByType: every type leads to the one code that has it, names of older
// releases to today's, and an unknown type to none.
func TestByType(t *testing.T) {
	for _, code := range Codes() {
		c, _ := Lookup(code)
		if back, ok := ByType(c.Type); !ok || back.Code != code {
			t.Errorf("%s: its type %q leads to %q", code, c.Type, back.Code)
		}
	}
	for typ, code := range formerTypes {
		if c, ok := ByType(" " + typ); !ok || c.Code != code {
			t.Errorf("%q leads to %q, %v, want %s", typ, c.Code, ok, code)
		}
	}
	if c, ok := ByType("no such type"); ok || c.Code != "" {
		t.Errorf("an unknown type leads to %+v", c)
	}
}

// TestOursDoNotCollide: PyTorch draws codes at random, ours must stay apart.
func TestOursDoNotCollide(t *testing.T) {
	for line := range strings.Lines(registryText) {
		if strings.HasPrefix(line, "GB90") {
			t.Errorf("PyTorch uses %s of our range", line[:6])
		}
	}
}

// TestExplainedInOwnWords: what people meet most has explanation and title.
func TestExplainedInOwnWords(t *testing.T) {
	for _, code := range []string{
		DataDependentBranching, TensorItem, GraphBreakCall, Disabled, BuiltinPrint,
		SkippedFunction, BackendFailed, RecompileLimit, UnsupportedMethod, DataDependentAssert, GoroutineStarted,
		ChannelOperation, DeferRecover, UnknownNativeCall, UnsupportedOperator, OpaqueValue, MapMutation,
	} {
		c, ok := Lookup(code)
		if !ok || c.Explanation == "" || c.Short == "" {
			t.Errorf("%s has no text: %+v", code, c)
		}
	}
	if c, _ := Lookup(DataDependentBranching); c.Type != "Data-dependent branching" || c.Fixability != FixableByYou {
		t.Errorf("GB0170 is %+v", c)
	}
}

// TestClassFromPrintedHints: the printed hint decides, not the template.
func TestClassFromPrintedHints(t *testing.T) {
	got, ok := Class([]string{
		"Use `torch.cond`.",
		"This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace through your code.",
	})
	if !ok || got != Fundamental {
		t.Errorf("got %q, want %q", got, Fundamental)
	}
	if _, ok := Class([]string{"Move it out."}); ok {
		t.Error("a hint without canned words gave a class")
	}
}

// TestRecompileKinds: every kind has words, and advice where there is any.
func TestRecompileKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range RecompileCauses() {
		if seen[c.Kind] || c.Short == "" || c.Explanation == "" {
			t.Errorf("bad row %+v", c)
		}
		seen[c.Kind] = true
	}
}

// TestHintsNameNoPython: the hints of a cause are those of a Go program; what PyTorch's
// are told has a table of its own.
func TestHintsNameNoPython(t *testing.T) {
	python := regexp.MustCompile(`PyTorch|_dynamo|torch\.(library|where|compile)\b`)
	for _, c := range explained {
		for _, h := range c.Hints {
			if python.MatchString(h) {
				t.Errorf("%s: %q is said to a Go program", c.Code, h)
			}
		}
	}
}

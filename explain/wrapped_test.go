package explain

import (
	"fmt"
	"strings"
	"testing"
)

// TestBuiltInModules: modules of PyTorch itself are told by their classes and the lines
// that call them, each on its own, although one function is compiled for all; the first
// compile of another module is no recompile.
func TestBuiltInModules(t *testing.T) {
	r := report(t, "testdata/traces/pytorch-2.15/builtin_modules.log.zst")
	var got []string
	for _, fr := range r.Frames {
		n := 0
		for range fr.recompiles {
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
		if got := strings.Join(simpleCall(code), "|"); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}

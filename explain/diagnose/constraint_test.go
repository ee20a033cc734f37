package diagnose

import (
	"strings"
	"testing"

	"tcdbg/explain"
)

// TestConstraintFixIsOfTheLanguage: a Go program is told what Go has.
func TestConstraintFixIsOfTheLanguage(t *testing.T) {
	fl := &explain.Failure{Type: "ConstraintViolationError", Reason: "  - You marked L['x'].size()[0] as dynamic but your code " +
		"specialized it to be a constant (4). If you're using mark_dynamic, either remove it"}
	c, ok := explain.BrokenConstraint(fl)
	if !ok {
		t.Fatal("the size is not read")
	}
	for engine, want := range map[string]string{
		"tcdbg 0.1.0":    "call compiler.MaybeMarkDynamic(x, 0) instead of MarkDynamic",
		"PyTorch 2.15.0": "call torch._dynamo.maybe_mark_dynamic(x, 0)",
	} {
		if got := ConstraintFix(c, fl, engine).Text; !strings.Contains(got, want) {
			t.Errorf("%s: %q", engine, got)
		}
	}
}

package fold

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// TestRecompileAdviceForGo: what a Go program writes otherwise than a Python one.
func TestRecompileAdviceForGo(t *testing.T) {
	for name, c := range map[string]struct {
		message, argument, code string
		dim                     int
		want                    string // "": none
	}{
		"nil":     {"L['c'].K is nil", "c.K", "	if c.K != nil {", -1, "c.K is nil in one call and not in another"},
		"not nil": {"L['k'] is not nil", "k", "	if k != nil {", -1, "k is sometimes nil"},
		"a growing list": {
			"len(L['n'].trace) == 2", "n.trace", "	n.trace = append(n.trace, what)", -1,
			"n.trace grows with every call",
		},
		"a list": {
			"len(L['n'].trace) == 2", "n.trace", "	for _, s := range n.trace {", -1,
			"there is an entry for each length of n.trace",
		},
		"a size": {
			"tensor 'x' size mismatch at index 0. expected 4, actual 6", "x", "	y := x.Exp()", 0,
			"compiler.MarkDynamic(x, 0)",
		},
		"a size of no name": {"tensor 'f(x)' size mismatch at index 0. expected 4, actual 6", "f(x)", "	y := f(x).Exp()", 0, ""},
		"a branch on sizes": {
			"2*(L['x'].size()[3]//2) != L['x'].size()[3]", "x", "	if x.Size(3) != y.Size(3) {", 3,
			"branches on a size",
		},
	} {
		g := explain.ParseReason("0/0: " + c.message)
		g.Argument, g.Pos = c.argument, logs.Pos{File: "model.go", Line: 3, Code: c.code}
		if c.dim >= 0 {
			g.Dim = c.dim
		}
		rc := &explain.Recompile{Compile: &explain.Compile{Frame: &explain.Frame{Name: "f"}}, Failures: []explain.GuardFailure{g}}
		if got := diagnose.FixRecompile(rc, "tcdbg 0.1.0").Text; !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q (%s), want %q", name, got, g.Kind, c.want)
		}
	}
}

// TestBreakAdviceForGo: the advice on a break is that for the operator or call it is about.
func TestBreakAdviceForGo(t *testing.T) {
	for context, c := range map[string]struct{ code, want string }{
		"call of torch.Grad":       {breaks.TensorBackward, "CreateGraph works across it"},
		"call of Tensor.Backward":  {breaks.TensorBackward, "call Backward outside"},
		"operator bincount":        {breaks.DynamicShapeOperator, "ScatterAdd"},
		"operator nonzero":         {breaks.DynamicShapeOperator, "NonzeroStatic"},
		"operator masked_select":   {breaks.DynamicShapeOperator, "Use a mask and Where"},
		"call of regexp.something": {breaks.UnknownNativeCall, "before or after the compiled region"},
	} {
		if got := diagnose.FixBreak(&explain.Break{Code: c.code, Context: context}, "tcdbg 0.1.0").Text; !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", context, got, c.want)
		}
	}
}

package fold

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/explain/diagnose"
	"tcdbg/tracer/breaks"
)

// A key that is a tuple has commas of its own: what holds it is the last argument.
func TestKeyOfAGuardMayBeATuple(t *testing.T) {
	for text, want := range map[string][2]string{
		"not ___dict_contains((8, 8, 16), G['head']._grid_cache)": {"lacks (8, 8, 16)", "G['head']._grid_cache"},
		"___dict_contains('a, b', L['d'])":                        {"has 'a, b'", "L['d']"},
		"___dict_contains(3, L['d'][(1, 2)])":                     {"has 3", "L['d'][(1, 2)]"},
	} {
		var f explain.GuardFailure
		if !explain.DictKeys(text, &f) || f.Expected != want[0] || f.Source != want[1] {
			t.Errorf("%s: %q of %q, want %q", text, f.Expected, f.Source, want)
		}
	}
}

// PyTorch puts a hint after the name of a class that is a function's.
func TestClassNameEndsBeforeTheHint(t *testing.T) {
	var f explain.GuardFailure
	if !explain.TypeMismatch("expected type of 'L['mods'][0]' to be <class 'function'> (HINT: type function), but found <class "+
		"'__main__.Window'>", &f) || f.Expected != "function" || f.Actual != "__main__.Window" {
		t.Errorf("expected %q, actual %q", f.Expected, f.Actual)
	}
}

// The hint to make a tensor of floats integers changes what the program computes.
func TestHintThatChangesValuesIsNotShown(t *testing.T) {
	hint := "Ensure the input tensor to `tolist()` is an integer type (e.g., int8, int16, int32, int64)."
	if fix := diagnose.AdviseBreak(&advice.Finding{
		Kind: advice.Break, Code: breaks.TensorToList, Line: "if 3 in x.tolist():",
		Hints: []string{hint},
	}); fix.Text != "" {
		t.Errorf("%q is advised", fix.Text)
	}
}

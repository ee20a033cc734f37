package advice

import (
	"testing"

	"tcdbg/tracer/breaks"
)

// TestMarking: advice is code only where the program has a name for what is marked.
func TestMarking(t *testing.T) {
	for size, want := range map[string]string{
		"x, 0":                  "torch._dynamo.maybe_mark_dynamic(x, 0)",
		"batch['input_ids'], 1": "torch._dynamo.maybe_mark_dynamic(batch['input_ids'], 1)",
		"argument 1, 0":         "torch._dynamo.maybe_mark_dynamic on argument 1, dimension 0,",
	} {
		if got := marking(size); got != want {
			t.Errorf("%s: %q, want %q", size, got, want)
		}
	}
}

// A relation of strides is a matter of the layout, where it is an argument's own.
func TestStridesInRelationsAreALayout(t *testing.T) {
	for name, want := range map[string]string{
		"logits.stride()[0]":       "stride-relation",
		"logits._base.stride()[0]": "",
		"x.stride()[0] + 1":        "",
		"cache.k.stride()[0]":      "",
		"x.size()[0]":              "",
	} {
		f := Finding{Kind: Recompile, Guard: breaks.ShapeRelation, Name: name, Expected: "40", Reachable: true, Direct: true}
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", name, row.ID, want)
		}
	}
}

package advice

import "testing"

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

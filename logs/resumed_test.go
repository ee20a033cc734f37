package logs

import "testing"

// The rest of a function after a break is called by the function and the line where it goes on.
func TestFunctionTitle(t *testing.T) {
	for name, want := range map[string]string{
		"bar": "bar", "torch_dynamo_resume_in_bar_at_20": "bar from line 20 on",
		"torch_dynamo_resume_in_a_at_b_at_3": "a_at_b from line 3 on",
	} {
		if got := FunctionTitle(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

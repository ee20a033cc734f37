package app

import (
	"strings"
	"testing"
)

// What a program ended with is its exception, not what PyTorch says below it.
func TestLastError(t *testing.T) {
	for _, c := range []struct {
		want   string
		stderr []string
	}{
		{"torch._dynamo.exc.UserError: it fails:", []string{
			"Traceback (most recent call last):", `  File "/w/a.py", line 4, in <module>`, "    f(x)",
			"torch._dynamo.exc.UserError: it fails:", "", "from user code:", `   File "/w/a.py", line 4, in f`, "    g(x)", "",
			"Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace", "",
		}},
		{"ValueError: mine", []string{
			"Traceback (most recent call last):", `  File "/w/a.py", line 4`, "KeyError: 1", "",
			"During handling of the above exception, another exception occurred:", "",
			"Traceback (most recent call last):", `  File "/w/a.py", line 6`, "ValueError: mine", "",
		}},
		{"panic: index out of range [3] with length 3", []string{
			"a line", "panic: index out of range [3] with length 3", "", "goroutine 1 [running]:", "main.main(...)",
			"\t/w/model.go:4", "",
		}},
		{"cannot go on", []string{"panic: which the program survived", "cannot go on", ""}},
		{"no such file", []string{"a line", "no such file", ""}},
		{"", nil},
	} {
		if got := lastError(strings.Join(c.stderr, "\n")); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

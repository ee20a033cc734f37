package fold

import (
	"testing"

	"tcdbg/explain"
)

// TestPlainSource: a source is told in the program's own words, whose language has no
// attribute __closure__.
func TestPlainSource(t *testing.T) {
	for source, want := range map[string]string{
		"L['x']":                                 "x",
		"L['net'].Weight":                        "net.Weight",
		"G['scale']":                             "scale",
		"f.__closure__['step']":                  "step",
		"L['f'].__closure__['n']":                "n",
		"(f.__closure__['n'] + 1)":               "(n + 1)",
		`*bump.__closure__['counters']["a"] + 1`: `*counters["a"] + 1`,
		"f.__closure__[0].cell_contents":         "f.__closure__[0].cell_contents", // PyTorch's own
	} {
		if got := explain.PlainSource(source); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

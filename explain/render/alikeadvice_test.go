package render

import (
	"bytes"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestTextReportMergesAdvice: the same change for the same reason is one entry; a diff is of its place alone.
func TestTextReportMergesAdvice(t *testing.T) {
	entry := func(file string, fix explain.Fix) explain.Advice {
		return explain.Advice{Text: "print() ends the graph", Pos: logs.Pos{File: file, Line: 3}, Cost: "1 break", Fix: fix}
	}
	plain := explain.Fix{Text: "move it out of the function"}
	r := &explain.Report{Advice: []explain.Advice{
		entry("a.py", plain), entry("b.py", plain), entry("c.py", plain),
		entry("d.py", explain.Fix{Text: "move it", Lines: []string{"- print(x)"}}),
		entry("e.py", explain.Fix{Text: "move it", Lines: []string{"- print(y)"}}),
	}}
	var b bytes.Buffer
	if err := WriteText(&b, r); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for want, n := range map[string]int{
		"print() ends the graph": 3, "the same at 2 more places, in 3 files:": 1, "b.py:3 (1 break)": 1, "c.py:3 (1 break)": 1,
	} {
		if got := strings.Count(text, want); got != n {
			t.Errorf("%q is there %d times, not %d:\n%s", want, got, n, text)
		}
	}
}

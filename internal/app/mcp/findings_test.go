package mcp

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestLinesOfAPart: an assistant is not told of lines that a bundle lacks as of lines of the program.
func TestLinesOfAPart(t *testing.T) {
	lines := []string{"import torch", "", "def f(x):", "    return x.item()", "", ""}
	for _, i := range []int{0, 1, 4, 5} {
		lines[i] = explain.LeftOutLine("m.py")
	}
	trace := &Trace{Source: func(string) ([]string, error) { return lines, nil }}
	got := linesAround(trace, logs.Pos{File: "m.py", Line: 4, Code: "return x.item()"}, 8)
	const others = "        (2 lines are not in this bundle)\n"
	want := others + "      3  def f(x):\n>     4      return x.item()\n" + others
	if got != want {
		t.Errorf("%s", got)
	}
}

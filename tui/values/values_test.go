package values

import (
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

func drawn(s *logs.Stop) string {
	var out []string
	for _, l := range OfStop(s, Style{
		Width: 100, Place: func(p logs.Pos) string { return p.File },
		Code: func(_ syntax.Lang, text string) theme.Line { return theme.L(0, text) },
	}) {
		out = append(out, l.Line.Text())
	}
	return strings.Join(out, "\n")
}

// The cause of a break is said, not the sentence that leads to it; the heading fits the kind of stop; and
// what the stack shows already is not shown again.
func TestStopSaysEachThingOnce(t *testing.T) {
	x := logs.Value{Name: "x", Type: "torch.Tensor", Tensor: &logs.TensorValue{Dtype: "float32", First: []string{"1"}}}
	s := &logs.Stop{
		Kind:     logs.StopBreak,
		Reason:   "Encountered graph break when attempting to trace CALL: f(x, y):\n\nAs told:\nUnsupported Tensor.item() call\n  Hint",
		Deciding: &logs.Value{Name: "err", Text: "3"},
		Stack:    []logs.StackFrame{{Locals: []logs.Value{x}}},
		Symbolic: []logs.Value{x},
	}
	got := drawn(s)
	lead, _, _ := strings.Cut(got, "AS RECORDED")
	if !strings.Contains(lead, "Unsupported Tensor.item() call") || strings.Contains(lead, "Encountered") {
		t.Errorf("%s", got)
	}
	if !strings.Contains(got, "WHAT THE BREAK ASKS FOR") || strings.Contains(got, "AS THE TRACER KNOWS THEM") {
		t.Errorf("%s", got)
	}
	if got := cause("all of it:\n"); got != "all of it:" {
		t.Errorf("%q", got)
	}
	s.Why = "breakpoint train.py:9 if k > 3; the condition has no value: " + strings.Repeat("and why ", 10) + "that is"
	if got = drawn(s); !strings.Contains(strings.Join(strings.Fields(got), " "), s.Why) {
		t.Errorf("a reason that the lead cuts: %s", got)
	}
	s.Symbolic = append(s.Symbolic, logs.Value{Name: "more"})
	s.Kind = logs.StopNaN
	if got = drawn(s); !strings.Contains(got, "AS THE TRACER KNOWS THEM") || !strings.Contains(got, "THE TENSOR WITH NaN OR INF") {
		t.Errorf("%s", got)
	}
}

package pyhook

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/logs"
)

// This file tests steps through a trace.

const walked = `import torch

def scale(x, k):
    y = x.relu() * k
    if y.sum() > 3:
        y = y + 1
    return y.neg()

f = torch.compile(scale, backend="eager")
print(f(torch.ones(3), 2))
`

// stepsOf steps until the program is no more in the trace, and says where each step ended.
func stepsOf(v *viewer, s *logs.Stop, kind string) (*logs.Stop, []string) {
	var all []string
	for len(all) < 100 {
		s = v.step(s, kind)
		all = append(all, fmt.Sprintf("%d %s", s.Where.Line, s.Why))
		if s.Compile == "" || s.Kind == logs.StopBreak {
			break
		}
	}
	return s, all
}

// A step by operators ends after each that the trace captures, at the break, and then in the rest of the function;
// the trace that begins again for the break shows none twice.
func TestStepsByOperator(t *testing.T) {
	v := start(t, python(t, "torch"), walked, brk(1, "program.py:4"))
	s, all := stepsOf(v, v.stop(), "operator")
	if s.Kind != logs.StopBreak || s.Where.Line != 5 {
		t.Errorf("%+v", s)
	}
	want := "4 captured relu, 4 captured mul, 5 captured sum_1, 5 captured gt"
	if got := strings.Join(all[:len(all)-1], ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var after []string
	for range 3 {
		s = v.step(s, "operator")
		after = append(after, s.Why)
	}
	if got := strings.Join(after, ", "); !strings.Contains(got, "captured add, captured neg") {
		t.Error(got)
	}
	v.goOn(s)
	if out := v.end(0); !strings.Contains(out, "tensor([-3., -3., -3.])") {
		t.Errorf("printed %q", out)
	}
}

// A step by instructions says what Dynamo comes to and what it works on; line breakpoints stop as well.
func TestStepsByInstruction(t *testing.T) {
	v := start(t, python(t, "torch"), walked, brk(1, "program.py:4"))
	s := v.stop()
	multiplied := false
	for range 20 {
		if s = v.step(s, "instruction"); s.Where.Line != 4 {
			break
		}
		if s.Kind != logs.StopPause || s.Why != "next instruction of the trace" || s.Compile != "0/0" {
			t.Errorf("%+v", s)
		}
		if strings.HasPrefix(s.Reason, "Dynamo comes to BINARY_") {
			multiplied = true
			if !strings.HasSuffix(s.Reason, "on its stack: relu, k") && !strings.HasSuffix(s.Reason, "on its stack: relu, 2") &&
				!strings.HasSuffix(s.Reason, "on its stack: relu, L['k']") {
				t.Error(s.Reason)
			}
			if n := s.Nodes; len(n) == 0 || !strings.HasPrefix(n[len(n)-1], "relu: float32[3] = ") {
				t.Errorf("%q", n)
			}
			if a := v.ask(s, "x + 1", 0); a.Value.Tensor == nil || a.Value.Tensor.First[0] != "2" {
				t.Errorf("%+v", a)
			}
		}
	}
	if !multiplied || s.Where.Line != 5 {
		t.Errorf("%v, %+v", multiplied, s)
	}
	lines := map[string]bool{}
	s, all := stepsOf(v, s, "instruction")
	for _, a := range all {
		lines[strings.Fields(a)[0]] = true
	}
	if s.Kind != logs.StopBreak || len(lines) != 1 || !lines["5"] {
		t.Errorf("%+v\n%v", s, all)
	}
	// The trace begins again, up to the break; then that of the rest of the function. Its code is what runs next.
	s, all = stepsOf(v, s, "instruction")
	if lines = map[string]bool{}; s.Compile != "" {
		t.Errorf("%+v", s)
	}
	for _, a := range all {
		lines[strings.Fields(a)[0]] = true
	}
	if lines["4"] {
		t.Errorf("%v", all)
	}
	v.goOn(s)
	v.end(0)
}

package pyhook

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/logs"
)

// This file tests the record of the steps of Dynamo's traces.

// traced is the trace of one attempt.
type traced struct {
	logs.TraceSteps

	id string
}

// tracesOf runs a program with the module and gives what it recorded, and what it printed.
func tracesOf(t *testing.T, text string) ([]traced, string) {
	t.Helper()
	p := python(t, "torch")
	file := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, file, text)
	hooks, trace := folders(t)
	e, err := Install(hooks, env(trace), "tracesteps")
	if err != nil {
		t.Fatal(err)
	}
	out := runPython(t, p, e, file)
	return readTraces(t, trace), out
}

// readTraces reads the attempts in the order in which they ended, and complains of failures.
func readTraces(t *testing.T, folder string) []traced {
	t.Helper()
	var all []traced
	files, _ := filepath.Glob(filepath.Join(folder, "*.log"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if strings.Contains(line, `"tcdbg_hook_failure"`) {
				t.Errorf("%s", lines[i+1])
			}
			if !strings.Contains(line, `"tcdbg_trace_steps"`) {
				continue
			}
			var id struct {
				Frame   int `json:"frame_id"`
				Compile int `json:"frame_compile_id"`
				Attempt int `json:"attempt"`
			}
			one := traced{}
			if err := json.Unmarshal([]byte(line[strings.IndexByte(line, '{'):]), &id); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(lines[i+1]), &struct{ Data any }{&one.TraceSteps}); err != nil {
				t.Fatal(err)
			}
			one.id = fmt.Sprintf("%d/%d attempt %d", id.Frame, id.Compile, id.Attempt)
			all = append(all, one)
		}
	}
	return all
}

// added is what each step that adds something added: its line, the names of nodes, the kinds of guards.
func added(s *traced) string {
	var out []string
	for i, step := range s.Steps {
		if i == 0 || len(step.Nodes)+len(step.Guards) == 0 {
			continue // what there is at the start is PyTorch's own
		}
		text := fmt.Sprintf("%d", s.Place(i).Line)
		for _, n := range step.Nodes {
			name, _, _ := strings.Cut(n, ":")
			text += " +" + name
		}
		for _, g := range step.Guards {
			if strings.HasPrefix(g, "HASATTR(") { // of old releases
				continue
			}
			text += " ?" + g
		}
		if strings.ContainsAny(text, "+?") {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

// The steps of a trace say what is on the symbolic stack and what each added, through inlined functions; an attempt that
// Dynamo gives up has a record of its own, and the last one tells what broke it.
func TestStepsOfDynamosTraces(t *testing.T) {
	all, _ := tracesOf(t, `import torch
def inner(y, k):
    return y.relu() * k
def f(x, k):
    y = inner(x, k)
    if x.shape[0] > 2:
        y = y + 1
    print("a break")
    return y.neg()
torch.compile(f, backend="eager", dynamic=True)(torch.ones(3), 2.5)
`)
	var ids []string
	for _, a := range all {
		ids = append(ids, a.id)
	}
	if got := strings.Join(ids, ", "); got != "0/0 attempt 0, 0/0 attempt 1, 1/0 attempt 0" {
		t.Fatal(got)
	}
	if !strings.HasPrefix(all[0].End, "Dynamo begins again: ") || !strings.HasPrefix(all[1].End, "graph break: ") || all[2].End != "" {
		t.Errorf("%q, %q, %q", all[0].End, all[1].End, all[2].End)
	}
	s := &all[1]
	var spelled []string
	for i, step := range s.Steps {
		if strings.HasPrefix(step.Instr, "BINARY_OP") || step.Set != "" || strings.HasSuffix(step.Instr, ", returned") {
			on := strings.Join(step.On, " ")
			spelled = append(spelled, fmt.Sprintf("%d %d %s %s %s=%s", s.Place(i).Line, step.Depth, step.Instr, on, step.Set, step.As))
		}
	}
	want := "3 1 BINARY_OP * TensorVariable(relu) K =TensorVariable(y)\n" +
		"5 0 CALL 2, returned  =TensorVariable(y)\n" +
		"5 0 STORE_FAST y TensorVariable(y) y=TensorVariable(y)\n" +
		"7 0 BINARY_OP + TensorVariable(y) ConstantVariable(1) =TensorVariable(y_1)\n" +
		"7 0 STORE_FAST y TensorVariable(y_1) y=TensorVariable(y_1)"
	got := strings.Join(spelled, "\n")
	for _, k := range []string{"LazyConstantVariable(L['k'])", "LazyVariableTracker(L['k'])", "ConstantVariable(2.5)"} {
		got = strings.ReplaceAll(got, k, "K") // releases differ in when they look at it
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	sum := added(s)
	for _, want := range []string{"?TENSOR_MATCH(L['x'])", "+relu", "+y", "+y_1", "?CLOSURE_MATCH(G['inner'])", " > 2"} {
		if !strings.Contains(sum, want) {
			t.Errorf("no %s in\n%s", want, sum)
		}
	}
	if last := s.Steps[len(s.Steps)-1]; s.Place(len(s.Steps)-1).Line != 8 || !strings.HasPrefix(last.Instr, "CALL") {
		t.Errorf("the last step: %+v", last)
	}
	if first := all[2].Steps[1]; !strings.Contains(first.Instr, "POP_TOP") && all[2].Place(1).Line < 8 {
		t.Errorf("the rest of the function begins with Dynamo's own instructions: %+v", first)
	}
}

// To be recorded changes nothing of a trace: an argument that it does not look at gets no guard, since that would
// compile the function again.
func TestRecordedTracesAreTheSame(t *testing.T) {
	all, out := tracesOf(t, `import torch
from torch._dynamo.testing import CompileCounter
count = CompileCounter()
def inner(x, k, unused):
    return x + k
@torch.compile(backend=count)
def f(x, k, unused):
    return inner(x, k, unused)
for unused in ("a", 2, None, torch.ones(2)):
    f(torch.ones(3), 1, unused)
print(count.frame_count)
`)
	if out != "1\n" || len(all) != 1 {
		t.Errorf("%d traces, %s compiles", len(all), out)
	}
}

// A long trace is recorded up to the bound, and a loop that adds nothing a few times; what is left out is counted.
func TestRecordedTracesAreBounded(t *testing.T) {
	all, _ := tracesOf(t, `import torch
@torch.compile(backend="eager")
def f(x):
    n = 0
    for i in range(2000):
        n = n + i
    return x * n
f(torch.ones(3))
`)
	if len(all) != 1 || len(all[0].Steps) > 80 || all[0].Left < 5000 {
		t.Fatalf("%d traces, %d steps, %d left out", len(all), len(all[0].Steps), all[0].Left)
	}
	if got := added(&all[0]); !strings.Contains(got, "7 +l_x_ +mul") {
		t.Error(got)
	}
}

// A program that stands still amid a trace has its steps so far in the trace.
func TestStepsAmidATrace(t *testing.T) {
	p := python(t, "torch")
	file := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, file, walked)
	v := startModules(t, []string{"pause", "tracesteps"}, nil, nil, p, file)
	v.standing = append(v.standing, brk(1, "program.py:5"))
	s := v.stop()
	all := readTraces(t, v.trace)
	if len(all) != 1 || !all[0].Amid || !strings.Contains(added(&all[0]), "+y") || strings.Contains(added(&all[0]), "+sum_1") {
		t.Fatalf("%+v", all)
	}
	v.goOn(s)
	s = v.stop() // its rest, or the line in the next call
	v.goOn(s)
	v.end(0)
	for _, a := range readTraces(t, v.trace)[1:] {
		if !a.Amid && a.id == all[0].id && strings.Contains(added(&a), "+sum_1") {
			return
		}
	}
	t.Error("the whole trace is not recorded")
}

// A release whose loop over instructions is another one is told in words.
func TestStepsRefused(t *testing.T) {
	p := python(t, "sys")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"torch/__init__.py": "__version__ = '9.9+cpu'", "torch/_dynamo/__init__.py": "",
		"torch/_dynamo/symbolic_convert.py": "class InstructionTranslatorBase: pass",
		"program.py":                        "import torch, torch._dynamo.symbolic_convert",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, file, text)
	}
	hooks, trace := folders(t)
	e, err := Install(hooks, env(trace), "tracesteps")
	if err != nil {
		t.Fatal(err)
	}
	runPython(t, p, e, filepath.Join(dir, "program.py"))
	text := ""
	files, _ := filepath.Glob(filepath.Join(trace, "*"))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		text += string(b)
	}
	if !strings.Contains(text, "PyTorch 9.9 has no loop over instructions that can be hooked") {
		t.Errorf("%q", text)
	}
}

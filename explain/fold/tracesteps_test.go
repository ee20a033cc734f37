package fold

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/logs"
)

// TestStepsOfTraces: the steps of a compile's last attempt are read from the trace when they
// are asked for.
func TestStepsOfTraces(t *testing.T) {
	steps := func(text string) logs.TraceSteps {
		return logs.TraceSteps{
			Places: []logs.Pos{{File: "/u/model.go", Line: 3, Code: "y := x"}}, End: "GB0170",
			Steps: []logs.StepOnce{{Instr: "If"}, {Instr: text, Nodes: []string{"mul = x * 2"}}},
		}
	}
	r := traceOf(t, func(w *logs.Writer) {
		frameOut(w, 0, 0, "f")
		w.Emit(logs.Artifact(logs.CompileID{}, steps("Call 1")))
		w.Emit(logs.Artifact(logs.CompileID{Attempt: 1}, steps("Call 2")))
	})
	tr := r.Frames[0].Compiles[0].Trace
	if tr == nil || tr.Count != 2 || tr.Logged {
		t.Fatalf("%+v", tr)
	}
	if got := tr.Load(); got.Steps[1].Instr != "Call 2" || got.Place(1).Line != 3 || got.End != "GB0170" || got.Place(7) != (logs.Pos{}) {
		t.Errorf("%+v", got)
	}
}

// singleSteps is what TORCH_LOGS=trace_source,trace_bytecode of PyTorch 2.15 writes.
const singleSteps = `V1123 14:04:14.262000 573 torch/_dynamo/symbolic_convert.py:1822] [0/0] [__trace_source] TRACE starts_line /u/t.py:5 in f (h.f)
V1123 14:04:14.262000 573 torch/_dynamo/symbolic_convert.py:1822] [0/0] [__trace_source]         y = h(x) * k
V1123 14:04:14.262000 573 torch/_dynamo/symbolic_convert.py:1852] [0/0] [__trace_bytecode] TRACE LOAD_GLOBAL h []
V1123 14:04:14.263000 573 torch/_dynamo/symbolic_convert.py:1852] [0/0] [__trace_bytecode] TRACE CALL 1 [NullVariable, Lazy(a, [b])]
V1123 14:04:14.398000 573 torch/_dynamo/symbolic_convert.py:1822] [0/0] [__trace_source] TRACE starts_line /u/t.py:2 in h (h) (inline depth: 1)
V1123 14:04:14.398000 573 torch/_dynamo/symbolic_convert.py:1822] [0/0] [__trace_source]     def h(y): return y.cos()
V1123 14:04:14.497000 573 torch/_dynamo/symbolic_convert.py:1852] [0/0] [__trace_bytecode] TRACE RETURN_VALUE None [TensorVariable()]
V1123 14:04:14.497000 573 torch/_dynamo/symbolic_convert.py:1852] [0/0] [__trace_bytecode] TRACE LOAD_FAST k [TensorVariable()]
V1123 14:04:14.872000 573 torch/_dynamo/symbolic_convert.py:1822] [1/0] [__trace_source] TRACE starts_line /u/t.py:6 in resume (h.f)
V1123 14:04:14.872000 573 torch/_dynamo/symbolic_convert.py:1822] [1/0] [__trace_source]         if y.sum() > 0:
`

// TestLoggedSteps: PyTorch's single-step logs are steps with the symbolic stack, of each
// compile its own.
func TestLoggedSteps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.txt")
	if err := os.WriteFile(file, []byte(singleSteps), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := logs.Open([]string{file}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r, err := All(st, "log")
	if err != nil || len(r.Frames) != 2 {
		t.Fatalf("%v, %d frames", err, len(r.Frames))
	}
	var got []string
	for _, f := range r.Frames {
		steps := f.Compiles[0].Trace.Load()
		for i, s := range steps.Steps {
			p := steps.Place(i)
			got = append(got, fmt.Sprintf("%d %d %s %s", p.Line, s.Depth, s.Instr, strings.Join(s.On, " | ")))
		}
	}
	want := "5 0 line \n5 0 LOAD_GLOBAL h \n5 0 CALL 1 NullVariable | Lazy(a, [b])\n" +
		"2 1 line \n2 1 RETURN_VALUE TensorVariable()\n5 0 LOAD_FAST k TensorVariable()\n6 0 line "
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if !r.Frames[0].Compiles[0].Trace.Logged {
		t.Error("not said to be from a log")
	}
	if code := r.Frames[0].Compiles[0].Trace.Load().Places[0].Code; strings.TrimSpace(code) != "y = h(x) * k" {
		t.Errorf("the line's text: %q", code)
	}
}

// TestStepsOfDynamo: what a Python program recorded of Dynamo's trace, of which the last attempt
// is the one that was compiled, and why another one records nothing.
func TestStepsOfDynamo(t *testing.T) {
	st, err := logs.Open([]string{"testdata/tracesteps.log"}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r, err := All(st, "trace")
	if err != nil || len(r.Frames) != 2 {
		t.Fatalf("%v, %+v", err, r.Frames)
	}
	tr := r.Frames[0].Compiles[0].Trace
	if tr == nil || tr.Logged {
		t.Fatalf("%+v", tr)
	}
	steps := tr.Load()
	var got []string
	for i, s := range steps.Steps[1:] {
		if len(s.Nodes) > 0 {
			on, nodes := strings.Join(s.On, " "), strings.Join(s.Nodes, " ")
			got = append(got, fmt.Sprintf("%d %s on %s: %s", steps.Place(i+1).Line, s.Instr, on, nodes))
		}
	}
	want := "5 LOAD_METHOD relu on LazyVariableTracker(L['x']): l_x_: float32[3] = input L['x']\n" +
		"5 CALL 0 on NullVariable GetAttrVariable(L['x'].relu): relu: float32[3] = relu(l_x_)\n" +
		"5 BINARY_OP * on TensorVariable(relu) LazyConstantVariable(L['k']): y: float32[3] = mul(relu, 2)"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if !strings.HasPrefix(steps.End, "graph break: ") || tr.Count != len(steps.Steps) {
		t.Errorf("%q, %d of %d", steps.End, tr.Count, len(steps.Steps))
	}
	r = traceOf(t, func(w *logs.Writer) {
		w.Emit(logs.Artifact(logs.NoCompile, logs.TraceSteps{Missing: "PyTorch 9.9 has no loop"}))
	})
	if r.StepsMissing != "PyTorch 9.9 has no loop" {
		t.Errorf("%q", r.StepsMissing)
	}
}

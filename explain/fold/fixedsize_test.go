package fold

import (
	"strings"
	"testing"

	"tcdbg/explain/render"
	"tcdbg/logs"
)

// textAfterMiss reports a run of our own engine whose function step is compiled again for
// what failures say; more is what else the second compile records.
func textAfterMiss(t *testing.T, more []logs.Out, failures ...logs.GuardFailure) string {
	t.Helper()
	r := traceOf(t, func(w *logs.Writer) {
		w.Emit(logs.Artifact(logs.NoCompile, logs.RunInfo{Tcdbg: "0.1", Program: "model.go"}))
		for c := range 2 {
			w.Emit(logs.Out{
				Kind: "dynamo_start", ID: id(0, c),
				Meta: map[string]any{"stack": w.Stack([]logs.Frame{{File: "/u/model.go", Line: 10, Name: "step"}})},
			})
			w.Emit(logs.Artifact(id(0, c), logs.FrameInfo{
				Name: "step", Pos: logs.Pos{File: "/u/model.go", Line: 10, Func: "step"},
				Parent: -1,
			}))
			if c == 1 {
				w.Emit(logs.Artifact(id(0, c), logs.GuardMiss{Call: 3, Failures: failures}))
				for _, o := range more {
					w.Emit(o)
				}
			}
			w.Emit(logs.Out{
				Kind: "compilation_metrics", ID: id(0, c),
				Meta: map[string]any{"guard_count": 1, "has_guarded_code": true, "graph_op_count": 1, "entire_frame_compile_time_s": 0.1},
			})
		}
	})
	var b strings.Builder
	if err := render.WriteText(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sizeFailure is the size of x that changed.
func sizeFailure(entry int) logs.GuardFailure {
	return logs.GuardFailure{
		Entry: entry, Guard: logs.Guard{Source: "L['x']", Kind: "TENSOR_MATCH", Expected: "float32[8]"}, Actual: "float32[9]",
		Message: "tensor 'x' size mismatch at index 0. expected 8, actual 9", Argument: "x", Dim: 0,
	}
}

// TestSizesNeededAsNumbers: where a line made a constant of a size that the compile
// had left open, to mark the size would change nothing.
func TestSizesNeededAsNumbers(t *testing.T) {
	if s := textAfterMiss(t, nil, sizeFailure(0)); !strings.Contains(s, "compiler.MarkDynamic(x, 0)") {
		t.Errorf("a size that stays open:\n%s", s)
	}
	symbol := func(source string) []logs.Out {
		return []logs.Out{{Kind: "symbolic_shape_specialization", ID: id(0, 1), Meta: map[string]any{
			"symbol": "s0", "sources": []string{source}, "value": "9", "reason": "the program needs the number",
		}}}
	}
	s := textAfterMiss(t, symbol("L['x'].size()[0]"), sizeFailure(0))
	if strings.Contains(s, "MarkDynamic") || !strings.Contains(s, "needs size 0 of x as a number") {
		t.Errorf("a size that became a number:\n%s", s)
	}
	if s := textAfterMiss(t, symbol("L['x'].size()[1]"), sizeFailure(0)); !strings.Contains(s, "compiler.MarkDynamic(x, 0)") {
		t.Errorf("another size became a number:\n%s", s)
	}
}

// TestFailedEntriesAreCountedOnce: an entry of which several guards failed is one.
func TestFailedEntriesAreCountedOnce(t *testing.T) {
	if s := textAfterMiss(t, nil, sizeFailure(0), sizeFailure(0)); strings.Contains(s, "failed too") {
		t.Errorf("two guards of one entry:\n%s", s)
	}
	if s := textAfterMiss(t, nil, sizeFailure(1), sizeFailure(0), sizeFailure(0)); !strings.Contains(s, "(1 other entry failed too)") {
		t.Errorf("three guards of two entries:\n%s", s)
	}
}

// TestNoAdviceOnTheNameless: nobody can change what no line of the program spells.
func TestNoAdviceOnTheNameless(t *testing.T) {
	f := sizeFailure(0)
	f.Guard.Source, f.Argument, f.Message = "L['c.padded(x)']", "", "tensor 'c.padded(x)' size mismatch at index 0. expected 8, actual 9"
	s := textAfterMiss(t, nil, f)
	if !strings.Contains(s, "c.padded(x) dim 0, expected 8, actual 9") || strings.Contains(s, "fix:") {
		t.Errorf("advice on torch's own value:\n%s", s)
	}
}

package fold

import (
	"strings"
	"testing"

	"tcdbg/logs"
)

// Of a graph the last record counts, each with the function of its compile; ranks and processes
// are apart; what two further runs say is the report's.
func TestNumericsRecords(t *testing.T) {
	var sb strings.Builder
	w := logs.NewWriter(&sb, logs.WriterOptions{})
	id := logs.CompileID{Frame: 2}
	graph := logs.Numerics{Compile: "2/0", Graph: "__compiled_fn_2", Result: logs.NumericsEqual, Calls: 1, Compared: 1}
	w.Emit(logs.Artifact(id, logs.FrameInfo{Name: "step", Parent: -1}))
	w.Emit(logs.Artifact(id, logs.Guards{}))
	w.Emit(logs.Artifact(id, graph))
	graph.Calls, graph.Compared, graph.Result = 9, 5, logs.NumericsDiffers
	graph.Fault = &logs.NumericsFault{Stage: "fusion", Node: "tanh_1", Op: "tanh", Call: 8}
	w.Emit(logs.Artifact(id, graph))
	graph.Process = 7
	w.Emit(logs.Artifact(logs.NoCompile, graph))
	w.Emit(logs.Artifact(logs.NoCompile, logs.NumericsCapture{Result: logs.NumericsNone, Why: "why"}))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := foldText(t, sb.String())
	n := r.Numerics
	if n == nil || len(n.Graphs) != 2 || n.Capture == nil || n.Capture.Why != "why" || !n.Differs() {
		t.Fatalf("%+v", n)
	}
	g := n.Graphs[0]
	if g.Function != "step" || g.Calls != 9 || g.Fault == nil || g.Fault.Stage != "fusion" {
		t.Errorf("%+v", g)
	}
	if r.Totals.UnexplainedRecords != 0 {
		t.Errorf("%d records are not explained", r.Totals.UnexplainedRecords)
	}
}

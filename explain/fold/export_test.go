package fold

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/render"
)

// TestExportedModel: what is compiled ahead of time is a frame at the line that
// asked for it, with its graph and the kernels of its C++ code; an export that
// fails is a failure at its break.
func TestExportedModel(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/export_aoti.log.zst")
	if len(r.Frames) != 2 || len(r.Kernels) != 3 || r.Totals.Kernels != 2 || len(r.Failures) != 2 {
		t.Fatalf("%d frames, %d kernels, %d failures", len(r.Frames), len(r.Kernels), len(r.Failures))
	}
	model := r.Frames[0]
	if model.Name != "exported model" || model.Pos.Line != 12 || model.Status != explain.Compiled ||
		model.Compiles[0].Seconds < 30 || model.Compiles[0].Seconds > 40 {
		t.Errorf("%s at %+v, %s, %v s", model.Name, model.Pos, model.Status, model.Compiles[0].Seconds)
	}
	if ops := strings.Join(model.Compiles[0].Graph.Ops, " "); !strings.Contains(ops, "aten.addmm.default aten.relu.default") {
		t.Errorf("operators %s", ops)
	}
	if x := r.Kernels[0]; x.Name != "aoti_torch_cpu_addmm_out" || x.Lang != "extern" ||
		!strings.Contains(x.Load(), "aoti_torch_cpu_addmm_out(") {
		t.Errorf("library kernel %+v: %s", x, x.Load())
	}
	k := r.Kernels[2]
	source := k.Load()
	if strings.Join(k.Ops, " ") != "_softmax relu" || !strings.HasPrefix(source, `extern "C"  void  `+k.Name+"(") ||
		!strings.HasSuffix(strings.TrimSpace(source), "\n}") {
		t.Errorf("kernel %s of %v:\n%s", k.Name, k.Ops, source)
	}
	f := r.Failures[0] // the second export of it, without Dynamo, is the other
	if f.Frame != "torch.export" || f.Code != "GB0170" || f.Pos.Line != 17 || r.Frames[1].Status != explain.Failed {
		t.Errorf("failure %+v of a frame %s", f, r.Frames[1].Status)
	}
}

// TestNoExportWithoutAStack: a text that has lost its id is no exported model.
func TestNoExportWithoutAStack(t *testing.T) {
	r := foldText(t, `V1121 12:00:00.000000 7 torch/a.py:1] {"aot_inference_graph": {}, "has_payload": ""}
	class <lambda>(torch.nn.Module):
	    def forward(self, x):
	        return (x,)
`)
	if len(r.Frames) != 0 || len(r.Side) != 1 {
		t.Errorf("%d frames, %d remarks", len(r.Frames), len(r.Side))
	}
}

// TestFailedExports: of five exports three fail. One stopped in the trace of the model, which
// has its graph up to there; one under Dynamo, which recorded the break; of the third, whose
// range of sizes does not hold, there is no record. The report has the two, and does not say
// that these are all.
func TestFailedExports(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/failed_exports.log.zst")
	var got []string
	for _, f := range r.Failures {
		got = append(got, fmt.Sprintf("%s: %s:%d", f.What(), f.Pos.Func, f.Pos.Line))
	}
	want := "error: tracing stopped after torch.ops.aten.item.default; the error is not in the trace: forward:21|GB0170 " +
		"Unsupported: branch on a tensor's value: forward:21"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	if !slices.Contains(r.Damage(), explain.ExportUnrecorded) {
		t.Errorf("an export that failed without a record is not spoken of: %q", r.Damage())
	}
	var b strings.Builder
	if err := render.WriteJSON(&b, r); err != nil || !strings.Contains(b.String(), explain.ExportUnrecorded) {
		t.Errorf("the JSON does not tell it (%v)", err)
	}
	for _, name := range []string{"failed_trace", "dynamics", "builtin_modules"} {
		if report(t, "../testdata/traces/pytorch-2.15/"+name+".log.zst").Exports {
			t.Errorf("%s exports nothing", name)
		}
	}
}

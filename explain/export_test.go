package explain

import (
	"strings"
	"testing"
)

// TestExportedModel: what is compiled ahead of time is a frame at the line that
// asked for it, with its graph and the kernels of its C++ code; an export that
// fails is a failure at its break.
func TestExportedModel(t *testing.T) {
	r := report(t, "testdata/traces/pytorch-2.15/export_aoti.log.zst")
	if len(r.Frames) != 2 || len(r.Kernels) != 3 || r.Totals.Kernels != 2 || len(r.Failures) != 1 {
		t.Fatalf("%d frames, %d kernels, %d failures", len(r.Frames), len(r.Kernels), len(r.Failures))
	}
	model := r.Frames[0]
	if model.Name != "exported model" || model.Pos.Line != 12 || model.Status != Compiled || model.Compiles[0].Seconds < 30 || model.Compiles[0].Seconds > 40 {
		t.Errorf("%s at %+v, %s, %v s", model.Name, model.Pos, model.Status, model.Compiles[0].Seconds)
	}
	if ops := strings.Join(model.Compiles[0].Graph.Ops, " "); !strings.Contains(ops, "aten.addmm.default aten.relu.default") {
		t.Errorf("operators %s", ops)
	}
	if x := r.Kernels[0]; x.Name != "aoti_torch_cpu_addmm_out" || x.Lang != "extern" || !strings.Contains(x.Load(), "aoti_torch_cpu_addmm_out(") {
		t.Errorf("library kernel %+v: %s", x, x.Load())
	}
	k := r.Kernels[2]
	source := k.Load()
	if strings.Join(k.Ops, " ") != "_softmax relu" || !strings.HasPrefix(source, `extern "C"  void  `+k.Name+"(") || !strings.HasSuffix(strings.TrimSpace(source), "\n}") {
		t.Errorf("kernel %s of %v:\n%s", k.Name, k.Ops, source)
	}
	f := r.Failures[0]
	if f.Frame != "torch.export" || f.Code != "GB0170" || f.Pos.Line != 17 || r.Frames[1].Status != Failed {
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

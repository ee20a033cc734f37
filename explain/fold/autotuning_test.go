package fold

import (
	"strings"
	"testing"

	"tcdbg/explain/render"
	"tcdbg/logs"
)

// TestAutotuning: what was chosen for a graph is in the report, and belongs to its kernels.
func TestAutotuning(t *testing.T) {
	r := traceOf(t, func(w *logs.Writer) {
		engineRun(w)
		w.Emit(logs.Artifact(id(0, 0), logs.Autotuning{
			Graph: "g", Seconds: 2, Build: 0.5, Threads: 2, Default: 250_000, Chosen: 120_000,
			Tables: []logs.Tuning{
				{
					Kernels: []string{"fused_abs_0", "elsewhere"}, Op: "convolution", Shapes: []string{"2x3x8x8", "4x3x3x3"}, What: "form",
					Tried:  []logs.TunedWay{{Name: "winograd", Nanos: 60_000}, {Name: "direct", Nanos: 90_000}},
					Chosen: "winograd", Was: "direct",
				},
				{Op: "graph", What: "layout", Tried: []logs.TunedWay{{Name: "default", Nanos: 9}}, Chosen: "default", Was: "default"},
			},
		}))
	})
	if r.Totals.UnexplainedRecords != 0 || len(r.Autotuned) != 1 || len(r.Autotuned[0].Changes()) != 1 {
		t.Fatalf("%d unexplained, %+v", r.Totals.UnexplainedRecords, r.Autotuned)
	}
	if k := r.Kernels[0]; len(k.Tuned) != 1 || k.Tuned[0].Chosen != "winograd" || len(r.Kernels[1].Tuned) != 0 {
		t.Errorf("of the kernel: %+v", k.Tuned)
	}
	var text, js strings.Builder
	if err := render.WriteText(&text, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"AUTOTUNED: 1 graph", "g: 3 candidates", "a call takes 0.12 ms where it took 0.25",
		"convolution(2x3x8x8, 4x3x3x3) form: winograd instead of direct, 30.0 us less a call",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if err := render.WriteJSON(&js, r); err != nil || !strings.Contains(js.String(), `"autotuned": [`) {
		t.Errorf("%v: the JSON report lacks it", err)
	}
}

package render

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestHTMLHasAutotuning: the HTML report has each choice with its candidates, times and what was taken, as the text report has.
func TestHTMLHasAutotuning(t *testing.T) {
	r := &explain.Report{Autotuned: []*explain.Autotuned{{Autotuning: &logs.Autotuning{
		Graph: "f", Seconds: 2, Build: 1, Tables: []logs.Tuning{{
			Kernels: []string{"cpp_fused_mm_0"}, Op: "mm", Shapes: []string{"4x8", "8x<b>2"}, What: "tiles", Chosen: "6x2", Was: "4x4",
			Tried: []logs.TunedWay{{Name: "4x4", Nanos: 2_000_000}, {Name: "6x2", Nanos: 1_500_000}, {Name: "8x1", Wrong: "no code"}},
		}},
	}}}}
	var b strings.Builder
	if err := WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Autotuned (1 graph)", "mm(4x8, 8x&lt;b&gt;2) tiles: 6x2 instead of 4x4, 500.0 us less a call", "cpp_fused_mm_0",
		"1.5000 ms", "← chosen", "could not be timed", "no code",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
}

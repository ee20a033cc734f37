package tui

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestKernelTuned: a kernel shows what was timed for it, and what was chosen; of many candidates the fastest and the chosen one.
func TestKernelTuned(t *testing.T) {
	tried := []logs.TunedWay{{Name: "pixels", Nanos: 60_000}, {Name: "columns", Wrong: "its result 0 is off"}}
	for range tunedShown {
		tried = append(tried, logs.TunedWay{Name: "slow", Nanos: 90_000})
	}
	tried = append(tried, logs.TunedWay{Name: "direct", Nanos: 95_000})
	d := newDoc(&New(richFeed(), Options{}).sc, 60)
	kernelTuned(d, &explain.Kernel{Tuned: []*logs.Tuning{{
		Kernels: []string{"a", "b"}, Op: "convolution", Shapes: []string{"2x3x8x8"}, What: "form",
		Tried: tried, Chosen: "direct", Was: "direct",
	}}})
	var text strings.Builder
	for i := range d.Len() {
		text.WriteString(d.text(i) + "\n")
	}
	for _, want := range []string{
		"AUTOTUNED: form of convolution(2x3x8x8)", "together with 1 kernel that", "     60 us  pixels\n", "  not timed  columns\n",
		"▸      95 us  direct  (chosen)\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if n := strings.Count(text.String(), "slow"); n != tunedShown-2 {
		t.Errorf("%d slow ones are shown", n)
	}
}

package timeline

import (
	"math"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/internal/test/traces"
)

// The self time of a phase is one figure: what the spans of a name have on their tracks is what the sums of the report
// have of it, in every trace.
func TestSelfTimesAgree(t *testing.T) {
	phases := 0
	for _, path := range traces.Files(t, "../../explain/testdata/traces") {
		r, err := fold.All(traces.Open(t, path), path)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Phases) == 0 {
			continue
		}
		ix := Of(r, Wish{}, nil)
		self := map[string]int64{}
		for i := range ix.Events {
			self[ix.Events[i].Name] += ix.Self(i)
		}
		for _, s := range r.PhaseSums {
			phases++
			if got := float64(self[s.Name]) / 1e9; math.Abs(got-s.Self) > 1e-6*float64(s.Count) {
				t.Errorf("%s: %s is %.6f s on its tracks, %.6f s in the sums", path, s.Name, got, s.Self)
			}
		}
	}
	if phases < 100 {
		t.Errorf("%d sums", phases)
	}
}

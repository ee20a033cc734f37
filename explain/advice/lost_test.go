package advice

import (
	"testing"

	"tcdbg/tracer/breaks"
)

// A call that meets no operator brings no entry, whatever changed: of a whole function its
// caller can avoid it, of the part after a break nobody can.
func TestCallsWithoutOperators(t *testing.T) {
	for _, guard := range []string{breaks.LengthChanged, breaks.TypeChanged, breaks.ValueChanged, breaks.SizeChanged} {
		f := Finding{Kind: Recompile, Guard: guard, Name: "parts", Reachable: true, NoOperator: true}
		if row, _ := For(&f); row.ID != "skips-for-good" {
			t.Errorf("%s: row %q", guard, row.ID)
		}
		f.Rest = true
		if row, _ := For(&f); row.ID == "skips-for-good" {
			t.Errorf("%s: a part after a break gets the advice for whole functions", guard)
		}
	}
}

package diagnose

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// Of two lines that ask for a number the one is named whose guard later calls fail, as 2.6 and 2.15 tell it.
func TestFailsAt(t *testing.T) {
	fr := &explain.Frame{}
	compiles := make([]*explain.Compile, 3)
	for i := range compiles {
		compiles[i] = &explain.Compile{Frame: fr, ID: explain.ID{CompileID: logs.CompileID{Compile: i}}}
	}
	fr.Compiles = compiles
	for _, reason := range []string{
		"0/1: 1 <= L['t']  # if t > 0:  # mp/diff.py:15 in denoise (utils/_stats.py:27 in wrapper)",
		"0/1: 1 <= t <= 5  # if t > 0:  # mp/diff.py:15 in denoise (_dynamo/variables/tensor.py:3083 in evaluate_expr) and " +
			"mean = betas[t]  # mp/diff.py:14 in denoise (_subclasses/fake_impls.py:868 in meta_select)",
	} {
		compiles[2].Recompile = &explain.Recompile{Compile: compiles[2], Failures: []explain.GuardFailure{explain.ParseReason(reason)}}
		if got := failsAt(compiles[1], "t"); got.Line != 15 {
			t.Errorf("%s: %+v", reason, got)
		}
		if got := failsAt(compiles[1], "n"); got.Line != 0 {
			t.Errorf("another number: %+v", got)
		}
		if got := failsAt(compiles[0], "t"); got.Line != 0 {
			t.Errorf("another entry: %+v", got)
		}
	}
}

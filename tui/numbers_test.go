package tui

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// The screens show the numbers of docs/numbers.md: the functions of the Overview add up to
// the totals, a row of Ranks has its rank's, and a row of Breaks is met as often as the
// report says.
func TestScreensShowTheTotals(t *testing.T) {
	for _, path := range []string{
		"testdata/bar.log", "../explain/testdata/traces/pytorch-2.15/ddp_train", "../explain/testdata/traces/pytorch-2.15/unet.log.zst",
		"../explain/testdata/traces/tcdbg/experts.log.zst", "../explain/testdata/traces/pytorch-2.15/varied.log.zst",
	} {
		st, err := logs.Open([]string{path}, logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := explain.FoldAll(st, path)
		if err != nil {
			t.Fatal(err)
		}
		graphs, again := 0, 0
		for _, fr := range r.Roots() {
			root := newRoot(fr)
			graphs += root.graphs
			again += root.again
		}
		if n := r.Totals; graphs != n.Graphs || again != n.Recompiles {
			t.Errorf("%s: functions have %d graphs and %d recompiles, totals %d and %d", path, graphs, again, n.Graphs, n.Recompiles)
		}
		for _, k := range r.Ranks {
			row := (&rankRow{k}).draw(nil, 0)
			n := k.Totals
			want := []string{fmt.Sprint(k.Rank), fmt.Sprint(n.Frames), fmt.Sprint(n.Graphs), fmt.Sprint(n.Breaks), fmt.Sprint(n.Recompiles), fmt.Sprint(n.Kernels)}
			if got := strings.Fields(row.Text()); strings.Join(got[:len(want)], " ") != strings.Join(want, " ") {
				t.Errorf("%s: the row of rank %d is %q, want %v", path, k.Rank, got, want)
			}
		}
		times := 0
		for _, g := range r.Breaks {
			facts := breakFacts(g)
			if g.Times() > 0 && !strings.Contains(facts, "seen in "+count(g.Times(), "compile")) {
				t.Errorf("%s: %q does not say %d", path, facts, g.Times())
			}
			times += g.Times()
		}
		if times != r.Totals.Breaks {
			t.Errorf("%s: rows of %d breaks, %d in all", path, times, r.Totals.Breaks)
		}
		_ = st.Close()
	}
}

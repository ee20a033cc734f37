package tui

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
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
		r, err := fold.All(st, path)
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
		for i, g := range r.RankGroups { // of two ranks, each is one
			k := r.Ranks[i]
			row := (&rankRow{g: g, ranks: []*explain.Rank{k}}).draw(nil, 100)
			n := k.Totals
			want := []string{
				fmt.Sprint(k.Rank), "1", fmt.Sprint(n.Frames), fmt.Sprint(n.Graphs), fmt.Sprint(n.Breaks), fmt.Sprint(n.Recompiles),
			}
			if got := strings.Fields(row.Text()); strings.Join(got[:len(want)], " ") != strings.Join(want, " ") {
				t.Errorf("%s: the row of rank %d is %q, want %v", path, k.Rank, got, want)
			}
		}
		var c counts
		c.collect(r)
		if c.causes+c.framework != len(r.Breaks) {
			t.Errorf("%s: %d causes and %d of the framework, the report has %d", path, c.causes, c.framework, len(r.Breaks))
		}
		if n := recompiledRoots(r); c.again != n {
			t.Errorf("%s: recompiles of %d functions, the Overview shows %d that were", path, c.again, n)
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

// recompiledRoots are the functions with a recompile, as the Overview has functions.
func recompiledRoots(r *explain.Report) int {
	n := 0
	for _, fr := range r.Roots() {
		if newRoot(fr).again > 0 {
			n++
		}
	}
	return n
}

// The lead of Breaks counts breaks and places as the header does, and says which of the
// causes are in the program's own code.
func TestBreaksLeadAgreesWithTheHeader(t *testing.T) {
	const traces = "../explain/testdata/traces/pytorch-2.15/"
	for path, want := range map[string]string{
		traces + "ddp_train":         "10 breaks at 3 places · 1 cause in your code, it has a fix",
		traces + "nested_gb.log.zst": "20 breaks at 13 places · 14 causes, all have a fix",
	} {
		f := traceFeed(t, path)
		newDriver(t, f, Options{}, 160, 50).script(fmt.Sprintf("expect %s\nkeys 3\nexpect %s",
			count(f.report.Totals.Breaks, "break"), want))
	}
}

// What a text log has none of may have happened: no screen says that it did not.
func TestUnloggedIsNotNone(t *testing.T) {
	f := traceFeed(t, "../explain/testdata/traces/pytorch-2.15/fusion_small.txt.zst")
	newDriver(t, f, Options{}, 160, 50).script(`
		refute captured whole
		keys 3
		expect No graph breaks logged
		keys 4
		expect No recompiles logged
		refute every call
	`)
	if said := nothingFirst(f.report); !strings.Contains(said, "TORCH_LOGS") {
		t.Errorf("the Overview says %q", said)
	}
}

// traceFeed is a feed of a saved trace, whose records it does not hold.
func traceFeed(t *testing.T, path string) *fakeFeed {
	t.Helper()
	st, err := logs.Open([]string{path}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	f := richFeed()
	if f.report, err = fold.All(st, path); err != nil {
		t.Fatal(err)
	}
	f.run = Run{Title: path}
	return f
}

package main

import (
	"bytes"
	"regexp"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/render"
	"tcdbg/internal/test/golden"
)

// checkNumbers holds a run's report against docs/numbers.md: what text, HTML and JSON show
// is one number each, the functions add up to the totals, and the kernels of a function
// took no longer than its calls.
func checkNumbers(t *testing.T, r *explain.Report) {
	t.Helper()
	var text, page, data bytes.Buffer
	for _, err := range []error{render.WriteText(&text, r), render.WriteHTML(&page, r), render.WriteJSON(&data, r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, wrong := range golden.Numbers(text.String(), page.String(), data.Bytes()) {
		t.Error(wrong)
	}
	var whole explain.Sum
	for _, fr := range r.Roots() {
		s := fr.Whole()
		whole.Compiles += s.Compiles
		whole.Graphs += s.Graphs
		whole.Ops += s.Ops
		whole.Breaks += s.Breaks
		whole.Recompiles += s.Recompiles
		whole.Restarts += s.Restarts
	}
	n := r.Totals
	if whole.Compiles != n.Compiles || whole.Graphs != n.Graphs || whole.Ops != n.Ops || whole.Breaks != n.Breaks ||
		whole.Recompiles != n.Recompiles || whole.Restarts != n.Restarts {
		t.Errorf("functions %+v, totals %+v", whole, n)
	}
	checkKernelTimes(t, r)
}

// ofLoop are in the names of programs that run as often as the data says, or once a slice.
var ofLoop = regexp.MustCompile(`_(while_loop_|scan_combine_|body_)`)

// inLoop reports whether a kernel is of a loop's body.
func inLoop(o *explain.OutputCode) bool { return o != nil && ofLoop.MatchString(o.Path) }

// checkKernelTimes holds the timed runs of each function's kernels against the calls that
// ran them: a run of a kernel is within a call. Backward kernels run in no call of it, and
// what runs once counts none.
func checkKernelTimes(t *testing.T, r *explain.Report) {
	t.Helper()
	for _, fr := range r.Frames {
		var kernels float64
		for _, k := range r.Kernels {
			if k.ID.Frame != fr.ID.Frame || k.ID.Rank != fr.ID.Rank || k.ID.Epoch != fr.ID.Epoch || k.Backward() || k.Hoisted {
				continue
			}
			kernels += float64(max(k.Nanos, 0))
			if k.Timed > k.Calls {
				t.Errorf("%s: %d of %d runs were timed", k.Name, k.Timed, k.Calls)
			}
			if fr.Calls >= 0 && k.Calls > fr.Calls && !inLoop(k.Output) {
				t.Errorf("%s: %s ran %d times in %d calls", fr.Title(), k.Name, k.Calls, fr.Calls)
			}
		}
		if kernels > float64(fr.RunNanos) {
			t.Errorf("%s: kernels took %.0f ns of the %d ns of its %d calls", fr.Title(), kernels, fr.RunNanos, fr.Calls)
		}
	}
}

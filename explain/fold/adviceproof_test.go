package fold

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/logs"
)

// adviceFolder holds an example of every row of the table of advice, with the trace that it
// left and the advice that its trial applied.
const adviceFolder = "../testdata/advice"

// exampleSays lists what a report found with its advice, as `make advice` keeps it.
func exampleSays(r *explain.Report) string {
	var b strings.Builder
	say := func(kind string, at logs.Pos, fix explain.Fix) {
		fmt.Fprintf(&b, "%s at %s:%d [%s] %s\n", kind, filepath.Base(at.File), at.Line, fix.Row, fix.Text)
	}
	for _, g := range r.Breaks {
		if !g.Lead.Noise {
			say("break "+g.Lead.Code, g.Lead.Pos, g.Fix)
		}
	}
	for _, rc := range r.Recompiles {
		kind, at := "recompile", rc.Compile.Frame.Pos
		if len(rc.Failures) > 0 {
			kind += " " + rc.Failures[0].Kind
			if rc.Failures[0].Pos.File != "" {
				at = rc.Failures[0].Pos
			}
		}
		say(kind, at, rc.Fix)
	}
	for _, f := range r.Failures {
		if !f.Eager {
			say("failure "+f.Type, f.Pos, f.Fix)
		}
	}
	for _, a := range r.Advice {
		if a.Break != nil && a.Break.Lead.Noise {
			say("within "+a.Break.Lead.Code, a.Pos, a.Fix)
		}
	}
	return b.String()
}

// exampleReport reads the trace of an example, its program and what it printed when an
// error of the compiler ended it, as its trial did.
func exampleReport(t *testing.T, dir string) *explain.Report {
	t.Helper()
	st, err := logs.Open([]string{filepath.Join(dir, "trace.log.zst")}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	fold := New(st)
	fold.SetSource(func(file string) ([]string, error) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.Base(file)))
		return strings.Split(string(text), "\n"), err
	})
	if err := st.Read(context.Background(), fold.Add); err != nil {
		t.Fatal(err)
	}
	printed, _ := os.ReadFile(filepath.Join(dir, "uncaught.txt")) // most end well
	fold.AddUncaught(string(printed))
	return fold.Snapshot()
}

// sameLines says whether two texts have the same lines in some order.
func sameLines(a, b string) bool {
	return slices.Equal(slices.Sorted(strings.SplitSeq(a, "\n")), slices.Sorted(strings.SplitSeq(b, "\n")))
}

// TestRowsOfAdvice: each row that may be shown passed its trial, fires on its example with
// the very text that was applied there, and no example meets a row or a text that its trial
// did not.
func TestRowsOfAdvice(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range advice.Rows() {
		if seen[row.ID] {
			t.Errorf("two rows are called %s", row.ID)
		}
		seen[row.ID] = true
		if row.Go {
			continue
		}
		if o, ok := advice.Proven(row.ID); !ok || o.Result != advice.Passed {
			t.Errorf("%s did not pass its trial (%q): run make advice, or take the row out", row.ID, o.Result)
			continue
		}
		want, err := os.ReadFile(filepath.Join(adviceFolder, row.ID, "advice.txt"))
		if err != nil {
			t.Error(err)
			continue
		}
		got := exampleSays(exampleReport(t, filepath.Join(adviceFolder, row.ID)))
		if !sameLines(got, string(want)) { // their order is by cost, which is a matter of its own
			t.Errorf("%s: the example's advice is\n%s, and in its trial it was\n%s", row.ID, got, want)
		}
		if !strings.Contains(got, " ["+row.ID+"] ") {
			t.Errorf("%s does not fire on its example", row.ID)
		}
	}
	folders, err := os.ReadDir(adviceFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if !seen[f.Name()] {
			t.Errorf("%s is the example of no row", f.Name())
		}
	}
}

// TestAdviceNamesNoGo: what a PyTorch program is told uses PyTorch's names.
func TestAdviceNamesNoGo(t *testing.T) {
	goNames := regexp.MustCompile(`\bWhere\(|\b(Cond|CopyFrom|GraphBreak|Item|Gather|IndexSelect|` +
		`RequiresGrad_|MarkDynamic|Backward|goroutine|kw)\b`)
	for _, row := range advice.Rows() {
		if row.Go {
			continue
		}
		if said, err := os.ReadFile(filepath.Join(adviceFolder, row.ID, "advice.txt")); err != nil || goNames.Match(said) {
			t.Errorf("%s: %q is said to a PyTorch program (%v)", row.ID, said, err)
		}
	}
}

// TestUnprovenRowsAreSilent: a row whose trial failed gives no advice.
func TestUnprovenRowsAreSilent(t *testing.T) {
	if advice.Shown("no such row") {
		t.Error("a row without a trial is shown")
	}
}

package fold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/explain/render"
	"tcdbg/internal/test/golden"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
)

// numbered are the reports whose numbers are compared: every trace, and a run of ours.
func numbered(t *testing.T) map[string]*explain.Report {
	t.Helper()
	out := map[string]*explain.Report{"bar": report(t, "../../tui/testdata/bar.log")}
	for _, path := range traces.Files(t, "../testdata/traces") {
		out[path] = report(t, path)
	}
	return out
}

// TestNumbersAddUp: totals are the sums of what they total: of functions, of breaks, of
// ranks, of recompiles and failures.
func TestNumbersAddUp(t *testing.T) {
	for path, r := range numbered(t) {
		var whole explain.Sum
		for _, fr := range r.Roots() {
			whole.Add(fr.Whole())
		}
		n := r.Totals
		if whole.Compiles != n.Compiles || whole.Graphs != n.Graphs || whole.Ops != n.Ops || whole.Breaks != n.Breaks ||
			whole.Recompiles != n.Recompiles || whole.Restarts != n.Restarts {
			t.Errorf("%s: functions %+v, totals %+v", path, whole, n)
		}
		if n.Frames != len(r.Frames) || n.Graphs != len(r.Graphs) || n.Failures != len(r.Failures) {
			t.Errorf("%s: %d frames, %d graphs, %d failures are listed, totals %+v", path, len(r.Frames), len(r.Graphs), len(r.Failures), n)
		}
		if n.CompileSeconds < whole.Seconds-1e-6 { // backward compiles may belong to no function
			t.Errorf("%s: %.3f s in all, %.3f s of functions", path, n.CompileSeconds, whole.Seconds)
		}
		times, places, graphs := 0, 0, 0
		for _, g := range r.Breaks {
			times += g.Times()
			places += min(g.Times(), 1)
			graphs += g.Graphs
		}
		if times != n.Breaks || places != n.DistinctBreaks {
			t.Errorf("%s: groups of %d breaks at %d places, totals %d at %d", path, times, places, n.Breaks, n.DistinctBreaks)
		}
		own := 0
		for _, fr := range r.Roots() {
			own += fr.Sum().Graphs
		}
		if own+graphs > n.Graphs {
			t.Errorf("%s: %d graphs of functions, %d after breaks, %d in all", path, own, graphs, n.Graphs)
		}
		limits := 0
		for _, rc := range r.Recompiles {
			if rc.Compile.Status == explain.Limit {
				limits++
			}
		}
		if len(r.Recompiles)-limits != n.Recompiles {
			t.Errorf("%s: %d recompiles and %d refused are listed, totals %d", path, len(r.Recompiles)-limits, limits, n.Recompiles)
		}
		ranksAddUp(t, path, r)
	}
}

func ranksAddUp(t *testing.T, path string, r *explain.Report) {
	t.Helper()
	var sum explain.Totals
	for _, k := range r.Ranks {
		addTotals(&sum, &k.Totals)
	}
	ofNone := 0
	for _, fr := range r.Frames {
		if fr.ID.Rank < 0 {
			ofNone++
		}
	}
	if len(r.Ranks) == 0 || ofNone > 0 {
		return
	}
	n := r.Totals
	if sum.Frames != n.Frames || sum.Compiles != n.Compiles || sum.Graphs != n.Graphs || sum.Breaks != n.Breaks ||
		sum.Recompiles != n.Recompiles || sum.Kernels != n.Kernels || sum.Failures != n.Failures ||
		math.Abs(sum.CompileSeconds-n.CompileSeconds) > 1e-6 {
		t.Errorf("%s: ranks %+v, totals %+v", path, sum, n)
	}
}

// TestNumbersAreTheSameEverywhere: text, HTML and JSON show the totals, in their heads and
// above their sections, and what they list adds up to them.
func TestNumbersAreTheSameEverywhere(t *testing.T) {
	for path, r := range numbered(t) {
		var text, page, data bytes.Buffer
		for _, err := range []error{render.WriteText(&text, r), render.WriteHTML(&page, r), render.WriteJSON(&data, r)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, wrong := range golden.Numbers(text.String(), page.String(), data.Bytes()) {
			t.Errorf("%s: %s", path, wrong)
		}
	}
}

// TestRepeatsAreNoRecompiles: five calls of torch.Compile of one function are five compiles
// and no recompile, and the report says so.
func TestRepeatsAreNoRecompiles(t *testing.T) {
	r := &explain.Report{Engine: "tcdbg 0.1"}
	for i := range 5 {
		fr := &explain.Frame{Name: "step", Pos: posAt("/w/model.go", 5)}
		fr.ID.Frame = i
		fr.Compiles = []*explain.Compile{{ID: fr.ID, Frame: fr, Status: explain.Compiled}}
		r.Frames = append(r.Frames, fr)
	}
	again := &explain.Frame{Name: "step", Pos: posAt("/w/model.go", 5), Again: true, Compiles: []*explain.Compile{{}}} // after a reset
	r.Frames = append(r.Frames, again)
	other := &explain.Frame{Name: "other", Pos: posAt("/w/model.go", 9), Compiles: []*explain.Compile{{}}}
	r.Frames = append(r.Frames, other)
	if got := r.Repeats(); len(got) != 1 || got[0].Times != 5 || got[0].Frame.Name != "step" {
		t.Errorf("%+v", got)
	}
	var b bytes.Buffer
	if err := render.WriteText(&b, r); err != nil ||
		!strings.Contains(b.String(), "step model.go:5 was compiled by 5 calls of torch.Compile") {
		t.Errorf("%v\n%s", err, b.String())
	}
	r.Engine = "PyTorch 2.15.0" // which has one list of entries for a function
	if got := r.Repeats(); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestNumbersAreDocumented: every total of the JSON report has its definition.
func TestNumbersAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/numbers.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(explain.Totals{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for name := range fields {
		if name != "unexplained_records" && !strings.Contains(string(doc), fmt.Sprintf("`totals.%s`", name)) {
			t.Errorf("docs/numbers.md has no totals.%s", name)
		}
	}
}

// TestGraphsAfterABreak: each side of a branch goes on in a part of its own, and both are
// the break's; of two breaks that leave at one line each has the part that came after it.
func TestGraphsAfterABreak(t *testing.T) {
	fn := func(frame int, name string, graphs int) *explain.Frame {
		fr := &explain.Frame{
			ID: explain.ID{CompileID: logs.CompileID{Frame: frame}}, Name: name,
			Pos: logs.Pos{File: "/w/m.py", Line: 5, Func: name}, EagerOps: -1,
		}
		for i := range graphs {
			c := &explain.Compile{ID: fr.ID, Frame: fr, Status: explain.Compiled, Graph: &explain.Graph{Ops: []string{"sin"}}, Seconds: 1}
			c.ID.Compile = i
			fr.Compiles = append(fr.Compiles, c)
		}
		return fr
	}
	leave := func(fr *explain.Frame, code string) {
		c := fr.Compiles[0]
		c.Breaks = append(c.Breaks, &explain.Break{
			Code: code, Outcome: "resumed", Compile: c,
			Pos: logs.Pos{File: "/w/m.py", Line: 7, Func: "f"},
		})
	}
	const part = "torch_dynamo_resume_in_f_at_7"
	f, yes, no := fn(0, "f", 1), fn(1, part, 2), fn(2, part, 3)
	yes.Parent, no.Parent, f.Resumes = f, f, []*explain.Frame{yes, no}
	leave(f, "GB0170")
	r := &explain.Report{Engine: "PyTorch 2.15.0", Frames: []*explain.Frame{f, yes, no}}
	diagnose.Analyse(r)
	if g := r.Breaks[0]; g.Graphs != 5 || g.Seconds != 5 {
		t.Errorf("a branch: %d graphs, %v s", g.Graphs, g.Seconds)
	}
	leave(yes, "GB0059")
	r = &explain.Report{Engine: "PyTorch 2.15.0", Frames: []*explain.Frame{f, yes, no}}
	diagnose.Analyse(r)
	got := map[string]int{}
	for _, g := range r.Breaks {
		got[g.Lead.Code] = g.Graphs
	}
	if got["GB0170"] != 2 || got["GB0059"] != 3 {
		t.Errorf("two breaks at a line: %v", got)
	}
}

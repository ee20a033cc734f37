package fold

import (
	"bytes"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/explain/diagnose"
	"tcdbg/explain/render"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// TestSkippedForGood: a compiled function whose first call had no operators is never
// compiled, though its later calls have them: a finding in every form of the report.
func TestSkippedForGood(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/skipped.log.zst")
	list := r.SkippedForGood()
	if len(list) != 1 || list[0].Name != "warmup" || list[0].Pos.Line != 7 {
		t.Fatalf("%d functions: %+v", len(list), list)
	}
	const words = "always runs eagerly"
	if got := advices(r); strings.Count(got, "skipped.py:7: warmup "+words) != 1 {
		t.Errorf("advice:\n%s", got)
	}
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return render.WriteText(b, r) },
		"html": func(b *bytes.Buffer) error { return render.WriteHTML(b, r) },
		"json": func(b *bytes.Buffer) error { return render.WriteJSON(b, r) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || !strings.Contains(b.String(), words) {
			t.Errorf("%s: %v lacks it", name, err)
		}
	}
	var b bytes.Buffer
	if err := render.WriteJSON(&b, r); err != nil || strings.Count(b.String(), `"skipped_for_good": true`) != 1 {
		t.Errorf("%v, %s", err, b.String())
	}
}

// TestGoSkipsNothingForGood: the tracer for Go looks at every call again, so no report on a
// Go program has such functions, or names PyTorch.
func TestGoSkipsNothingForGood(t *testing.T) {
	fr := &explain.Frame{Name: "f", Pos: logs.Pos{File: "model.go", Line: 3}, Compiles: []*explain.Compile{{Status: explain.Skipped}}}
	for engine, want := range map[string]int{"tcdbg 0.1.0": 0, "PyTorch 2.15.0": 1} {
		r := &explain.Report{Engine: engine, Frames: []*explain.Frame{fr}}
		if list := r.SkippedForGood(); len(list) != want {
			t.Errorf("%s: %d functions", engine, len(list))
		}
	}
}

// TestHelpersAreNoFindings: of a function that another compiled one calls nobody knows
// that it ever has an operator. by_none has none where its mask is None, as it first is.
func TestHelpersAreNoFindings(t *testing.T) {
	for _, path := range traces.Files(t, "../testdata/traces") {
		for _, fr := range report(t, path).SkippedForGood() {
			if !strings.HasSuffix(path, "skipped.log.zst") && fr.Name != "by_none" {
				t.Errorf("%s: %s at %s:%d", path, fr.Name, fr.Pos.File, fr.Pos.Line)
			}
		}
	}
}

// TestSkippedLater: a call that meets no operator costs a function the graphs that it has:
// the recompile tells that, and no row says that one more entry is normal. A part after a
// break that is lost so has no caller of its own that could avoid the call, and gets no advice.
func TestSkippedLater(t *testing.T) {
	r := exampleReport(t, "../testdata/advice/skips-for-good")
	list := r.SkippedForGood()
	if len(list) != 1 || list[0].Name != "smooth" {
		t.Fatalf("%d functions: %+v", len(list), list)
	}
	if got := advices(r); strings.Contains(got, "smooth runs eagerly") || list[0].SkippedAt().Recompile.Fix.Row != "skips-for-good" {
		t.Errorf("advice, which is to tell it once:\n%s", got)
	}
	var b bytes.Buffer
	const words = "runs eagerly from [0/1] on: that call met no operator"
	if err := render.WriteText(&b, r); err != nil || !strings.Contains(b.String(), words) {
		t.Errorf("%v: %s", err, b.String())
	}
	last := list[0].Compiles[len(list[0].Compiles)-1]
	for name, change := range map[string]func(){
		"a break":       func() { last.Breaks = []*explain.Break{{}} },
		"an error":      func() { last.Breaks, last.Failure = nil, &explain.Failure{} },
		"a graph":       func() { last.Failure, last.Graph = nil, &explain.Graph{} },
		"empty graph":   func() { last.Graph, last.Status = nil, explain.Empty },
		"limit reached": func() { last.Status = explain.Limit },
	} {
		was := *last
		change()
		if list[0].SkippedAt() != nil {
			t.Errorf("%s: still skipped", name)
		}
		*last = was
	}
}

// TestSkippedLaterIsNotNormal: where a call met no operator, no advice says that there is
// nothing to change.
func TestSkippedLaterIsNotNormal(t *testing.T) {
	f := advice.Finding{
		Kind: advice.Recompile, Guard: breaks.TypeChanged, Name: "mask", Expected: "torch.Tensor", Actual: "NoneType", Rest: true,
	}
	if fix := diagnose.AdviseRecompile(&f); !fix.Settled {
		t.Fatalf("%+v is not the advice that this test is about", fix)
	}
	f.NoOperator = true
	if fix := diagnose.AdviseRecompile(&f); fix.Text != "" {
		t.Errorf("%+v", fix)
	}
}

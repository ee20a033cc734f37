package app

import (
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/gate"
	"tcdbg/logs"
)

// saveRun saves a run of a program with one kernel.
func saveRun(t *testing.T, program string, start time.Time, kernel string) *Run {
	t.Helper()
	r, err := newRun("run", []string{program}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Info.Start = start
	if err := r.finish(ending{State: Exited}); err != nil {
		t.Fatal(err)
	}
	w, err := logs.Create(r.file(engineLog), logs.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Emit(logs.Artifact(logs.CompileID{}, logs.Provenance{Graph: "g", Kernels: []logs.Kernel{{Name: kernel, Graph: "g", From: 1, To: 2}}}))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

// The run before is the newest earlier one of the same program and folder.
func TestBefore(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first := saveRun(t, "model.go", t0, "k_first")
	second := saveRun(t, "model.go", t0.Add(time.Minute), "k_second")
	saveRun(t, "other.go", t0.Add(2*time.Minute), "k_other")
	elsewhere := saveRun(t, "model.go", t0.Add(2*time.Minute), "k_elsewhere")
	elsewhere.Info.Dir = "/elsewhere"
	if err := elsewhere.save(); err != nil {
		t.Fatal(err)
	}
	third := saveRun(t, "model.go", t0.Add(3*time.Minute), "k_third")

	before := func(r *Run) (*explain.Report, string, error) {
		return (&feed{state: &feedState{run: r}}).Before()
	}
	r, name, err := before(third)
	if err != nil || name != second.Info.ID {
		t.Fatalf("before the third is %s (%v), want %s", name, err, second.Info.ID)
	}
	if len(r.Kernels) != 1 || r.Kernels[0].Name != "k_second" {
		t.Errorf("its kernels are %v", r.Kernels)
	}
	if _, _, err := before(first); err == nil || !strings.Contains(err.Error(), "no earlier run of model.go") {
		t.Errorf("before the first: %v", err)
	}
	if _, _, err := before(nil); err == nil || !strings.Contains(err.Error(), "not a run that tcdbg saved") {
		t.Errorf("of a trace: %v", err)
	}
}

// What changed is said in words, and that nothing did only of what was looked at.
func TestChangeWords(t *testing.T) {
	for want, d := range map[string]*gate.Difference{
		"no break, recompile, failure, graph or kernel changed": {},
		"1 break fixed, 2 new kernels": {
			Breaks:     gate.Changes{Fixed: make([]gate.Cause, 1)},
			KernelsNew: []string{"a", "b"},
		},
		"step: now x + 101, was x + 100":  {Code: []string{"step: now x + 101, was x + 100"}},
		"f: x, 1 graph changed as well":   {Code: []string{"f: x", "g: y"}},
		"f: x, 2 graphs changed as well":  {Code: []string{"f: x", "g: y", "h: z"}},
		"1 new failure":                   {Failures: gate.Changes{New: make([]gate.Cause, 1)}},
		"1 cause seen more or less often": {Recompiles: gate.Changes{Counted: make([]gate.Moved, 1)}},
	} {
		if got := changeWords(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

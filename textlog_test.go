package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/logs"
)

// This file holds our engine's text log against its trace: who has only one of the
// two is told the same.

// TestTextTellsWhatTheTraceTells runs fixtures with their logs on, reads the text
// back, and compares what it says with the trace of the same run.
func TestTextTellsWhatTheTraceTells(t *testing.T) {
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TCDBG_LOGS", "graph_breaks,recompiles_verbose,guards,graph_code")
	cache, told := t.TempDir(), 0
	for _, name := range []string{"bar", "debugflag", "batches", "stepcounter", "intlimit", "recoverbreak"} {
		model := filepath.Join("fixtures", name, "model.go")
		run := runFixture(t, bin, model, cache, "eager")
		file := filepath.Join(t.TempDir(), name+".log")
		if err := os.WriteFile(file, []byte(run.stderr), 0o600); err != nil {
			t.Fatal(err)
		}
		store, err := logs.Open([]string{file}, logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := fold.All(store, model)
		if err != nil {
			t.Fatal(err)
		}
		got, want := facts(text, guardsOf(text)), facts(run.report, run.guards)
		if got != want {
			t.Errorf("%s: the text tells\n%s\nthe trace\n%s", name, got, want)
		}
		told += len(want)
		_ = store.Close()
	}
	if told < 3000 {
		t.Errorf("only %d bytes were compared", told)
	}
}

// facts are what a report says of graphs, breaks, recompiles and guards, without
// what a text log does not have: resume points' names, times, actual values.
func facts(r *explain.Report, guards []string) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, f := range r.Frames {
		add("frame with %d compiles", len(f.Compiles))
	}
	for _, g := range r.Graphs {
		add("graph of %d operators", len(g.Ops))
	}
	for _, g := range r.Breaks {
		add("break %s %s at %s:%d in %s, %d times: %s", g.Lead.Code, g.Lead.Title(), g.Lead.Pos.File, g.Lead.Pos.Line,
			g.Lead.Pos.Func, len(g.Breaks), g.Fix.Text)
	}
	for _, c := range r.Recompiles {
		for _, f := range c.Failures {
			_, reason, _ := strings.Cut(f.Text, ": ") // after the entry's id
			if strings.ContainsAny(f.Text[:1], "0123456789") {
				f.Text = reason
			}
			add("recompile: %s, %s: %s", f.Kind, f.Text, c.Fix.Text)
		}
	}
	for _, g := range guards {
		if !strings.HasSuffix(g, "GuardManager") { // what hangs the checks together
			add("guard %s", g)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

package fold

import (
	"testing"

	"tcdbg/explain"
)

// TestOutcomeWithoutMetrics: where a compile's metrics are missing (it was cut
// off, or its release writes none), what it left tells how it ended.
func TestOutcomeWithoutMetrics(t *testing.T) {
	nodes := func() []explain.GraphNode { return nil }
	stages := []explain.Stage{{Name: "dynamo"}}
	brk := func(outcome string) []*explain.Break { return []*explain.Break{{Outcome: outcome}} }
	for _, c := range []struct {
		name string
		c    *compile
		want explain.Status
	}{
		{"nothing yet", &compile{}, explain.Compiling},
		{"limit", &compile{limit: true, errText: "x"}, explain.Limit},
		{"error", &compile{errText: "x", Compile: explain.Compile{Graph: &explain.Graph{Ops: []string{"sin"}}}}, explain.Failed},
		{"error at a break", &compile{errText: "x", Compile: explain.Compile{Breaks: brk("")}}, explain.Skipped},
		{"graph", &compile{Compile: explain.Compile{Graph: &explain.Graph{
			Ops: []string{"sin"}, Stages: stages,
			LoadNodes: nodes,
		}}}, explain.Compiled},
		{
			"graph without operators", &compile{Compile: explain.Compile{Graph: &explain.Graph{Stages: stages, LoadNodes: nodes}}},
			explain.Empty,
		},
		{"graph whose text was not recorded", &compile{Compile: explain.Compile{Graph: &explain.Graph{Stages: stages}}}, explain.Compiled},
		{
			"graph whose operators are not known", &compile{Compile: explain.Compile{Graph: &explain.Graph{LoadNodes: nodes}}},
			explain.Compiled,
		},
		{"later stages alone", &compile{stages: stages}, explain.Compiled},
		{"code alone", &compile{Compile: explain.Compile{Outputs: []*explain.OutputCode{{}}}}, explain.Compiled},
		{"guards alone", &compile{guarded: true}, explain.Empty},
		{"guards after a break", &compile{guarded: true, Compile: explain.Compile{Breaks: brk("skipped")}}, explain.Empty},
		{"break that gave the frame up", &compile{Compile: explain.Compile{Breaks: brk("skipped")}}, explain.Skipped},
		{
			"break that it went on after", &compile{Compile: explain.Compile{Breaks: append(brk("skipped"), brk("resumed")...)}},
			explain.Compiled,
		},
	} {
		if got := c.c.guess(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestSnapshotOfAFailure: a snapshot keeps what it says of a failure when a later record
// tells that the program went on.
func TestSnapshotOfAFailure(t *testing.T) {
	f := New(nil)
	c := &compile{Compile: explain.Compile{
		Frame: &explain.Frame{Status: explain.Failed}, Status: explain.Failed,
		Failure: &explain.Failure{Type: "Unsupported"},
	}}
	f.order, f.compOrd, f.failures = []*explain.Frame{c.Frame}, []*compile{c}, []*explain.Failure{c.Failure}
	c.Frame.Compiles = []*explain.Compile{&c.Compile}
	before := f.Snapshot()
	c.wentOn()
	f.dirty = true
	after := f.Snapshot()
	if before.Failures[0].Eager || !after.Failures[0].Eager {
		t.Errorf("went on: before %v, after %v", before.Failures[0].Eager, after.Failures[0].Eager)
	}
	if after.Frames[0].Compiles[0].Failure != after.Failures[0] {
		t.Error("the compile has another failure than the report")
	}
}

// TestOutcomeOfAFailedCompile: a break is not resumed where the compile that met it failed
// later, since there is no code that goes on after it.
func TestOutcomeOfAFailedCompile(t *testing.T) {
	for status, want := range map[explain.Status]string{explain.Compiled: "resumed", explain.Skipped: "skipped", explain.Failed: "error"} {
		fr := &explain.Frame{Name: "f"}
		c := &compile{Compile: explain.Compile{Frame: fr, Status: status}}
		c.Breaks = []*explain.Break{{Outcome: "resumed", Compile: &c.Compile}}
		if got := copyCompile(New(nil), c, &copier{frames: map[*explain.Frame]*explain.Frame{fr: fr}}).Breaks[0].Outcome; got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
	}
}

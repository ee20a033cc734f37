package explain

import "testing"

// TestOutcomeWithoutMetrics: where a compile's metrics are missing (it was cut
// off, or its release writes none), what it left tells how it ended.
func TestOutcomeWithoutMetrics(t *testing.T) {
	nodes := func() []GraphNode { return nil }
	stages := []Stage{{Name: "dynamo"}}
	brk := func(outcome string) []*Break { return []*Break{{Outcome: outcome}} }
	for _, c := range []struct {
		name string
		c    *compile
		want Status
	}{
		{"nothing yet", &compile{}, Compiling},
		{"limit", &compile{limit: true, errText: "x"}, Limit},
		{"error", &compile{errText: "x", Compile: Compile{Graph: &Graph{Ops: []string{"sin"}}}}, Failed},
		{"error at a break", &compile{errText: "x", Compile: Compile{Breaks: brk("")}}, Skipped},
		{"graph", &compile{Compile: Compile{Graph: &Graph{Ops: []string{"sin"}, Stages: stages, LoadNodes: nodes}}}, Compiled},
		{"graph without operators", &compile{Compile: Compile{Graph: &Graph{Stages: stages, LoadNodes: nodes}}}, Empty},
		{"graph whose text was not recorded", &compile{Compile: Compile{Graph: &Graph{Stages: stages}}}, Compiled},
		{"graph whose operators are not known", &compile{Compile: Compile{Graph: &Graph{LoadNodes: nodes}}}, Compiled},
		{"later stages alone", &compile{stages: stages}, Compiled},
		{"code alone", &compile{Compile: Compile{Outputs: []*OutputCode{{}}}}, Compiled},
		{"guards alone", &compile{guarded: true}, Empty},
		{"guards behind a break", &compile{guarded: true, Compile: Compile{Breaks: brk("skipped")}}, Empty},
		{"break that gave the frame up", &compile{Compile: Compile{Breaks: brk("skipped")}}, Skipped},
		{"break that it went on behind", &compile{Compile: Compile{Breaks: append(brk("skipped"), brk("resumed")...)}}, Compiled},
	} {
		if got := c.c.guess(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestSnapshotOfAFailure: a snapshot keeps what it says of a failure when a later record
// tells that the program went on.
func TestSnapshotOfAFailure(t *testing.T) {
	f := NewFold(nil)
	c := &compile{Compile: Compile{Frame: &Frame{Status: Failed}, Status: Failed, Failure: &Failure{Type: "Unsupported"}}}
	f.order, f.compOrd, f.failures = []*Frame{c.Frame}, []*compile{c}, []*Failure{c.Failure}
	c.Frame.Compiles = []*Compile{&c.Compile}
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
	for status, want := range map[Status]string{Compiled: "resumed", Skipped: "skipped", Failed: "error"} {
		fr := &Frame{Name: "f"}
		c := &compile{Compile: Compile{Frame: fr, Status: status}}
		c.Breaks = []*Break{{Outcome: "resumed", Compile: &c.Compile}}
		if got := NewFold(nil).copyCompile(c, &copier{frames: map[*Frame]*Frame{fr: fr}}).Breaks[0].Outcome; got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
	}
}

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

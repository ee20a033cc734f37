package render

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/gate"
)

// graphReport is a report of one function with one graph.
func graphReport(text string, ops ...string) *explain.Report {
	fr := &explain.Frame{Name: "step"}
	g := &explain.Graph{Ops: ops, Stages: []explain.Stage{{Name: "dynamo", Load: func() string { return text }}}}
	fr.Compiles = []*explain.Compile{{Frame: fr, Graph: g}}
	return &explain.Report{Frames: []*explain.Frame{fr}}
}

// A changed constant is a difference, though as many operators and kernels of the same
// names came out; places, what frees names, and addresses are none.
func TestDiffOfConstants(t *testing.T) {
	const text = "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n         # File: /a/b.py:3 in step, code: x + " +
		"100\n        add: \"f32[8]\" = x + 100;  x = None\n        return (add,)\n"
	a := graphReport(text, "add")
	d := gate.Diff(a, graphReport(strings.ReplaceAll(text, "100", "101"), "add"))
	if len(d.Code) != 1 || !strings.Contains(d.Code[0], "= x + 101, was") || !strings.Contains(d.Code[0], "= x + 100") || d.Empty() {
		t.Errorf("%q, empty %v", d.Code, d.Empty())
	}
	var out strings.Builder
	if err := WriteDiffText(&out, d); err != nil || strings.Contains(out.String(), "no difference") {
		t.Errorf("%v %s", err, out.String())
	}
	for _, same := range []string{
		text, strings.ReplaceAll(text, "/a/b.py:3", "/c/b.py:9"), strings.ReplaceAll(text, ";  x = None", ""),
		strings.Replace(text, "x + 100;", "x + 100;", 1),
	} {
		if d := gate.Diff(a, graphReport(same, "add")); !d.Empty() {
			t.Errorf("%q is said to differ: %q", same, d.Code)
		}
	}
	call := strings.Replace(text, "x + 100", "f(x, 0x7f12ab34cd56)", 1)
	if d := gate.Diff(graphReport(call, "f"), graphReport(strings.Replace(call, "ab34", "cd99", 1), "f")); !d.Empty() {
		t.Errorf("an address is a difference: %q", d.Code)
	}
}

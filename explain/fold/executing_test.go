package fold

import (
	"strings"
	"testing"

	"tcdbg/explain"
)

// TestFailedTrace: a graph that the backend cannot trace fails at the line of the
// operator, and what was traced until then is a stage of it.
func TestFailedTrace(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/failed_trace.log.zst")
	if len(r.Failures) != 1 {
		t.Fatalf("%d failures", len(r.Failures))
	}
	f := r.Failures[0]
	if got := strings.Join(f.Details(), "; "); f.Pos.Line != 23 || f.Pos.Func != "f" || f.Pos.Code != "return odd(y).cos()" ||
		got != "RuntimeError: no shape the third time; in mine.odd.default" {
		t.Errorf("at %+v: %s", f.Pos, got)
	}
	stages := r.Graphs[0].Stages
	if last := stages[len(stages)-1]; last.Name != "failed trace" || !strings.Contains(last.Load(), "torch.ops.aten.mul.Tensor(sin, 2)") {
		t.Errorf("stages %+v", stages)
	}
	found := false
	for _, s := range r.Side {
		found = found || s.Kind == "trace" && strings.HasSuffix(s.Text, "it came as far as torch.ops.mine.odd.default at makefx.py:23")
	}
	if !found {
		t.Errorf("remarks %+v", r.Side)
	}
}

// TestExecuting: messages without a target or a stack say what they have.
func TestExecuting(t *testing.T) {
	for reason, want := range map[string]string{
		"E: x\n\nWhile executing %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%a, 2), kwargs = " +
			"{})": "aten.mul.Tensor",
		"E: x\n\nWhile executing %sub_mod : [num_users=1] = weird": "sub_mod",
		"E: x": "",
	} {
		op, stack, ok := explain.Executing(reason)
		if op != want || ok != (want != "") || len(stack) != 0 {
			t.Errorf("%q: %q, %v, %v", reason, op, stack, ok)
		}
	}
}

// TestLoweringFailed: an operator that Inductor has no working rule for fails at the
// line that its error was found from, not at the head of the function.
func TestLoweringFailed(t *testing.T) {
	reason := "LoweringException: RuntimeError: tanh is broken\n  target: aten.tanh.default\n  args[0]: TensorBox(StorageBox(\n  " +
		"))\nFound from : \n   File \"/w/m.py\", line 61, in loss\n    return (x.tanh() * 3).sum()\n            ^^^^^^^^\n"
	op, stack, ok := explain.Executing(reason)
	if !ok || op != "aten.tanh.default" || len(stack) != 1 || stack[0].Line != 61 || stack[0].Code != "return (x.tanh() * 3).sum()" {
		t.Errorf("%q at %+v, %v", op, stack, ok)
	}
	f := &explain.Failure{Type: "InductorError", Reason: reason}
	if got := strings.Join(f.Details(), "; "); got != "in aten.tanh.default" {
		t.Errorf("details %q", got)
	}
	if f.Title() != "LoweringException: RuntimeError: tanh is broken" {
		t.Errorf("title %q", f.Title())
	}
}

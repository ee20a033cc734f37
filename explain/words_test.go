package explain

import (
	"strings"
	"testing"

	"tcdbg/tracer/breaks"
)

// TestChangedChecksInWords: whole arguments are shown, never a cut bracket.
func TestChangedChecksInWords(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{"check_tensor(x, Tensor, DispatchKeySet(CPU, AutogradCPU), torch.float32, size=[16, 32], stride=[32, 1])", "check_tensor(x, Tensor, DispatchKeySet(CPU, AutogradCPU), torch.float32, size=[None, 32], stride=[32, 1])", "size=[16, 32] -> size=[None, 32]"},
		{"check_tensor(x, torch.float32, requires_grad=False)", "check_tensor(x, torch.float64, requires_grad=True)", "torch.float32 -> torch.float64, requires_grad=False -> requires_grad=True"},
		{"len(L['l']) == 1", "len(L['l']) == 2", "1 -> 2"},
		{"", "___check_type_id(L['k'], 10731296), type=<class 'int'>", "new: the type of k is int"},
		{"L['k'] == 1", "", "gone: L['k'] == 1"},
		{"a == b", "a", "a == b -> a"},
	} {
		if got := changeText(c.old, c.now); got != c.want {
			t.Errorf("%q against %q: %q, want %q", c.old, c.now, got, c.want)
		}
	}
}

// TestAdviceFitsTheEngine: a Go program and a Python program get their own
// names, another built-in than print is called by its name, and a hint that
// only says how likely a fix is is no advice.
func TestAdviceFitsTheEngine(t *testing.T) {
	jump := &Break{Code: breaks.DataDependentBranching}
	if s := fixBreak(jump, "PyTorch 2.15.0").Text; !strings.Contains(s, "torch.where") {
		t.Errorf("to a PyTorch program: %q", s)
	}
	if s := fixBreak(jump, "tcdbg 1").Text; strings.Contains(s, "torch.where") || s == "" {
		t.Errorf("to a Go program: %q", s)
	}
	open := &Break{Code: breaks.BuiltinPrint, Context: "builtin open [<class 'X'>] False"}
	if s := fixBreak(open, "PyTorch").Text + shortTitle(open); strings.Contains(s, "print") || !strings.Contains(s, "(open)") {
		t.Errorf("of open: %q", s)
	}
	odd := &Break{Code: "GB8977", Hints: []string{"It may be possible to write Dynamo tracing rules for this code.", "Define the class outside."}}
	if s := fixBreak(odd, "PyTorch").Text; s != "Define the class outside." {
		t.Errorf("advice %q", s)
	}
}

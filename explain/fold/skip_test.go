package fold

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
)

// The message of 2.6 to 2.10 on a frame that cannot be resumed comes after the
// frame's end and holds no reason: that is in the error below it.
const skipText = `Graph break: skip: from user code at:
  File "/w/a.py", line 16, in in_try
    torch._dynamo.graph_break()

Traceback (most recent call last):
  File "/v/torch/_dynamo/convert_frame.py", line 1164, in __call__
    result = self._inner_convert(
torch._dynamo.exc.Unsupported: %s

from user code:
   File "/w/a.py", line 16, in in_try
    torch._dynamo.graph_break()

Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information
`

func TestSkippedFrames(t *testing.T) {
	const id = `"frame_id": 1, "frame_compile_id": 0, "attempt": 0`
	for _, c := range []struct{ name, reason, code, fix string }{
		{"2.6", "'skip function graph_break in file /v/torch/_dynamo/decorators.py'", "GB0025", "asked for by the program"},
		{"2.9", "Call to `torch._dynamo.graph_break()`\n  Explanation: User-inserted graph break. Message: None\n  Hint: Remove the " +
			"call.\n\n  Developer debug context: Called `torch._dynamo.graph_break()`\n\n For more details about this graph break, " +
			"please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0025.html", "GB0025", "asked for by the program"},
		{"2.6, context", "Unsupported context manager <Ctx object>'s __enter__ function", "GB0142", "fixable by you"},
		{"2.10", "Unsupported Tensor.item() call with capture_scalar_outputs=False\n  Explanation: Dynamo does not support tracing " +
			"`Tensor.item()` with config.capture_scalar_outputs=False.\n  Hint: Set it.\n\n  Developer debug context: call_method " +
			"TensorVariable() item () {}\n\n For more details about this graph break, please visit: " +
			"https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0124.html", "GB0124", "fixable by you"},
		{"unknown", "something new", "", "unclassified"},
	} {
		text := strings.Replace(skipText, "%s", c.reason, 1)
		if c.name == "2.10" {
			text = strings.Replace(text, "Graph break: skip: from user code at:\n",
				"Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.\ntorch.compile "+
					"will skip tracing the frame in_try (/w/a.py line 12) and fall back to eager.\nThe graph break occurred in the "+
					"following user code:\n", 1)
		}
		r := foldText(t, `V1121 12:00:00.000000 7 torch/a.py:1] {"dynamo_start": {"stack": [{"line": 12, "name": "in_try", `+
			`"filename": 0}]}, `+id+`}`+"\n"+
			`V1121 12:00:00.000000 7 torch/a.py:1] {"compilation_metrics": {"co_name": "in_try", "fail_type": "Unsupported", `+
			`"fail_reason": "x", "has_guarded_code": false}, `+id+`}`+"\n"+
			payload(`{"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, `+id, text))
		if len(r.Breaks) != 1 || r.Totals.Breaks != 1 {
			t.Fatalf("%s: %d breaks", c.name, len(r.Breaks))
		}
		b := r.Breaks[0].Breaks[0]
		if b.Code != c.code || b.Outcome != "skipped" || b.Fixability != c.fix || b.Pos.Line != 16 || b.Type == "skip:" {
			t.Errorf("%s: %s %s [%s, %s] at line %d", c.name, b.Code, b.Type, b.Fixability, b.Outcome, b.Pos.Line)
		}
		if st := r.Frames[0].Status; st != explain.Skipped {
			t.Errorf("%s: the frame is %s", c.name, st)
		}
		if raised, eager := r.Raised(); len(raised) != 0 || eager == "" || r.Failures[0].Fix.Text != "" {
			t.Errorf("%s: %d failures that the program saw, %q", c.name, len(raised), eager)
		}
	}
}

// TestSkippedWithoutALine: where no line of a frame is to blame, as of a function that is
// called within an eager vmap, the message names the frame.
func TestSkippedWithoutALine(t *testing.T) {
	text := "Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.\ntorch.compile will " +
		"skip tracing the frame one (/w/a (b).py line 35) and fall back to eager.\nThe graph break occurred in the following user " +
		"code:\n\nTraceback (most recent call last):\n  File \"/v/torch/a.py\", line 1, in g\ntorch._dynamo.exc.Unsupported: " +
		"Unsupported functorch tracing attempt\n  Explanation: e\n\n  Developer debug context: c\n\n For more details about this " +
		"graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0149.html\n"
	b := New(nil).newBreak(explain.ParseBreak(text), text)
	if b.Code != "GB0149" || b.Pos.File != "/w/a (b).py" || b.Pos.Line != 35 || b.Pos.Func != "one" || b.Outcome != "skipped" {
		t.Errorf("%s at %+v, %s", b.Code, b.Pos, b.Outcome)
	}
	if fix := diagnose.FixBreak(b, "PyTorch 2.15.0").Text; !strings.Contains(fix, "torch.func") {
		t.Errorf("advice %q", fix)
	}
}

// TestSkippedWithoutCode: 2.6 records a frame that a loop's break left to eager
// execution as one without code and without an error.
func TestSkippedWithoutCode(t *testing.T) {
	const id = `"frame_id": 0, "frame_compile_id": 0, "attempt": 0`
	r := foldText(t, `V1121 12:00:00.000000 7 torch/a.py:1] {"dynamo_start": {"stack": [{"line": 6, "name": "in_loop", "filename": `+
		`0}]}, `+id+`}`+"\n"+
		payload(`{"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, `+id,
			"Graph break in user code at /w/a.py:10\nReason: Unsupported: builtin: print\nUser code traceback:\n  File \"/w/a.py\", "+
				"line 10, in in_loop\n")+
		`V1121 12:00:00.000000 7 torch/a.py:1] {"compilation_metrics": {"co_name": "in_loop", "guard_count": null, `+
		`"has_guarded_code": false}, `+id+`}`+"\n")
	if r.Frames[0].Status != explain.Skipped || r.Breaks[0].Breaks[0].Outcome != "skipped" {
		t.Errorf("status %s, outcome %s", r.Frames[0].Status, r.Breaks[0].Breaks[0].Outcome)
	}
}

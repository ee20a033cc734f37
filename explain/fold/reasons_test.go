package fold

import (
	"strconv"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// TestJoinedReasons: recompiles_verbose joins the conditions of one entry; each keeps its
// own place, and semicolons of a line join nothing.
func TestJoinedReasons(t *testing.T) {
	f := New(nil)
	fr := recompiledBy(f, []string{
		"0/0: len(s.history) == 1  # s.n += 1; s.history.append(k)  # a.py:12 in forward; step == 0  # if step % 3 == 0:  # b.py:13 " +
			"in <lambda> (HINT: x); 2 <= x.size()[0]  # x = x + 1; y = x  # c.py:14 in g\nUser stack trace:\n  File \"/w/a.py\", " +
			"line 99, in forward\n    x",
		"0/1: k == 1  # self.n += 1; self.total += v  # a.py:11 in update",
	})
	var got []string
	for _, g := range fr.Compiles[1].Recompile.Failures {
		got = append(got, g.Entry+" "+g.Kind+" "+g.Expected+" "+g.Pos.File+":"+strconv.Itoa(g.Pos.Line)+" "+g.Pos.Func)
	}
	want := "0/0 " + breaks.LengthChanged + " 1 a.py:12 forward, 0/0 " + breaks.ValueChanged + " 0 b.py:13 <lambda>, 0/0 " +
		breaks.ShapeRelation + "  c.py:14 g, 0/1 " + breaks.ValueChanged + " 1 a.py:11 update"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}

// TestReasonsOfParameters: what PyTorch suggests after a reason is no part of the value.
func TestReasonsOfParameters(t *testing.T) {
	const tail = ". Guard failed on a parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False to allow " +
		"dynamism on parameters."
	for reason, want := range map[string][2]string{
		"0/0: tensor 'w' size mismatch at index 0. expected 4, actual 5" + tail:   {"4", "5"},
		"0/0: tensor 'w' requires_grad mismatch. expected requires_grad=1" + tail: {"1", "0"},
		"0/0: tensor 'w' dtype mismatch. expected Float, actual Half" + tail:      {"Float", "Half"},
		"0/0: tensor 'w' size mismatch at index 0. expected 4, actual 5":          {"4", "5"},
	} {
		if g := explain.ParseReason(reason); g.Expected != want[0] || g.Actual != want[1] {
			t.Errorf("%s: %q, %q", reason, g.Expected, g.Actual)
		}
	}
}

// TestExportsAreNoFrames: torch.export makes symbols under ids that no compile began.
func TestExportsAreNoFrames(t *testing.T) {
	symbol := func(w *logs.Writer, frame int) {
		w.Emit(logs.Out{
			Kind: "create_symbol", ID: id(frame, 0),
			Meta: map[string]any{
				"symbol": "s77", "val": "8", "vr": "[2, 64]", "source": "L['x'].size()[0]", "user_stack": []any{},
				"stack": []any{},
			},
		})
	}
	r := traceOf(t, func(w *logs.Writer) {
		symbol(w, 1)
		w.Emit(logs.Out{
			Kind: "dynamo_start", ID: id(2, 0),
			Meta: map[string]any{"stack": w.Stack([]logs.Frame{{File: "/u/m.py", Line: 3, Name: "f"}})},
		})
		symbol(w, 2)
	})
	if r.Totals.Frames != 1 || r.Totals.Compiles != 1 || len(r.Symbols) != 2 || r.Frames[0].Name != "f" {
		t.Errorf("%d frames, %d compiles, %d symbols", r.Totals.Frames, r.Totals.Compiles, len(r.Symbols))
	}
}

const ddpError = `Traceback (most recent call last):
  File "/u/train.py", line 20, in main
    loss = d(x).sum()
  File "/v/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1751, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
  File "/v/lib/python3.11/site-packages/torch/_dynamo/backends/distributed.py", line 500, in compile_fn
    assert cond, "the first bucket"
AssertionError: the first bucket
`

const usersError = `Traceback (most recent call last):
  File "/u/train.py", line 20, in main
    f(x)
  File "/v/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", line 700, in compile_wrapper
    return fn(*args, **kwargs)
  File "/u/train.py", line 3, in f
    raise ValueError("mine")
ValueError: mine
`

// ddpRaises is the traceback of ddpError with another error at its end.
func ddpRaises(text string) string {
	return strings.ReplaceAll(ddpError, "AssertionError: the first bucket", text)
}

// TestUncaughtErrors: an error of the compiler that ended the program is a failure at the
// program's line, though no record tells it; what the program raised itself is none, and
// what the trace tells is told once.
func TestUncaughtErrors(t *testing.T) {
	for _, c := range []struct {
		name, printed, want string
	}{
		{"DDP", "epoch 1\n" + ddpError, "AssertionError: the first bucket at /u/train.py:20, rank -1"},
		{
			"DDP under torchrun", "[rank1]: " + strings.ReplaceAll(strings.TrimSuffix(ddpError, "\n"), "\n", "\n[rank1]: ") + "\n",
			"AssertionError: the first bucket at /u/train.py:20, rank 1",
		},
		{"DDP under spawn", "Traceback (most recent call last):\n  File \"/u/train.py\", line 40, in <module>\n    " +
			"mp.spawn(main)\ntorch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 1 terminated with the following " +
			"error:\n" + ddpError, "AssertionError: the first bucket at /u/train.py:20, rank -1"},
		{"the program's own", usersError, ""},
		{"caused by another", ddpError + "\nThe above exception was the direct cause of the following exception:\n\n" + usersError, ""},
		{"with the words of another", ddpRaises("torch._dynamo.exc.BackendCompilerFailed: backend='mine' raised:\nRuntimeError: no"), ""},
		{"told by the trace", strings.ReplaceAll(ddpError, "AssertionError: the",
			"torch._dynamo.exc.TorchRuntimeError: Dynamo failed: told"), ""},
		{
			"told by the trace under its own name",
			ddpRaises("torch._dynamo.exc.InternalTorchDynamoError: ValueError: Unknown format code 'f'"), "",
		},
		{"told by the trace as another's", ddpRaises("torch._dynamo.exc.UserError: Unknown format code 'f'"), ""},
		{
			"one of Dynamo's own", ddpRaises("torch._dynamo.exc.InternalTorchDynamoError: KeyError: 'f'"),
			"InternalTorchDynamoError: KeyError: 'f' at /u/train.py:20, rank -1",
		},
	} {
		f := New(nil)
		f.failures = append(f.failures, &explain.Failure{Type: "ValueError", Reason: "Unknown format code 'f'\n\nfrom user code:\n"})
		f.failures = append(f.failures, &explain.Failure{Type: "TorchRuntimeError", Reason: "Dynamo failed: told first bucket"})
		f.failures = append(f.failures, &explain.Failure{Type: "BackendCompilerFailed", Reason: "backend='mine' raised:\nRuntimeError: no"})
		f.AddUncaught(c.printed)
		var got []string
		for _, fl := range f.Snapshot().Failures[3:] {
			got = append(got, fl.Type+": "+fl.Title()+" at "+fl.Pos.File+":"+strconv.Itoa(fl.Pos.Line)+", rank "+strconv.Itoa(fl.ID.Rank))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
	if r := foldText(t, ddpError+usersError); len(r.Failures) != 1 || r.Failures[0].Type != "AssertionError" {
		t.Errorf("as a text log: %d failures", len(r.Failures))
	}
}

package fold

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// advices are the texts of a report's advice, with their places.
func advices(r *explain.Report) string {
	var b strings.Builder
	for _, a := range r.Advice {
		b.WriteString(diagnose.ShortPlace(a.Pos.File, a.Pos.Line) + ": " + a.Text + "\n")
	}
	return b.String()
}

// TestWrapperAdvice: what wraps a model is the framework's, what it leaves to eager
// execution is the user's.
func TestWrapperAdvice(t *testing.T) {
	for file, want := range map[string]string{
		// torch.compile(DDP(nn.Sequential(...))): line 26 calls it, and no graph follows.
		"pytorch-2.15/ddp_sequential.log.zst": "ddp.py:26: nothing of this call is compiled",
		// forward calls self.a, which fully_shard hooked, in line 17.
		"pytorch-2.15/fsdp.log.zst": "fsdp.py:17: a sharded module is called here",
	} {
		r := report(t, "../testdata/traces/"+file)
		if got := advices(r); strings.Count(got, want) != 1 {
			t.Errorf("%s: no %q in\n%s", file, want, got)
		}
	}
	// There the model has a forward of its own, which is compiled after the wrapper.
	if got := advices(report(t, "../testdata/traces/pytorch-2.15/ddp_train")); strings.Contains(got, "nothing of this call") {
		t.Errorf("ddp_train: %s", got)
	}
}

// TestWrapperThatReachesTheModel: where a function of the program's own broke after the
// wrapper, it was reached, graph or no graph.
func TestWrapperThatReachesTheModel(t *testing.T) {
	const torch = "/v/lib/python3.11/site-packages/torch/_dynamo/external_utils.py"
	call := []logs.Pos{posAt("/w/ddp.py", 30)}
	inner := &explain.Frame{Name: "inner", Pos: posAt(torch, 67)}
	c := &explain.Compile{Frame: inner, Status: explain.Empty, Stack: call}
	inner.Compiles = []*explain.Compile{c}
	ddp := "/v/lib/python3.11/site-packages/torch/nn/parallel/distributed.py"
	b := &explain.Break{Pos: posAt(torch, 68), Stack: []logs.Pos{posAt(ddp, 1779)}, Noise: true, Compile: c}
	r := &explain.Report{Frames: []*explain.Frame{inner}, Breaks: []*explain.BreakGroup{{Lead: b, Breaks: []*explain.Break{b}}}}
	if got := diagnose.WrapperAdvice(r); len(got) != 1 {
		t.Fatalf("%d advices on a wrapper after which nothing comes", len(got))
	}
	forward := &explain.Frame{Name: "forward", Pos: posAt("/w/ddp.py", 15), Status: explain.Skipped}
	forward.Compiles = []*explain.Compile{{Frame: forward, Status: explain.Skipped, Stack: call}}
	r.Frames = append(r.Frames, forward)
	if got := diagnose.WrapperAdvice(r); len(got) != 0 {
		t.Errorf("%v although the model's forward was met", got)
	}
}

// TestPlaceOfAWrapper: what has no frame of its own is known by the line that calls it.
func TestPlaceOfAWrapper(t *testing.T) {
	const torch = "/v/lib/python3.11/site-packages/torch/"
	stack := []logs.Pos{posAt("/w/a.py", 20), posAt(torch+"nn/modules/module.py", 1779)}
	for _, c := range []struct {
		name, file string
		stack      []logs.Pos
		want       logs.Pos
	}{
		{"inner", torch + "_dynamo/external_utils.py", stack, stack[0]},
		{"inner", torch + "_dynamo/external_utils.py", stack[1:], posAt(torch+"_dynamo/external_utils.py", 67)},
		{"inner", "/w/a.py", stack, posAt("/w/a.py", 67)},
		{"forward", torch + "nn/modules/container.py", stack, posAt(torch+"nn/modules/container.py", 67)},
		{"wrapper", torch + "optim/optimizer.py", stack, posAt(torch+"optim/optimizer.py", 67)},
	} {
		fr := &explain.Frame{Name: c.name, Pos: posAt(c.file, 67)}
		if got := fr.Place(); got != fr.Pos {
			t.Errorf("%s without a compile is at %v", c.name, got)
		}
		if fr.Compiles = []*explain.Compile{{Stack: c.stack}}; fr.Place() != c.want {
			t.Errorf("%s is at %v, want %v", c.name, fr.Place(), c.want)
		}
	}
}

// TestLibraryAdviceOfAGroup: what breaks within torch may be met first in a frame of torch's
// own, and then in a function of the program, whose line is the one to name.
func TestLibraryAdviceOfAGroup(t *testing.T) {
	const torch = "/v/lib/python3.11/site-packages/torch/nn/modules/module.py"
	at := func(fr *explain.Frame, stack ...logs.Pos) *explain.Break {
		return &explain.Break{
			Pos: posAt(torch, 2267), Stack: stack, Noise: true, Code: "GB0467",
			Compile: &explain.Compile{Frame: fr, Status: explain.Compiled},
		}
	}
	own := at(&explain.Frame{Name: "inner", Pos: posAt(torch, 10)}, posAt("/w/ema.py", 30))
	users := at(&explain.Frame{Name: "update", Pos: posAt("/w/ema.py", 7)}, posAt("/w/ema.py", 30), posAt("/w/ema.py", 9))
	r := &explain.Report{Breaks: []*explain.BreakGroup{{Lead: own, Breaks: []*explain.Break{own, users}}}}
	got := diagnose.LibraryAdvice(r)
	if len(got) != 1 || got[0].Pos.Line != 9 {
		t.Errorf("%v, want one advice, on the line of update", got)
	}
}

// TestLedBy: a break within a library is the advice of the program's line that is compiled
// and calls it, and of no other one; where the line's function is not in the traceback
// (PyTorch leaves one of two functions of a name out), or a library's function was compiled
// by itself, the report tells the line that led to it, as far as the stack of calls does.
func TestLedBy(t *testing.T) {
	const lib = "/v/lib/python3.11/json/encoder.py"
	in := func(p logs.Pos, name string) logs.Pos { p.Func = name; return p }
	main, dumps, encode := in(posAt("/w/m.py", 57), "<module>"), in(posAt("/w/m.py", 11), "dumps"), in(posAt(lib, 249), "encode")
	for _, c := range []struct {
		name           string
		frame          *explain.Frame
		stack          []logs.Pos // of the break
		calls          []logs.Pos // of the compile
		caller, leader int        // lines, 0 for none
	}{
		{"called", &explain.Frame{Name: "dumps", Pos: dumps}, []logs.Pos{main, dumps, encode}, nil, 11, 11},
		{"of one name", &explain.Frame{Name: "dumps", Pos: dumps}, []logs.Pos{main, encode}, []logs.Pos{dumps}, 0, 11},
		{
			"after a break", &explain.Frame{Name: "torch_dynamo_resume_in_dumps_at_9", Pos: dumps},
			[]logs.Pos{main, dumps, encode},
			nil, 11, 11,
		},
		{
			"after a break of a function that has returned",
			&explain.Frame{Name: "torch_dynamo_resume_in_norm_at_5", Pos: posAt("/w/m.py", 5), From: &logs.CompileID{}},
			[]logs.Pos{main, dumps, encode},
			nil, 11, 11,
		},
		{"compiled by itself", &explain.Frame{Name: "encode", Pos: encode}, []logs.Pos{encode}, []logs.Pos{main, encode}, 0, 57},
		{"nothing recorded", &explain.Frame{Name: "encode", Pos: encode}, []logs.Pos{encode}, nil, 0, 0},
	} {
		b := &explain.Break{Pos: encode, Stack: c.stack, Noise: true, Compile: &explain.Compile{Frame: c.frame, Stack: c.calls}}
		if line, ok := diagnose.CallerOf(b); line.Line != c.caller || ok != (c.caller > 0) {
			t.Errorf("%s: called from line %d, want %d", c.name, line.Line, c.caller)
		}
		if line, ok := diagnose.LedBy(b); line.Line != c.leader || ok != (c.leader > 0) {
			t.Errorf("%s: reached from line %d, want %d", c.name, line.Line, c.leader)
		}
	}
}

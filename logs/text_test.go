package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPrefixes: every shape of a line's prefix.
func TestPrefixes(t *testing.T) {
	for _, c := range []struct {
		line string
		want textLine
	}{
		{
			"V1120 20:59:19.936000 400 torch/_dynamo/x.py:28] [3/1_2] [__graph_breaks] text",
			textLine{
				prefixed: true, level: 'V', thread: 400, place: "torch/_dynamo/x.py:28", rank: -1, id: CompileID{3, 1, 2},
				hasID: true, autograd: -1, artifact: "graph_breaks", text: "text",
			},
		},
		{
			"[rank1]:V1120 20:59:19.936000 400 x.py:28] [__cudagraphs] [1/0] Running",
			textLine{
				prefixed: true, level: 'V', thread: 400, place: "x.py:28", rank: 1, id: CompileID{1, 0, 0}, hasID: true,
				autograd: -1, artifact: "cudagraphs", text: "Running",
			},
		},
		{
			"V1120 20:59:19.936000 400 x.py:28] [!7/3/1] text",
			textLine{
				prefixed: true, level: 'V', thread: 400, place: "x.py:28", rank: -1, id: CompileID{3, 1, 0}, hasID: true,
				autograd: 7, text: "text",
			},
		},
		{"I0221 120624.445 file.py:282] text", textLine{
			prefixed: true, level: 'I', place: "file.py:282", rank: -1, id: NoCompile,
			autograd: -1, text: "text",
		}},
		{"[W 250221 12:16:33 id:2] text", textLine{
			prefixed: true, level: 'W', place: "id:2", rank: -1, id: NoCompile,
			autograd: -1, text: "text",
		}},
		{
			"[W1120 12:16:33.123456789 file.cpp:2] Warning: text",
			textLine{prefixed: true, level: 'W', place: "file.cpp:2", rank: -1, id: NoCompile, autograd: -1, text: "Warning: text"},
		},
		{
			"[2023-07-01 12:00:00,123] torch._dynamo.output_graph.__graph: [DEBUG] text",
			textLine{
				prefixed: true, old: true, level: 'V', place: "torch._dynamo.output_graph.__graph", rank: -1, id: NoCompile,
				autograd: -1, artifact: "graph", text: "text",
			},
		},
		{
			"[rank0]:[2024-01-04 13:26:12,345] [0/1] torch._dynamo.x.__graph_breaks: [DEBUG] text",
			textLine{
				prefixed: true, old: true, level: 'V', place: "torch._dynamo.x.__graph_breaks", rank: 0,
				id: CompileID{0, 1, 0}, hasID: true, autograd: -1, artifact: "graph_breaks", text: "text",
			},
		},
		{"[rank3]: Traceback", textLine{level: 'V', rank: 3, id: NoCompile, autograd: -1, text: "Traceback"}},
		{"\x1b[32mplain\x1b[0m", textLine{level: 'V', rank: -1, id: NoCompile, autograd: -1, text: "plain"}},
		{"[1, 2, 3]", textLine{level: 'V', rank: -1, id: NoCompile, autograd: -1, text: "[1, 2, 3]"}},
		{"Values: V1120", textLine{level: 'V', rank: -1, id: NoCompile, autograd: -1, text: "Values: V1120"}},
	} {
		got := lexLine([]byte(c.line))
		got.micros = 0
		if got != c.want {
			t.Errorf("%s\n got %+v\nwant %+v", c.line, got, c.want)
		}
	}
}

// keys reads a text log and lists its records as KEY[id]: first line.
func keys(t *testing.T, text string) []string {
	t.Helper()
	_, recs := readAll(t, Options{}, file(t, "log.txt", text))
	var out []string
	for _, r := range recs {
		first, _, _ := strings.Cut(r.Text(), "\n")
		out = append(out, fmt.Sprintf("%s[%s]: %s", r.Key(), r.ID.String(), first))
	}
	return out
}

const table = `opcode         name    target                                                  args         kwargs
-------------  ------  ------------------------------------------------------  -----------  --------
placeholder    a       a                                                       ()           {}
call_function  abs_1   <built-in method abs of type object at 0x7f8d259298a0>  (a,)         {}
output         output  output                                                  ((abs_1,),)  {}
`

// TestPlainText: what is pasted without any prefix is found between a
// program's own output.
func TestPlainText(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"table", "hello\n" + table + "bye\n", []string{
			"torch_log[-/-]: hello",
			"dynamo_output_graph[-/-]: opcode         name    target                                                  args         " +
				"kwargs", "torch_log[-/-]: bye",
		}},
		{
			"break", "Graph break in user code at /m.py:3\nGraph Break Reason: Data-dependent branching\n  Explanation: x\n\nUser code " +
				"traceback:\n  File \"/m.py\", line 3, in f\n    if x:\n\nepoch 1\n",
			[]string{"artifact:dynamo_graph_break_reason[-/-]: Graph break in user code at /m.py:3", "torch_log[-/-]: epoch 1"},
		},
		{"recompile", "Recompiling function f in m.py:1\n    triggered by the following guard failure(s):\n    - 0/0: len(l) == " +
			"1\nout\n", []string{`artifact:recompile_reasons[-/-]: ["0/0: len(l) == 1"]`, "torch_log[-/-]: out"}},
		{
			"error", "EXC <class 'torch._dynamo.exc.Unsupported'> Data-dependent branching\n  Explanation: x\n\nfrom user code:\n   " +
				"File \"/m.py\", line 3, in f\n    if x:\n\nnext\n",
			[]string{"artifact:dynamo_error[-/-]: torch._dynamo.exc.Unsupported: Data-dependent branching", "torch_log[-/-]: next"},
		},
		{
			"guards", "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GLOBAL_STATE: x\nhi\n",
			[]string{"dynamo_cpp_guards_str[-/-]: TREE_GUARD_MANAGER:", "torch_log[-/-]: hi"},
		},
		{"explain", "Graph Count: 2\nGraph Break Count: 1\nOp Count: 1\nBreak Reasons:\n  Break Reason 1:\n    Reason: " +
			"Data-dependent branching\n  Explanation: x\n    User Stack:\n      <FrameSummary file /m.py, line 3 in f>\nOps per " +
			"Graph:\n  Ops 1:\n    <built-in function add>\n  Ops 2:\nOut Guards:\n  Guard 1:\n    Name: ''\ndone\n", []string{
			"artifact:dynamo_graph_break_reason[-/-]: Data-dependent branching", "dynamo_output_graph[-/-]: graph():",
			"dynamo_output_graph[-/-]: graph():",
			"torch_log[-/-]: Graph Count: 2, Graph Break Count: 1, Op Count: 1", "torch_log[-/-]: done",
		}},
		{
			"old style", "[2023-07-01 12:00:00,123] torch._dynamo.x.__graph_breaks: [DEBUG] Graph break: generic_jump TensorVariable() " +
				"from user code at:\n  File \"/m.py\", line 3, in f\n    if x:\nprinted\n",
			[]string{"torch_log[-/-]: printed", "artifact:dynamo_graph_break_reason[-/-]: Graph break: generic_jump " +
				"TensorVariable() from user code at:"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := keys(t, c.text); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

// TestInterleavedRanks: the lines of two ranks' messages are put together
// again.
func TestInterleavedRanks(t *testing.T) {
	p := func(rank int, text string) string {
		return fmt.Sprintf("[rank%d]:V1120 20:59:19.936000 40%d x.py:28] [0/0] [__graph_breaks] %s\n", rank, rank, text)
	}
	text := p(0, "Graph break in user code at /m.py:1") + p(1, "Graph break in user code at /m.py:2") + "noise\n" +
		p(0, "more of 0") + p(1, "more of 1")
	_, recs := readAll(t, Options{}, file(t, "log.txt", text))
	got := map[int]string{}
	for _, r := range recs {
		if r.Is("dynamo_graph_break_reason") {
			got[r.Rank] = r.Text()
		}
	}
	if got[0] != "Graph break in user code at /m.py:1\nmore of 0" || got[1] != "Graph break in user code at /m.py:2\nmore of 1" {
		t.Errorf("messages %v", got)
	}
}

// TestTextResets: an id that breaks twice at the same attempt is another
// compile after a reset.
func TestTextResets(t *testing.T) {
	line := "V1120 20:59:19.936000 400 x.py:28] [0/0] [__graph_breaks] Graph break in user code at /m.py:1\n"
	_, recs := readAll(t, Options{}, file(t, "log.txt", line+strings.Replace(line, "19.936", "20.936", 1)))
	last := recs[len(recs)-1]
	if last.Epoch != 1 {
		t.Errorf("epoch %d of the second break, want 1", last.Epoch)
	}
}

// TestSilentLogs: a name of PyTorch's that prints nothing here is told of where it is asked for.
func TestSilentLogs(t *testing.T) {
	got := SilentLogs("graph_breaks,+sym_node,-loop_tiling, caching,autotuning,bytecode,all")
	if !slices.Equal(got, []string{"sym_node", "caching"}) {
		t.Errorf("%q", got)
	}
}

// TestPostGradGraphs: the graph that is lowered is printed under PyTorch's name and head.
func TestPostGradGraphs(t *testing.T) {
	var out bytes.Buffer
	r := NewRenderer(&out, LogSet{"post_grad_graphs": true}, WriterOptions{})
	r.Emit(Artifact(CompileID{}, Schedule{Code: "class GraphModule\n    return (relu,)"}))
	for _, want := range []string{"===== AFTER POST GRAD =====\n", "[__post_grad_graphs]     return (relu,)\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestFusionIR: the loops before and after fusion are printed under PyTorch's names, and no other pass is.
func TestFusionIR(t *testing.T) {
	var out bytes.Buffer
	r := NewRenderer(&out, LogSet{"ir_pre_fusion": true, "ir_post_fusion": true}, WriterOptions{})
	r.Emit(Artifact(CompileID{}, PassStep{Stage: "inductor", Pass: "lower", Before: "no loops", After: "lowered"}))
	r.Emit(Artifact(CompileID{}, PassStep{Stage: "inductor", Pass: "fuse", Before: "op0 [4]", After: "op0_op1 [4]"}))
	for _, want := range []string{"BEFORE FUSION\n", "[__ir_pre_fusion] op0 [4]\n", "AFTER FUSION\n", "[__ir_post_fusion] op0_op1 [4]\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "lowered") {
		t.Error(out.String())
	}
}

// TestCUDAGraphsLog: the mode that asks for CUDA graphs is told what happens instead, others are not.
func TestCUDAGraphsLog(t *testing.T) {
	for _, c := range []struct {
		mode    string
		options map[string]any
		want    bool
	}{
		{"", nil, false},
		{"reduce-overhead", nil, true},
		{"max-autotune", nil, true},
		{"max-autotune-no-cudagraphs", nil, false},
		{"", map[string]any{"triton.cudagraphs": true}, true},
		{"", map[string]any{"triton.cudagraphs": false}, false},
	} {
		var out bytes.Buffer
		r := NewRenderer(&out, LogSet{"cudagraphs": true}, WriterOptions{})
		r.Emit(Artifact(CompileID{}, GraphInputs{Graph: "__compiled_fn_0", Backend: "inductor", Mode: c.mode, Options: c.options}))
		if got := strings.Contains(out.String(), "skipping cudagraphs due to cpu device: memory of __compiled_fn_0 "); got != c.want {
			t.Errorf("%q %v: %s", c.mode, c.options, out.String())
		}
	}
}

// TestModuleLogs: PyTorch's packages are named as the logs that they write.
func TestModuleLogs(t *testing.T) {
	for module, log := range map[string]string{
		"+torch._dynamo": "+dynamo", "torch._inductor": "inductor", "-torch._functorch._aot_autograd": "-aot",
		"torch.fx.experimental.symbolic_shapes": "dynamic",
	} {
		got, err := ParseLogs(module)
		if err != nil {
			t.Error(err)
			continue
		}
		if want, _ := ParseLogs(log); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", module, got, want)
		}
	}
	if _, err := ParseLogs("torch._inductor.choices"); err == nil {
		t.Error("a module is taken that has nothing to say here")
	}
}

func TestParseLogs(t *testing.T) {
	set, err := ParseLogs("graph_breaks, +dynamo,recompiles,fusion")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"graph_breaks", "recompiles", "guards", "graph_code", "fusion"} {
		if !set[n] {
			t.Errorf("%s is off", n)
		}
	}
	if set["recompiles_verbose"] || set["output_code"] {
		t.Error("+dynamo turns on what must be named, or what is not its own")
	}
	if set, err = ParseLogs("+dynamo,-dynamo"); err != nil || set["guards"] {
		t.Errorf("-dynamo leaves %v, %v", set, err)
	}
	for setting, on := range map[string]string{
		"+torch._dynamo.guards": "guards recompiles", "+torch._inductor.scheduler": "fusion schedule", "torch._dynamo.guards": "",
		"+dynamo,-torch._dynamo.output_graph,-torch._dynamo.guards,-torch._dynamo.symbolic_convert,-torch._dynamo.side_effects": "dynamo",
	} {
		set, err := ParseLogs(setting)
		for name := range set {
			if findLog(name).help != "" && set[name] != slices.Contains(strings.Fields(on), name) {
				t.Errorf("%s: %s is %t", setting, name, set[name])
			}
		}
		for name := range strings.FieldsSeq(on) {
			if err != nil || !set[name] {
				t.Errorf("%s leaves %s off (%v)", setting, name, err)
			}
		}
	}
	for name, near := range map[string]string{
		"recompile": "recompiles", "postgrad_graphs": "post_grad_graphs", "torch._dynamo.guard": "torch._dynamo.guards", "zzzzzzzz": "",
	} {
		_, err := ParseLogs(name)
		if want := fmt.Sprintf("did you mean %q?", near); err == nil || strings.Contains(err.Error(), want) != (near != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var unknown *UnknownLogError
	if _, err = ParseLogs("graph_brakes"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "graph_breaks") {
		t.Errorf("an unknown name gives %v", err)
	}
}

// emitAll gives a sink records of the kinds that are printed.
func emitAll(s Sink) {
	id := CompileID{2, 1, 0}
	s.Emit(Artifact(id, FrameInfo{Name: "bar", Pos: Pos{File: "model.go", Line: 12}}))
	s.Emit(Text(id, "recompile_reasons", `["2/0: tensor 'x' size mismatch at index 0. expected 8, actual 9"]`))
	s.Emit(Text(id, "dynamo_graph_break_reason", "Graph break in user code at model.go:14\nGraph Break Reason: Data-dependent "+
		"branching\n\nTraceback (most recent call last):\n  ..."))
	s.Emit(Out{
		Kind: "dynamo_cpp_guards_str", ID: id,
		Payload: []byte("\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GLOBAL_STATE: x\n"),
	})
	s.Emit(Out{Kind: "create_symbol", ID: id, Meta: map[string]any{"symbol": "s0", "val": "6", "source": "L['x'].size()[0]"}})
	s.Emit(Out{
		Kind: "dynamo_output_graph", ID: id, Payload: []byte("class GraphModule(torch.nn.Module):\n    def forward(self, L_x_):\n   " +
			"     x = L_x_\n        a: \"f32[s0, 8]\" = x.sin()\n        B: \"f32[2]\" = a.sum();  a = None\n        return (B,)\n"),
		Meta: map[string]any{"sizes": map[string]any{"B": []any{2}, "a": []any{"s0", 8}, "x": []any{"s0"}}},
	})
	s.Emit(Artifact(id, GraphCode{Name: "__compiled_fn_7"}))
	s.Emit(Artifact(id, FusionStep{Round: 1, A: "op0", B: "op1", Reason: "no shared data", Kernels: 2}))
	s.Emit(Artifact(id, PassStep{Pass: "fuse", After: "op0 [4]\n  op0: t0 = load\nop1 [8]\n"}))
	s.Emit(Artifact(id, Schedule{Code: "class GraphModule"}))
	s.Emit(Artifact(id, TraceStep{Pos: Pos{File: "model.go", Line: 13}, Instr: "t0 = x + y"}))
	s.Emit(Artifact(id, Autotuning{Graph: "__compiled_fn_7"}))
	s.Emit(Artifact(id, GraphInputs{Backend: "inductor", Mode: "reduce-overhead"}))
	s.Emit(Text(id, "tcdbg_ssa", "func bar"))
	s.Emit(Out{Kind: "aot_joint_graph", ID: id, Payload: []byte("class joint")})
	s.Emit(Artifact(id, Provenance{Kernels: []Kernel{{Name: "fused_sin_0", From: 2, To: 3}, {Extern: true}}}))
	s.Emit(Out{
		Kind: "inductor_output_code", ID: id, Meta: map[string]string{"filename": "/k.c"},
		Payload: []byte("int x;\nvoid sin() {\n}\nint y;\n"),
	})
}

// TestRendererLooksAtWhatItPrints: a log that is on alone prints what it prints beside all others, and
// a record that no log asks for is not even decoded.
func TestRendererLooksAtWhatItPrints(t *testing.T) {
	var all bytes.Buffer
	every := LogSet{}
	for _, row := range logTable {
		every[row.name] = true
	}
	emitAll(NewRenderer(&all, every, WriterOptions{Now: clock, PID: 42}))
	printed := 0
	for name := range every {
		var alone, want strings.Builder
		emitAll(NewRenderer(&alone, LogSet{name: true}, WriterOptions{Now: clock, PID: 42}))
		for line := range strings.Lines(all.String()) {
			if strings.Contains(line, "[__"+name+"] ") {
				want.WriteString(line)
				printed++
			}
		}
		if strings.Contains(alone.String(), "[__") && alone.String() != want.String() || want.Len() > 0 && alone.Len() == 0 {
			t.Errorf("%s prints alone\n%s\nand beside the others\n%s", name, alone.String(), want.String())
		}
	}
	if printed < 25 {
		t.Errorf("%d lines of these records:\n%s", printed, all.String())
	}
	r := NewRenderer(io.Discard, LogSet{"recompiles": true, "graph_breaks": true}, WriterOptions{})
	for _, o := range []Out{
		Artifact(CompileID{}, PassStep{Pass: "fuse"}), Artifact(CompileID{}, FusionStep{}), Artifact(CompileID{}, Provenance{}),
		Artifact(CompileID{}, Schedule{}), Artifact(CompileID{}, GraphCode{}),
		{Kind: "inductor_output_code", Payload: []byte("int x;")},
	} {
		if n := testing.AllocsPerRun(5, func() { r.Emit(o) }); n > 0 {
			t.Errorf("%v is looked at, %v allocations, though nothing of it is printed", o.Meta, n)
		}
	}
}

// TestRendererSpeaksPyTorch: what the renderer prints, the lexers read back as
// the same records.
func TestRendererSpeaksPyTorch(t *testing.T) {
	var text bytes.Buffer
	set, err := ParseLogs("graph_breaks,recompiles,guards,graph_code,graph_sizes,output_code,kernel_code,fusion,schedule")
	if err != nil {
		t.Fatal(err)
	}
	emitAll(Tee(nil, NewRenderer(&text, set, WriterOptions{Now: clock, PID: 42}), (*Writer)(nil)))
	plain := placeless(text.String())
	var messages []string // without the prefix
	for line := range strings.Lines(plain) {
		_, m, _ := strings.Cut(line, "] [2/1] ")
		messages = append(messages, m)
	}
	told := strings.Join(messages, "")
	for _, want := range []string{
		"[__graph_code]  ===== __compiled_fn_7 =====\n",
		"[__graph_sizes] ===== __compiled_fn_7 =====\n[__graph_sizes] x: (s0,)\n[__graph_sizes] x (concrete): (6,)\n[__graph_sizes] " +
			"a: (s0, 8)\n[__graph_sizes] a (concrete): (6, 8)\n[__graph_sizes] B: (2,)\n",
		"[__kernel_code] fused_sin_0\n[__kernel_code] void sin() {\n[__kernel_code] }\n",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in\n%s", want, told)
		}
	}
	if !strings.Contains(text.String(), "attempting fusion (1/10): 2 nodes") || !strings.Contains(text.String(), "[op0,") ||
		!strings.Contains(text.String(), " op1]") {
		t.Errorf("the schedule is not told:\n%s", text.String())
	}
	if first, _, _ := strings.Cut(plain, "\n"); first != "V0304 05:06:07.890000 42 logs/text_test.go] [2/1] [__recompiles] "+
		"Recompiling function bar in model.go:12" {
		t.Errorf("first line is %q", first)
	}
	got := strings.Join(keys(t, text.String()), "\n")
	for _, want := range []string{
		`artifact:recompile_reasons[2/1]: ["2/0: tensor 'x' size mismatch at index 0. expected 8, actual 9"]`,
		"artifact:dynamo_graph_break_reason[2/1]: Graph break in user code at model.go:14",
		"dynamo_cpp_guards_str[2/1]: ", "dynamo_output_graph[2/1]: TRACED GRAPH", "inductor_output_code[2/1]: int x;",
		"torch_log[2/1]: cannot fuse op0 with op1: no shared data",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no record %q in\n%s", want, got)
		}
	}
	if strings.Contains(text.String(), "Traceback (most recent") {
		t.Error("the tracer's own traceback is printed")
	}
}

// TestRendererTellsMisses: all failures of all entries in turn, entries counted
// from 0; at the limit a warning that is on whatever was asked for.
func TestRendererTellsMisses(t *testing.T) {
	var text bytes.Buffer
	set, err := ParseLogs("recompiles_verbose")
	if err != nil {
		t.Fatal(err)
	}
	id := CompileID{2, 3, 0}
	miss := GuardMiss{Call: 9, Limit: true, Failures: []GuardFailure{
		{Entry: 1, Message: "n == 4"}, {Entry: 1, Message: "p == 5"}, {Entry: 0, Message: "n == 3"},
	}}
	for _, s := range []LogSet{set, {}} {
		r := NewRenderer(&text, s, WriterOptions{Now: clock, PID: 42})
		r.Emit(Artifact(id, FrameInfo{Name: "bar", Pos: Pos{File: "model.go", Line: 12}}))
		r.Emit(Artifact(id, miss))
	}
	const warned = `torch._dynamo hit config.recompile_limit (3)
   function: 'bar' (model.go:12)
   last reason: 2/1: n == 4
The function runs eagerly from here on.
To see all recompile reasons, use TCDBG_LOGS="recompiles".
`
	const want = `[__recompiles_verbose] Recompiling function bar in model.go:12
[__recompiles_verbose]     triggered by the following guard failure(s):
[__recompiles_verbose]     guard 0 failures:
[__recompiles_verbose]     - 2/1: n == 4
[__recompiles_verbose]     - 2/1: p == 5
[__recompiles_verbose] 
[__recompiles_verbose]     guard 1 failures:
[__recompiles_verbose]     - 2/0: n == 3
` + warned + warned
	if got := strings.ReplaceAll(strings.ReplaceAll(placeless(text.String()), "V0304 05:06:07.890000 42 logs/text_test.go] [2/3] ",
		""), "W0304 05:06:07.890000 42 logs/text_test.go] [2/3] ", ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// placeless takes the lines of this file out of the prefixes.
func placeless(text string) string {
	return regexp.MustCompile(`(logs/text_test\.go):[0-9]+\]`).ReplaceAllString(text, "$1]")
}

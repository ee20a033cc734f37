package fold

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/explain/render"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

const breakOf215 = `Graph break in user code at /home/u/m.py:31
Graph Break Reason: Data-dependent branching
  Explanation: Detected data-dependent branching.
      The branch condition involves a tensor computed as follows:
        # File "/home/u/m.py", line 30, in br, code: if n > lim: y = y + 1
        l_lim_: graph input (L_lim_)

        # File "/home/u/m.py", line 31, in br, code: if n > lim: y = y + 1
        gt = gt(n, l_lim_)

  Hint: Use ` + "`torch.cond`" + ` to express dynamic control flow.
  Hint: This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace through your code.
    Consider finding a workaround.

  Developer debug context: attempted to jump with TensorVariable()

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html

*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: a loop

  Developer debug context: frame skipped

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb7000.html

Stack variable source attribution:
  ListVariable(length=0) originated from:
  File "/home/u/m.py", line 28
        ys = []
             ^^

User code traceback:
  File "/home/u/m.py", line 34, in <module>
    run(br)
    ~~~^^^^
  File "/home/u/m.py", line 31, in br
    if n > lim: y = y + 1
       ^^^^^^^

Traceback (most recent call last):
  File "/x/torch/_dynamo/y.py", line 1, in wrapper
    For more details about this graph break, please visit: https://x/gb/gb9999.html
`

func TestBreakText(t *testing.T) {
	b := explain.ParseBreak(breakOf215)
	if len(b.Blocks) != 2 || b.Blocks[0].Code != "GB0170" || b.Blocks[0].Typ != "Data-dependent branching" || b.Blocks[1].Code != "GB7000" {
		t.Fatalf("blocks %+v", b.Blocks)
	}
	if h := b.Blocks[0].Hints; len(h) != 2 || !strings.HasSuffix(h[1], "Consider finding a workaround.") {
		t.Errorf("hints %q", h)
	}
	want := logs.Pos{File: "/home/u/m.py", Line: 31, Col: 4, EndCol: 11, Func: "br", Code: "if n > lim: y = y + 1"}
	if b.Place != want || len(b.Stack) != 2 {
		t.Errorf("place %+v, want %+v; stack %+v", b.Place, want, b.Stack)
	}
	if got := b.Place.Code[b.Place.Col-1 : b.Place.EndCol-1]; got != "n > lim" {
		t.Errorf("the marked part is %q", got)
	}
	if len(b.Value) != 2 || b.Value[1].Func != "gt = gt(n, l_lim_)" || b.Value[1].Line != 31 {
		t.Errorf("value %+v", b.Value)
	}
	if b.Blocks[0].Context != "attempted to jump with TensorVariable()" {
		t.Errorf("context %q", b.Blocks[0].Context)
	}
}

// TestBreakTextOfAllAges: the shapes of other releases and outcomes.
func TestBreakTextOfAllAges(t *testing.T) {
	for _, c := range []struct{ name, text, code, typ, outcome, place string }{
		{"duplicate", "Graph break (user stack suppressed due to duplicate graph break) in user code at /m.py:8\nGraph Break " +
			"Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n\nFailed to trace " +
			"builtin operator\n  Explanation: x\n", "GB0059", "Failed to trace builtin operator", "resumed", "m.py:8"},
		{
			"whole frame", "Graph break in user code at /m.py:8\nGraph Break Reason: Failed to handle graph break gracefully. Skipping " +
				"the function and falling back to eager. Graph break encountered:\n\nObserved exception\n  Explanation: x\n", "GB0088",
			"Observed exception", "skipped", "m.py:8",
		},
		{
			"partial", "Graph break in user code at /m.py:8\nGraph Break Reason: Encountered graph break that we cannot resume from. " +
				"Compiling up to the previous resumable state, then falling back\n\nObserved exception\n  Explanation: x\n", "GB0088",
			"Observed exception", "partial", "m.py:8",
		},
		{
			"2.7, no link", "Graph break in user code at /m.py:8\nGraph Break Reason: Data-dependent branching\n  Explanation: x\n",
			"GB0170", "Data-dependent branching", "resumed", "m.py:8",
		},
		{
			"2.5", "Graph break (details suppressed) in user code at /m.py:8\nReason: Unsupported: Tensor.item\n", "GB0124",
			"Unsupported Tensor.item() call with capture_scalar_outputs=False", "resumed", "m.py:8",
		},
		{
			"2.2", "Graph break: generic_jump TensorVariable() from user code at:\n  File \"/m.py\", line 5, in f\n    if x:\n",
			"GB0170", "Data-dependent branching", "resumed", "m.py:5",
		},
		{
			"unknown", "Graph break in user code at /m.py:8\nGraph Break Reason: Some new thing\n  Explanation: x\n", "",
			"Some new thing", "resumed", "m.py:8",
		},
		{"not a break at all", "nonsense", "", "nonsense", "resumed", "?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			br := New(nil).newBreak(explain.ParseBreak(c.text), c.text)
			got := []string{br.Code, br.Type, br.Outcome, diagnose.ShortPlace(br.Pos.File, br.Pos.Line)}
			if want := []string{c.code, c.typ, c.outcome, c.place}; !reflect.DeepEqual(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestRecompileReasons(t *testing.T) {
	for _, c := range []struct{ text, kind, source, expected, actual, entry string }{
		{"0/1: tensor 'x' size mismatch at index 1. expected 4, actual 5", breaks.SizeChanged, "x", "4", "5", "0/1"},
		{"0/1: tensor 'L['x']' stride mismatch at index 0. expected 4, actual 1", breaks.StrideChanged, "L['x']", "4", "1", "0/1"},
		{"tensor 'x' rank mismatch. expected 1, actual 2", breaks.RankChanged, "x", "1", "2", ""},
		{"0/1: tensor 'x' dtype mismatch. expected Float, actual Double", breaks.DtypeChanged, "x", "Float", "Double", "0/1"},
		{"0/1: tensor 'x' requires_grad mismatch. expected requires_grad=0", breaks.RequiresGradChanged, "x", "0", "1", "0/1"},
		{
			"0/1: tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, A), actual DispatchKeySet(CPU)",
			breaks.DispatchKeysChanged, "x", "DispatchKeySet(CPU, A)", "DispatchKeySet(CPU)", "0/1",
		},
		{"0/0: expected type of 'x' to be <class 'A'>, but found <class 'B'>", breaks.TypeChanged, "x", "A", "B", "0/0"},
		{
			"0/0: ___check_type_id(o, 139), type=<class 'float'>   # y = o  # m.py:3 in f (HINT: type float)", breaks.TypeChanged,
			"o", "float", "", "0/0",
		},
		{"0/0: ___check_obj_id(G['F'], 139), type=<class 'module'>", breaks.IdentityChanged, "G['F']", "", "", "0/0"},
		{"0/3: k == 1                # y=x*k  # m.py:19 in r", breaks.ValueChanged, "k", "1", "", "0/3"},
		{"0/3: f == True             # y=x*k  # m.py:19 in r", breaks.ValueChanged, "f", "True", "False", "0/3"},
		{"0/0: o is None", breaks.NoneChanged, "o", "None", "", "0/0"},
		{"0/0: len(xs) == 2", breaks.LengthChanged, "xs", "2", "", "0/0"},
		{"0/0: len(d) != 1", breaks.LengthChanged, "d", "1", "", "0/0"},
		{"0/0: list(dict.keys(d))[0] == 'a'", breaks.DictKeyChanged, "d", "'a'", "", "0/0"},
		{"0/0: not ___dict_contains('scale', c.__dict__)", breaks.DictKeyChanged, "c.__dict__", "lacks 'scale'", "has 'scale'", "0/0"},
		{"0/0: fn._modules['1'].training == True", breaks.TrainingChanged, "fn._modules['1'].training", "True", "False", "0/0"},
		{`0/0: h.__closure__[0].cell_contents == 2   # x  # m.py:1 in f (HINT: guard on "k")`, breaks.ClosureChanged, "k", "2", "", "0/0"},
		{`0/0: Duplicate tensors found: ["x", "y"]`, breaks.AliasingChanged, `"x", "y"`, "distinct tensors", "the same tensor", "0/0"},
		{"0/0: GLOBAL_STATE changed: grad_mode ", breaks.GlobalStateChanged, "grad_mode", "", "", "0/0"},
		{"0/0: G['K'] == 1", breaks.GlobalChanged, "G['K']", "1", "", "0/0"},
		{
			"0/0: ___as_tensor(lam).item() == 0.25  # (unknown source ___as_tensor(lam).item(), please file a bug)", breaks.ValueChanged,
			"lam", "0.25", "", "0/0",
		},
		{"0/0: ___as_tensor(L['lam']).item() >= 0.1", breaks.ValueChanged, "L['lam']", ">= 0.1", "", "0/0"},
		{"0/0: ___as_tensor(cfg.lam).item() == 0.25", breaks.AttributeChanged, "cfg.lam", "0.25", "", "0/0"},
		{"0/0: s.k == 1", breaks.AttributeChanged, "s.k", "1", "", "0/0"},
		{"0/0: x.size()[1] == 6", breaks.SizeSpecialised, "x", "6", "", "0/0"},
		{"0/0: 2*x.size()[1] == 6", breaks.ShapeRelation, "2*x.size()[1]", "6", "", "0/0"},
		{"0/0: 2 <= x.size()[0] <= 4096", breaks.ShapeRelation, "2 <= x.size()[0] <= 4096", "", "", "0/0"},
		{"0/0: something new", breaks.OtherGuard, "", "", "", "0/0"},
	} {
		g := explain.ParseReason(c.text)
		if got, want := fmt.Sprint([]string{g.Kind, g.Source, g.Expected, g.Actual, g.Entry}),
			fmt.Sprint([]string{c.kind, c.source, c.expected, c.actual, c.entry}); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, want)
		}
	}
	g := explain.ParseReason("0/3: k == 1   # y=x*k  # mp/d.py:19 in r\nUser stack trace:\n  File \"/home/u/d.py\", line 19, in " +
		"r\n    y=x*k")
	if want := (logs.Pos{File: "/home/u/d.py", Line: 19, Func: "r", Code: "y=x*k"}); g.Pos != want {
		t.Errorf("the user's stack gives %+v, want %+v", g.Pos, want)
	}
	if got := explain.ParseReason("0/3: k == 1   # y=x*k  # mp/d.py:19 in r").Pos; got != (logs.Pos{
		File: "mp/d.py", Line: 19,
		Func: "r", Code: "y=x*k",
	}) {
		t.Errorf("the comment gives %+v", got)
	}
}

// TestReasonsPayload: one reason comes bare, several as a JSON list.
func TestReasonsPayload(t *testing.T) {
	for payload, n := range map[string]int{"0/0: k == 1": 1, "[\n\"0/1: a\",\n\"0/0: b\"\n]": 2, `"0/0: k"`: 1, "": 0, "[unbalanced": 1} {
		if got := explain.ParseReasons(payload); len(got) != n {
			t.Errorf("%q gives %q", payload, got)
		}
	}
}

const guards1 = `
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GLOBAL_STATE: ___check_global_state()
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0), type=<class 'torch.Tensor'>, tag_safe=(True, False)
| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, size=[8], stride=[1])  # y=x*k  # m.py:19 in r
| | +- NO_HASATTR: hasattr(L['x'], '_dynamo_dynamic_indices') == False  # y=x*k  # m.py:19 in r
| | +- NO_TENSOR_ALIASING
| +- GuardManager: source=G['F'], accessed_by=DictGetItemGuardAccessor('F')
| | +- ID_MATCH: ___check_obj_id(G['F'], 139723187591968)
| +- LAMBDA_GUARD: 2 <= L['x'].size()[0] <= 4096  # f  # m.py:1 in f and (_inductor/codegen/cpp.py:2397 in need)

Guard latency = 67.34 us
`

func TestGuardTree(t *testing.T) {
	leaves, noise, us := explain.ScanGuards(guards1)
	if leaves != 6 || noise != 1 || us != 67.34 {
		t.Errorf("%d leaves, %d noise, %v us", leaves, noise, us)
	}
	root := explain.ParseGuards(guards1)
	if len(root.Children) != 4 {
		t.Fatalf("%d children of the root", len(root.Children))
	}
	x := root.Children[1]
	if x.Source != "L['x']" || x.Type != "torch.Tensor" || len(x.Children) != 3 ||
		x.Accessor != "FrameLocalsGuardAccessor(key='x', framelocals_idx=0)" {
		t.Errorf("manager %+v", x)
	}
	if m := x.Children[0]; m.Kind != "TENSOR_MATCH" || m.Source != "L['x']" || m.Code != "y=x*k" || m.Pos.Line != 19 ||
		strings.Contains(m.Text, "#") {
		t.Errorf("leaf %+v", m)
	}
	if l := root.Children[3]; !strings.Contains(l.Code, "added by the backend") {
		t.Errorf("a bound of the code generator is not marked: %+v", l)
	}
	changed := strings.NewReplacer("size=[8]", "size=[None]", "139723187591968", "139723187591999", "GLOBAL_STATE",
		"DEFAULT_DEVICE").Replace(guards1)
	var got []string
	for _, c := range explain.DiffGuards(root, explain.ParseGuards(changed)) {
		got = append(got, c.Kind+" "+render.ChangeText(c.Old, c.New))
	}
	want := []string{
		"DEFAULT_DEVICE new: ___check_global_state()", "TENSOR_MATCH size=[8] -> size=[None]",
		"GLOBAL_STATE gone: ___check_global_state()",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("differences %q, want %q", got, want)
	}
}

const wrapper = `# AOT ID: ['3_backward']
async_compile = AsyncCompile()

# kernel path: /tmp/x.py
# Topologically Sorted Source Nodes: [sin, d], Original ATen: [aten.sin, aten.add]
# Source node to ATen node mapping:
#   d => add
# Graph fragment:
#   %sin : Tensor "f32[4]"[num_users=1] = call_function[target=torch.ops.aten.sin.default](args = (%arg0_1,), kwargs = {})
#   return %sin
triton_poi_fused_add_sin_0 = async_compile.triton('triton_poi_fused_add_sin_0', '''
import triton
''', device_str='cuda')


cpp_fused_add_native_layer_norm_1 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel() {}
''')

def call(args):
    extern_kernels.mm(a, b, out=buf0)
    extern_kernels.mm(c, d, out=buf1)
    buf2 = torch.ops.aten.cumsum.default(buf1, 0)
    torch.ops.inductor.resize(x)
`

func TestSplitKernels(t *testing.T) {
	var got []string
	for _, k := range splitKernels(wrapper) {
		ops := k.ops
		if ops == nil {
			ops = opsFromName(k.name, nil)
		}
		got = append(got, fmt.Sprintf("%s %s %d-%d %v %v x%d", k.name, k.lang, k.from, k.to, ops, k.nodes, k.count))
	}
	want := []string{
		"triton_poi_fused_add_sin_0 triton 11-13 [aten.sin aten.add] [sin d] x0",
		"cpp_fused_add_native_layer_norm_1 cpp 16-18 [add native_layer_norm] [] x0",
		"extern_kernels.mm extern 21-21 [mm] [] x2",
		"torch.ops.aten.cumsum.default extern 23-23 [aten.cumsum.default] [] x1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if id, role := aotID(wrapper); id != "3" || role != "backward" {
		t.Errorf("AOT id %q, role %q", id, role)
	}
	if s := sliceLines(wrapper, 16, 18); !strings.HasPrefix(s, "cpp_fused") || !strings.HasSuffix(s, "''')\n") {
		t.Errorf("source %q", s)
	}
}

// TestWhereRewrite: a rewrite is offered only where it is surely the same.
func TestWhereRewrite(t *testing.T) {
	for code, want := range map[string]string{
		"if n > lim: y = y + 1":            "+ y = torch.where(n > lim, y + 1, y)",
		"if x[0:1].sum() > 0: y = f(y, 1)": "+ y = torch.where(x[0:1].sum() > 0, f(y, 1), y)",
		"if a or b: y = 1":                 "",
		"if x: return y":                   "",
		"if x: y.a = 1":                    "",
		"if x:":                            "",
		"while x: y = 1":                   "",
	} {
		got := ""
		if l := diagnose.WhereRewrite(code); len(l) == 2 {
			got = l[1]
		}
		if got != want {
			t.Errorf("%q gives %q, want %q", code, got, want)
		}
	}
}

// TestGuardsNameWholeFiles: PyTorch prints the files of guards without the letters
// that their names share with its own folder.
func TestGuardsNameWholeFiles(t *testing.T) {
	load := func() *explain.GuardNode {
		return &explain.GuardNode{Children: []*explain.GuardNode{
			{Kind: "TENSOR_MATCH", Pos: logs.Pos{File: "mp/models/net.py", Line: 7}},
			{Kind: "DEFAULT_DEVICE", Pos: logs.Pos{File: "_dynamo/output_graph.py", Line: 3}},
			{Kind: "EQUALS_MATCH", Pos: logs.Pos{File: "layers.py", Line: 9}},
		}}
	}
	fr := &explain.Frame{Name: "f", Pos: logs.Pos{File: "/tmp/models/net.py", Line: 5}}
	fr.Compiles = []*explain.Compile{{
		Frame: fr, Stack: []logs.Pos{{File: "/tmp/models/deep/layers.py"}, {File: "/tmp/layers.py"}, {File: "/tmp/models/main.py"}},
		Guards:    &explain.GuardTree{Load: load},
		Recompile: &explain.Recompile{Failures: []explain.GuardFailure{{Pos: logs.Pos{File: "mp/models/net.py"}}}},
	}}
	fr.Compiles[0].Recompile.Compile = fr.Compiles[0]
	r := &explain.Report{Frames: []*explain.Frame{fr}}
	diagnose.CompleteFiles(r)
	var got []string
	for _, g := range fr.Compiles[0].Guards.Root().Children {
		got = append(got, g.Pos.File)
	}
	if want := "/tmp/models/net.py _dynamo/output_graph.py /tmp/layers.py"; strings.Join(got, " ") != want {
		t.Errorf("guards in %q, want %s", got, want)
	}
	if f := fr.Compiles[0].Recompile.Failures[0].Pos.File; f != "/tmp/models/net.py" {
		t.Errorf("the failure is in %s", f)
	}
}

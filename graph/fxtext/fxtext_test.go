package fxtext

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcdbg/logs/fx"
	"tcdbg/torch/export"
)

// This file reads texts of graphs.

func text(params, body string) string {
	return "class GraphModule(torch.nn.Module):\n    def forward(self, " + params + "):\n        " +
		strings.ReplaceAll(body, "\n", "\n        ") + "\n"
}

// A pooling as Inductor's graphs have it, with what it keeps for its derivative.
const (
	imageText = `x: "f32[2, 3, 9, 7][189, 63, 7, 1]cpu"`
	poolText  = "p = torch.ops.prims._low_memory_max_pool_with_offsets.default(x, [3, 3], [2, 2], [1, 1], [1, 1], False)\n" +
		"a: \"f32[2, 3, 5, 4][60, 20, 4, 1]cpu\" = p[0]\n"
	offsetText = "b: \"i8[2, 3, 5, 4][60, 20, 4, 1]cpu\" = p[1]\n"
	indexText  = "i: \"i64[2, 3, 5, 4][60, 20, 4, 1]cpu\" = " +
		"torch.ops.prims._low_memory_max_pool_offsets_to_indices.default(b, [3, 3], [9, 7], [2, 2], [1, 1], [1, 1])\n"
)

const x48 = `x: "f32[4, 8][8, 1]cpu"`

// TestCalls: what a call becomes.
func TestCalls(t *testing.T) {
	for _, c := range []struct{ name, params, body, want string }{
		{
			"by position", x48 + `, w: "f32[16, 8][8, 1]cpu"`,
			"t: \"f32[8, 16][1, 8]cpu\" = torch.ops.aten.permute.default(w, [1, 0]);  w = None\n" +
				"mm: \"f32[4, 16][16, 1]cpu\" = torch.ops.aten.mm.default(x, t)\nreturn (mm,)",
			"torch.permute(w, [1, 0])",
		},
		{
			"several results", x48,
			"m = torch.ops.aten.max.dim(x, 1);  x = None\ngetitem: \"f32[4][1]cpu\" = m[0];  m = None\nreturn (getitem,)",
			"torch.max(x, 1)",
		},
		{
			"one pass of softmax", x48,
			"p = torch.ops.prims.prepare_softmax_online.default(x, -1)\na: \"f32[4, 1][1, 1]cpu\" = p[0]\n" +
				"s: \"f32[4, 1][1, 1]cpu\" = p[1];  p = None\nreturn (a, s)",
			"torch.amax(x, dim = [-1], keepdim = True)",
		},
		{
			"converted", x48, "c: \"bf16[4, 8][8, 1]cpu\" = torch.ops.prims.convert_element_type.default(x, torch.bfloat16)\nreturn (c,)",
			"bfloat16",
		},
		{
			"a method with sizes", x48, "v: \"f32[8, 4][4, 1]cpu\" = x.view(8, 4);  x = None\nreturn (v,)", "torch.view(x, [8, 4])",
		},
		{"Python's operators", x48, "a: \"f32[4, 8][8, 1]cpu\" = 2 ** x\nb: \"f32[4, 8][8, 1]cpu\" = -a\nreturn (b,)", "2 ** x"},
		{"a negative number", x48, "a: \"f32[4, 8][8, 1]cpu\" = -9.25 * x\nreturn (a,)", "-9.25 * x"},
		{
			"an index", x48, "a: \"f32[1, 3][8, 1]cpu\" = x[(slice(1, 2, None), slice(None, 3, None))]\nreturn (a,)",
			"torch.slice(a__of_1, dim = 1, end = 3)",
		},
		{
			"a tensor among indices", x48 + `, i: "i64[3][1]cpu"`,
			"a: \"f32[2, 3][3, 1]cpu\" = x[(slice(1, 3, None), i)]\nreturn (a,)", "torch.index(a__of_1, [None, i])",
		},
		{
			"two tensors among indices", `x: "f32[4, 5, 8][40, 8, 1]cpu", i: "i64[3][1]cpu"`,
			"a: \"f32[3, 5][5, 1]cpu\" = x[(i, slice(None, None, None), i)]\nreturn (a,)", "torch.index(x, [i, None, i])",
		},
		{
			"a tensor of numbers", x48, "a: \"i64[2][1]cpu\" = torch.tensor([3, 4])\nreturn (a,)",
			"torch.stack([a__of_number0, a__of_number1])",
		},
		{
			"a number as a tensor", x48, "a: \"f32[][]cpu\" = torch.tensor(0.5, dtype = torch.float32)\n" +
				"b: \"f32[4, 8][8, 1]cpu\" = x * a\nreturn (b,)", "torch.scalar_tensor(0.5, dtype = torch.float32)",
		},
		{
			"a copy into new memory", x48, "e: \"f32[4, 8][8, 1]cpu\" = torch.ops.aten.new_empty_strided.default(x, [4, 8], [8, 1])\n" +
				"a: \"f32[4, 8][8, 1]cpu\" = torch.ops.aten.copy.default(e, x)\nreturn (a,)", "torch.full([4, 8], 0.0",
		},
		{
			"an assertion", x48, "_assert_async = torch.ops.aten._assert_async.msg(x, 'no');  _assert_async = None\n" +
				"a: \"f32[4, 8][8, 1]cpu\" = torch.relu(x)\nreturn (a,)", "torch.relu(x)",
		},
		{
			"the largest of several sizes", `x: "f32[Max(4, 2, 3), 8][8, 1]cpu"`, "a: \"f32[4, 8][8, 1]cpu\" = torch.relu(x)\nreturn (a,)",
			"torch.relu(x)",
		},
		{"pooling", imageText, poolText + "return (a,)", "max_pool2d_with_indices(x, [3, 3], stride = [2, 2], padding = [1, 1])"},
		{"pooling with offsets", imageText, poolText + offsetText + "return (a, b)", "dtype = torch.int8"},
		{
			"pooling, there and back", imageText, poolText + offsetText + indexText + "return (a, i)", "torch.alias(i__of_index1)",
		},
		{
			"in place", x48, "x += 1;  y: \"f32[4, 8][8, 1]cpu\" = x;  x = None\nz: \"f32[4, 8][8, 1]cpu\" = torch.relu(y)\nreturn (z,)",
			"torch.relu(",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Build(fx.Parse(text(c.params, c.body)), "g", nil)
			if err != nil {
				t.Fatal(err)
			}
			if code := r.Graph.Code(); !strings.Contains(code, c.want) {
				t.Errorf("no %q in\n%s", c.want, code)
			}
			if r.Device != "cpu" {
				t.Errorf("the device is %q", r.Device)
			}
		})
	}
}

// TestRefusals: what cannot be lowered is said, in one line.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ params, body, want string }{
		{"x", "s = torch.sin(x)\nreturn (s,)", "x: the text has no dtypes and shapes"},
		{`x: "f32[4]"`, "return (x,)", "x: the text has no strides"},
		{`x: "f8e4m3fn[4][1]cpu"`, "return (x,)", "x: the dtype f8e4m3fn is not supported"},
		{`x: "f32[s1][1]cpu"`, "return (x,)", "the trace does not say what the size s1 is"},
		{
			x48 + `, y: "f32[4, 8][8, 1]cuda:0"`, "a: \"f32[4, 8][8, 1]cpu\" = torch.add(x, y)\nreturn (a,)",
			"y: the graph is on several devices, cpu and cuda:0, and graphs on one are lowered",
		},
		{
			x48, "a: \"f32[4, 8][8, 1]cpu\" = torch.ops.mylib.foo.default(x)\n" +
				"b: \"f32[4, 8][8, 1]cpu\" = torch.ops.mylib.foo.default(a)\n" +
				"c: \"f32[4, 8][8, 1]cpu\" = torch.ops.aten.nothing.default(b)\nreturn (c,)",
			"2 operators are not supported: mylib.foo.default (2), aten.nothing.default (1)",
		},
		{
			x48, "a: \"f32[4, 9][9, 1]cpu\" = torch.ops.aten.sin.default(x)\nreturn (a,)",
			"1 operator is not supported: aten.sin.default: it gives torch.float32[4, 8], and the text says torch.float32[4, 9] (1)",
		},
		{x48, "a: \"f32[4, 8][8, 1]cpu\" = torch.ops.aten.sin.default(x, x, x)\nreturn (a,)", "takes 1 arguments by position, and has 3"},
		{x48, "x_1 = torch.ops.aten.sin.default(x)\nx_1 = torch.ops.aten.sin.default(x)\nreturn (x_1,)", "two nodes are named x_1"},
		{x48, "a = torch.ops.aten.sin.default(" + strings.Repeat("[", 100) + "\nreturn (a,)", ""},
		{x48, "a: \"f32[4, 8][8, 1]cpu\" = self.lin(x)\nreturn (a,)", "1 operator is not supported: call_module.lin (1)"},
	} {
		_, err := Build(fx.Parse(text(c.params, c.body)), "g", nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s\nsays %v\nwant %s", c.body, err, c.want)
		}
	}
}

// TestLargeGraphs: one of 100,000 nodes is refused before anything is made of it.
func TestLargeGraphs(t *testing.T) {
	var sb strings.Builder
	last := "x"
	for i := range 100_000 {
		fmt.Fprintf(&sb, "n%d: \"f32[4, 8][8, 1]cpu\" = torch.ops.aten.sin.default(%s)\n", i, last)
		last = fmt.Sprintf("n%d", i)
	}
	_, err := Build(fx.Parse(text(x48, sb.String()+"return ("+last+",)")), "g", nil)
	if err == nil || err.Error() != "the graph has 100002 nodes, and graphs of up to 20000 are lowered" {
		t.Error(err)
	}
}

// TestLines: each node keeps the line and the name of the text.
func TestLines(t *testing.T) {
	r, err := Build(fx.Parse(text(x48, "# File: /u/m.py:4 in f, code: y = x.sin()\n"+
		"sin: \"f32[4, 8][8, 1]cpu\" = torch.ops.aten.sin.default(x)\n# No stacktrace found for following nodes\n"+
		"cos: \"f32[4, 8][8, 1]cpu\" = torch.ops.aten.cos.default(sin)\nreturn (cos,)")), "g", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range r.Graph.Nodes() {
		if n.OpRow() != nil && r.NodeOf(n) != n.Name {
			t.Errorf("%s is of %q", n.Name, r.NodeOf(n))
		}
	}
	if s := r.Source["sin"]; s.Line != 4 || r.Source["cos"].Line != 0 {
		t.Errorf("lines %v and %v", s, r.Source["cos"])
	}
}

// TestSignatures holds the list of PyTorch's operators against the installed PyTorch.
func TestSignatures(t *testing.T) {
	for target, want := range map[string]export.Signature{
		"torch.ops.aten.add.Tensor":   {Names: []string{"self", "other", "alpha"}, Positional: 2, Results: 1},
		"torch.ops.aten.split.Tensor": {Names: []string{"self", "split_size", "dim"}, Positional: 3, Results: export.ListResult},
		"torch.nn.functional.relu":    {Names: []string{"input", "inplace"}, Positional: 2, Results: export.AnyResult},
	} {
		got, ok := export.SignatureOf(target)
		if !ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", target, got, want)
		}
	}
	if _, ok := export.SignatureOf("torch.ops.aten.nothing.default"); ok {
		t.Error("an operator that is none has a signature")
	}
}

func FuzzBuild(f *testing.F) {
	f.Add(text(x48, "m = torch.ops.aten.max.dim(x, 1);  x = None\ngetitem: \"f32[4][1]cpu\" = m[0];  m = None\nreturn (getitem,)"))
	f.Add(text(x48+`, s1: "Sym(s1)"`, "a: \"f32[s1, 8][8, 1]cpu\" = x[(slice(0, s1, None), Ellipsis)]\nreturn (a,)"))
	for _, name := range []string{"mlp", "layer"} {
		for _, form := range formsOf(f, filepath.Join("../../internal/app/lowering/testdata", name+".log.zst")) {
			if len(form.text) < 1<<14 {
				f.Add(form.text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		timer := time.AfterFunc(5*time.Second, func() { panic("Build does not end") })
		_, err := Build(fx.Parse(text), "g", map[string]int64{"s1": 3, "s77": 5})
		timer.Stop()
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b\r") {
			t.Errorf("an error of several lines: %q", err)
		}
		if missing := new(export.Missing); errors.As(err, &missing) && len(missing.Counts) == 0 {
			t.Error("operators are missing, and none is named")
		}
	})
}

// TestSignaturesAreNew wants what the script writes with the installed PyTorch 2.15.
func TestSignaturesAreNew(t *testing.T) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		t.Skip("set TCDBG_PYTHON to a Python with torch 2.15 to run this test")
	}
	out := script(t, python, "-c", "import torch; print(torch.__version__)")
	if !strings.HasPrefix(string(out), "2.15") {
		t.Skipf("PyTorch %s, and the list is of 2.15", out)
	}
	have, err := os.ReadFile("../../torch/export/signatures.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(script(t, python, "../../scripts/aten-schemas.py")) != string(have) {
		t.Error("torch/export/signatures.txt is not what scripts/aten-schemas.py writes")
	}
}

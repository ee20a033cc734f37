package fxtext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/internal/test/traces"
	"tcdbg/logs/fx"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file has PyTorch run the texts of graphs, and compares what ours compute of the same inputs.

// form is one text of a trace.
type form struct {
	where, text string
	hints       map[string]int64
}

// formsOf lists the texts of graphs in a trace.
func formsOf(t testing.TB, path string) []form {
	t.Helper()
	st := traces.Open(t, path)
	f := fold.New(st)
	if err := st.Read(t.Context(), f.Add); err != nil {
		t.Fatal(err)
	}
	r := f.Snapshot()
	var out []form
	for _, g := range r.Graphs {
		hints := map[string]int64{}
		for _, s := range r.Symbols {
			var v int64
			if _, err := fmt.Sscan(s.Hint, &v); err == nil && s.ID == g.ID {
				hints[s.Name] = v
			}
		}
		for _, s := range g.Stages {
			if slices.Contains([]string{"dynamo", "joint", "forward", "backward", "inference", "post-grad"}, s.Name) {
				out = append(out, form{fmt.Sprintf("%s %s %s", filepath.Base(path), g.ID, s.Name), s.Load(), hints})
			}
		}
	}
	return out
}

// traceFiles are traces of PyTorch.
func traceFiles(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{
		"../../explain/testdata/traces/pytorch-*/*.log.zst", "../../internal/app/lowering/testdata/*.log.zst",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		out = append(out, files...)
	}
	return out
}

type askedInput struct {
	DType  string `json:"dtype"`
	Shape  []int  `json:"shape"`
	Stride []int  `json:"stride"`
	Value  *int64 `json:"value,omitempty"`
}

type asked struct {
	Text   string       `json:"text"`
	Inputs []askedInput `json:"inputs"`
}

type answered struct {
	Error   string `json:"error"`
	Outputs []*struct {
		DType  string    `json:"dtype"`
		Shape  []int     `json:"shape"`
		Values []float64 `json:"values"`
	} `json:"outputs"`
}

// TestTorchAgrees runs every graph of the traces that PyTorch can run on this machine.
func TestTorchAgrees(t *testing.T) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		t.Skip("set TCDBG_PYTHON to a Python with torch to run this test")
	}
	var list []asked
	var reads []*Read
	var where []string
	forms := slices.Clone(handWritten)
	for _, f := range handWritten {
		if _, err := Build(fx.Parse(f.text), "graph", nil); err != nil {
			t.Errorf("%s: %v", f.where, err)
		}
	}
	for _, file := range traceFiles(t) {
		forms = append(forms, formsOf(t, file)...)
	}
	for _, f := range forms {
		parsed := fx.Parse(f.text)
		read, err := Build(parsed, "graph", f.hints)
		if err != nil || !runnable(f.text, read) {
			continue
		}
		text := f.text
		if i := strings.Index(text, "("); i > 0 && strings.Contains(text[:i], "class ") {
			text = "class Graph" + text[i:] // instead of <lambda>
		}
		a := asked{Text: strings.ReplaceAll(text, "cuda:0", "cpu")}
		a.Text = strings.ReplaceAll(a.Text, "type='cuda', index=0", "type='cpu'")
		for _, p := range read.Graph.Placeholders() {
			a.Inputs = append(a.Inputs, inputOf(p.Meta))
		}
		list, reads, where = append(list, a), append(reads, read), append(where, f.where)
	}
	compared := 0
	for i, a := range ask(t, python, list) {
		if a.Error != "" {
			t.Logf("%s: PyTorch cannot run it: %s", where[i], a.Error)
			if i < len(handWritten) {
				t.Errorf("%s is no text of PyTorch's", where[i])
			}
			continue
		}
		compared++
		compareOutputs(t, where[i], reads[i], list[i].Inputs, a)
	}
	t.Logf("%d graphs agree with PyTorch", compared)
	if compared < 500 {
		t.Errorf("only %d graphs were compared", compared)
	}
}

// handWritten are forms that the traces have few of or none.
var handWritten = []form{
	{"offsets of a pooling", text(imageText, poolText+offsetText+"return (a, b)"), nil},
	{"indices of a pooling", text(imageText, poolText+offsetText+indexText+"return (a, b, i)"), nil},
	{"a dilated pooling", text(
		`x: "f32[2, 9, 8][72, 8, 1]cpu"`,
		"p = torch.ops.prims._low_memory_max_pool_with_offsets.default(x, [2, 3], [1, 2], [0, 1], [2, 2], True)\n"+
			"a: \"f32[2, 7, 4][28, 4, 1]cpu\" = p[0]\nb: \"i8[2, 7, 4][28, 4, 1]cpu\" = p[1]\n"+
			"i: \"i64[2, 7, 4][28, 4, 1]cpu\" = "+
			"torch.ops.prims._low_memory_max_pool_offsets_to_indices.default(b, [2, 3], [9, 8], [1, 2], [0, 1], [2, 2])\nreturn (a, b, i)",
	), nil},
	{"a pooling in three dimensions", text(
		`x: "f32[2, 6, 5, 4][120, 20, 4, 1]cpu"`,
		"p = torch.ops.prims._low_memory_max_pool_with_offsets.default(x, [2, 3, 2], [2, 1, 2], [0, 1, 0], [1, 1, 1], False)\n"+
			"a: \"f32[2, 3, 5, 2][30, 10, 2, 1]cpu\" = p[0]\nb: \"i8[2, 3, 5, 2][30, 10, 2, 1]cpu\" = p[1]\n"+
			"i: \"i64[2, 3, 5, 2][30, 10, 2, 1]cpu\" = "+
			"torch.ops.prims._low_memory_max_pool_offsets_to_indices.default(b, [2, 3, 2], [6, 5, 4], [2, 1, 2], [0, 1, 0], [1, 1, 1])\n"+
			"return (a, b, i)",
	), nil},
	{"the derivative of average pooling", text(
		`g: "f32[2, 5, 4][20, 4, 1]cpu", x: "f32[2, 9, 7][63, 7, 1]cpu"`,
		"a: \"f32[2, 9, 7][63, 7, 1]cpu\" = "+
			"torch.ops.aten.avg_pool2d_backward.default(g, x, [3, 3], [2, 2], [1, 1], False, False, None)\nreturn (a,)",
	), nil},
	{"the derivative of average pooling with the kernel's stride", text(
		`g: "f32[2, 4, 3][12, 3, 1]cpu", x: "f32[2, 9, 7][63, 7, 1]cpu"`,
		"a: \"f32[2, 9, 7][63, 7, 1]cpu\" = "+
			"torch.ops.aten.avg_pool2d_backward.default(g, x, [2, 2], [], [0, 0], False, True, 3)\nreturn (a,)",
	), nil},
	{"the derivative of adaptive pooling", text(
		`g: "f32[2, 3, 4, 3][36, 12, 3, 1]cpu", x: "f32[2, 3, 9, 7][189, 63, 7, 1]cpu"`,
		"a: \"f32[2, 3, 9, 7][189, 63, 7, 1]cpu\" = torch.ops.aten._adaptive_avg_pool2d_backward.default(g, x)\nreturn (a,)",
	), nil},
	{"the derivative of layer norm", text(
		`g: "f32[4, 3, 8][24, 8, 1]cpu", x: "f32[4, 3, 8][24, 8, 1]cpu", m: "f32[4, 3, 1][3, 1, 1]cpu", r: "f32[4, 3, 1][3, 1, 1]cpu", `+
			`w: "f32[8][1]cpu", b: "f32[8][1]cpu"`,
		"n = torch.ops.aten.native_layer_norm_backward.default(g, x, [8], m, r, w, b, [True, True, True])\n"+
			"p: \"f32[4, 3, 8][24, 8, 1]cpu\" = n[0]\nq: \"f32[8][1]cpu\" = n[1]\ns: \"f32[8][1]cpu\" = n[2]\nreturn (p, q, s)",
	), nil},
	{"a tensor among indices", text(
		x48+`, i: "i64[3][1]cpu"`, "a: \"f32[2, 3][3, 1]cpu\" = x[(slice(1, 3, None), i)]\nreturn (a,)",
	), nil},
	{"tensors apart from each other", text(
		`x: "f32[4, 5, 8][40, 8, 1]cpu", i: "i64[3][1]cpu"`,
		"a: \"f32[3, 5][5, 1]cpu\" = x[(i, slice(None, None, None), i)]\nreturn (a,)",
	), nil},
	{"a tensor behind a number", text(
		`x: "f32[4, 5, 8][40, 8, 1]cpu", i: "i64[3][1]cpu"`,
		"a: \"f32[5, 3, 1][3, 1, 1]cpu\" = x[(1, slice(None, None, None), i, None)]\nreturn (a,)",
	), nil},
}

// runnable reports whether both sides compute the same: no random numbers, and of a size that a test takes.
func runnable(text string, r *Read) bool {
	for _, word := range []string{"rand", "dropout", "bernoulli", "Higher", "empty"} {
		if strings.Contains(text, word) {
			return false
		}
	}
	elements := 0
	for _, n := range r.Graph.Nodes() {
		if m, ok := n.Meta.(*ops.TensorMeta); ok {
			elements += int(sym.Product(m.Shape).Hint())
		}
	}
	return elements < 2_000_000 && len(r.Graph.Placeholders()) > 0
}

func inputOf(meta any) askedInput {
	m, ok := meta.(*ops.TensorMeta)
	if !ok {
		v := meta.(sym.Int).Hint()
		return askedInput{Value: &v}
	}
	in := askedInput{DType: m.DType.Name(), Shape: sym.Hints(m.Shape), Stride: sym.Hints(m.Stride)}
	if len(in.Shape) == 0 {
		in.Shape, in.Stride = []int{}, []int{}
	}
	return in
}

func ask(t *testing.T, python string, list []asked) []answered {
	t.Helper()
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "testdata/run.py")
	cmd.Stdin = bytes.NewReader(text)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	var a []answered
	out = bytes.ReplaceAll(bytes.ReplaceAll(out, []byte("-Infinity"), []byte("-1e308")), []byte("Infinity"), []byte("1e308"))
	out = bytes.ReplaceAll(out, []byte("NaN"), []byte("1.5e307"))
	if err := json.Unmarshal(out, &a); err != nil || len(a) != len(list) {
		t.Fatal(err)
	}
	return a
}

// value is what the script makes of an input.
func value(in askedInput, k int) torch.Value {
	if in.Value != nil {
		return int(*in.Value)
	}
	count := 1
	for _, n := range in.Shape {
		count *= n
	}
	values := make([]float64, count)
	d, _ := ops.ParseDType(in.DType)
	for i := range values {
		v := (i*7919 + k*104729) % 997
		if values[i] = float64(v % 2); d.IsFloat() {
			values[i] = float64(v)/997 + 0.1
		}
	}
	data := torch.NewTensor(values, torch.Option{Name: "dtype", Value: torch.Float64}).Reshape(in.Shape...).To(d)
	size := 1
	for i := range in.Shape {
		size += (in.Shape[i] - 1) * in.Stride[i]
	}
	base := torch.NewTensor(make([]float64, max(size, 0)), torch.Option{Name: "dtype", Value: torch.Float64}).To(d)
	return base.AsStrided(in.Shape, in.Stride).Copy_(data)
}

func compareOutputs(t *testing.T, where string, r *Read, inputs []askedInput, a answered) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s: ours panics: %v", where, v)
		}
	}()
	in := make([]torch.Value, len(inputs))
	for k := range inputs {
		in[k] = value(inputs[k], k)
	}
	out := r.Graph.RunUntaped(in)
	if len(out) != len(a.Outputs) {
		t.Errorf("%s: %d outputs, and PyTorch has %d", where, len(out), len(a.Outputs))
		return
	}
	for i, o := range out {
		x, ok := o.(*torch.Tensor)
		if !ok || a.Outputs[i] == nil {
			continue
		}
		got := x.To(torch.Float64).Contiguous().Float64s()
		want := a.Outputs[i]
		if !slices.Equal(x.Shape(), want.Shape) || x.DType().String() != want.DType {
			t.Errorf("%s: output %d is %s%v, and PyTorch's %s%v", where, i, x.DType(), x.Shape(), want.DType, want.Shape)
			continue
		}
		for j := range got {
			if far(got[j], want.Values[j]) {
				t.Errorf("%s: output %d has %v at %d, and PyTorch's %v", where, i, got[j], j, want.Values[j])
				break
			}
		}
	}
}

func far(a, b float64) bool {
	switch {
	case b == 1.5e307:
		return !math.IsNaN(a)
	case math.Abs(b) == 1e308:
		return !math.IsInf(a, int(b/1e307))
	}
	return math.Abs(a-b) > 2e-3*(1+math.Abs(b)) || math.IsNaN(a)
}

// script runs Python.
func script(t *testing.T, python string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(python, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	return out
}

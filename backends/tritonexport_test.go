package backends

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file writes programs as Triton kernels with their inputs and eager
// results into a folder, which scripts/compare-triton.py runs and compares on a GPU.

var tritonExport = flag.String("triton-export", "", "folder to write Triton kernels, inputs and eager results to")

// tritonCases are programs for each form of kernel.
var tritonCases = []struct {
	name string
	make func(g *testGraph) []ops.Value
}{
	{"pointwise", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Float32, 1, 37, 65)), g.input(filled(ops.Float32, 2, 37, 65))
		return []ops.Value{g.Emit(ops.Add, g.Emit(ops.Mul, g.Emit(ops.Silu, x), x), y)}
	}},
	{"elementary", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float32, 1, 1000))
		var out []ops.Value
		for _, id := range []ops.ID{
			ops.Sin, ops.Cos, ops.Tanh, ops.Sigmoid, ops.Erf, ops.Gelu, ops.Expm1, ops.Atan, ops.Exp2,
			ops.Floor, ops.Ceil, ops.Trunc, ops.Round, ops.Sign, ops.Abs, ops.Neg, ops.Relu,
		} {
			out = append(out, g.Emit(id, x))
		}
		pos := g.Emit(ops.Add, g.Emit(ops.Abs, x), 0.5)
		for _, id := range []ops.ID{ops.Log, ops.Log1p, ops.Log2, ops.Sqrt, ops.Rsqrt, ops.Reciprocal} {
			out = append(out, g.Emit(id, pos))
		}
		return append(out, g.Emit(ops.Pow, pos, x), g.Emit(ops.Atan2, x, pos), g.Emit(ops.Fmod, x, 0.7), g.Emit(ops.Remainder, x, 0.75))
	}},
	{"broadcast", func(g *testGraph) []ops.Value {
		a, b, c := g.input(filled(ops.Float32, 1, 8, 1, 33)), g.input(filled(ops.Float32, 2, 5, 1)), g.input(filled(ops.Float32, 3))
		return []ops.Value{g.Emit(ops.Mul, g.Emit(ops.Add, a, b), c)}
	}},
	{"transposed", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float32, 1, 40, 70))
		return []ops.Value{g.Emit(ops.Contiguous, g.Emit(ops.Transpose, g.Emit(ops.Sin, x), sym.C(0), sym.C(1)))}
	}},
	{"softmax", func(g *testGraph) []ops.Value {
		return []ops.Value{g.Emit(ops.Softmax, g.Emit(ops.Mul, g.input(filled(ops.Float32, 1, 50, 300)), 0.125), sym.C(-1))}
	}},
	{"attention of half precision", func(g *testGraph) []ops.Value {
		half := func(seed, rows, cols int) ops.Value {
			return g.Emit(ops.To, g.input(filled(ops.BFloat16, seed, 2, rows, cols)), ops.Float32)
		}
		q, k, v := half(1, 20, 32), half(2, 40, 32), half(3, 40, 16)
		scores := g.Emit(ops.Mul, g.Emit(ops.Bmm, q, g.Emit(ops.Transpose, k, sym.C(1), sym.C(2))), 0.125)
		weights := g.Emit(ops.To, g.Emit(ops.Softmax, scores, sym.C(-1)), ops.BFloat16)
		return []ops.Value{g.Emit(ops.Bmm, g.Emit(ops.To, weights, ops.Float32), v)}
	}},
	{"softmax of columns", func(g *testGraph) []ops.Value {
		return []ops.Value{g.Emit(ops.Softmax, g.input(filled(ops.Float32, 1, 60, 35)), sym.C(0))}
	}},
	{"log_softmax", func(g *testGraph) []ops.Value {
		return []ops.Value{g.Emit(ops.LogSoftmax, g.input(filled(ops.Float32, 1, 20, 100)), sym.C(-1))}
	}},
	{"layer_norm", func(g *testGraph) []ops.Value {
		x, r := g.input(filled(ops.Float32, 1, 30, 96)), g.input(filled(ops.Float32, 2, 30, 96))
		w, b := g.input(filled(ops.Float32, 3, 96)), g.input(filled(ops.Float32, 4, 96))
		return []ops.Value{g.EmitN(ops.LayerNorm, g.Emit(ops.Add, x, r), sym.Consts([]int{96}), w, b)[0]}
	}},
	{"rms_norm", func(g *testGraph) []ops.Value {
		return []ops.Value{g.Emit(ops.RmsNorm, g.input(filled(ops.Float32, 1, 16, 128)), sym.Consts([]int{128}),
			g.input(filled(ops.Float32, 2, 128)))}
	}},
	{"reductions", func(g *testGraph) []ops.Value {
		x, dim := g.input(filled(ops.Float32, 1, 32, 100)), sym.Consts([]int{1})
		return []ops.Value{
			g.Emit(ops.Sum, x, dim), g.Emit(ops.Amax, x, dim), g.Emit(ops.Amin, x, dim), g.Emit(ops.Mean, x, dim),
			g.Emit(ops.Argmax, x, sym.C(1)), g.Emit(ops.Argmin, x, sym.C(1)),
		}
	}},
	{"whole", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float32, 1, 31, 33))
		return []ops.Value{
			g.Emit(ops.Sum, x), g.Emit(ops.Amax, g.Emit(ops.Abs, x)), g.Emit(ops.Any, g.Emit(ops.Gt, x, 0.5)),
			g.Emit(ops.AllOf, g.Emit(ops.Lt, x, 100.0)),
		}
	}},
	{"columns", func(g *testGraph) []ops.Value {
		return []ops.Value{g.Emit(ops.Mean, g.input(filled(ops.Float32, 1, 100, 33)), sym.Consts([]int{0}))}
	}},
	{"variance", func(g *testGraph) []ops.Value {
		return []ops.Value{g.Emit(ops.Var, g.input(filled(ops.Float32, 1, 12, 77)), sym.Consts([]int{1}))}
	}},
	{"choice", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Float32, 1, 200)), g.input(filled(ops.Float32, 2, 200))
		c := g.Emit(ops.LogicalOr, g.Emit(ops.Gt, x, y), g.Emit(ops.Isnan, x))
		return []ops.Value{g.Emit(ops.Where, c, x, y), c, g.Emit(ops.Clamp, x, -0.5, 0.5), g.Emit(ops.Maximum, x, y)}
	}},
	{"integers", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Int64, 1, 120)), g.input(filled(ops.Int64, 2, 120))
		pos := g.Emit(ops.Add, g.Emit(ops.Abs, y), sym.C(1))
		return []ops.Value{
			g.Emit(ops.Mul, x, y), g.Emit(ops.Div, x, pos, "floor"), g.Emit(ops.Div, x, pos, "trunc"),
			g.Emit(ops.Remainder, x, pos), g.Emit(ops.Fmod, x, pos),
			g.Emit(ops.BitwiseXor, x, y), g.Emit(ops.Div, x, pos), g.Emit(ops.Sign, x), g.Emit(ops.Sum, x),
			g.Emit(ops.Amax, g.Emit(ops.To, x, ops.Int32)),
		}
	}},
	{"double", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float64, 1, 9, 40))
		return []ops.Value{g.Emit(ops.Softmax, g.Emit(ops.Exp, x), sym.C(-1)), g.Emit(ops.To, x, ops.Float32)}
	}},
	{"positions", func(g *testGraph) []ops.Value {
		x, idx := g.input(filled(ops.Float32, 1, 20, 48)), g.input(torch.NewTensor([]int64{3, 0, 19, 7, 7, 2, 11}))
		return []ops.Value{g.Emit(ops.Embedding, idx, x), g.Emit(ops.Gather, g.Emit(ops.Select, x, sym.C(1), sym.C(2)), sym.C(0), idx)}
	}},
	{"pooling", func(g *testGraph) []ops.Value {
		x, two := g.input(filled(ops.Float32, 1, 2, 3, 12, 10)), sym.Consts([]int{2, 2})
		return []ops.Value{
			g.Emit(ops.MaxPool2d, x, sym.Consts([]int{3, 3}), two, sym.Consts([]int{1, 1})),
			g.Emit(ops.AvgPool2d, x, two, two), g.Emit(ops.AdaptiveAvgPool2d, x, sym.Consts([]int{1, 1})),
		}
	}},
	{"concat", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Float32, 1, 14, 8)), g.input(filled(ops.Float32, 2, 14, 3))
		return []ops.Value{g.Emit(ops.Cat, []ops.Value{g.Emit(ops.Relu, x), y}, sym.C(1))}
	}},
	{"triangle", func(g *testGraph) []ops.Value {
		return []ops.Value{
			g.Emit(ops.Tril, g.input(filled(ops.Float32, 1, 3, 25, 25)), sym.C(1)), g.Emit(ops.Arange, sym.C(30)),
			g.Emit(ops.Linspace, 0.0, 1.0, sym.C(11)),
		}
	}},
	{"scans", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float32, 1, 20, 45))
		return []ops.Value{g.Emit(ops.Cumsum, x, sym.C(1)), g.Emit(ops.Cumprod, x, sym.C(1)), g.Emit(ops.Cumsum, x, sym.C(0))}
	}},
	{"half", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Float16, 1, 11, 64)), g.input(filled(ops.BFloat16, 2, 11, 64))
		return []ops.Value{
			g.Emit(ops.Softmax, g.Emit(ops.Mul, x, x), sym.C(-1)), g.Emit(ops.Add, g.Emit(ops.Silu, y), y),
			g.Emit(ops.Sum, x, sym.Consts([]int{1})),
		}
	}},
	{"small integers", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Int8, 1, 90)), g.input(filled(ops.Int16, 2, 90))
		return []ops.Value{g.Emit(ops.Mul, x, x), g.Emit(ops.Add, y, x), g.Emit(ops.Abs, y)}
	}},
	{"padding", func(g *testGraph) []ops.Value {
		x, by := g.input(filled(ops.Float32, 1, 2, 3, 9, 11)), sym.Consts([]int{2, 3, 1, 2})
		return []ops.Value{
			g.Emit(ops.Pad, x, by, "reflect"), g.Emit(ops.Pad, x, by, "replicate"),
			g.Emit(ops.Pad, x, by, "circular"), g.Emit(ops.Pad, x, by),
		}
	}},
	{"long rows", func(g *testGraph) []ops.Value {
		x, dim := g.input(filled(ops.Float32, 1, 5, 9001)), sym.Consts([]int{1})
		y := g.Emit(ops.Mul, x, 0.5)
		return []ops.Value{
			g.Emit(ops.Softmax, y, sym.C(-1)), g.Emit(ops.Var, x, dim), g.Emit(ops.Argmax, x, sym.C(1)),
			g.Emit(ops.Amin, x, dim), g.Emit(ops.Argmin, x, sym.C(1)),
		}
	}},
	{"long columns", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float32, 1, 7000, 33))
		return []ops.Value{g.Emit(ops.Sum, g.Emit(ops.Mul, x, x), sym.Consts([]int{0})), g.Emit(ops.Any, g.Emit(ops.Gt, x, 0.9), sym.C(0))}
	}},
	{"long scan", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float32, 1, 3, 6000))
		return []ops.Value{g.Emit(ops.Cumsum, x, sym.C(1)), g.EmitN(ops.Cummax, x, sym.C(1))[0]}
	}},
	{"linear", func(g *testGraph) []ops.Value {
		x, w, b := g.input(filled(ops.Float32, 1, 70, 45)), g.param(filled(ops.Float32, 2, 90, 45)), g.param(filled(ops.Float32, 3, 90))
		return []ops.Value{g.Emit(ops.Gelu, g.Emit(ops.Linear, x, w, b))}
	}},
	{"batched product", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Float32, 1, 3, 4, 17, 20)), g.input(filled(ops.Float32, 2, 3, 4, 20, 70))
		p := g.Emit(ops.Matmul, x, y)
		return []ops.Value{p, g.Emit(ops.Add, g.Emit(ops.Relu, p), g.input(filled(ops.Float32, 3, 17, 1)))}
	}},
	{"gradients in groups", func(g *testGraph) []ops.Value {
		var out []ops.Value
		for i, c := range []struct{ in, out, groups, kernel, step, pad int }{{6, 6, 6, 3, 2, 1}, {8, 12, 4, 3, 1, 0}, {4, 8, 2, 2, 2, 1}} {
			one, step, pad := ints(1, 1), ints(c.step, c.step), ints(c.pad, c.pad)
			x := g.input(filled(ops.Float32, 3*i, 2, c.in, 9, 7))
			w := g.input(filled(ops.Float32, 3*i+1, c.out, c.in/c.groups, c.kernel, c.kernel))
			y := g.Emit(ops.Convolution, x, w, nil, step, pad, one, false, ints(0, 0), sym.C(c.groups))
			dy := g.input(filled(ops.Float32, 3*i+2, constants(y.TensorMeta().Shape)...))
			grads := g.EmitN(ops.ConvolutionBackward, dy, x, w, step, pad, one, false, ints(0, 0), sym.C(c.groups), []bool{true, true})
			out = append(append(out, y), grads...)
		}
		x, w := g.input(filled(ops.Float32, 10, 2, 6, 21)), g.input(filled(ops.Float32, 11, 6, 1, 3))
		dy := g.input(filled(ops.Float32, 12, 2, 6, 11))
		two, one, none := ints(2), ints(1), ints(0)
		return append(out, g.EmitN(ops.ConvolutionBackward, dy, x, w, two, one, one, false, none, sym.C(6), []bool{true, true})...)
	}},
	{"groups in blocks", func(g *testGraph) []ops.Value {
		conv := func(x ops.Value, seed, in, out, groups, kernel, step int) ops.Value {
			w, pad := g.param(filled(ops.Float32, seed, out, in/groups, kernel, kernel)), ints(kernel/2, kernel/2)
			return g.Emit(ops.Relu, g.Emit(ops.Convolution, x, w, nil, ints(step, step), pad, ints(1, 1), false, ints(0, 0), sym.C(groups)))
		}
		x := conv(g.input(filled(ops.Float32, 1, 2, 8, 30, 30)), 2, 8, 32, 1, 1, 1)
		return []ops.Value{conv(conv(x, 3, 32, 32, 8, 3, 1), 4, 32, 16, 1, 1, 1), conv(conv(x, 5, 32, 32, 2, 3, 2), 6, 32, 16, 1, 1, 1)}
	}},
	{"one of a row", func(g *testGraph) []ops.Value {
		at, v := g.input(torch.NewTensor([][]int{{5}, {0}, {3}})), g.input(filled(ops.Float32, 1, 3, 1))
		hot := g.Emit(ops.ScatterAdd, g.Emit(ops.Full, sym.Consts([]int{3, 6}), 0.0), sym.C(1), at, v)
		return []ops.Value{g.Emit(ops.Sub, hot, g.input(filled(ops.Float32, 2, 3, 6)))}
	}},
	{"convolution", func(g *testGraph) []ops.Value {
		x, w, b := g.input(filled(ops.Float32, 1, 2, 6, 13, 15)), g.param(filled(ops.Float32, 2, 8, 3, 3,
			3)), g.param(filled(ops.Float32, 3, 8))
		two := sym.Consts([]int{2, 2})
		y := g.Emit(ops.Conv2d, x, w, b, two, sym.Consts([]int{1, 0}), sym.Consts([]int{1, 2}), sym.C(2))
		return []ops.Value{g.Emit(ops.Relu, y), g.Emit(ops.Conv2d, x, g.param(filled(ops.Float32, 4, 5, 6, 1, 1)))}
	}},
	{"scatter", func(g *testGraph) []ops.Value {
		x, idx := g.input(filled(ops.Float32, 1, 6, 40)), g.input(torch.NewTensor([][]int64{{3, 0, 19, 3}, {7, 2, 11, 39}}))
		src := g.input(filled(ops.Float32, 2, 2, 4))
		return []ops.Value{g.Emit(ops.ScatterAdd, x, sym.C(1), idx, src), g.Emit(ops.Scatter, x, sym.C(1), idx, src)}
	}},
	{"extern", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float32, 1, 12, 30))
		v := g.EmitN(ops.Topk, g.Emit(ops.Sin, x), sym.C(4))
		return []ops.Value{g.Emit(ops.Mul, v[0], 2.0), v[1], g.Emit(ops.Digamma, g.Emit(ops.Exp, x))}
	}},
}

// tritonCase is what case.json holds. Sizes and strides are in elements.
type tritonCase struct {
	Inputs  []tritonTensor `json:"inputs"`
	Outputs []tritonTensor `json:"outputs"` // what eager gives, row-major
	Kernels int            `json:"kernels"`
}

type tritonTensor struct {
	DType  string `json:"dtype,omitempty"`
	Shape  []int  `json:"shape,omitempty"`
	Stride []int  `json:"stride,omitempty"`
	Data   []byte `json:"data,omitempty"`   // elements in the order of memory, little-endian
	Number any    `json:"number,omitempty"` // instead of a tensor
}

// tritonSink keeps the Triton code of the programs that are compiled under it.
type tritonSink struct{ codes []logs.TargetCode }

func (s *tritonSink) Emit(o logs.Out) {
	if meta, ok := o.Meta.(map[string]string); !ok || meta["name"] != "tcdbg_triton_code" {
		return
	}
	var v struct{ Data logs.TargetCode }
	if err := json.Unmarshal(o.Payload, &v); err != nil {
		panic(err)
	}
	if v.Data.Language == "triton" {
		s.codes = append(s.codes, v.Data)
	}
}

func (s *tritonSink) Stack([]logs.Frame) any { return nil }

// TestTritonExport writes every case; Python, where there is one, must parse the
// modules.
func TestTritonExport(t *testing.T) {
	dir := *tritonExport
	if dir == "" {
		dir = t.TempDir()
	}
	var files []string
	for _, c := range tritonCases {
		to := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "_"))
		g := newTestGraph(identifierOf(c.name))
		outs := c.make(g)
		m := g.outputs(outs...)
		var sink tritonSink
		opt := inductor.Options{Machine: cpp.Machine{Lanes: 8, Cache: 8 << 20}, Cores: 1, Log: &sink}
		if _, err := inductor.Compile(g.G, opt); err != nil {
			t.Fatal(err)
		}
		if missing := sink.codes[0].Missing; missing != "" {
			t.Errorf("%s: %s", c.name, missing)
		}
		if err := exportTriton(to, &sink.codes[0], g.in, m.Run(g.in)); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(to, "module.py"))
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python: that the modules are Python is not tested")
	}
	script := "import ast, sys\nfor f in sys.argv[1:]: ast.parse(open(f).read(), f)"
	if out, err := exec.Command(python, append([]string{"-c", script}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func identifierOf(s string) string { return strings.ReplaceAll(s, " ", "_") }

// exportTriton writes a module with what it takes and gives.
func exportTriton(dir string, code *logs.TargetCode, in, want []torch.Value) error {
	c := tritonCase{Inputs: []tritonTensor{}, Outputs: []tritonTensor{}, Kernels: len(code.Kernels)}
	for _, v := range in {
		c.Inputs = append(c.Inputs, exportValue(v))
	}
	for _, v := range want {
		if x, ok := v.(*torch.Tensor); ok {
			v = x.Detach().Contiguous()
		}
		c.Outputs = append(c.Outputs, exportValue(v))
	}
	js, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "module.py"), []byte(code.Text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "case.json"), js, 0o644)
}

func exportValue(v torch.Value) tritonTensor {
	x, ok := v.(*torch.Tensor)
	if !ok {
		return tritonTensor{Number: v}
	}
	size, stride, off := x.Layout()
	d := x.DType()
	span := 1
	for k := range size {
		span += (size[k] - 1) * stride[k]
	}
	if x.Numel() == 0 {
		span = 0
	}
	data := slices.Clone(x.Storage().Bytes()[off*d.Size() : (off+span)*d.Size()])
	runtime.KeepAlive(x)
	return tritonTensor{DType: d.Name(), Shape: slices.Clone(size), Stride: slices.Clone(stride), Data: data}
}

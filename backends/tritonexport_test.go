package backends

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/codegen/triton"
	"tcdbg/internal/ops"
	"tcdbg/internal/sym"
	"tcdbg/torch"
)

// This file writes programs as Triton kernels with their inputs and eager
// results into a folder, which scripts/run-triton.py runs and compares on a GPU.

var tritonExport = flag.String("triton-export", "", "folder to write Triton kernels, inputs and eager results to")

// tritonCases are programs whose kernels Triton text can hold.
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
		for _, id := range []ops.ID{ops.Sin, ops.Cos, ops.Tanh, ops.Sigmoid, ops.Erf, ops.Gelu, ops.Expm1, ops.Atan, ops.Exp2, ops.Floor, ops.Ceil, ops.Trunc, ops.Round, ops.Sign, ops.Abs, ops.Neg, ops.Relu} {
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
		return []ops.Value{g.Emit(ops.RmsNorm, g.input(filled(ops.Float32, 1, 16, 128)), sym.Consts([]int{128}), g.input(filled(ops.Float32, 2, 128)))}
	}},
	{"reductions", func(g *testGraph) []ops.Value {
		x, dim := g.input(filled(ops.Float32, 1, 32, 100)), sym.Consts([]int{1})
		return []ops.Value{g.Emit(ops.Sum, x, dim), g.Emit(ops.Amax, x, dim), g.Emit(ops.Amin, x, dim), g.Emit(ops.Mean, x, dim), g.Emit(ops.Argmax, x, sym.C(1)), g.Emit(ops.Argmin, x, sym.C(1))}
	}},
	{"whole", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float32, 1, 31, 33))
		return []ops.Value{g.Emit(ops.Sum, x), g.Emit(ops.Amax, g.Emit(ops.Abs, x)), g.Emit(ops.Any, g.Emit(ops.Gt, x, 0.5)), g.Emit(ops.AllOf, g.Emit(ops.Lt, x, 100.0))}
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
			g.Emit(ops.Mul, x, y), g.Emit(ops.Div, x, pos, "floor"), g.Emit(ops.Div, x, pos, "trunc"), g.Emit(ops.Remainder, x, pos), g.Emit(ops.Fmod, x, pos),
			g.Emit(ops.BitwiseXor, x, y), g.Emit(ops.Div, x, pos), g.Emit(ops.Sign, x), g.Emit(ops.Sum, x), g.Emit(ops.Amax, g.Emit(ops.To, x, ops.Int32)),
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
		return []ops.Value{g.Emit(ops.MaxPool2d, x, sym.Consts([]int{3, 3}), two, sym.Consts([]int{1, 1})), g.Emit(ops.AvgPool2d, x, two, two), g.Emit(ops.AdaptiveAvgPool2d, x, sym.Consts([]int{1, 1}))}
	}},
	{"concat", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Float32, 1, 14, 8)), g.input(filled(ops.Float32, 2, 14, 3))
		return []ops.Value{g.Emit(ops.Cat, []ops.Value{g.Emit(ops.Relu, x), y}, sym.C(1))}
	}},
	{"triangle", func(g *testGraph) []ops.Value {
		return []ops.Value{g.Emit(ops.Tril, g.input(filled(ops.Float32, 1, 3, 25, 25)), sym.C(1)), g.Emit(ops.Arange, sym.C(30)), g.Emit(ops.Linspace, 0.0, 1.0, sym.C(11))}
	}},
	{"scans", func(g *testGraph) []ops.Value {
		x := g.input(filled(ops.Float32, 1, 20, 45))
		return []ops.Value{g.Emit(ops.Cumsum, x, sym.C(1)), g.Emit(ops.Cumprod, x, sym.C(1)), g.Emit(ops.Cumsum, x, sym.C(0))}
	}},
	{"half", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Float16, 1, 11, 64)), g.input(filled(ops.BFloat16, 2, 11, 64))
		return []ops.Value{g.Emit(ops.Softmax, g.Emit(ops.Mul, x, x), sym.C(-1)), g.Emit(ops.Add, g.Emit(ops.Silu, y), y), g.Emit(ops.Sum, x, sym.Consts([]int{1}))}
	}},
	{"small integers", func(g *testGraph) []ops.Value {
		x, y := g.input(filled(ops.Int8, 1, 90)), g.input(filled(ops.Int16, 2, 90))
		return []ops.Value{g.Emit(ops.Mul, x, x), g.Emit(ops.Add, y, x), g.Emit(ops.Abs, y)}
	}},
	{"padding", func(g *testGraph) []ops.Value {
		x, by := g.input(filled(ops.Float32, 1, 2, 3, 9, 11)), sym.Consts([]int{2, 3, 1, 2})
		return []ops.Value{g.Emit(ops.Pad, x, by, "reflect"), g.Emit(ops.Pad, x, by, "replicate"), g.Emit(ops.Pad, x, by, "circular"), g.Emit(ops.Pad, x, by)}
	}},
}

// tritonCase is what case.json holds. Sizes and strides are in elements; files
// hold elements in the order of memory, little-endian.
type tritonCase struct {
	Name    string         `json:"name"`
	Buffers []tritonBuffer `json:"buffers"`
	Steps   []tritonStep   `json:"steps"`
	Outputs []tritonOutput `json:"outputs"`
}

type tritonBuffer struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Span  int64  `json:"span"`           // elements to allocate
	File  string `json:"file,omitempty"` // content of an input
}

type tritonStep struct {
	Kernel    string         `json:"kernel"` // function in kernels.py
	Buffers   []int          `json:"buffers"`
	Numbers   []int64        `json:"numbers"` // behind the buffers: xnumel, r0_numel
	Constants map[string]int `json:"constants"`
	Grid      int64          `json:"grid"`
}

type tritonOutput struct {
	Buffer int     `json:"buffer"`
	DType  string  `json:"dtype"`
	Shape  []int   `json:"shape"`
	Stride []int   `json:"stride"`
	Offset int64   `json:"offset"`
	File   string  `json:"file"` // eager's result, row-major
	Within float64 `json:"within"`
}

// TestTritonExport writes every case; Python, where there is one, must parse the
// kernels.
func TestTritonExport(t *testing.T) {
	dir := *tritonExport
	if dir == "" {
		dir = t.TempDir()
	}
	var files []string
	for _, c := range tritonCases {
		to := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "_"))
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		g := newTestGraph(identifierOf(c.name))
		outs := c.make(g)
		m := g.outputs(outs...)
		p, err := inductor.Compile(g.G, inductor.Options{Target: cpp.Target{Lanes: 8, Cache: 8 << 20}, Cores: 1})
		if err != nil {
			t.Fatal(err)
		}
		exportTriton(t, to, c.name, p, g.in, m.Run(g.in))
		files = append(files, filepath.Join(to, "kernels.py"))
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python: that the kernels are Python is not tested")
	}
	script := "import ast, sys\nfor f in sys.argv[1:]: ast.parse(open(f).read(), f)"
	if out, err := exec.Command(python, append([]string{"-c", script}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func identifierOf(s string) string { return strings.ReplaceAll(s, " ", "_") }

func exportTriton(t *testing.T, dir, name string, p *inductor.Program, in, want []torch.Value) {
	t.Helper()
	c := tritonCase{Name: name}
	slots := map[string]int{}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		span, _ := b.Span.IsConst()
		slots[b.Name] = i
		c.Buffers = append(c.Buffers, tritonBuffer{Name: b.Name, DType: b.DType.Name(), Span: span})
	}
	for i, slot := range p.Inputs {
		x := in[i].(*torch.Tensor)
		file := fmt.Sprintf("input%d.bin", i)
		writeFile(t, filepath.Join(dir, file), x.Storage().Bytes()[:int(c.Buffers[slot].Span)*x.DType().Size()])
		c.Buffers[slot].File = file
	}
	text := triton.Imports
	steps := append(append([]inductor.Step{}, p.Prologue...), p.Steps...)
	for _, st := range steps {
		if st.Extern != nil {
			t.Fatalf("%s calls %s", name, st.Extern.Name)
		}
		for _, k := range st.Kernels {
			src, err := triton.Generate(k)
			if err != nil {
				t.Fatal(err)
			}
			text += "\n\n" + src.Text
			c.Steps = append(c.Steps, launch(k.Name, src, slots))
		}
	}
	writeFile(t, filepath.Join(dir, "kernels.py"), []byte(text))
	for i := range p.Outputs {
		o := &p.Outputs[i]
		w := want[i].(*torch.Tensor).Contiguous()
		off, _ := o.Offset.IsConst()
		file := fmt.Sprintf("output%d.bin", i)
		writeFile(t, filepath.Join(dir, file), w.Storage().Bytes()[:w.Numel()*w.DType().Size()])
		c.Outputs = append(c.Outputs, tritonOutput{
			Buffer: o.Buffer, DType: w.DType().Name(), Shape: sym.Hints(o.Shape), Stride: sym.Hints(o.Stride), Offset: off, File: file, Within: 1e-4,
		})
	}
	js, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "case.json"), js)
}

// launch sizes the blocks: whole rows, as many of them as make about a thousand
// elements.
func launch(name string, src *triton.Source, slots map[string]int) tritonStep {
	x, _ := src.XNumel.IsConst()
	r, _ := src.R0Numel.IsConst()
	st := tritonStep{Kernel: name, Numbers: []int64{x}, Constants: map[string]int{}}
	for _, b := range src.Buffers {
		st.Buffers = append(st.Buffers, slots[b.Name])
	}
	block := 256
	if r > 0 {
		row := 1
		for int64(row) < r {
			row *= 2
		}
		st.Numbers = append(st.Numbers, r)
		st.Constants["R0_BLOCK"] = row
		block = max(1, 1024/row)
	}
	st.Constants["XBLOCK"] = block
	st.Grid = (x + int64(block) - 1) / int64(block)
	return st
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

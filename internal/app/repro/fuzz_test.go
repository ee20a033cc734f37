package repro

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// FuzzProgram: whatever a trace says of a graph, its program is Go that calls what a graph calls and
// nothing else.
func FuzzProgram(f *testing.F) {
	for _, name := range []string{"../../../testdata/repro/model.go", "repro.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "x", "bar", "inductor", int64(3))
	}
	const head = "class GraphModule(torch.nn.Module):\n    def forward(self, L_x_: \"f32[s0, 4][4, 1]cpu\"):\n        l_x_ = L_x_\n        "
	f.Add(head+"a: \"f32[s0, 4][4, 1]cpu\" = l_x_.exp();  l_x_ = None\n        return (a,)\n",
		"L['x']", "bar\nfunc init() { os.Exit(3) }", "eager", int64(7))
	f.Add(head+"b = torch.to(l_x_, dtype = torch.float16)\n        return (b, s0, None, True)\n",
		"x\n*/", "//", "\"); os.Exit(1); (\"", int64(-1))
	f.Add(head+"c = torch.zeros([9999999999, 99999999999], device = device(type='a\"b'))\n        return (c,)\n",
		"", "", "", int64(1<<62))
	f.Add("    def forward(self, os: \"i64[2][1]cpu\", func: \"f32[][]cpu\"):\n        fmt = os + func\n        return (fmt,)\n",
		"os", "F", "custom", int64(0))
	f.Fuzz(func(t *testing.T, text, source, name, backend string, number int64) {
		known := logs.GraphInputs{
			Backend: backend, Mode: name, Hints: map[string]int64{"s0": number}, Options: map[string]any{source: name, "n": number},
			Inputs: []logs.GraphInput{{Name: "l_x_", Source: source, Grad: true, Range: []int64{number, number + 1}, Shares: name}},
		}
		c := &explain.Compile{Frame: &explain.Frame{Name: name}, Graph: &explain.Graph{
			Name: name, Stages: []explain.Stage{{Name: captured, Load: func() string { return text }}},
			LoadInputs: func() logs.GraphInputs { return known },
		}}
		s, err := Read(c)
		if err != nil {
			return
		}
		p, err := s.Program(0)
		if err != nil {
			return
		}
		program, err := p.Text()
		if err != nil {
			return
		}
		harmless(t, program)
	})
}

// harmless wants Go that imports and calls what reproducers do.
func harmless(t *testing.T, program string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "model.go", program, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v\n%s", err, program)
	}
	allowed := []string{
		"fmt", "math", "os", "time", "tcdbg/torch", "tcdbg/torch/kw", "tcdbg/torch/compiler", "tcdbg/torch/nn/functional",
	}
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); !slices.Contains(allowed, path) {
			t.Errorf("it imports %s", path)
		}
	}
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" {
			t.Errorf("it has a function init\n%s", program)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, plain := sel.X.(*ast.Ident); plain && id.Name == "os" && sel.Sel.Name != "Exit" && sel.Sel.Name != "Args" {
			t.Errorf("it uses os.%s", sel.Sel.Name)
		}
		return true
	})
}

package tracer

import (
	"strings"
	"testing"
)

// TestExportConstraints: what the code asks of sizes is held against what was said of them, in PyTorch's words.
func TestExportConstraints(t *testing.T) {
	got := runProgram(t, `
var w = torch.Ones(4, 4)

func try(fn any, shapes torch.DynamicShapes, args ...any) {
	p, err := torch.Export(fn, args, kw.DynamicShapes(shapes))
	if err != nil {
		fmt.Println(err)
		return
	}
	text := p.String()
	fmt.Print(text[strings.Index(text, "Range"):])
}

func main() {
	x, batch := torch.Ones(6, 4), torch.NewDim("batch", kw.Max(64))
	one := torch.DynamicShapes{"x": {0: batch}}
	try(func(x *torch.Tensor) *torch.Tensor { return x.Matmul(w).Relu() }, one, x)
	try(func(x *torch.Tensor) *torch.Tensor { return x.View(6, 4).Relu() }, one, x)
	try(func(x *torch.Tensor) *torch.Tensor { return x.View(6, 4).Relu() }, torch.DynamicShapes{"x": {0: torch.AutoDim()}}, x)
	try(func(x *torch.Tensor) *torch.Tensor { if x.Size(0) > 4 { return x.Mul(2) }; return x.Add(1) }, one, x)
	try(func(x *torch.Tensor) *torch.Tensor { if x.Size(0) == 1 { return x.Mul(2) }; return x.Add(1) }, one, x)
	try(func(x, y *torch.Tensor) *torch.Tensor { return x.Add(y) }, torch.DynamicShapes{"x": {0: batch}, "y": {0: torch.NewDim("other")}}, x, x)
	try(func(x, y *torch.Tensor) *torch.Tensor { return x.Add(y) }, torch.DynamicShapes{"x": {0: batch}, "y": {0: batch}}, x, x)
	try(func(x *torch.Tensor) *torch.Tensor { return x.Relu() }, torch.DynamicShapes{"y": {0: batch}}, x)
	try(func(x *torch.Tensor) *torch.Tensor { return x.Relu() }, one, torch.Ones(65, 4))
	try(func(x *torch.Tensor) *torch.Tensor { return x.Relu() }, one, torch.Ones(1, 4))
}`, true)
	checkLines(t, got, []string{
		"Range constraints: {s0: VR[1, 64]}",
		"You marked batch = L['x'].size()[0] as dynamic but your code specialized it to be a constant (6).",
		"Range constraints: {}",
		"- Not all values of batch = L['x'].size()[0] in the specified range batch <= 64 satisfy the generated guard " +
			"5 <= L['x'].size()[0] <= 64",
		`  batch = NewDim("batch", kw.Min(5), kw.Max(64))`,
		"Range constraints: {s0: VR[2, 64]}",
		"- The values of batch = L['x'].size()[0] and other = L['y'].size()[0] must always be equal: give them one Dim",
		"Range constraints: {s0: VR[1, 64]}",
		"torch.Export: dynamic_shapes names y, and the arguments are [x]",
		"torch.Export: x.size()[0] is 65, which is not in the range [0, 64] of batch",
		"x.size()[0] is 1 in the example, and sizes of 0 and 1 are constants: take an example of at least 2",
	})
}

// checkLines wants lines that hold the texts, in order.
func checkLines(t *testing.T, got *outcome, wants []string) {
	t.Helper()
	lines := strings.Split(got.stdout, "\n")
	for _, want := range wants {
		for len(lines) > 0 && !strings.Contains(lines[0], want) {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			t.Fatalf("no %q, or not there, in\n%s%s", want, got.stdout, got.stderr)
		}
		lines = lines[1:]
	}
}

// TestExportRefusals: what no program can hold is an error that names it and the line.
func TestExportRefusals(t *testing.T) {
	got := runProgram(t, `
var n int

func try(fn any, args ...any) {
	_, err := torch.Export(fn, args)
	fmt.Println(err)
}

func main() {
	x := torch.Ones(6, 4)
	try(func(x *torch.Tensor) *torch.Tensor { if x.Sum().Item() > 4 { return x.Mul(2) }; return x.Add(1) }, x)
	try(func(x *torch.Tensor) *torch.Tensor { fmt.Println("printed"); return x.Mul(2) }, x)
	try(func(x *torch.Tensor) *torch.Tensor { n++; return x.Mul(2) }, x)
	try(func(x *torch.Tensor) *torch.Tensor {
		sin := func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin() }
		cos := func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }
		return compiler.Switch(x.Argmax(), []func(...*torch.Tensor) *torch.Tensor{sin, cos}, x)
	}, x)
	try(func(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }, x, x)
	try(func(x *torch.Tensor) int { return x.Size(0) }, x)
}`, true)
	checkLines(t, got, []string{
		"torch.Export: Unsupported Tensor.item() call with capture_scalar_outputs=False",
		`model.go", line 18, in main.func1`,
		"torch.Export: Failed to trace builtin operator",
		"torch.Export: the function changes G['n'], which an exported program cannot: return what it becomes",
		"torch.Export: operators have no form in aten: switch (1)",
		"torch.Export: the function takes 1 arguments, and 2 are given",
		"torch.Export: the function calls no operator",
	})
	if strings.Contains(got.stdout, "\nprinted\n") {
		t.Errorf("what was traced ran:\n%s", got.stdout)
	}
}

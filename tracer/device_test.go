package tracer

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/ops"
	"tcdbg/torch"
)

// This file asks everything that takes options for a device that is not there.

// sampleArguments are arguments of a type, as Go writes it.
var sampleArguments = map[string]string{
	"int": "2", "[]int": "[]int{2}", "float64": "0.5", "bool": "true", "string": `"relu"`, "any": "2", "int64": "2", "Arg": "2",
	"*Tensor": "x", "*torch.Tensor": "x", "[]*Tensor": "[]*torch.Tensor{x}", "[]*torch.Tensor": "[]*torch.Tensor{x}",
	"DType":     "torch.Float32",
	"[]float64": "[]float64{0.5}", "*TransformerEncoderLayer": "nn.NewTransformerEncoderLayer(2, 2)",
	"*TransformerDecoderLayer": "nn.NewTransformerDecoderLayer(2, 2)", "[]string": `[]string{"relu"}`,
}

// deviceCall is one function with the device "cuda" among its options.
type deviceCall struct{ name, code string }

// deviceCalls are calls of the exported functions in a folder of package torch, and of
// Tensor's methods, that take options.
func deviceCalls(t *testing.T, dir, pkg string) []deviceCall {
	files, err := filepath.Glob(filepath.Join("../torch", dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	var calls []deviceCall
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() {
				if c, ok := deviceCallOf(f, pkg); ok {
					calls = append(calls, c)
				}
			}
		}
	}
	return calls
}

// deviceCallOf writes the call of a function whose last parameter takes options; none
// where an argument has a type that has no sample.
func deviceCallOf(f *ast.FuncDecl, pkg string) (c deviceCall, ok bool) {
	name := pkg + "." + f.Name.Name
	if f.Recv != nil {
		if types.ExprString(f.Recv.List[0].Type) != "*Tensor" || pkg != "torch" {
			return c, false
		}
		name = "x." + f.Name.Name
	}
	if own, ok := ownCalls[name]; ok {
		return deviceCall{name, own}, own != ""
	}
	var args []string
	options := false
	for _, p := range f.Type.Params.List {
		switch typ := types.ExprString(p.Type); typ {
		case "...Option", "...torch.Option", "...any":
			options = true
			args = append(args, `kw.Device("cuda")`)
		default:
			sample := sampleArguments[typ]
			if sample == "" {
				return c, false
			}
			for range max(1, len(p.Names)) {
				args = append(args, sample)
			}
		}
	}
	return deviceCall{name, fmt.Sprintf("%s(%s)", name, strings.Join(args, ", "))}, options
}

// ownCalls are calls that the samples do not fit.
var ownCalls = map[string]string{
	"torch.Op":                                  `torch.Op("ones", []int{2}, kw.Device("cuda"))`,
	"x.At":                                      "", // takes subscripts
	"x.SetAt":                                   "",
	"torch.Load":                                "", // returns errors: see TestMapLocation
	"torch.NonzeroStatic":                       `torch.NonzeroStatic(x, kw.Size(2), kw.Device("cuda"))`,
	"x.NonzeroStatic":                           `x.NonzeroStatic(kw.Size(2), kw.Device("cuda"))`,
	"torch.SignalWindowsGeneralCosine":          `torch.SignalWindowsGeneralCosine(4, kw.A([]float64{0.5}), kw.Device("cuda"))`,
	"nn.NewAdaptiveLogSoftmaxWithLoss":          `nn.NewAdaptiveLogSoftmaxWithLoss(4, 8, []int{2}, kw.Device("cuda"))`,
	"functional.FractionalMaxPool2d":            `functional.FractionalMaxPool2d(torch.Ones(1, 4, 4), 2, kw.Device("cuda"))`,
	"functional.FractionalMaxPool3d":            `functional.FractionalMaxPool3d(torch.Ones(1, 4, 4, 4), 2, kw.Device("cuda"))`,
	"functional.FractionalMaxPool2dWithIndices": `functional.FractionalMaxPool2dWithIndices(torch.Ones(1, 4, 4), 2, kw.Device("cuda"))`,
	"functional.FractionalMaxPool3dWithIndices": `functional.FractionalMaxPool3dWithIndices(torch.Ones(1, 4, 4, 4), 2, kw.Device("cuda"))`,
}

// noDevice are functions that take kw.Device and need none: they make no tensor from it.
var noDevice = []string{"nn.NewInstanceNorm1d", "nn.NewInstanceNorm2d", "nn.NewInstanceNorm3d"}

// TestDevicesAreRefused: whatever takes options refuses a device that is not there, or
// the option as one that it does not have, eagerly and compiled alike.
func TestDevicesAreRefused(t *testing.T) {
	calls := append(deviceCalls(t, "", "torch"), deviceCalls(t, "nn", "nn")...)
	calls = append(calls, deviceCalls(t, "nn/functional", "functional")...)
	calls = append(calls, deviceCall{"x.Cuda", "x.Cuda()"}, deviceCall{"x.Cuda(1)", "x.Cuda(1)"}, deviceCall{"x.To", `x.To("cuda")`},
		deviceCall{"nn.To", `nn.To(nn.NewLinear(2, 2), "cuda")`}, deviceCall{"nn.Cuda", `nn.Cuda(nn.NewLinear(2, 2))`},
		deviceCall{"torch.NewGenerator", `torch.NewGenerator(1, kw.Device("cuda"))`})
	var body strings.Builder
	body.WriteString("func said(name string, f func()) {\n\tdefer func() { fmt.Printf(\"%s: %v\\n\", name, recover()) " +
		"}()\n\tf()\n}\n\nfunc main() {\n\tx := torch.Ones(2, 2)\n")
	for _, c := range calls {
		fmt.Fprintf(&body, "\tsaid(%q, func() { torch.Compile(func(x *torch.Tensor) *torch.Tensor { y := x.Mul(2); %s; return "+
			"y.Add(1) })(x) })\n", c.name, c.code)
	}
	body.WriteString("}\n")
	got := both(t, body.String())
	if got.exit.Code != 0 {
		t.Fatalf("exit %d\n%s", got.exit.Code, got.stderr)
	}
	refused := map[string]bool{}
	for line := range strings.Lines(got.stdout) {
		name, message, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case strings.HasPrefix(message, "Torch not compiled with CUDA enabled"), strings.HasPrefix(message, "Cannot get CUDA generator"):
			refused[name] = true
		case strings.Contains(message, "unexpected keyword argument 'device'"):
		case slices.Contains(noDevice, name):
		default:
			t.Errorf("%s says %q", name, message)
		}
	}
	for _, row := range ops.All() {
		for _, p := range row.Params() {
			if p.Base() == "device" && row.Tags&ops.TagInternal == 0 && !refusedBy(refused, row.ID) {
				t.Errorf("%s takes a device, and no function of it refused one", row.FullName())
			}
		}
	}
	t.Logf("%d of %d functions take a device", len(refused), len(calls))
}

// refusedBy reports whether a function of an operator is among those that refused.
func refusedBy(refused map[string]bool, id ops.ID) bool {
	for name, b := range torch.Bindings() {
		name = strings.NewReplacer("(*tcdbg/torch.Tensor)", "x", "tcdbg/torch.", "torch.", "tcdbg/torch/nn/functional.",
			"functional.").Replace(name)
		if b.Op == id && refused[name] {
			return true
		}
	}
	return false
}

// TestCpuIsCaptured: x.Cpu() is in the graph like x.To("cpu").
func TestCpuIsCaptured(t *testing.T) {
	got := both(t, `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Cpu().Add(1) }

func main() { fmt.Println(torch.Compile(f)(torch.Arange(3)).Ints()) }`)
	if codes := got.codes(); codes != "" {
		t.Errorf("breaks: %s", codes)
	}
}

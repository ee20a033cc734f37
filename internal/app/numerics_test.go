package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain/numerics"
	"tcdbg/internal/test"
	"tcdbg/logs"
)

// compared runs check --numerics and reads what it prints.
func compared(t *testing.T, state string, code int, args ...string) (*numerics.Report, string) {
	t.Helper()
	out := run(t, tcdbg(t, state, append([]string{"check", "--numerics", "--json"}, args...)...))
	if out.code != code {
		t.Fatalf("check --numerics %v ends with %d, want %d\n%s%s", args, out.code, code, out.stdout, out.stderr)
	}
	if out.stdout == "" {
		return nil, out.stderr
	}
	var r numerics.Report
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil {
		t.Fatalf("%v\n%s%s", err, out.stdout, out.stderr)
	}
	return &r, out.stderr
}

// A program without a fault: graphs and capture are equal, and nothing of the runs is left.
func TestNumericsOfARightProgram(t *testing.T) {
	state, path := t.TempDir(), program(t, branching)
	r, _ := compared(t, state, 0, path)
	if len(r.Graphs) == 0 || r.Capture == nil || r.Capture.Result != logs.NumericsEqual || r.Capture.Calls != 8 {
		t.Fatalf("%+v %+v", r, r.Capture)
	}
	for _, g := range r.Graphs {
		if g.Result != logs.NumericsEqual || g.Compared == 0 || g.Function == "" {
			t.Errorf("%s %s: %s, %d compared", g.Compile, g.Function, g.Result, g.Compared)
		}
	}
	nothingLeft(t, state)
	if _, err := os.Stat(lastRun(t, state).file(reproFolder)); !os.IsNotExist(err) {
		t.Errorf("an empty folder of reproducers is left: %v", err)
	}
	again := run(t, tcdbg(t, state, "report", "last"))
	if !strings.Contains(again.stdout, "NUMERICS") || !strings.Contains(again.stdout, "capture") {
		t.Errorf("the report of the run does not tell:\n%s", again.stdout)
	}
}

// calledBack calls a compiled function from main and out of native code, within another one, too: it is one
// goroutine.
const calledBack = `import (
	"fmt"

	"tcdbg/torch"
)

var inner = torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin() })

func outer(x *torch.Tensor) (y *torch.Tensor) {
	torch.NoGrad(func() { y = inner(x).Add(1) })
	return y
}

func main() {
	fast := torch.Compile(outer)
	fmt.Println(fast(torch.Ones(2)), inner(torch.Ones(2)))
	torch.NoGrad(func() { fmt.Println(fast(torch.Ones(2))) })
}
`

func TestNumericsOfACallback(t *testing.T) {
	r, _ := compared(t, t.TempDir(), 0, program(t, calledBack))
	if c := r.Capture; c == nil || c.Result != logs.NumericsEqual || c.Calls != 3 {
		t.Errorf("%+v", c)
	}
}

// wrongCapture computes something else where it is traced, as its first argument says.
const wrongCapture = `import (
	"fmt"
	"os"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
)

var w = torch.NewTensor([]float64{4, 3, 2, 1})

func bar(a *torch.Tensor) *torch.Tensor {
	x := a.Exp()
	traced := compiler.IsCompiling()
	switch os.Args[1] {
	case "number":
		if traced {
			x = x.Mul(2) // here
		} else {
			x = x.Mul(3) // eager
		}
	case "more":
		if traced {
			x = x.Mul(1.01) // here
		}
	case "less":
		if !traced {
			x = x.Neg() // eager
		}
	case "operand":
		if traced {
			x = x.Sub(a) // here
		} else {
			x = x.Sub(w) // eager
		}
	case "break":
		if x.Sum().Gt(0).Bool() {
			x = x.Sqrt()
		}
		if compiler.IsCompiling() {
			x = x.Add(a) // here
		}
	case "earlier":
		if traced {
			w.Add_(1) // here
		}
		x = x.Mul(0)
		if calls == 3 {
			x = x.Add(w)
		}
	case "another way":
		if traced {
			x = x.Add(x)
		} else {
			x = x.Mul(2)
		}
		if traced {
			x = x.Abs().Neg() // here
		}
	}
	return x.Tanh().Sum()
}

var calls = 0

func main() {
	fast := torch.Compile(bar)
	for range 4 {
		fmt.Println(fast(torch.NewTensor([]float64{0.5, 1, 1.5, 2}).Mul(0.1)))
		calls++
	}
}
`

// A capture that is wrong is told with its operator, its node and its line, and with what eager execution
// calls instead.
func TestNumericsOfAWrongCapture(t *testing.T) {
	path := program(t, wrongCapture)
	state := t.TempDir()
	for _, c := range []struct{ what, captured, eager, agreed string }{
		{"number", "mul(float32[4], 2)", "mul(float32[4], 3)", "exp("},
		{"more", "mul(float32[4], 1.01)", "tanh(float32[4])", "exp("},
		{"less", "", "neg(float32[4])", ""},
		{"operand", "sub(float32[4], float32[4], 1)", "sub(float32[4], float32[4], 1)", "exp("},
		{"break", "add(float32[4], float32[4], 1)", "tanh(float32[4])", "sqrt("},
		{"another way", "neg(float32[4])", "tanh(float32[4])", "exp("},
		{"earlier", "add_(float32[4], 1, 1)", "", "exp("},
	} {
		r, _ := compared(t, state, ExitFound, path, c.what)
		p := r.Capture
		if p == nil || p.Result != logs.NumericsDiffers || !strings.Contains(p.First, "of bar, output") || p.Fault == nil {
			t.Fatalf("%s: %+v", c.what, p)
		}
		f := p.Fault
		if f.Call != 1 || f.Captured != c.captured || f.Eager != c.eager || !strings.HasPrefix(f.Agreed, c.agreed) {
			t.Errorf("%s: %+v", c.what, f)
		}
		if c.captured != "" && (f.Node == "" || f.CapturedPos == nil || !strings.HasSuffix(f.CapturedPos.Code, "// here")) {
			t.Errorf("%s: node %q at %+v", c.what, f.Node, f.CapturedPos)
		}
		if c.captured == "" && (f.EagerPos == nil || !strings.HasSuffix(f.EagerPos.Code, "// eager")) {
			t.Errorf("%s: eager at %+v", c.what, f.EagerPos)
		}
		if note := "with another value as tensor 2 of its arguments"; (f.Note == note) != (c.what == "operand") {
			t.Errorf("%s: note %q", c.what, f.Note)
		}
		for _, g := range r.Graphs {
			if g.Result != logs.NumericsEqual {
				t.Errorf("%s: graph %s is %s", c.what, g.Compile, g.Result)
			}
		}
	}
	nothingLeft(t, state)
}

// ownBackend is wrong in one operator.
const ownBackend = `import (
	"fmt"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func bar(a *torch.Tensor) *torch.Tensor {
	return a.Mul(2).Log() // NaN where a is negative
}

func wrong(gm *torch.GraphModule, example []torch.Value) (func([]torch.Value) []torch.Value, error) {
	return func(in []torch.Value) []torch.Value {
		out := gm.Forward(in)
		if strings.Contains(gm.Code(), "log") {
			out[0] = out[0].(*torch.Tensor).Mul(1.01)
		}
		return out
	}, nil
}

func main() {
	fast := torch.Compile(bar, kw.Backend(wrong))
	fmt.Println(fast(torch.NewTensor([]float64{1, 2, -1})))
}
`

// A backend of the program's own is wrong, and an operator gives a NaN: both are told.
func TestNumericsOfAnOwnBackend(t *testing.T) {
	r, _ := compared(t, t.TempDir(), ExitFound, program(t, ownBackend))
	g := r.Graphs[0]
	if g.Result != logs.NumericsDiffers || g.Fault == nil || g.Fault.Stage != "the program's own backend" {
		t.Fatalf("%s %+v", g.Result, g.Fault)
	}
	if f := g.Fault; f.Op != "log" || !f.Alone || f.Pos == nil || !strings.Contains(f.Pos.Code, "Log()") {
		t.Errorf("the node is %s (%s), alone %v, at %v: %v", f.Node, f.Op, f.Alone, f.Pos, f.Ran)
	}
	v := g.Fault.Value
	if v.Beyond != 2 || v.Elems != 3 || len(v.At) != 1 {
		t.Errorf("%+v", v)
	}
	if g.Born == nil || g.Born.Op != "log" || g.Born.What != "1 NaN" || g.Born.Pos == nil || !strings.Contains(g.Born.Pos.Code, "Log()") {
		t.Errorf("the NaN is told as %+v", g.Born)
	}
}

func TestNumericsRefuses(t *testing.T) {
	state := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--max-breaks", "0", program(t, branching)}, ExitUsage, "two checks"},
		{[]string{"last"}, ExitUsage, "runs a program"},
		{[]string{"--repro", t.TempDir(), program(t, branching)}, ExitWrite, "reproducers"},
		{[]string{program(t, "func main() {}\n")}, ExitData, "compiles no graph"},
		{[]string{program(t, "import \"os\"\n\nfunc main() { os.Exit(3) }\n")}, 3, "the check fails"},
	} {
		r, said := compared(t, state, c.code, c.args...)
		if r != nil || !strings.Contains(said, c.want) {
			t.Errorf("%v: %s", c.args, said)
		}
	}
}

// The fixtures are right: nothing differs, and nothing hangs by a rounding error. A long run takes
// them all but the largest models.
func TestNumericsOfFixtures(t *testing.T) {
	names := []string{"aliasing", "concurrent"}
	if test.IsLong() {
		found, err := filepath.Glob("../../fixtures/*/model.go")
		if err != nil || len(found) == 0 {
			t.Fatal(err)
		}
		names = nil
		for _, f := range found {
			// One compiles nothing, one ends with an error of its own, two are large.
			left := []string{"fullgraph", "pyramidbroken", "models_llama7b", "models_resnet50"}
			if name := filepath.Base(filepath.Dir(f)); !slices.Contains(left, name) {
				names = append(names, name)
			}
		}
	}
	state := t.TempDir()
	for _, name := range names {
		r, _ := compared(t, state, 0, "--steps", "12", filepath.Join("../../fixtures", name, "model.go"))
		compared := int64(0)
		for _, g := range r.Graphs {
			compared += g.Compared
			// Calls of several goroutines have no order by which they could be compared.
			alone := name == "concurrent" && g.Result == logs.NumericsNone && g.Why != ""
			if g.Result != logs.NumericsEqual && g.Calls > 0 && !alone {
				t.Errorf("%s: graph %s is %s (%s): %+v %v", name, g.Compile, g.Result, g.Why, g.Fault, g.NotCompared)
			}
		}
		if compared == 0 || r.Capture == nil || r.Capture.Result == logs.NumericsDiffers {
			t.Errorf("%s: %d calls, capture %+v", name, compared, r.Capture)
		}
	}
}

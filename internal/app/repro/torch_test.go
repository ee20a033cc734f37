package repro_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/internal/app"
	"tcdbg/internal/app/repro"
)

// torchGraph is a compile of PyTorch's whose captured graph has a text.
func torchGraph(forward string) (*explain.Report, *explain.Compile) {
	text := "class GraphModule(torch.nn.Module):\n    " + strings.ReplaceAll(forward, "\n", "\n    ")
	g := &explain.Graph{Stages: []explain.Stage{{Name: "dynamo", Load: func() string { return text }}}}
	c := &explain.Compile{Graph: g, Frame: &explain.Frame{Name: "f"}, GradSources: []string{"L['self']._parameters['w']"}}
	r := &explain.Report{Engine: "PyTorch 2.15.0", Frames: []*explain.Frame{{Compiles: []*explain.Compile{c}}}}
	r.Symbols = []*explain.Symbol{{Name: "s0", Hint: "7"}}
	return r, c
}

// TestTorchProgramInputs: inputs are those of the text, with gradients where the trace says that they have some.
func TestTorchProgramInputs(t *testing.T) {
	r, c := torchGraph("def forward(self, s0: \"Sym(s0)\", L_x_: \"f32[s0, 4][4, 1]cpu\", L_self_parameters_w_: \"f32[3, 4][4, 1]cpu\", " +
		"L_i_: \"i64[2][1]cuda:0\"):\n" +
		"    y: \"f32[s0, 3][3, 1]cpu\" = torch._C._nn.linear(L_x_, L_self_parameters_w_);  L_x_ = None\n    return (y,)\n")
	text, err := repro.TorchProgram(r, c, 3, repro.DefaultBackend)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SEED = 3\n", "class Repro(torch.nn.Module):\n", "    s0 = 7\n    return [\n        s0,  # s0\n",
		"rand_strided((s0, 4,), (4, 1,), torch.float32, 'cpu'),  # L_x_\n",
		"rand_strided((3, 4,), (4, 1,), torch.float32, 'cpu').mul_(0.5).requires_grad_(),  # L_self_parameters_w_\n",
		"rand_strided((2,), (1,), torch.int64, 'cuda:0'),  # L_i_\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the program has no %q:\n%s", want, text)
		}
	}
}

// TestTorchProgramRefused: what the text names and has not is said; nothing is guessed, and nothing of an annotation is run.
func TestTorchProgramRefused(t *testing.T) {
	for _, c := range []struct{ forward, want string }{
		{"def forward(self, x: \"f32[4][1]cpu\"):\n    y = self.L__self___net(x)\n    return (y,)\n", "not have the module L__self___net"},
		{"def forward(self, x: \"f32[4][1]cpu\"):\n    y = mine_custom(x)\n    return (y,)\n", "calls mine_custom, which is the program's"},
		{"def forward(self, x: \"f32[4][1]cpu\"):\n    k = self._tensor_constant0\n    return (k,)\n", "self._tensor_constant0"},
		{"def forward(self, x: \"f32[u0][1]cpu\"):\n    y = x + 1\n    return (y,)\n", "does not say what the size u0 is"},
		{"def forward(self, x: \"f32[4, 4]\"):\n    y = x + 1\n    return (y,)\n", "does not say its dtype, shape and strides"},
		{"def forward(self, x: \"f32[__import__('os')][1]cpu\"):\n    y = x + 1\n    return (y,)\n", "a form that programs do not have"},
		{"def forward(self, x: \"q7[4][1]cpu\"):\n    y = x + 1\n    return (y,)\n", "the dtype q7 is unknown"},
		{"def forward(self, x: \"f32[99999999999, 4][4, 1]cpu\"):\n    y = x + 1\n    return (y,)\n", "its inputs are more than 64 GB"},
	} {
		r, compile := torchGraph(c.forward)
		if _, err := repro.TorchProgram(r, compile, 0, repro.DefaultBackend); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q is refused with %v, not %q", c.forward, err, c.want)
		}
	}
}

// TestTorchGraphAsGo: a graph of PyTorch's is a Go program for tcdbg's compiler, which gives what eager execution does.
func TestTorchGraphAsGo(t *testing.T) {
	dir := t.TempDir()
	trace, err := filepath.Abs("../lowering/testdata/mlp.log.zst")
	if err != nil {
		t.Fatal(err)
	}
	if out, code := tcdbg(t, dir, "", "repro", "--go", "-o", "r", trace, "0/0"); code != 0 || out != "r/model.go\n" {
		t.Fatal(code, out)
	}
	out, code := tcdbg(t, filepath.Join(dir, "r"), "", "run", "--plain", "model.go")
	if code != 0 || !strings.Contains(out, "value 0 is equal") {
		t.Fatal(code, out)
	}
}

// TestTorchGraphAsGoRefused: operators that tcdbg lacks are named.
func TestTorchGraphAsGoRefused(t *testing.T) {
	r, c := torchGraph("def forward(self, L_x_: \"f32[4][1]cpu\"):\n" +
		"    y: \"f32[4][1]cpu\" = torch.ops.mine.odd.default(L_x_)\n    return (y,)\n")
	if _, err := repro.ReadTorch(r, c); err == nil || !strings.Contains(err.Error(), "mine.odd.default (1)") {
		t.Error(err)
	}
}

// brokenBackend damages tanh as the environment says.
const brokenBackend = `import os, torch

def broken(gm, example_inputs):
    how = os.environ.get("PLANTED")
    for n in gm.graph.nodes:
        if n.op == "call_function" and n.target is torch.tanh:
            if how == "compile":
                raise RuntimeError('planted: no code for tanh in """C:\\users"""')
            if how == "accuracy":
                n.target = torch.sin
            if how == "crash":
                n.target = torch.linalg.cholesky
            if how == "death":
                os.abort()
    gm.recompile()
    return gm.forward
`

const wideTorch = `import torch

def f(x, w):
    s = x
    for i in range(25):
        t = x * (i + 1) - w
        t = torch.tanh(t) if i == 13 else torch.sigmoid(t)
        s = s + t.abs()
    a, b = s.split(2, dim=0)
    a.mul_(2)
    return a * b * s.shape[0], s.argmax(dim=1)

torch.compile(f, backend="eager")(torch.randn(4, 6), torch.randn(6))
`

// TestMinifyTorch: a fault of each kind that a backend has in one of some 130 operators is reduced by PyTorch to at most five,
// and the program of these shows it, and shows nothing without it.
func TestMinifyTorch(t *testing.T) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		t.Skip("TCDBG_PYTHON names no Python with PyTorch")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"broken.py": brokenBackend, "wide.py": wideTorch} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record := exec.Command(python, "wide.py")
	record.Dir, record.Env = dir, append(os.Environ(), "TORCH_TRACE="+filepath.Join(dir, "trace"))
	if out, err := record.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kinds := map[string]string{"accuracy": repro.Accuracy, "compile": repro.Compile, "crash": repro.Crash, "death": repro.Crash}
	for planted, kind := range kinds {
		t.Run(planted, func(t *testing.T) {
			t.Setenv("PLANTED", planted)
			out, code := tcdbg(t, dir, "", "repro", "--minify", "--backend", "broken:broken", "-o", planted, "trace", "0/0")
			m := regexp.MustCompile(`(\d+) of 1\d\d operators (?:is|are) left after (\d+) tries in \S+: ` + kind).FindStringSubmatch(out)
			if code != 0 || m == nil {
				t.Fatalf("exit %d\n%s", code, out)
			}
			if n, _ := strconv.Atoi(m[1]); n > 5 {
				t.Errorf("%s operators are left", m[1])
			}
			for _, fault := range []string{planted, ""} {
				cmd := exec.Command(python, "repro.py")
				cmd.Dir, cmd.Env = filepath.Join(dir, planted), append(os.Environ(), "PLANTED="+fault, "PYTHONPATH="+dir)
				cmd.WaitDelay = time.Minute
				if said, err := cmd.CombinedOutput(); (err == nil) != (fault == "") {
					t.Errorf("with the fault %q: %v\n%s", fault, err, said)
				}
			}
		})
	}
	t.Setenv("PLANTED", "")
	out, code := tcdbg(t, dir, "", "repro", "--minify", "--backend", "broken:broken", "-o", "none", "trace", "0/0")
	if code != app.ExitData ||
		!strings.Contains(out, "there is nothing to minify") {
		t.Error(code, out)
	}
}

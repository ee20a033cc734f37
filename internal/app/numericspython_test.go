package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/logs"
)

// wrongGelu trains a small net under a backend that has gelu in another form, in a module of its
// own; RIGHT leaves it as it is.
var wrongGelu = map[string]string{
	"backend.py": `import os

def wrong(gm, example):
    for n in gm.graph.nodes:
        if "gelu" in str(n.target) and "RIGHT" not in os.environ:
            n.kwargs = dict(n.kwargs, approximate="tanh")
    gm.recompile()
    return gm.forward
`,
	"main.py": `import torch
import torch.nn.functional as F
from backend import wrong

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(16, 32), torch.nn.Linear(32, 8)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        h = F.dropout(self.a(x), 0.25)
        h = F.gelu(h)
        return self.b(h).log_softmax(-1)

net = Net()
fast = torch.compile(net, backend=wrong)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    loss = -fast(torch.randn(4, 16))[:, 0].mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
print("seen %d, loss %.6f" % (net.seen, loss))
raise SystemExit(0)
`,
}

// A backend that is wrong in one operator: the operator, its line and a reproducer that
// differs by itself; the program computes what it computes without us.
func TestNumericsOfAWrongPythonBackend(t *testing.T) {
	python, state := pythonWithTorch(t), t.TempDir()
	dir := pythonProgram(t, wrongGelu)
	repro := filepath.Join(t.TempDir(), "repro")
	r, _ := compared(t, state, ExitFound, "--repro", repro, "--", python, "main.py")
	if len(r.Graphs) != 1 || r.Graphs[0].Fault == nil {
		t.Fatalf("%+v", r.Graphs)
	}
	g := r.Graphs[0]
	f := g.Fault
	if f.Stage != "backend wrong" || f.Op != "gelu" || !f.Alone || f.Pos == nil || f.Pos.Code != "h = F.gelu(h)" {
		t.Errorf("found in %s at %s (%s) alone %v, %+v\n%s", f.Stage, f.Node, f.Op, f.Alone, f.Pos, strings.Join(f.Ran, "\n"))
	}
	if g.Function == "" || g.Calls != 6 || r.Capture == nil || r.Capture.Result != logs.NumericsEqual || r.Capture.Calls != 6 {
		t.Errorf("%q, %d calls, capture %+v", g.Function, g.Calls, r.Capture)
	}
	nothingLeft(t, state)
	run := exec.Command(python, filepath.Join(g.Repro, "repro.py"))
	run.Dir = t.TempDir()
	out, err := run.CombinedOutput()
	if run.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "elements differ") {
		t.Errorf("the reproducer: %v\n%s", err, out)
	}
	run = exec.Command(python, filepath.Join(g.Repro, "repro.py"), "eager")
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("the reproducer with a right backend: %v\n%s", err, out)
	}
	printed, err := os.ReadFile(lastRun(t, state).file(stdoutFile))
	if err != nil {
		t.Fatal(err)
	}
	plain := exec.Command(python, "-c", "import torch; torch.manual_seed(0); exec(open('main.py').read())")
	plain.Dir = dir
	if want, err := plain.Output(); err != nil || string(want) != string(printed) {
		t.Errorf("under the check it prints %q, without %q (%v)", printed, want, err)
	}
}

// The same program with a right backend, with random numbers and a buffer that it writes.
func TestNumericsOfARightPythonProgram(t *testing.T) {
	python, state := pythonWithTorch(t), t.TempDir()
	pythonProgram(t, wrongGelu)
	t.Setenv("RIGHT", "1")
	r, _ := compared(t, state, 0, "--", python, "main.py")
	g := r.Graphs[0]
	if g.Result != logs.NumericsEqual || g.Calls != 6 || g.Compared != 4 || len(g.NotCompared) > 0 {
		t.Errorf("%+v", g)
	}
	var names []string
	for _, v := range g.Values {
		names = append(names, v.What)
	}
	if all := strings.Join(names, " "); !strings.Contains(all, "gradient of") || !strings.Contains(all, "input") {
		t.Errorf("compared: %s", all)
	}
	run(t, tcdbg(t, state, "report", "last"))
}

// regions has a graph with levels of vmap and grad in it; what is run aside leaves none of them open.
var regions = map[string]string{"main.py": `import torch
from torch.func import grad, vmap

w = torch.randn(3)

def loss(p, x):
    return (p * x).sum() ** 2

@torch.compile(backend="aot_eager")
def per_sample(p, xs):
    return vmap(grad(loss), (None, 0))(p, xs).log()

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

for i in range(3):
    per_sample(w, torch.randn(5, 3))
    print(Double.apply(torch.ones(2, requires_grad=True)).sum().item())
`}

func TestNumericsLeavesNoRegionOpen(t *testing.T) {
	python := pythonWithTorch(t)
	pythonProgram(t, regions)
	r, _ := compared(t, t.TempDir(), 0, "--steps", "3", "--", python, "main.py")
	g := r.Graphs[0]
	if g.Result != logs.NumericsEqual || g.Compared != 3 || g.Born == nil || g.Born.Op != "log" {
		t.Errorf("%+v", g)
	}
}

// faultyInductor is a PyTorch whose vector code of sigmoid is wrong, and gated a program that has one.
const faultyInductor = `import importlib.abc, importlib.util, sys

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "torch._inductor.codegen.cpp":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            module.CppVecOverrides.sigmoid = staticmethod(lambda x: f"{x}.tanh()")

        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Finder())
`

var gated = map[string]string{"main.py": `import torch

@torch.compile
def f(x, y):
    return (torch.sigmoid(x) * y).sum(-1)

print(f(torch.randn(8, 16), torch.randn(8, 16)).shape)
`}

// A reproducer tells of the PyTorch that runs it, and not of code that another one has left in PyTorch's cache.
func TestReproducerCompilesAfresh(t *testing.T) {
	python := pythonWithTorch(t)
	pythonProgram(t, gated)
	site, repro := t.TempDir(), filepath.Join(t.TempDir(), "repro")
	if err := os.WriteFile(filepath.Join(site, "sitecustomize.py"), []byte(faultyInductor), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TORCHINDUCTOR_CACHE_DIR", t.TempDir())
	t.Setenv("PYTHONPATH", site)
	r, _ := compared(t, t.TempDir(), ExitFound, "--repro", repro, "--", python, "main.py")
	g := r.Graphs[0]
	if g.Fault == nil || g.Fault.Op != "sigmoid" || g.Fault.Stage != "code" || g.Repro == "" {
		t.Fatalf("%+v", g.Fault)
	}
	for _, faulty := range []bool{true, false, true} {
		t.Setenv("PYTHONPATH", map[bool]string{true: site}[faulty])
		out, err := exec.Command(python, filepath.Join(g.Repro, "repro.py")).CombinedOutput()
		if (err != nil) != faulty || strings.Contains(string(out), "elements differ") != faulty {
			t.Errorf("faulty %v: %v\n%s", faulty, err, out)
		}
	}
}

// allMasked has a row that is masked as a whole, by a fill value and by a mask that is added.
var allMasked = map[string]string{"main.py": `import torch

@torch.compile(backend="aot_eager")
def filled(s, mask):
    return s.masked_fill(mask, float("-inf")).softmax(-1) * 2

@torch.compile(backend="aot_eager")
def added(s, mask):
    return (s + mask).softmax(-1) * 2

mask = torch.ones(3, 3, dtype=torch.bool).triu(1)
mask[1] = True
for i in range(3):
    s = torch.randn(3, 3)
    filled(s, mask)
    added(s, torch.zeros(3, 3).masked_fill(mask, float("-inf")))
print("ok")
`}

// The NaN of a row that is masked as a whole comes from the softmax, though its input has an Inf.
func TestNumericsOfAMaskedRow(t *testing.T) {
	python := pythonWithTorch(t)
	pythonProgram(t, allMasked)
	r, _ := compared(t, t.TempDir(), 0, "--", python, "main.py")
	for i, inputs := range []int{0, 1} {
		g := r.Graphs[i]
		list := g.Sources()
		last := len(list) - 1
		if last != inputs || list[last].Op != "softmax" || list[last].What != "3 NaN" || !list[last].OfInf {
			t.Errorf("%s: %+v", g.Function, list)
		}
		if inputs == 1 && (len(list) == 0 || list[0].Input == "") {
			t.Errorf("%s: the input's Inf is told as %+v", g.Function, list)
		}
	}
}

// wrongPythonCapture computes something else where it is traced.
var wrongPythonCapture = map[string]string{"main.py": `import sys
import torch
import torch.nn.functional as F

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        h = F.gelu(self.a(x))
        traced = torch.compiler.is_compiling()
        if sys.argv[1] == "more" and traced:
            h = h * 1.01  # here
        if sys.argv[1] == "break":
            print("a break")
            if torch.compiler.is_compiling():
                h = h.neg_()  # here
        if sys.argv[1] == "less" and not traced:
            h = h.clamp(max=0.1)  # here
        h = F.dropout(h, 0.25)
        return self.b(h).log_softmax(-1)

net = Net()
fast = torch.compile(net, backend="eager")
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = -fast(torch.randn(4, 8))[:, 0].mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
`}

// A capture of PyTorch's that is wrong is told with its operator, node and line.
func TestNumericsOfAWrongPythonCapture(t *testing.T) {
	python := pythonWithTorch(t)
	pythonProgram(t, wrongPythonCapture)
	for what, c := range map[string]struct{ captured, eager, agreed string }{
		"more":  {"mul(float32[4, 16], 1.01)", "", "gelu("},
		"break": {"neg_(float32[4, 16])", "", ""},
		"less":  {"", "clamp(float32[4, 16], None, 0.1)", ""},
	} {
		r, _ := compared(t, t.TempDir(), ExitFound, "--", python, "main.py", what)
		if r.Capture == nil || r.Capture.Fault == nil {
			t.Fatalf("%s: %+v", what, r.Capture)
		}
		f := r.Capture.Fault
		at := f.CapturedPos
		if c.captured == "" {
			at = f.EagerPos
		}
		if f.Captured != c.captured || c.eager != "" && f.Eager != c.eager || !strings.HasPrefix(f.Agreed, c.agreed) ||
			at == nil || !strings.HasSuffix(at.Code, "# here") || (f.Node == "") != (c.captured == "") {
			t.Errorf("%s: found %+v at %+v", what, f, at)
		}
	}
}

// wrongInductor has a fault put into Inductor itself, as its first argument says: a lowering, its
// vector code, or a decomposition.
var wrongInductor = map[string]string{"main.py": `import sys
import torch
import torch.nn.functional as F

def f(x, w):
    y = F.silu(x @ w)
    z = torch.tanh(y) + 1
    return z.sum(-1)

import torch._inductor.decomposition as decomposition
import torch._inductor.lowering as lowering

aten = torch.ops.aten
if sys.argv[1] == "vector":
    from torch._inductor.codegen.cpp import CppVecOverrides

    CppVecOverrides.tanh = staticmethod(lambda x: f"{x}.sin()")
elif sys.argv[1] == "lowering":
    for op in (aten.tanh, aten.tanh.default):
        if op in lowering.lowerings:
            lowering.lowerings[op] = lowering.lowerings[aten.sin.default]
else:
    decomposition.decompositions[aten.silu.default] = lambda x: x * torch.sigmoid(x * 1.01)
    decomposition.fast_random_decomps.cache_clear()
print(torch.compile(f)(torch.randn(8, 16), torch.randn(16, 16)).shape)
`}

// A fault in Inductor is found in its stage, at its operator and line.
func TestNumericsOfAWrongInductor(t *testing.T) {
	python := pythonWithTorch(t)
	pythonProgram(t, wrongInductor)
	for what, c := range map[string]struct{ stage, op string }{
		"lowering": {"lowering or code", "tanh"}, "vector": {"code", "tanh"}, "decomposition": {"decomposition", "silu"},
	} {
		stage, op := c.stage, c.op
		r, _ := compared(t, t.TempDir(), ExitFound, "--", python, "main.py", what)
		f := r.Graphs[0].Fault
		if f == nil || f.Stage != stage || f.Op != op || !f.Alone || f.Pos == nil || !strings.Contains(f.Pos.Code, op+"(") {
			t.Errorf("%s: found %+v", stage, f)
		}
	}
}

// held has graphs with tensors of their own: constants, and parameters that an optimizer writes.
var held = map[string]string{"main.py": `import torch

net = torch.nn.Linear(4, 4)
opt = torch.optim.AdamW(net.parameters())
scale = torch.arange(4.0)

@torch.compile(backend="aot_eager")
def step():
    opt.step()

@torch.compile(backend="aot_eager")
def f(x):
    return net(x * torch.tensor([1.0, 2.0, 3.0, 4.0])) + scale

for i in range(4):
    f(torch.randn(3, 4)).square().sum().backward()
    step()
    opt.zero_grad()
print("%.9g" % net.weight.sum().item())
`}

// What a graph writes of its own is written once, and compared; the program computes what it
// computes without us.
func TestNumericsOfGraphsThatHoldTensors(t *testing.T) {
	python, state := pythonWithTorch(t), t.TempDir()
	dir := pythonProgram(t, held)
	r, _ := compared(t, state, 0, "--", python, "main.py")
	if len(r.Graphs) != 2 {
		t.Fatalf("%d graphs", len(r.Graphs))
	}
	for _, g := range r.Graphs {
		if g.Result != logs.NumericsEqual || g.Calls != 4 || g.Compared != 4 || len(g.Values) < 3 {
			t.Errorf("%s: %s, %d of %d calls, %d values, %v", g.Function, g.Result, g.Compared, g.Calls, len(g.Values), g.NotCompared)
		}
	}
	printed, err := os.ReadFile(lastRun(t, state).file(stdoutFile))
	if err != nil {
		t.Fatal(err)
	}
	plain := exec.Command(python, "-c", "import torch; torch.manual_seed(0); exec(open('main.py').read())")
	plain.Dir = dir
	if want, err := plain.Output(); err != nil || string(want) != string(printed) {
		t.Errorf("under the check it prints %q, without %q (%v)", printed, want, err)
	}
}

// A graph that gives back nothing is not said to be equal: nothing was compared.
func TestNumericsOfAGraphWithoutResults(t *testing.T) {
	python, state := pythonWithTorch(t), t.TempDir()
	pythonProgram(t, map[string]string{"main.py": `import torch
@torch.library.custom_op("tcdbgtest::note", mutates_args=())
def note(x: torch.Tensor) -> None:
    pass
@note.register_fake
def _(x):
    return None
@torch.compile(backend="eager")
def f(x):
    note(x * 2)
    return 1
for i in range(4):
    f(torch.ones(3))
`})
	r, _ := compared(t, state, 0, "--", python, "main.py")
	if len(r.Graphs) != 1 {
		t.Fatalf("%+v", r.Graphs)
	}
	if g := r.Graphs[0]; g.Result != logs.NumericsNone || g.Compared != 0 || !strings.Contains(g.Why, "nothing compared") {
		t.Errorf("%+v", g)
	}
}

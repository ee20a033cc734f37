package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pythonWithTorch is a Python that has PyTorch; without one the test is skipped aloud.
func pythonWithTorch(t *testing.T) string {
	t.Helper()
	p := os.Getenv("TCDBG_PYTHON")
	if p == "" {
		p = "python3"
	}
	if out, err := exec.Command(p, "-c", "import torch").CombinedOutput(); err != nil {
		t.Skipf("no Python with PyTorch: %s: %v: %.200s (set TCDBG_PYTHON)", p, err, out)
	}
	return p
}

// pythonProgram writes files and goes to their folder.
func pythonProgram(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

// threeRows has a finding of each of three rows of the table of advice: a branch on a tensor
// in a package, a branch in the main file, a number that is read out, and a size that changes. It
// tells when it does not run where and as it was written.
var threeRows = map[string]string{
	"pkg/__init__.py": "",
	"pkg/part.py": `import torch

def choose(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x * 3
    return y
`,
	"data.txt": "3\n",
	"main.py": `import atexit, os, sys
import torch
from pkg import part

def scaled(x):
    y = x.sin()
    k = y.sum().item()
    return y * k

def grows(x):
    return x.cos() + x.shape[0]

def here(x):
    if x.sum() > 0:
        y = x * 4
    else:
        y = x * 5
    return y

if __name__ == "__main__":
    atexit.register(print, "at exit")
    n = int(open("data.txt").read())
    print(os.path.basename(__file__), sys.argv[1:], part.__file__ == os.path.abspath("pkg/part.py"), sys.path[0] == os.getcwd())
    fns = [torch.compile(f, backend="eager") for f in (part.choose, scaled, grows, here)]
    for i in range(n):
        x = torch.randn(4 + i)
        for f in fns:
            print(f(x).sum().item())
`,
}

// A patch of the main file, a patch of a package, a setting of PyTorch's and marked sizes are
// proven on a program that runs as it always does, and its files are as they were.
func TestTryPython(t *testing.T) {
	python := pythonWithTorch(t)
	dir, state := pythonProgram(t, threeRows), t.TempDir()
	l := tried(
		t, state, 0, "--only", "patch:GB0170@part.py:4", "--only", "patch:GB0170@main.py:14", "--only", "capture_scalar_outputs=true",
		"--only", "mark_dynamic=grows:x:0", "--", python, "main.py", "--flag",
	)
	for id, better := range map[string]string{
		"patch:GB0170@part.py:4": "1 break fewer", "patch:GB0170@main.py:14": "1 break fewer",
		"capture_scalar_outputs=true": "1 break fewer",
		"mark_dynamic=grows:x:0":      "recompiles fewer", // all four functions take the tensor
	} {
		trial := l.Trial(id)
		if trial == nil || !trial.Verdict.Proven || !strings.Contains(trial.Verdict.Why, better) || trial.Compared.Calls != 12 {
			t.Errorf("%s: %+v", id, trial)
		}
	}
	if m := l.Baseline.Measured; m.PeakRSS == nil || *m.PeakRSS < 50<<20 || *m.Exit != 0 {
		t.Errorf("baseline: %+v", m)
	}
	out, err := os.ReadFile(lastRun(t, state).file(stdoutFile))
	if err != nil || !strings.HasPrefix(string(out), "main.py ['--flag'] True True\n") || !strings.HasSuffix(string(out), "at exit\n") {
		t.Errorf("the program ran otherwise than it does: %q, %v", out, err)
	}
	for name, text := range threeRows {
		if now, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(now) != text {
			t.Errorf("%s has changed (%v)", name, err)
		}
	}
	nothingLeft(t, state)
	fix := run(t, tcdbg(t, state, "fix", "last"))
	if fix.code != 0 || !strings.Contains(fix.stdout, "# ") {
		t.Errorf("fix: %+v", fix)
	}
}

// A remedy that leaves out a print on which the exit code depends is refuted; --steps ends
// the program, without what would run at its exit.
func TestTryPythonRefutes(t *testing.T) {
	python := pythonWithTorch(t)
	pythonProgram(t, map[string]string{"main.py": `import atexit, sys
import torch

class Count:
    n = 0
    def write(self, text): Count.n += len(text)
    def flush(self): pass

def f(x):
    y = x.sin()
    print("inside")
    return y.cos()

atexit.register(sys.__stdout__.write, "at exit\n")
g = torch.compile(f, backend="eager")
sys.stdout = Count()
for i in range(4):
    g(torch.randn(3))
sys.exit(0 if Count.n else 3)
`})
	state := t.TempDir()
	l := tried(t, state, ExitFound, "--only", "patch:GB0059@main.py:11", "--", python, "main.py")
	if v := l.Trials[0].Verdict; v.Proven || !strings.Contains(v.Why, "ends with 3, and without the remedy with 0") {
		t.Errorf("%+v", v)
	}
	l = tried(t, state, 0, "--steps", "2", "--only", "patch:GB0059@main.py:11", "--", python, "main.py")
	if m := l.Baseline.Measured; !m.Cut || *m.Calls != 2 || *m.Exit != 0 {
		t.Errorf("cut: %+v", m)
	}
	if out, err := os.ReadFile(lastRun(t, state).file(stdoutFile)); err != nil || len(out) > 0 {
		t.Errorf("the program printed at its exit: %q %v", out, err)
	}
}

// A remedy that changes a gradient alone, a tensor that a compiled function writes, a buffer of a
// module, or standard error is refuted, and the first difference is named.
func TestTryPythonComparesAll(t *testing.T) {
	python := pythonWithTorch(t)
	for name, c := range map[string]struct{ what, why string }{
		"gradient": {
			"m = torch.nn.Linear(2, 1)\nc = torch.compile(m, backend='aot_eager')\n" +
				"(c(torch.ones(1, 2)) * (1.0 + Count.n)).sum().backward()",
			"after call 5 the gradient of self.bias[0] is 1, and without the remedy 29",
		},
		"torch.autograd.grad": {
			"w = torch.ones(2, requires_grad=True)\ng = torch.autograd.grad((w * (1.0 + Count.n)).sum(), w)",
			"after call 4 the gradient of result 0 of torch.autograd.grad[0] is 1",
		},
		"argument": {
			"def adds(buf, k): buf.add_(k)\nb = torch.zeros(2, 2)\ntorch.compile(adds, backend='eager')(b, 1.0 * Count.n)",
			"call 5 of adds, buf[0, 0] is 0, and without the remedy 28 after it was written",
		},
		"buffer": {
			"class Adds(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n" +
				"        self.register_buffer('total', torch.zeros(2))\n    def forward(self, k): self.total.add_(k)\n" +
				"torch.compile(Adds(), backend='eager')(1.0 * Count.n)",
			"self.total[0] is 0, and without the remedy 28 after it was written",
		},
		"standard error": {
			"sys.stderr.write('%d\\n' % Count.n)", `line 1 of standard error is "0", which is not there without the remedy`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pythonProgram(t, map[string]string{"main.py": `import sys
import torch

class Count:
    n = 0
    def write(self, text): Count.n += len(text)
    def flush(self): pass

def f(x):
    y = x.sin()
    print("inside")
    return y.cos()

g = torch.compile(f, backend="eager")
sys.stdout = Count()
for i in range(4):
    g(torch.ones(3))
` + c.what + "\n"})
			l := tried(t, t.TempDir(), ExitFound, "--only", "patch:GB0059@main.py:11", "--", python, "main.py")
			trial := l.Trials[0]
			if l := strings.Join(trial.Compared.Limits, "; "); strings.Contains(l, "gradients") { // as those of a trace are
				t.Errorf("not compared: %s", l)
			}
			if v := trial.Verdict; v.Proven || !strings.Contains(v.Why, c.why) {
				t.Errorf("%+v, limits %q", v, trial.Compared.Limits)
			}
		})
	}
}

// A trial ends with tcdbg, also where that is killed.
func TestKilledTrialEnds(t *testing.T) {
	python := pythonWithTorch(t)
	pythonProgram(t, map[string]string{"main.py": "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"})
	c := tcdbg(t, t.TempDir(), "try", "--", python, "main.py")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var pid []byte
	for len(pid) == 0 {
		time.Sleep(10 * time.Millisecond)
		pid, _ = os.ReadFile("pid")
	}
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	for range 1000 {
		if _, err := os.Stat("/proc/" + string(pid)); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s runs on", pid)
}

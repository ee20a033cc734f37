package repro_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/internal/app/repro"
)

// TestProgramsOfPyTorch: of a trace of PyTorch's the programs in it are written, and where there is no text
// of a graph either it is said.
func TestProgramsOfPyTorch(t *testing.T) {
	stage := func(name, text string) explain.Stage {
		return explain.Stage{Name: name, Load: func() string { return text }}
	}
	g := &explain.Graph{Stages: []explain.Stage{
		stage("dynamo", "def forward(self):"), stage("runnable", "import torch\n"), stage("runnable", "import os\n"),
	}}
	c := &explain.Compile{Graph: g, Frame: &explain.Frame{Name: "f"}}
	r := &explain.Report{Engine: "PyTorch 2.15.0", Frames: []*explain.Frame{{Compiles: []*explain.Compile{c}}}}
	dir := filepath.Join(t.TempDir(), "r")
	paths, err := repro.Write(dir, r, c, repro.Options{Backend: repro.DefaultBackend}, false)
	if err != nil || strings.Join(paths, " ") != filepath.Join(dir, "repro.py")+" "+filepath.Join(dir, "repro_2.py") {
		t.Fatal(paths, err)
	}
	if text, _ := os.ReadFile(paths[1]); string(text) != "import os\n" {
		t.Errorf("%q", text)
	}
	g.Stages = g.Stages[:1]
	_, err = repro.Write(dir+"2", r, c, repro.Options{Backend: repro.DefaultBackend}, false)
	if err == nil || !strings.Contains(err.Error(), "no text of the graph") {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "2"); err == nil {
		t.Error("a folder is left")
	}
}

// TestPyTorchRepro: the programs of a real trace run.
func TestPyTorchRepro(t *testing.T) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		t.Skip("TCDBG_PYTHON names no Python with PyTorch")
	}
	dir := t.TempDir()
	program := `import torch

w = torch.randn(4, 4, requires_grad=True)
torch.compile(lambda x: torch.relu(x @ w).sum())(torch.randn(3, 4)).backward()
`
	if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
	if out, code := tcdbg(t, dir, "", "exec", "--plain", "--", python, "train.py"); code != 0 {
		t.Fatal(out)
	}
	out, code := tcdbg(t, dir, "", "repro", "-o", "r", "last", "0/0")
	if code != 0 || out != "r/repro.py\nr/repro_2.py\n" {
		t.Fatal(code, out)
	}
	for _, name := range strings.Fields(out) {
		cmd := exec.Command(python, filepath.Base(name))
		cmd.Dir = filepath.Join(dir, "r")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}

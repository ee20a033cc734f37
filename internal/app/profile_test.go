package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exec --profile reports where steady steps spend their time, and what the program prints is
// its own alone.
func TestExecProfile(t *testing.T) {
	python := pythonWithTorch(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "train.py")
	text := `import torch
lin = torch.nn.Linear(8, 8)
def f(x):
    y = torch.relu(lin(x))
    torch._dynamo.graph_break()
    return y * 2
g = torch.compile(f, backend="aot_eager")
for i in range(12):
    g(torch.randn(4, 8)).sum().backward()
print("done")
`
	if err := os.WriteFile(program, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := run(t, tcdbg(t, t.TempDir(), "exec", "--plain", "--profile=3", "--", python, program))
	if got.code != 0 || got.stdout != "done\n" {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{
		"RUN TIME: 3 steady steps", "outside of graphs after the break of 0/0 f  train.py:5",
		"a call outside of graphs",
	} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("no %q in\n%s", want, got.stderr)
		}
	}
	if strings.Contains(got.stderr, "profiler_start") {
		t.Error("the profiler speaks on standard error")
	}
}

package pyhook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/explain/fusion"
	"tcdbg/explain/modules"
	"tcdbg/logs"
)

// This file tests what is written of the nodes of a schedule.

const loopsProgram = `import torch

@torch.compile
def f(x, w):
    y = torch.relu(x) * 2
    return y + 1, y.sum(0), y @ w

f(torch.ones(64, 32), torch.ones(32, 32))
`

// TestNodesOfAScheduleAreWritten: the fusion log of a real PyTorch also says what the nodes read and
// write, so that what each decision saves and costs is known; without the module it is not.
func TestNodesOfAScheduleAreWritten(t *testing.T) {
	p := python(t, "torch")
	for _, modules := range [][]string{{"loops"}, {"calls"}} {
		hooks, trace := folders(t)
		e, err := Install(hooks, env(
			trace, "TORCH_LOGS=fusion,schedule", "TORCH_LOGS_OUT="+filepath.Join(trace, "torch_logs.txt"), "OMP_NUM_THREADS=1",
			"TORCHINDUCTOR_FORCE_DISABLE_CACHES=1",
		), modules...)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "program.py")
		writeFile(t, file, loopsProgram)
		runPython(t, p, e, file)
		st, err := logs.Open([]string{trace}, logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := fold.All(st, "")
		st.Close()
		if err != nil || len(report.Fusions) != 1 {
			t.Fatalf("%v, %+v", err, report)
		}
		v := fusion.Of(report.Fusions[0])
		known := 0
		for i := range v.Fusion.Steps {
			if v.Bytes[i] >= 0 {
				known++
			}
		}
		if modules[0] == "calls" {
			if known != 0 || v.Fusion.Loops != nil {
				t.Errorf("%d decisions are known without the module", known)
			}
			continue
		}
		text, _ := os.ReadFile(filepath.Join(trace, "torch_logs.txt"))
		if known != len(v.Fusion.Steps) || known == 0 {
			t.Fatalf("%d of %d decisions are known:\n%s", known, len(v.Fusion.Steps), text)
		}
		p := v.Fusion.Loops
		if x := p.Buffers["arg0_1"]; x == nil || x.Bytes != 64*32*4 {
			t.Errorf("arg0_1: %+v", x)
		}
		if w := p.Buffers["arg1_1"]; w == nil || w.Bytes != 32*32*4 { // of a product alone
			t.Errorf("arg1_1: %+v", w)
		}
		if strings.Contains(string(text), "tcdbg_hooks") {
			t.Error("lines of ours are told from a file of ours")
		}
	}
}

const modulesProgram = `import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.act, self.fc = torch.nn.ReLU(), torch.nn.Linear(8, 8)

    def forward(self, x):
        return x + self.fc(self.act(x))

layers = torch.nn.Sequential(Block(), Block(), torch.nn.GELU())
torch.compile(layers, backend="aot_eager")(torch.ones(2, 8)).sum().backward()
`

// TestModulesOfNodesAreWritten: after the captured graph of a real PyTorch comes in which modules its nodes were
// traced, also of those that use no parameter.
func TestModulesOfNodesAreWritten(t *testing.T) {
	p := python(t, "torch")
	hooks, trace := folders(t)
	e, err := Install(hooks, env(trace, "OMP_NUM_THREADS=1"), "modules")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, file, modulesProgram)
	runPython(t, p, e, file)
	st, err := logs.Open([]string{trace}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	report, err := fold.All(st, "")
	if err != nil || len(report.Graphs) != 1 || report.Graphs[0].LoadModules == nil {
		t.Fatalf("%v, %+v", err, report)
	}
	g := modules.Captured(report.Graphs[0])
	var got []string
	for i := range g.Nodes {
		if g.Nodes[i].Op != "placeholder" && g.Nodes[i].Op != "output" {
			got = append(got, g.Module[i])
		}
	}
	if want := "0.act 0.fc 0 1.act 1.fc 1 2"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
	if release(t, p) < "02.15" {
		return
	}
	stages := modules.StagesOf(report.Graphs[0])
	at := slices.Index(stages.Names, "backward")
	if at < 0 {
		t.Fatalf("stages %q", stages.Names)
	}
	back, acts := stages.Read(at, g), 0
	for i := range back.Nodes {
		if n := &back.Nodes[i]; strings.HasPrefix(n.Name, "threshold_backward") {
			if acts++; back.Module[i] != "1.act" {
				t.Errorf("%s is in %q", n.Name, back.Module[i])
			}
		}
	}
	if acts != 1 { // the first one's input has no gradient
		t.Errorf("%d nodes of activations", acts)
	}
}

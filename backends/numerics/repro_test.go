package numerics

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/backends"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/ir"
	"tcdbg/torch"
	"tcdbg/tracer"
	"tcdbg/tracer/host"
)

// TestReproducer: the program of a fault differs by itself under the compiler that has the fault,
// and under one that has not it is equal.
func TestReproducer(t *testing.T) {
	wrong := &inductor.Faults{Loops: func(p *ir.Program) { swap(p.Nodes, "tanh", ir.Tanh, ir.Sin) }}
	dir := t.TempDir()
	set := backends.NewSet(backends.Config{CC: "none", Stderr: t.Output(), Faults: wrong})
	b, err := set.Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	torch.ManualSeed(3)
	g, in := sample(t)
	c := New(Config{Set: set, Sink: sink{}, Repro: dir})
	run, err := c.Wrap(b).Compile(&tracer.Request{Module: graph.NewModule(g), Example: in})
	if err != nil {
		t.Fatal(err)
	}
	run(in)
	r := &c.graphs[0].record
	if r.Repro == "" || filepath.Dir(r.Repro) != dir {
		t.Fatalf("the reproducer is in %q: %v", r.Repro, r.NotCompared)
	}
	for _, c := range []struct {
		faults *inductor.Faults
		code   int
		want   string
	}{{wrong, 1, "elements differ"}, {nil, 0, "is equal"}} {
		out, code := runRepro(t, r.Repro, c.faults)
		if code != c.code || !strings.Contains(out, c.want) {
			text, _ := os.ReadFile(filepath.Join(r.Repro, "model.go"))
			t.Errorf("exit %d, want %d\n%s\n%s", code, c.code, out, text)
		}
	}
}

// runRepro runs a reproducer under a compiler with faults.
func runRepro(t *testing.T, dir string, faults *inductor.Faults) (string, int) {
	t.Helper()
	prog, err := host.Load(host.LoadConfig{Paths: []string{filepath.Join(dir, "model.go")}, Source: os.DirFS("../..")})
	if err != nil {
		text, _ := os.ReadFile(filepath.Join(dir, "model.go"))
		t.Fatalf("%v\n%s", err, text)
	}
	var out bytes.Buffer
	cfg := host.Config{Stdout: &out, Stderr: &out, Args: []string{"model", filepath.Join(dir, "inputs.pt")}}
	set := backends.NewSet(backends.Config{CC: "none", Stderr: t.Output(), Faults: faults})
	tr := tracer.New(prog, tracer.Config{Backend: set.Get})
	tr.Install(&cfg)
	in := host.New(prog, cfg)
	tr.Attach(in)
	exit := in.Run()
	return out.String(), exit.Code
}

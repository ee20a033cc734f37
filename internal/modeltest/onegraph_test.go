package modeltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestModelsAreOneGraph runs testdata/onegraph for every model as a user
// would: Fullgraph refuses any break, the program compares the compiled model
// with the eager one, and the trace must show one graph.
func TestModelsAreOneGraph(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "tcdbg")
	if out, err := exec.Command("go", "build", "-o", bin, "tcdbg").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, c := range []struct {
		model string
		slow  bool
	}{
		{"bert", false},
		{"gpt2", false},
		{"llama", false},
		{"t5", false},
		{"resnet18", false},
		{"squeezenet1_1", false},
		{"mobilenet_v3_small", true},
		{"efficientnet_b0", true},
		{"resnet50", true},
		{"densenet121", true},
		{"convnext_tiny", true},
		{"vit_b_16", true},
		{"vgg11", true},
	} {
		for _, backend := range []string{"eager", "inductor"} {
			t.Run(c.model+"/"+backend, func(t *testing.T) {
				if c.slow && testing.Short() {
					t.Skip("slow: left out by -short")
				}
				oneGraph(t, bin, filepath.Join(dir, "cache"), c.model, backend)
			})
		}
	}
}

func oneGraph(t *testing.T, bin, cache, model, backend string) {
	state := t.TempDir()
	cmd := exec.Command(bin, "run", "--plain", "testdata/onegraph/model.go", model, backend)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+cache)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "agrees: true\n" {
		t.Fatalf("%v\n%s", err, out)
	}
	traces, _ := filepath.Glob(filepath.Join(state, "tcdbg/runs/*/trace"))
	store, err := logs.Open(traces, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r, err := explain.FoldAll(store, model)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Graphs) != 1 {
		t.Errorf("%d graphs, want 1", len(r.Graphs))
	}
}

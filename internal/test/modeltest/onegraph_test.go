package modeltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/internal/test"
	"tcdbg/logs"
)

// TestModelsAreOneGraph runs testdata/onegraph for every model as a user
// would: Fullgraph refuses any break, the program compares the compiled model
// with the eager one, in evaluation and with gradients, and the trace must show
// one graph of each.
func TestModelsAreOneGraph(t *testing.T) {
	dir := t.TempDir()
	bin := buildTcdbg(t)
	backends := allBackends(t)
	for _, c := range []struct {
		model string
		long  bool
		noise string // of gradients: batch normalisation of few values amplifies rounding
	}{
		{"bert", true, "1e-3"},
		{"gpt2", true, "1e-3"},
		{"llama", false, "1e-3"},
		{"t5", true, "1e-3"},
		{"resnet18", true, "1e-3"},
		{"squeezenet1_1", false, "1e-3"},
		{"mobilenet_v3_small", true, "5e-2"},
		{"efficientnet_b0", true, "5e-2"},
		{"resnet50", true, "5e-2"},
		{"densenet121", true, "5e-2"},
		{"convnext_tiny", true, "1e-3"},
		{"vit_b_16", true, "1e-3"},
		{"vgg11", true, "1e-3"},
	} {
		for _, backend := range backends {
			t.Run(c.model+"/"+backend, func(t *testing.T) {
				if c.long {
					test.Long(t, "one model of each kind is in the short form")
				}
				oneGraph(t, bin, filepath.Join(dir, "cache"), c.model, backend, c.noise)
			})
		}
	}
}

func oneGraph(t *testing.T, bin, cache, model, backend, noise string) {
	state := t.TempDir()
	cmd := exec.Command(bin, "run", "--plain", "testdata/onegraph/model.go", model, backend, noise)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+cache)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "agrees: true\ntrains: true\n" {
		t.Fatalf("%v\n%s", err, out)
	}
	traces, _ := filepath.Glob(filepath.Join(state, "tcdbg/runs/*/trace"))
	store, err := logs.Open(traces, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r, err := fold.All(store, model)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Graphs) != 2 { // one of the forward pass, one of the loss
		t.Errorf("%d graphs, want 2", len(r.Graphs))
	}
}

package modeltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
)

// This file holds compiled models against PyTorch's records. It takes half an
// hour, so `go test` runs a small one and TCDBG_MODELS says what else: the names
// of models, separated by commas, or "all".

// quickModel is the one that every run compiles.
const quickModel = "llama_tiny"

// chosen reports whether a model is to be compiled in this run.
func chosen(name string) bool {
	wanted := os.Getenv("TCDBG_MODELS")
	if wanted == "" {
		return name == quickModel
	}
	for _, w := range strings.Split(wanted, ",") {
		if w == name || w == "all" {
			return true
		}
	}
	return false
}

// TestCompiledModelsAgreeWithPyTorch runs testdata/records under each backend: each
// function is one graph, and what it gives is what PyTorch recorded.
func TestCompiledModelsAgreeWithPyTorch(t *testing.T) {
	compiledAgree(t, "models", allBackends(t))
}

// TestCompiledVariantsAgreeWithPyTorch does so for other sizes and settings.
func TestCompiledVariantsAgreeWithPyTorch(t *testing.T) {
	compiledAgree(t, "variants", []string{"inductor"})
}

// TestCompiledFullModelsAgreeWithPyTorch does so for models of full size.
func TestCompiledFullModelsAgreeWithPyTorch(t *testing.T) {
	compiledAgree(t, "full", []string{"inductor"})
}

// allBackends are all in the long form of the tests, and inductor in the short one.
func allBackends(t *testing.T) []string {
	return test.Some(t, 1, []string{"inductor", "aot_eager", "eager"})
}

func compiledAgree(t *testing.T, group string, backends []string) {
	records, err := Records("testdata/" + group + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	bin := ""
	for _, r := range records {
		name := r.Model
		if group == "full" {
			name += "_full"
		}
		if !chosen(name) {
			left = append(left, name)
			continue
		}
		if bin == "" {
			bin = buildTcdbg(t)
		}
		b := zoo.Group(group)[r.Model]
		in := filepath.Join(t.TempDir(), "in")
		writeWeights(t, in, r, b)
		for _, backend := range backends {
			t.Run(name+"/"+backend, func(t *testing.T) { checkCompiled(t, bin, group, backend, in, r, b) })
		}
	}
	if len(left) > 0 {
		t.Logf("not compiled in this run (TCDBG_MODELS=all, or their names): %s", strings.Join(left, " "))
	}
}

// buildTcdbg builds the program; TCDBG_BIN names one that is built already.
func buildTcdbg(t *testing.T) string {
	if bin := os.Getenv("TCDBG_BIN"); bin != "" {
		return bin
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

var builtIn string // the folder of built, once it was asked for

// built is the program, which all tests of this package share.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tcdbg-test")
	if err != nil {
		return "", err
	}
	builtIn = dir
	bin := filepath.Join(dir, "tcdbg")
	if out, err := exec.Command("go", "build", "-o", bin, "tcdbg").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(builtIn)
	os.Exit(code)
}

// writeWeights writes a model's weights and input by the formula.
func writeWeights(t *testing.T, path string, r Record, b zoo.Build) {
	tensors := map[string]*torch.Tensor{"input": Input(0, r.Inputs[0], b.Vocab)}
	state := FillState(b.Make())
	checkState(t, r.State, state)
	for _, n := range state {
		tensors[n.Name] = n.Tensor
	}
	if err := torch.SaveSafetensors(tensors, path); err != nil {
		t.Fatal(err)
	}
}

func checkCompiled(t *testing.T, bin, group, backend, in string, r Record, b zoo.Build) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	cmd := exec.Command(bin, "run", "--plain", "testdata/records/model.go", group, r.Model, backend, in, out)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	result, err := torch.LoadSafetensors(out)
	if err != nil {
		t.Fatal(err)
	}
	checkOutput(t, r, result["output"])
	relative(t, "loss in training mode", result["loss"].Item(), r.TrainLoss, 1e-3)
	tol := max(b.Noise, 1e-3)
	norms := map[string]float64{}
	for name, v := range result {
		if p, ok := strings.CutPrefix(name, "norm of "); ok {
			norms[p] = v.Item()
		}
	}
	checkGradients(t, r, norms, tol)
	relative(t, "loss after a step of AdamW", result["loss after"].Item(), r.LossAfterAdamW, tol)
}

package modeltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/internal/test/modeltest/zoo"
)

// This file holds exported programs against PyTorch's own loader and ONNX Runtime.

// TestExportedCases exports functions of many kinds: each agrees with what it was made of, loaded again in
// PyTorch and as an ONNX model.
func TestExportedCases(t *testing.T) {
	folder := t.TempDir()
	out := export(t, "testdata/exportcases/model.go", folder)
	if n := strings.Count(out, " agrees\n"); n != 16 || strings.Count(out, "\n") != n {
		t.Errorf("want 16 cases that agree:\n%s", out)
	}
	compareExported(t, folder, 16)
}

// smallModels are exported in the long form; TCDBG_MODELS names others, or "all".
var smallModels = []string{"llama_tiny", "t5_tiny", "squeezenet1_1", "mobilenet_v3_small"}

// TestExportedModels does so for models of the records.
func TestExportedModels(t *testing.T) {
	test.Long(t, "four models are exported, and compared with PyTorch and ONNX Runtime")
	records, err := Records("testdata/models.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	folder, n := t.TempDir(), 0
	for _, r := range records {
		wanted := os.Getenv("TCDBG_MODELS")
		if wanted == "" {
			wanted = strings.Join(smallModels, ",")
		}
		if wanted != "all" && !strings.Contains(","+wanted+",", ","+r.Model+",") {
			continue
		}
		in := filepath.Join(folder, "weights")
		writeWeights(t, in, r, zoo.Group("models")[r.Model])
		out := export(t, "testdata/export/model.go", r.Model, in, filepath.Join(folder, r.Model))
		t.Log(strings.TrimSpace(out))
		t.Log(fromC(t, filepath.Join(folder, r.Model)))
		n++
	}
	compareExported(t, folder, n)
}

func export(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(buildTcdbg(t), append([]string{"run", "--plain"}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// compareExported has PyTorch and ONNX Runtime compute the n programs of a folder.
func compareExported(t *testing.T, folder string, n int) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		t.Skip("set TCDBG_PYTHON to a Python with torch, safetensors and onnxruntime to compare the files with them")
	}
	out, err := exec.Command(python, "testdata/exportcases/compare.py", folder).CombinedOutput()
	t.Logf("%s", out)
	if err != nil || strings.Count(string(out), " pytorch ") != n {
		t.Errorf("want %d programs that agree: %v", n, err)
	}
	if got := strings.Count(string(out), " onnxruntime "); got != n && !strings.Contains(string(out), "not installed") {
		t.Errorf("%d models of ONNX, want %d", got, n)
	}
}

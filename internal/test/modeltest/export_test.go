package modeltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"tcdbg/backends"
	"tcdbg/internal/test"
	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
)

// This file holds exported programs against PyTorch's own loader and ONNX Runtime.

// TestExportedCases exports functions of many kinds: each agrees with what it was made of, loaded again in
// PyTorch and as an ONNX model.
func TestExportedCases(t *testing.T) {
	folder := t.TempDir()
	out := export(t, "testdata/exportcases/model.go", folder)
	if n := strings.Count(out, " agrees\n"); n != 11 || strings.Count(out, "\n") != n {
		t.Errorf("want 11 cases that agree:\n%s", out)
	}
	compareExported(t, folder, 11)
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

// fromC makes a shared library of an exported model and has a C program compute what the model did; it says how far
// apart they are.
func fromC(t *testing.T, file string) string {
	t.Helper()
	cc, _ := backends.Compiler()
	if cc == "" {
		return "no C compiler: no library"
	}
	tensors, err := torch.LoadSafetensors(file + ".safetensors")
	if err != nil {
		t.Fatal(err)
	}
	x, want := tensors["in0"].Contiguous(), tensors["out0"].Contiguous()
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	source, err := filepath.Abs("../../../backends/testdata/library/call.c")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"package", file + ".pt2", "--name", "model"}
	if x.Shape()[0] < 2 { // which is none of a range
		args = append(args, "--size", "x:0=1")
	}
	run(buildTcdbg(t), args...)
	run(cc, "-DNAME=model", `-DHEADER="model.h"`, source, "-I", ".", "-L", ".", "-lmodel", "-Wl,-rpath,"+dir, "-o", "program")
	sizes := fmt.Sprintln(len(x.Shape()), strings.Trim(fmt.Sprint(x.Shape()), "[]"))
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bytesOf := func(x *torch.Tensor) []byte { return unsafe.Slice((*byte)(x.Ptr()), x.Numel()*x.DType().Size()) }
	write("sizes.txt", []byte(sizes))
	write("in0.bin", bytesOf(x))
	run("./program", "2", "2")
	data, err := os.ReadFile(filepath.Join(dir, "out0.bin"))
	if err != nil {
		t.Fatal(err)
	}
	got := torch.Empty(want.Shape(), torch.Option{Name: "dtype", Value: want.DType()})
	if copy(bytesOf(got), data) != got.Numel()*got.DType().Size() {
		t.Fatalf("the result has %d bytes", len(data))
	}
	apart := got.Sub(want).Abs().Max().Div(want.Abs().Max()).Item()
	if !(apart < 1e-4) {
		t.Errorf("from C it is apart by %.2g", apart)
	}
	return fmt.Sprintf("from C: apart by %.2g", apart)
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

package backends

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tcdbg/backends/library"
	"tcdbg/torch"
)

// TestLibraryForAnotherProcessor: where the processor lacks what a library was built with, calls are errors.
func TestLibraryForAnotherProcessor(t *testing.T) {
	cc, _ := Compiler()
	if cc == "" || runtime.GOARCH != "amd64" {
		t.Skip("no C compiler, or a processor that has no sets of instructions to lack")
	}
	p, err := torch.LoadExported("../torch/testdata/exported/linear_relu.pt2")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	more := []library.Feature{{Name: "fma4", Test: `__builtin_cpu_supports("fma4")`}} // gone from processors since 2017
	if err := NewSet(Config{}).packageFor(p, dir, "mlp", nil, more); err != nil {
		t.Fatal(err)
	}
	const text = `#include "mlp.h"
#include <stdio.h>
int main(void) {
  int code = mlp_run(0, 0, 0, 0);
  printf("%d %s", code == MLP_ERROR_PROCESSOR, mlp_error());
}`
	source, program := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, source, "-L", dir, "-lmlp", "-Wl,-rpath,"+dir, "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program).CombinedOutput()
	if want := "1 this processor lacks fma4, which the library was built for"; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%v %s, want %s", err, out, want)
	}
}

package backends

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tcdbg/backends/library"
	"tcdbg/inductor"
	"tcdbg/inductor/tune"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// TestLibraryForAnotherProcessor: where the processor lacks what a library was built with, calls are errors.
func TestLibraryForAnotherProcessor(t *testing.T) {
	test.Long(t, "the runtime library is compiled once more")
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

// TestConvolutionsReorder: a convolution whose image has its channels side by side is written out, unless the eager
// operator is chosen.
func TestConvolutionsReorder(t *testing.T) {
	for _, bias := range []bool{false, true} {
		g := newTestGraph("reorder")
		x := g.Emit(ops.Permute, g.input(filled(ops.Float32, 1, 2, 8, 6, 3)), ints(0, 3, 1, 2))
		w := g.param(filled(ops.Float32, 2, 4, 3, 2, 2))
		var b ops.Value
		if bias {
			b = g.param(filled(ops.Float32, 3, 4))
		}
		y := g.Emit(ops.Convolution, x, w, b, ints(2, 2), ints(0, 0), ints(1, 1), false, ints(0, 0), sym.C(1))
		m := g.outputs(y)
		count := func(eager bool) (externs int, x *executable) {
			e := NewSet(Config{CC: "none", Stderr: io.Discard}).engine()
			x, err := e.compiled(m.G, &tracer.Request{}, inductor.Options{Tuned: tune.Choices{Externs: eager}})
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range x.prog.Steps {
				externs += number(st.Extern != nil)
			}
			return externs, x
		}
		if n, _ := count(true); n != 1 {
			t.Errorf("bias %v: %d eager calls where one is chosen", bias, n)
		}
		n, x2 := count(false)
		if err := sameValues(x2.interpreted(g.in), m.Run(g.in), 1e-5); n != 0 || err != nil {
			t.Errorf("bias %v: %d eager calls: %v", bias, n, err)
		}
	}
}

// TestLibraryCallsTheRuntime: both declare what the library calls with the same number of arguments.
func TestLibraryCallsTheRuntime(t *testing.T) {
	arguments := func(text, name string) int {
		_, rest, ok := strings.Cut(text, "i64 "+name+"(")
		if !ok {
			t.Fatalf("no %s", name)
		}
		depth, n := 1, 1
		for _, c := range rest {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			case ',':
				n += number(depth == 1)
			}
			if depth == 0 {
				return n
			}
		}
		return 0
	}
	text, err := os.ReadFile("library/library.c.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tc_run", "tc_start"} {
		if ours, theirs := arguments(string(text), name), arguments(runtimeText(), name); ours != theirs {
			t.Errorf("%s has %d arguments, the library passes %d", name, theirs, ours)
		}
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

package backends_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"tcdbg/backends"
	"tcdbg/torch"
)

// This file packages exported programs and calls the libraries from C programs.

// cCompiler is the machine's; a machine without one skips the test.
func cCompiler(t *testing.T) string {
	t.Helper()
	path, _ := backends.Compiler()
	if path == "" {
		t.Skip("no C compiler: libraries are not built")
	}
	return path
}

// packaged makes a library of a program and builds the C program source against it, which it returns.
func packaged(t *testing.T, p *torch.ExportedProgram, name, source string, fixed map[string]int64) string {
	t.Helper()
	cc := cCompiler(t)
	dir := t.TempDir()
	if err := backends.NewSet(backends.Config{}).Package(p, dir, name, fixed); err != nil {
		t.Fatal(err)
	}
	return linked(t, cc, dir, name, source)
}

// linked builds a C program against the library in dir.
func linked(t *testing.T, cc, dir, name, source string) string {
	t.Helper()
	program := filepath.Join(dir, "program")
	out, err := exec.Command(cc, "-O1", "-Wall", "-Wextra", "-Werror", "-DNAME="+name, fmt.Sprintf("-DHEADER=%q", name+".h"), source,
		"-I", dir, "-L", dir, "-l"+name, "-Wl,-rpath,"+dir, "-lpthread", "-o", program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// elements is the memory of a contiguous tensor.
func elements(x *torch.Tensor) []byte {
	return unsafe.Slice((*byte)(x.Ptr()), x.Numel()*x.DType().Size())
}

// callLibrary has a program built of call.c compute a program's results.
func callLibrary(t *testing.T, program string, p *torch.ExportedProgram, in []torch.Value, want []torch.Value, args ...string) []torch.Value {
	t.Helper()
	dir := t.TempDir()
	var sizes strings.Builder
	for i, v := range in {
		x := v.(*torch.Tensor).Detach().Contiguous()
		fmt.Fprintln(&sizes, len(x.Shape()), strings.Trim(fmt.Sprint(x.Shape()), "[]"))
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("in%d.bin", i)), elements(x), 0o644))
	}
	must(t, os.WriteFile(filepath.Join(dir, "sizes.txt"), []byte(sizes.String()), 0o644))
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var out []torch.Value
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		w := want[i].(*torch.Tensor)
		if shape := fmt.Sprintln(len(w.Shape()), strings.Trim(fmt.Sprint(w.Shape()), "[]")); strings.TrimSpace(shape) != line {
			t.Fatalf("%s has sizes %s, want %s", p.OutputNames()[i], line, shape)
		}
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out%d.bin", i)))
		must(t, err)
		x := torch.Empty(w.Shape(), torch.Option{Name: "dtype", Value: w.DType()})
		if copy(elements(x), data) != len(data) || len(data) != x.Numel()*x.DType().Size() {
			t.Fatalf("%s has %d bytes", p.OutputNames()[i], len(data))
		}
		out = append(out, x)
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// leaves are the tensors among arguments, in order.
func leaves(args ...any) []torch.Value {
	var out []torch.Value
	for _, a := range args {
		switch a := a.(type) {
		case *torch.Tensor:
			out = append(out, a)
		case []any:
			out = append(out, leaves(a...)...)
		case torch.OrderedDict:
			for _, item := range a {
				out = append(out, leaves(item.Value)...)
			}
		}
	}
	return out
}

// TestLibraries packages programs that PyTorch exported, makes the recorded calls from C, and holds the results
// against PyTorch's and, bit for bit, against those of the same program compiled here.
func TestLibraries(t *testing.T) {
	for _, name := range []string{"linear_relu", "conv_norm_eval", "bfloat16", "tied"} {
		t.Run(name, func(t *testing.T) {
			file := "../torch/testdata/exported/" + name + ".pt"
			p, err := torch.LoadExported(file + "2")
			must(t, err)
			general := packaged(t, p, name, "testdata/library/call.c", nil)
			torch.RunExported(exportedOn(t, "inductor"))
			defer torch.RunExported(nil)
			recorded, err := torch.Load(file)
			must(t, err)
			for n, c := range recorded.([]any) {
				call := c.([]any)
				args := slices.Clone(call[0].([]any))
				for _, item := range call[1].(torch.OrderedDict) {
					args = append(args, torch.Option{Name: item.Key.(string), Value: item.Value})
				}
				var ours []torch.Value
				torch.NoGrad(func() { ours = p.Call(args...) })
				want := call[2].([]any)
				program := general
				if x := leaves(args...)[0].(*torch.Tensor); x.Shape()[0] == 1 { // a range begins at 2
					program = packaged(t, p, name, "testdata/library/call.c", map[string]int64{p.InputNames()[0] + ":0": 1})
				}
				got := callLibrary(t, program, p, leaves(call[0], call[1]), ours, "2", "3")
				for i := range want {
					if err := sameValue(got[i], want[i]); err != nil {
						t.Errorf("call %d: %s: %v", n, p.OutputNames()[i], err)
					}
					if g, o := got[i].(*torch.Tensor), ours[i].(*torch.Tensor); !bytes.Equal(elements(g), elements(o.Contiguous())) {
						t.Errorf("call %d: %s is not bit for bit what the compiled program gives: %v\nwant %v", n, p.OutputNames()[i], g, o)
					}
				}
			}
		})
	}
}

package backends_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"tcdbg/backends"
	"tcdbg/internal/test"
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
func callLibrary(
	t *testing.T, program string, p *torch.ExportedProgram, in, want []torch.Value, args ...string,
) []torch.Value {
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

// asTensor makes a tensor of a number, as a library gives it.
func asTensor(v any) any {
	if n, ok := v.(int); ok {
		return torch.NewTensor(int64(n))
	}
	return v
}

// TestLibraries packages programs that PyTorch exported, makes the recorded calls from C, and holds the results
// against PyTorch's and, bit for bit, against those of the same program compiled here.
func TestLibraries(t *testing.T) {
	for _, name := range []string{"linear_relu", "conv_norm_eval", "attention", "bfloat16", "tied", "trees"} {
		t.Run(name, func(t *testing.T) {
			file := "../torch/testdata/exported/" + name + ".pt"
			p, calls := recordedCalls(t, file)
			general := packaged(t, p, name, "testdata/library/call.c", nil)
			torch.RunExported(exportedOn(t, "inductor"))
			defer torch.RunExported(nil)
			for n, c := range calls {
				ours, want := c.made(p), c.want
				for i := range want {
					want[i], ours[i] = asTensor(want[i]), asTensor(ours[i])
				}
				program := general
				if x := leaves(c.args...)[0].(*torch.Tensor); x.Shape()[0] == 1 { // a range begins at 2
					program = packaged(t, p, name, "testdata/library/call.c", map[string]int64{p.InputNames()[0] + ":0": 1})
				}
				got := callLibrary(t, program, p, leaves(c.positional, c.keywords), ours, "2", "3")
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

// TestLibraryErrors calls a library with what it was not made for, and from several threads.
func TestLibraryErrors(t *testing.T) {
	p, err := torch.LoadExported("../torch/testdata/exported/linear_relu.pt2")
	must(t, err)
	program := packaged(t, p, "mlp", "testdata/library/mlp.c", nil)
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	x := torch.NewTensor([][]float32{{1, 2, 3, 4}, {-1, 0.5, 0, 2}})
	var want string
	y := p.Call(x)[0].(*torch.Tensor)
	for i := range 2 {
		want += fmt.Sprintf("%.4f %.4f %.4f\n", y.At(i, 0).Item(), y.At(i, 1).Item(), y.At(i, 2).Item())
	}
	if string(out) != want {
		t.Errorf("%s\nwant\n%s", out, want)
	}
}

// TestLibraryStandsAlone: a library needs of others no more than libc and libm.
func TestLibraryStandsAlone(t *testing.T) {
	if _, err := exec.LookPath("readelf"); err != nil {
		t.Skip("no readelf")
	}
	p, err := torch.LoadExported("../torch/testdata/exported/tied.pt2")
	must(t, err)
	program := packaged(t, p, "tied", "testdata/library/call.c", nil)
	lib := filepath.Join(filepath.Dir(program), "libtied.so")
	out, err := exec.Command("readelf", "-d", lib).Output()
	must(t, err)
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "NEEDED") && !strings.Contains(line, "libc.so") && !strings.Contains(line, "libm.so") &&
			!strings.Contains(line, "libpthread.so") && !strings.Contains(line, "ld-linux") {
			t.Error(line)
		}
	}
	out, err = exec.Command("readelf", "-W", "--dyn-syms", lib).Output()
	must(t, err)
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 8 && f[4] == "GLOBAL" && f[6] != "UND" && !strings.HasPrefix(f[7], "tied_") {
			t.Errorf("it exports %s", f[7])
		}
	}
}

// TestLibraryRefusals: what cannot go into a library is an error that names it.
func TestLibraryRefusals(t *testing.T) {
	cCompiler(t)
	for file, want := range map[string]string{
		"counter":     "the program changes 2: calls, seen",
		"linear_relu": "is no size that varies; those of this program: x:0",
	} {
		p, err := torch.LoadExported("../torch/testdata/exported/" + file + ".pt2")
		must(t, err)
		var fixed map[string]int64
		if file == "linear_relu" {
			fixed = map[string]int64{"x:1": 4}
		}
		dir := filepath.Join(t.TempDir(), "none")
		err = backends.NewSet(backends.Config{}).Package(p, dir, "lib", fixed)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: there is a folder", file)
		}
	}
	p, err := torch.LoadExported("../torch/testdata/exported/linear_relu.pt2")
	must(t, err)
	for _, name := range []string{"", "1a", "a-b", "a/b", "_a", "tc", "a\n"} {
		if err := backends.NewSet(backends.Config{}).Package(p, t.TempDir(), name, nil); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	err = backends.NewSet(backends.Config{CC: "none"}).Package(p, t.TempDir(), "a", nil)
	if err == nil || !strings.Contains(err.Error(), "C compiler") {
		t.Error(err)
	}
}

// TestLibrariesOfOtherWidths builds libraries for processors with shorter vectors.
func TestLibrariesOfOtherWidths(t *testing.T) {
	test.Long(t, "the runtime library is compiled for two other widths")
	cc := cCompiler(t)
	const name = "conv_norm_eval"
	p, calls := recordedCalls(t, "../torch/testdata/exported/"+name+".pt")
	c := calls[0]
	for _, lanes := range []int{4, 8} {
		dir := t.TempDir()
		must(t, backends.NewSet(backends.Config{Lanes: lanes}).Package(p, dir, name, nil))
		program := linked(t, cc, dir, name, "testdata/library/call.c")
		got := callLibrary(t, program, p, leaves(c.positional, c.keywords), c.want, "2", "1")
		if err := sameValue(got[0], c.want[0]); err != nil {
			t.Errorf("%d lanes: %v", lanes, err)
		}
	}
}

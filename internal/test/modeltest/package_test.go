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
	"tcdbg/torch"
)

// This file calls shared libraries of exported programs from a C program, backends/testdata/library/call.c.

// library is one in a folder, with the program that calls it.
type library struct{ dir string }

// linked builds the program for the library of that name.
func linked(t *testing.T, dir, name string) *library {
	t.Helper()
	cc, _ := backends.Compiler()
	source, err := filepath.Abs("../../../backends/testdata/library/call.c")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(cc, "-DNAME="+name, fmt.Sprintf("-DHEADER=%q", name+".h"), source, "-I", ".", "-L", ".", "-l"+name,
		"-Wl,-rpath,"+dir, "-o", "program")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return &library{dir}
}

// call gives x to the program; want is a tensor like the result. The text is what the program says.
func (l *library) call(t *testing.T, x, want *torch.Tensor) (got *torch.Tensor, text string, err error) {
	t.Helper()
	memory := func(x *torch.Tensor) []byte { return unsafe.Slice((*byte)(x.Ptr()), x.Numel()*x.DType().Size()) }
	sizes := fmt.Sprintln(len(x.Shape()), strings.Trim(fmt.Sprint(x.Shape()), "[]"))
	for name, data := range map[string][]byte{"sizes.txt": []byte(sizes), "in0.bin": memory(x.Contiguous())} {
		if err := os.WriteFile(filepath.Join(l.dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("./program", "2", "2")
	cmd.Dir = l.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, string(out), err
	}
	data, err := os.ReadFile(filepath.Join(l.dir, "out0.bin"))
	if err != nil {
		t.Fatal(err)
	}
	got = torch.Empty(want.Shape(), torch.Option{Name: "dtype", Value: want.DType()})
	if len(data) != len(memory(got)) {
		t.Fatalf("the result has %d bytes, want %d", len(data), len(memory(got)))
	}
	copy(memory(got), data)
	return got, string(out), nil
}

// apart is how far tensors are from each other, of the largest value.
func apart(got, want *torch.Tensor) float64 {
	return got.Sub(want).Abs().Max().Div(want.Abs().Max()).Item()
}

// fromC makes a shared library of an exported model and has a C program compute what the model did; it says how far
// apart they are.
func fromC(t *testing.T, file string) string {
	t.Helper()
	if cc, _ := backends.Compiler(); cc == "" {
		return "no C compiler: no library"
	}
	tensors, err := torch.LoadSafetensors(file + ".safetensors")
	if err != nil {
		t.Fatal(err)
	}
	x, want := tensors["in0"], tensors["out0"]
	dir := t.TempDir()
	args := []string{"package", file + ".pt2", "-o", dir, "--name", "model"}
	if x.Shape()[0] < 2 { // which is none of a range
		args = append(args, "--size", "x:0=1")
	}
	if out, err := exec.Command(buildTcdbg(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, text, err := linked(t, dir, "model").call(t, x, want)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !(apart(got, want) < 1e-4) {
		t.Errorf("from C it is apart by %.2g", apart(got, want))
	}
	return fmt.Sprintf("from C: apart by %.2g", apart(got, want))
}

// TestPackage packages a layer of a transformer that a program exports, with any batch and any length, and calls it
// from C with several; and what cannot be packaged is named.
func TestPackage(t *testing.T) {
	if cc, _ := backends.Compiler(); cc == "" {
		t.Skip("no C compiler: libraries are not built")
	}
	dir := t.TempDir()
	out := export(t, "testdata/package/model.go", dir)
	const refused = `packaging refused: operators that run outside of generated code cannot go into a library: sort (1), erfinv (2)
packaging refused: a library changes neither buffers nor inputs, and the program changes 1: lifted_tensor_0
packaging a-b: "a-b" cannot begin the names of a C library: use letters, digits and _
`
	if out != refused {
		t.Errorf("%s\nwant\n%s", out, refused)
	}
	p, err := torch.LoadExported(filepath.Join(dir, "encoder.pt2"))
	if err != nil {
		t.Fatal(err)
	}
	lib := linked(t, dir, "encoder")
	for _, size := range [][]int{{2, 7}, {16, 64}, {3, 2}, {5, 33}} {
		x := torch.Randint(0, 50, size)
		want := p.Call(x)[0].(*torch.Tensor).Detach()
		got, text, err := lib.call(t, x, want)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !(apart(got, want) < 1e-5) {
			t.Errorf("%v is apart by %.2g", size, apart(got, want))
		}
	}
	for _, c := range []struct {
		x    *torch.Tensor
		want string
	}{
		{torch.Full([]int{2, 3}, 50, torch.Option{Name: "dtype", Value: torch.Int64}), "4: an index is outside of its dimension"},
		{torch.Randint(0, 50, []int{17, 3}), "1: ids.size[0] is 17, and must be at most 16"},
		{torch.Randint(0, 50, []int{2, 1}), "1: ids.size[1] is 1, and must be at least 2"},
	} {
		if _, text, err := lib.call(t, c.x, c.x); err == nil || !strings.HasPrefix(text, c.want) {
			t.Errorf("%v %s, want %s", err, text, c.want)
		}
	}
}

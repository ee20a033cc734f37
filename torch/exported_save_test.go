package torch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// This file tests what Save writes of programs that PyTorch exported: what is read of it is what was read before.

func TestExportedSavedAgain(t *testing.T) {
	files, err := filepath.Glob(exportedFolder + "*.pt2")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		p, err := LoadExported(file)
		if err != nil {
			continue // one that is refused, on purpose
		}
		path := filepath.Join(t.TempDir(), "again.pt2")
		if err := p.Save(path); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		q, err := LoadExported(path)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if p.String() != q.String() {
			t.Errorf("%s\nbecomes\n%s", p, q)
		}
		args, ok := p.ExampleInputs()
		again, kept := q.ExampleInputs()
		if ok != kept {
			t.Errorf("%s: the example is kept: %v, then %v", file, ok, kept)
		}
		if !ok {
			continue
		}
		got, want := q.Call(again...), p.Call(args...)
		for i := range want {
			if w, isTensor := want[i].(*Tensor); isTensor && !w.Eq(got[i]).All().Bool() {
				t.Errorf("%s: %v\nwant %v", file, got[i], w)
			}
		}
		for name, w := range p.StateDict() {
			if g := q.StateDict()[name]; g == nil || g.RequiresGrad() != w.RequiresGrad() {
				t.Errorf("%s: %s", file, name)
			}
		}
	}
}

// TestExportNeedsTheCompiler: a plain process has nothing that traces, and says so.
func TestExportNeedsTheCompiler(t *testing.T) {
	_, err := Export(func(x *Tensor) *Tensor { return x }, []any{Ones(2)})
	if err == nil || err.Error() != "torch.Export needs the compiler: run this program with `tcdbg run`" {
		t.Error(err)
	}
	for want, fn := range map[string]any{"of a module pass net.Forward": &Tensor{}, "no function but of type int": 3} {
		if _, err := Export(fn, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestONNXRefusals: what has no form is named with its number, and no file is left.
func TestONNXRefusals(t *testing.T) {
	p, err := LoadExported(exportedFolder + "counter.pt2")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "counter.onnx")
	err = p.SaveONNX(path)
	const want = "torch.onnx.export: operators have no form in ONNX: aten.add_.Tensor: it changes an input of the program (1)"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file is left")
	}
}

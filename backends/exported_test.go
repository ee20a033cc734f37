package backends_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/backends"
	"tcdbg/graph"
	"tcdbg/graph/exported"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/torch/export"
	"tcdbg/tracer"
)

// This file compares programs that PyTorch exported with PyTorch's own results
// (torch/testdata/exported, written by make.py there): eagerly and on each backend.

// exportedOn compiles every call of p by a backend; eagerly where it is "".
func exportedOn(t *testing.T, backend string) torch.ExportedRunner {
	if backend == "" {
		return nil
	}
	set := backends.NewSet(backends.Config{})
	b, err := set.Get(backend)
	if err != nil {
		t.Fatal(err)
	}
	return func(p *torch.ExportedProgram, inputs []torch.Value, sizes map[string]int64) []torch.Value {
		g, err := exported.Build(p, "exported", inputs, sizes)
		if err != nil {
			t.Fatal(err)
		}
		r := &tracer.Request{Module: graph.NewModule(g), Mode: "default", Log: (*logs.Writer)(nil), Changing: map[string]bool{}}
		for i, in := range p.Program().Inputs {
			if in.Kind != export.Fixed {
				r.Example = append(r.Example, inputs[i])
			}
			if in.Kind == export.User {
				r.Changing["L."+in.Name] = true
			}
		}
		run, err := b.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		return run(r.Example)
	}
}

func TestExportedPrograms(t *testing.T) {
	files, err := filepath.Glob("../torch/testdata/exported/*.pt")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, backend := range []string{"", "eager", "aot_eager", "inductor"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".pt")+"/"+backend, func(t *testing.T) {
				torch.RunExported(exportedOn(t, backend))
				defer torch.RunExported(nil)
				callExported(t, file)
			})
		}
	}
}

// callExported makes the recorded calls and compares.
func callExported(t *testing.T, file string) {
	t.Helper()
	p, err := torch.LoadExported(file + "2")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := torch.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for n, c := range recorded.([]any) {
		call := c.([]any)
		args := slices.Clone(call[0].([]any))
		for _, item := range call[1].(torch.OrderedDict) {
			args = append(args, torch.Option{Name: item.Key.(string), Value: item.Value})
		}
		var got []torch.Value
		torch.NoGrad(func() { got = p.Call(args...) })
		want := call[2].([]any)
		if len(got) != len(want) || len(p.OutputNames()) != len(want) {
			t.Fatalf("call %d: %d results named %v, want %d", n, len(got), p.OutputNames(), len(want))
		}
		for i := range want {
			if err := sameValue(got[i], want[i]); err != nil {
				t.Errorf("call %d: %s: %v", n, p.OutputNames()[i], err)
			}
		}
	}
}

func sameValue(got, want any) error {
	w, ok := want.(*torch.Tensor)
	g, ok2 := got.(*torch.Tensor)
	if !ok || !ok2 {
		if got != want {
			return fmt.Errorf("%v (%T), want %v (%T)", got, got, want, want)
		}
		return nil
	}
	tolerance := 1e-5
	if w.DType() == torch.Bfloat16 {
		tolerance = 1e-2
	}
	close := func() bool {
		diff := g.To(torch.Float64).Sub(w.To(torch.Float64)).Abs()
		return !diff.Gt(w.To(torch.Float64).Abs().Mul(tolerance).Add(tolerance)).Any().Bool()
	}
	if g.DType() != w.DType() || !slices.Equal(g.Shape(), w.Shape()) || !close() {
		return fmt.Errorf("%v\nwant %v", g, w)
	}
	return nil
}

// TestExportedModels has PyTorch export models of torchvision and transformers and compares what they
// compute, at two batch sizes.
func TestExportedModels(t *testing.T) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		t.Skip("set TCDBG_PYTHON to a Python with torch, torchvision and transformers to run this test")
	}
	script, err := filepath.Abs("../torch/testdata/exported/zoo.py")
	if err != nil {
		t.Fatal(err)
	}
	folder := os.Getenv("TCDBG_EXPORTED") // made before by zoo.py
	if folder == "" {
		folder = t.TempDir()
		cmd := exec.Command(python, script, folder)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("no PyTorch with torchvision and transformers: %v: %.300s", err, out)
		} else {
			t.Logf("%s", out)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.pt"))
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, backend := range []string{"", "aot_eager", "inductor"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".pt")+"/"+backend, func(t *testing.T) {
				torch.RunExported(exportedOn(t, backend))
				defer torch.RunExported(nil)
				callExported(t, file)
			})
		}
	}
}

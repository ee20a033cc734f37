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

// recordedCall is one that PyTorch made of an exported program: its arguments as it was given them, in one list with those
// by keyword as options, and its results.
type recordedCall struct{ positional, keywords, args, want []any }

// recordedCalls are a program, and the calls of it that lie beside its file: file is NAME.pt, the program NAME.pt2.
func recordedCalls(t *testing.T, file string) (*torch.ExportedProgram, []recordedCall) {
	t.Helper()
	p, err := torch.LoadExported(file + "2")
	must(t, err)
	recorded, err := torch.Load(file)
	must(t, err)
	var out []recordedCall
	for _, r := range recorded.([]any) {
		call := r.([]any)
		c := recordedCall{positional: call[0].([]any), args: slices.Clone(call[0].([]any)), want: call[2].([]any)}
		for _, item := range call[1].(torch.OrderedDict) {
			c.keywords = append(c.keywords, item.Value)
			c.args = append(c.args, torch.Option{Name: item.Key.(string), Value: item.Value})
		}
		out = append(out, c)
	}
	return p, out
}

// made is what a program gives for a call.
func (c *recordedCall) made(p *torch.ExportedProgram) (out []torch.Value) {
	torch.NoGrad(func() { out = p.Call(c.args...) })
	return out
}

// callExported makes the recorded calls and compares.
func callExported(t *testing.T, file string) {
	t.Helper()
	p, calls := recordedCalls(t, file)
	for n, c := range calls {
		got := c.made(p)
		if len(got) != len(c.want) || len(p.OutputNames()) != len(c.want) {
			t.Fatalf("call %d: %d results named %v, want %d", n, len(got), p.OutputNames(), len(c.want))
		}
		for i := range c.want {
			if err := sameValue(got[i], c.want[i]); err != nil {
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

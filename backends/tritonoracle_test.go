package backends

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/aot"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/ir"
	"tcdbg/internal/test/oracle"
	"tcdbg/torch"
	"tcdbg/tracer"
	"tcdbg/tracer/host"
)

var (
	tritonOracle = flag.String("triton-oracle", "", "folder to write PyTorch's cases to as Triton modules")
	tritonSuite  = flag.String("triton-suite", filepath.Join("..", "internal", "test", "oracle", "testdata", "ops"), "folder of the cases")
	tritonEach   = flag.Int("triton-each", 2, "how many cases of an operator and its variant")
)

// tritonBackend compiles to Triton text; graphs run operator by operator.
type tritonBackend struct {
	dir     string
	name    string // of the case
	modules int
	missing map[string]bool
	err     error
}

func (*tritonBackend) Name() string { return "triton" }

func (b *tritonBackend) Compile(r *tracer.Request) (tracer.Runnable, error) {
	ar := aotRequest(r)
	ar.Compile = func(p aot.Part) (aot.Runnable, error) {
		g := p.Graph
		var sink tritonSink
		opt := inductor.Options{
			Machine: cpp.Machine{Lanes: 8, Cache: 8 << 20}, Cores: 1, Log: &sink,
			Params: paramInputs(g, p.Written, nil),
		}
		if _, err := inductor.Compile(g, opt); err != nil {
			return nil, err
		}
		code := &sink.codes[0]
		if strings.Contains(code.Missing, "PyTorch has no such operator") {
			return g.Run, nil
		}
		if code.Missing != "" {
			b.missing[b.name+": "+code.Missing] = true
			return g.Run, nil
		}
		return func(in []torch.Value) []torch.Value {
			out := g.Run(in)
			b.modules++
			random := strings.Contains(code.Text, string(ir.ReasonRandom)) // the GPU draws others
			if b.dir != "" && b.err == nil && !random {
				b.err = exportTriton(filepath.Join(b.dir, fmt.Sprintf("%s_%s_%d", b.name, p.Stage, b.modules)), code, in, out)
			}
			return out
		}, nil
	}
	done, err := aot.Compile(ar)
	if err != nil {
		return nil, err
	}
	return done.Run, nil
}

// TestTritonOracle writes PyTorch's cases as Triton modules, forward and backward,
// for scripts/compare-triton.py; every kernel must have a text.
func TestTritonOracle(t *testing.T) {
	s, err := oracle.Load("ops", *tritonSuite)
	if err != nil {
		t.Fatal(err)
	}
	b := &tritonBackend{dir: *tritonOracle, missing: map[string]bool{}}
	seen := map[string]int{}
	for i, c := range s.Cases {
		key := c.Op + " " + c.Variant
		if seen[key]++; seen[key] > *tritonEach || c.Error != "" {
			continue
		}
		b.name = fmt.Sprintf("%s_%d", graph.Word(c.Op), i)
		run := oracle.Compiled(b)
		run.EagerErrors = true
		_ = s.Run(c, run) // whether eager is right is another test's
		if b.err != nil {
			t.Fatal(b.err)
		}
	}
	for m := range b.missing {
		t.Error(m)
	}
	t.Logf("%d modules", b.modules)
}

// TestTritonPrograms does the same with the graphs of random models.
func TestTritonPrograms(t *testing.T) {
	b := &tritonBackend{dir: *tritonOracle, missing: map[string]bool{}}
	for _, seed := range fuzzSeeds(t) {
		b.name = fmt.Sprintf("model_%d", seed)
		prelude, body := model(seed)
		prog, err := loadText(t, prelude+body)
		if err != nil {
			t.Fatal(err)
		}
		tr := tracer.New(prog, tracer.Config{Backend: func(string) (tracer.Backend, error) { return b, nil }, DefaultBackend: b.Name()})
		cfg := host.Config{Stdout: io.Discard, Stderr: io.Discard, Args: []string{"model"}}
		tr.Install(&cfg)
		in := host.New(prog, cfg)
		tr.Attach(in)
		torch.ManualSeed(1)
		in.Run()
		if b.err != nil {
			t.Fatal(b.err)
		}
	}
	for m := range b.missing {
		t.Error(m)
	}
	t.Logf("%d modules", b.modules)
}

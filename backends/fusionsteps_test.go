package backends

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/aot"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer"
	"tcdbg/tracer/host"
)

// This file holds the source that each fusion step carries against the truth:
// it is the program that comes out when the search ends there, it compiles as
// it stands, and it gives eager's result.

func TestEveryFusionStepRuns(t *testing.T) {
	needCompiler(t)
	for _, name := range []string{"bar", "epilogue", "mlp", "sincos"} {
		t.Run(name, func(t *testing.T) {
			b := &stepBackend{t: t, set: NewSet(Config{CacheDir: sharedCache, Threads: 2, Stderr: t.Output()})}
			runUnder(t, filepath.Join("..", "fixtures", name, "model.go"), b)
			if b.fused == 0 || b.compared < b.fused {
				t.Errorf("%d fusions, of which %d were run", b.fused, b.compared)
			}
			t.Logf("%d decisions, %d fused, %d compared with eager", b.decisions, b.fused, b.compared)
		})
	}
}

// runUnder runs a program under the tracer with one backend.
func runUnder(t *testing.T, path string, b tracer.Backend) {
	t.Helper()
	prog, err := host.Load(host.LoadConfig{Paths: []string{path}, Source: sources{os.DirFS("..")}})
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	hc := host.Config{Stdout: &out, Stderr: &errs, Args: []string{path}}
	tr := tracer.New(prog, tracer.Config{Sink: nowhere{}, Backend: func(string) (tracer.Backend, error) { return b, nil }})
	tr.Install(&hc)
	in := host.New(prog, hc)
	tr.Attach(in)
	defer tr.Start()()
	if exit := in.Run(); exit.Code != 0 {
		t.Fatalf("%s ended with %d: %s%s", path, exit.Code, exit.Panic, errs.String())
	}
}

// sources is the part of the tree that programs are interpreted from.
type sources struct{ fs.FS }

func (s sources) Open(name string) (fs.File, error) {
	for _, p := range []string{"torch/nn", "torch/optim", "torch/models", "torch/data"} {
		if name == p || strings.HasPrefix(name, p+"/") {
			return s.FS.Open(name)
		}
	}
	return nil, fs.ErrNotExist
}

// nowhere is a sink that listens and keeps nothing.
type nowhere struct{}

func (nowhere) Emit(logs.Out)            {}
func (nowhere) Stack(f []logs.Frame) any { return f }

// stepBackend builds the program of every fusion step and compares each with
// eager on every call.
type stepBackend struct {
	t                          *testing.T
	set                        *Set
	decisions, fused, compared int
}

func (*stepBackend) Name() string { return "inductor" }

func (b *stepBackend) Compile(r *tracer.Request) (tracer.Runnable, error) {
	return throughAOT(r, func(g *graph.Graph, _ string) (aot.Runnable, error) {
		steps, err := b.steps(g)
		if err != nil { // the program goes on without: this goroutine is not the test's
			b.t.Errorf("%s: %v", g.Name, err)
			return nil, err
		}
		eager := graph.NewModule(g)
		return func(in []torch.Value) []torch.Value {
			want := eager.Run(in)
			for i, run := range steps {
				b.compared++
				if err := sameValues(run(in), want, 1e-5); err != nil {
					b.t.Errorf("%s, source %d of %d: %v", g.Name, i+1, len(steps), err)
				}
			}
			return want
		}, nil
	})
}

// steps builds what the compiler would run before the first fusion and after
// each, from the texts that the steps carry.
func (b *stepBackend) steps(g *graph.Graph) ([]aot.Runnable, error) {
	e := b.set.engine()
	opt := inductor.Options{Target: cpp.Target{Lanes: e.lanes, Cache: e.cpu.Cache}, Cores: 1, Params: paramInputs(g), Log: nowhere{}}
	whole, err := inductor.Compile(g, opt)
	if err != nil {
		return nil, err
	}
	var out []aot.Runnable
	add := func(decisions int, source string) error {
		opt.Decisions = decisions
		run, err := b.build(g, opt, source)
		if err != nil {
			return fmt.Errorf("after decision %d: %w", decisions, err)
		}
		out = append(out, run)
		return nil
	}
	fused := 0
	for i, s := range whole.Fusions {
		b.decisions++
		if !s.Fused {
			if s.Source != "" || s.Before != "" {
				return nil, fmt.Errorf("decision %d fused nothing and carries source", i+1)
			}
			continue
		}
		b.fused++
		if fused++; fused == 1 {
			if err := add(-1, s.Before); err != nil {
				return nil, err
			}
		} else if s.Before != "" {
			return nil, fmt.Errorf("decision %d repeats what was before it", i+1)
		}
		if err := add(i+1, s.Source); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// build compiles the program of a shortened search from the text that a step
// carries, which must be that program's, and loads it.
func (b *stepBackend) build(g *graph.Graph, opt inductor.Options, source string) (aot.Runnable, error) {
	p, err := inductor.Compile(g, opt)
	if err != nil {
		return nil, err
	}
	if p.Wrapper != source {
		return nil, fmt.Errorf("the step carries\n%s\nbut the search that ends there gives\n%s", source, p.Wrapper)
	}
	unit, ok := p.Unit()
	if !ok || !strings.Contains(unit, source) {
		return nil, fmt.Errorf("the source is not what would be compiled:\n%s", source)
	}
	p.Shards = []string{unit}
	x := newExecutable(p)
	if err := b.set.engine().load(x, &tracer.Request{}); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, source)
	}
	return x.run, nil
}

package backends

import (
	"bytes"
	"encoding/json"
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

// This file holds what the screens show at each fusion step against the truth:
// the kernels, made again from the trace's records, are those of the program
// that comes out when the search ends there; it compiles and gives eager's
// result.

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
	for _, p := range []string{"torch/nn", "torch/autograd", "torch/optim", "torch/models", "torch/data"} {
		if name == p || strings.HasPrefix(name, p+"/") {
			return s.FS.Open(name)
		}
	}
	return nil, fs.ErrNotExist
}

// scheduleSink keeps what the scheduler began with.
type scheduleSink struct {
	nowhere
	start *logs.Schedule
}

func (s *scheduleSink) Emit(o logs.Out) {
	if meta, ok := o.Meta.(map[string]string); ok && meta["name"] == "tcdbg_schedule" {
		var body struct{ Data logs.Schedule }
		if json.Unmarshal(o.Payload, &body) == nil {
			s.start = &body.Data
		}
	}
}

// nowhere is a sink that listens and keeps nothing.
type nowhere struct{}

func (nowhere) Emit(logs.Out) {}

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
	return throughAOT(r, func(p aot.Part) (aot.Runnable, error) {
		g := p.Graph
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
// each.
func (b *stepBackend) steps(g *graph.Graph) ([]aot.Runnable, error) {
	e := b.set.engine()
	sink := &scheduleSink{}
	opt := inductor.Options{Machine: cpp.Machine{Lanes: e.lanes, Cache: e.cpu.Cache}, Cores: 1, Params: paramInputs(g, nil, nil), Log: sink}
	whole, err := inductor.Compile(g, opt)
	if err != nil {
		return nil, err
	}
	if sink.start == nil {
		return nil, fmt.Errorf("no record of the schedule")
	}
	ends := []int{-1}
	for i, s := range whole.Fusions {
		b.decisions++
		if s.Fused {
			b.fused++
			ends = append(ends, i+1)
		}
	}
	opt.Log = nil
	var out []aot.Runnable
	for _, n := range ends {
		opt.Decisions = n
		run, err := b.build(g, opt, *sink.start)
		if err != nil {
			return nil, fmt.Errorf("after decision %d: %w", n, err)
		}
		out = append(out, run)
	}
	return out, nil
}

// build compiles and loads the program of a shortened search, from a text that
// holds exactly the kernels that a replay of the record gives.
func (b *stepBackend) build(g *graph.Graph, opt inductor.Options, start logs.Schedule) (aot.Runnable, error) {
	p, err := inductor.Compile(g, opt)
	if err != nil {
		return nil, err
	}
	groups, _, err := inductor.Replay(start, opt.Decisions)
	if err != nil {
		return nil, err
	}
	if len(groups) != len(p.Provenance.Kernels) {
		return nil, fmt.Errorf("%d kernels are replayed, the program has %d", len(groups), len(p.Provenance.Kernels))
	}
	unit, ok := p.Unit()
	if !ok {
		return nil, fmt.Errorf("the program is more than one text")
	}
	at := 0
	for i, k := range groups {
		next := strings.Index(unit[at:], k.Source)
		if next < 0 || k.Kernel != p.Provenance.Kernels[i].Name {
			return nil, fmt.Errorf("kernel %s is replayed as\n%s\nbut what is compiled is\n%s", k.Kernel, k.Source, unit)
		}
		at += next + len(k.Source)
	}
	p.Shards = []string{unit}
	x := newExecutable(p)
	if err := b.set.engine().load(x, &tracer.Request{}); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, unit)
	}
	return x.run, nil
}

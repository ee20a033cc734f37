package backends

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
	"tcdbg/tracer/host"
)

// planOf compiles a module in mode reduce-overhead.
func planOf(t *testing.T, m *graph.Module, in []torch.Value) tracer.Runnable {
	t.Helper()
	r := &tracer.Request{Module: m, Example: in, Mode: modes.ReduceOverhead}
	_, plan, err := inductorAt(t, 8).(tracer.Planner).CompilePlanned(r)
	if err != nil {
		t.Fatal(err)
	}
	if plan == nil {
		t.Fatal("the backend gave no plan")
	}
	return plan()
}

func softmaxModule() (*graph.Module, []torch.Value) {
	g := newTestGraph("plan")
	x, y := g.input(filled(ops.Float32, 1, 6, 40)), g.input(filled(ops.Float32, 2, 40))
	s := g.Emit(ops.Softmax, g.Emit(ops.Add, g.Emit(ops.Silu, x), y), sym.C(-1))
	return g.outputs(s, g.Emit(ops.Sum, s, ints(0))), g.in
}

// countsAllocations skips a test that counts them where the count says nothing.
func countsAllocations(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("under the race detector pools drop what they are given: allocations are not counted")
	}
}

// TestPlanAllocatesNothing measures the call of a compiled graph by itself.
func TestPlanAllocatesNothing(t *testing.T) {
	countsAllocations(t)
	m, in := softmaxModule()
	run := planOf(t, m, in)
	if n := testing.AllocsPerRun(200, func() { run(in) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
	if err := sameValues(run(in), m.Run(in), 1e-5); err != nil {
		t.Error(err)
	}
}

// TestPlanWithPackedWeights: the prologue's buffers need no memory either.
func TestPlanWithPackedWeights(t *testing.T) {
	countsAllocations(t)
	m, in := linearModule(5, 30, 20)
	run := planOf(t, m, in)
	if n := testing.AllocsPerRun(200, func() { run(in) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
	if err := sameValues(run(in), m.Run(in), 1e-5); err != nil {
		t.Error(err)
	}
}

// TestPlanOverwritesItsResults: the same tensor comes back, as new as at first,
// and whoever saved it can tell that its content changed.
func TestPlanOverwritesItsResults(t *testing.T) {
	m, in := softmaxModule()
	run := planOf(t, m, in)
	first := run(in)[0].(*torch.Tensor)
	version := first.Storage().Version()
	first.RequiresGrad_(true)
	other := []torch.Value{filled(ops.Float32, 7, 6, 40), in[1]}
	again := run(other)
	if again[0] != torch.Value(first) {
		t.Error("the second call has a result of its own")
	}
	if first.Storage().Version() == version {
		t.Error("the version stands still although the content changed")
	}
	if first.RequiresGrad() {
		t.Error("the result still requires gradients")
	}
	if err := sameValues(again, m.Run(other), 1e-5); err != nil {
		t.Error(err)
	}
}

// TestPlanReadsItsOldResult: a result that comes back as an input is not
// overwritten while it is read.
func TestPlanReadsItsOldResult(t *testing.T) {
	g := newTestGraph("self")
	x := g.input(filled(ops.Float32, 1, 64))
	m := g.outputs(g.Emit(ops.Sub, g.Emit(ops.Mul, x, 0.5), g.Emit(ops.Mean, x)))
	run := planOf(t, m, g.in)
	v, want := g.in, g.in
	for range 4 {
		next := append([]torch.Value(nil), run(v)...)
		if v[0] == next[0] {
			t.Fatal("the input is the result")
		}
		v, want = next, m.Run(want)
	}
	if err := sameValues(v, want, 1e-5); err != nil {
		t.Error(err)
	}
}

// markWriter counts the allocations at each line that a program prints.
type markWriter struct {
	bytes.Buffer
	mallocs []uint64
}

func (w *markWriter) Write(p []byte) (int, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.mallocs = append(w.mallocs, m.Mallocs)
	return w.Buffer.Write(p)
}

// runMarked runs a program under the inductor.
func runMarked(t *testing.T, text string) *markWriter {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.go")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	prog, err := host.Load(host.LoadConfig{Paths: []string{file}, Source: os.DirFS("..")})
	if err != nil {
		t.Fatal(err)
	}
	out, errs := &markWriter{}, &bytes.Buffer{}
	set := NewSet(Config{CacheDir: sharedCache, Threads: 2, Stderr: t.Output()})
	cfg := host.Config{Stdout: out, Stderr: errs}
	tr := tracer.New(prog, tracer.Config{Sink: (*logs.Writer)(nil), Backend: set.Get})
	tr.Install(&cfg)
	in := host.New(prog, cfg)
	tr.Attach(in)
	if exit := in.Run(); exit.Code != 0 {
		t.Fatalf("exit %d: %s", exit.Code, errs)
	}
	return out
}

// TestGuardedCallAllocatesNothing measures whole calls of a compiled function:
// guards, graph and result.
func TestGuardedCallAllocatesNothing(t *testing.T) {
	countsAllocations(t)
	needCompiler(t)
	const calls = 2000
	out := runMarked(t, `package main

import (
	"fmt"
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

type scale struct{ by float64 }

func (s *scale) forward(x, y *torch.Tensor) *torch.Tensor { return x.Sin().Mul(y).Mul(s.by) }

func main() {
	x, y := torch.Ones(4, 50), torch.Ones(50)
	fast := torch.Compile((&scale{2}).forward, kw.Mode("reduce-overhead"))
	for range 10 { fast(x, y) }
	fmt.Println("mark")
	for range 2000 { fast(x, y) }
	fmt.Println("mark")
	fmt.Println(fast(x, y).Sum().Item())
}
`)
	if len(out.mallocs) < 2 {
		t.Fatalf("the program printed %q", out.String())
	}
	if n := (out.mallocs[1] - out.mallocs[0]) / calls; n != 0 {
		t.Errorf("%d allocations a call", n)
	}
	if !strings.Contains(out.String(), "336.588") { // 200 * 2 * sin(1)
		t.Errorf("printed %q", out.String())
	}
}

// TestModes: a mode is honoured or refused by name, when the function is compiled.
func TestModes(t *testing.T) {
	b := inductorAt(t, 0)
	for mode, honoured := range map[string]bool{
		"": true, "default": true, "reduce-overhead": true, "max-autotune": true, "max-autotune-no-cudagraphs": true, "fast": false,
	} {
		err := checkMode(mode)
		if honoured != (err == nil) || err != nil && !strings.Contains(err.Error(), `"`+mode+`"`) {
			t.Errorf("mode %q: %v", mode, err)
		}
		m, in := softmaxModule()
		if _, cerr := b.Compile(&tracer.Request{Module: m, Example: in, Mode: mode}); (cerr == nil) != honoured {
			t.Errorf("mode %q compiles: %v", mode, cerr)
		}
	}
}

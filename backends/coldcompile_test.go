//go:build unix

package backends

import (
	"syscall"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file measures what a user waits for at the first call of a large model:
// graphs in which no two kernels are alike, compiled into an empty cache.

// distinctGraph has n operators in layers of ten: a product to a width of its
// own, an epilogue, a softmax and a chain that differs from layer to layer.
func distinctGraph(n int) (*graph.Module, []torch.Value) {
	g := newTestGraph("distinct")
	var v ops.Value = g.input(filled(ops.Float32, 1, 4, 32))
	unary := []ops.ID{ops.Tanh, ops.Sigmoid, ops.Sin, ops.Relu, ops.Abs, ops.Exp, ops.Cos, ops.Erf}
	width := 32
	for i := 0; i < n; i += 10 {
		layer := i / 10
		next := 17 + layer%331
		w := g.param(filled(ops.Float32, 2, width, next))
		v = g.Emit(ops.Mm, v, w)
		for k := range 4 {
			v = g.Emit(unary[(layer>>(2*k)+k)%len(unary)], v)
		}
		v = g.Emit(ops.Softmax, v, sym.C(-1))
		for k := range 4 {
			v = g.Emit(unary[(layer>>(2*k)+k+3)%len(unary)], v)
		}
		width = next
	}
	return g.outputs(v), g.in
}

func benchmarkColdCompile(b *testing.B, n int) {
	needCompiler(b)
	m, in := distinctGraph(n)
	for b.Loop() {
		set := NewSet(Config{CacheDir: b.TempDir()})
		be, err := set.Get("inductor")
		if err != nil {
			b.Fatal(err)
		}
		set.engine() // the runtime library is built once a machine
		before := cpuSeconds(b)
		sec := seconds(func() {
			if _, err := be.Compile(&tracer.Request{Module: m, Example: in}); err != nil {
				b.Fatal(err)
			}
		})
		b.ReportMetric(sec, "s/graph")
		b.ReportMetric(cpuSeconds(b)-before, "cpu-s/graph")
	}
}

// BenchmarkColdRuntime is what the first run on a machine waits for before all else: the runtime library, built.
func BenchmarkColdRuntime(b *testing.B) {
	needCompiler(b)
	for b.Loop() {
		set := NewSet(Config{CacheDir: b.TempDir()})
		before := cpuSeconds(b)
		if e := set.engine(); e.err != nil {
			b.Fatal(e.err)
		}
		b.ReportMetric(cpuSeconds(b)-before, "cpu-s/library")
	}
}

// cpuSeconds is the processor time of this process and of the compilers that it
// waited for: unlike the clock it does not depend on what else runs.
func cpuSeconds(b *testing.B) float64 {
	total := 0.0
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		total += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	return total
}

func BenchmarkColdCompile250Distinct(b *testing.B)  { benchmarkColdCompile(b, 250) }
func BenchmarkColdCompile1000Distinct(b *testing.B) { benchmarkColdCompile(b, 1000) }
func BenchmarkColdCompile4000Distinct(b *testing.B) { benchmarkColdCompile(b, 4000) }

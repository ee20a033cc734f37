//go:build unix

package backends

import (
	"io"
	"testing"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file measures what is ours of a model's first call: compiles whose kernels are in the cache, with the records
// of a trace.

func benchmarkWarmCompile(b *testing.B, m *graph.Module, in []torch.Value) {
	needCompiler(b)
	b.ReportAllocs()
	set := NewSet(Config{CacheDir: b.TempDir()})
	be, err := set.Get("inductor")
	if err != nil {
		b.Fatal(err)
	}
	compile := func() {
		defer func(old bool) { torch.SetGradEnabled(old) }(torch.SetGradEnabled(false))
		r := &tracer.Request{Module: m, Example: in, Log: logs.NewWriter(io.Discard, logs.WriterOptions{})}
		if _, err := be.Compile(r); err != nil {
			b.Fatal(err)
		}
	}
	compile() // into the cache
	before, n := cpuSeconds(b), 0
	for b.Loop() {
		compile()
		n++
	}
	b.ReportMetric((cpuSeconds(b)-before)/float64(n), "cpu-s/graph")
}

func BenchmarkWarmCompileMobileNet(b *testing.B) {
	m, in := mobilenet(2, 224)
	benchmarkWarmCompile(b, m, in)
}

func BenchmarkWarmCompileDenseNet(b *testing.B) {
	m, in := densenet(4, 128)
	benchmarkWarmCompile(b, m, in)
}

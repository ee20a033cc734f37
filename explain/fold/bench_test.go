package fold

import (
	"io"
	"os"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/render"
	"tcdbg/logs"
)

// BenchmarkReport is the text report of the trace that TCDBG_BENCH_TRACE names
// or of a real one: reading, folding and writing, without the process around it.
func BenchmarkReport(b *testing.B) { benchReport(b, render.WriteText) }

// BenchmarkHTMLReport is the same as HTML, which may take three times as long.
func BenchmarkHTMLReport(b *testing.B) { benchReport(b, render.WriteHTML) }

func benchReport(b *testing.B, write func(io.Writer, *explain.Report) error) {
	path := os.Getenv("TCDBG_BENCH_TRACE")
	if path == "" {
		path = "../testdata/traces/pytorch-2.11/trace_00_gb_cpu.log.zst"
	}
	b.ReportAllocs()
	for b.Loop() {
		st, err := logs.Open([]string{path}, logs.Options{})
		if err != nil {
			b.Fatal(err)
		}
		r, err := All(st, "bench")
		if err != nil {
			b.Fatal(err)
		}
		if err := write(io.Discard, r); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(st.Stats().Bytes)
		_ = st.Close()
	}
}

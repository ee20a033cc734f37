package gate

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
)

// report is the report of saved traces.
func report(t testing.TB, paths ...string) *explain.Report {
	t.Helper()
	r, err := fold.All(traces.Open(t, paths...), traces.Title(paths...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// traceOf is the report of a trace that emit writes.
func traceOf(t testing.TB, emit func(w *logs.Writer)) *explain.Report {
	t.Helper()
	return report(t, traces.Written(t, emit))
}

func id(frame, compile int) logs.CompileID { return logs.CompileID{Frame: frame, Compile: compile} }

// program is a graph break at a line of a function.
type program struct {
	fn, code string
	line     int
}

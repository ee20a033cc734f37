package render

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/internal/test/traces"
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

package bench

import (
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/internal/test/golden"
)

func calls(name string, compiled int, micros ...int64) (out []Call) {
	for i, n := range micros {
		out = append(out, Call{Function: name, Nanos: 1000 * n, Compiled: i < compiled})
	}
	return out
}

// TestTable: medians are of calls that compile nothing, speed-up is against the first way, and what was
// not measured is said.
func TestTable(t *testing.T) {
	runs := []Run{
		{Way: "eager", RSS: 60 << 20, Calls: append(calls("step", 0, 900, 100, 100, 120, 100, 140), calls("rare", 0, 50, 40)...)},
		{Way: "inductor", RSS: 70 << 20, Calls: append(
			calls("step", 2, 90000, 30000, 25, 20, 20, 30, 22), calls("rare", 2, 9000, 8000)...,
		)},
		{Way: "reduce-overhead", Why: "ends with 2 (panic: the words of an error that takes more than a line of a terminal)"},
	}
	table := Of("model.go", runs)
	var text strings.Builder
	if err := table.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n >= 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	golden.Equal(t, filepath.Join("testdata", "table.txt"), []byte(text.String()))
	r := table.Rows[1]
	if *r.First != 90_000_000 || *r.WarmUp != 120_000_000 || r.Steady != 5 ||
		*r.Median != 22_000 || *r.Least != 20_000 || *r.P95 != 30_000 {
		t.Errorf("%+v", r)
	}
	if s := *r.Speedup; s < 5.4 || s > 5.5 {
		t.Errorf("speed-up %v", s)
	}
	if rare := table.Rows[4]; rare.Median != nil || rare.Speedup != nil || rare.Why != "each call compiled something, or failed" {
		t.Errorf("%+v", rare)
	}
}

// TestNoCalls: a program without compiled functions has no table.
func TestNoCalls(t *testing.T) {
	var text strings.Builder
	if err := Of("model.go", []Run{{Way: "eager"}}).WriteText(&text); err != nil || text.String() != "no compiled function was called\n" {
		t.Errorf("%q, %v", text.String(), err)
	}
}

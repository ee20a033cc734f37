package backends

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/inductor/codegen/cpp"
	"tcdbg/ops"
)

// TestFewRows: products of one to five rows, which are read where they lie, or gathered where the elements of a row are apart. The
// weight is packed, or, where it is large, read where it lies: columns that fill registers and that do not. So are the rows of what is
// no weight.
func TestFewRows(t *testing.T) {
	for _, c := range []struct {
		m, k, n int
		apart   bool
		lines   bool // the right operand is no weight, and its rows are runs
	}{
		{1, 1, 1, false, false},
		{1, 700, 33, false, false},
		{2, 576, 144, false, false},
		{2, 96, 65, true, false},
		{3, 33, 1000, false, false},
		{4, 1, 40, true, false},
		{4, 257, 32, true, false},
		{5, 64, 70, false, false},
		{1, 1024, 1030, false, false},
		{1, 257, 4100, false, false},
		{2, 321, 3300, false, false},
		{2, 1031, 1033, true, false},
		{3, 1031, 1033, false, false},
		{1, 4113, 259, false, false}, // the left operand fills the first cache: four columns at a time
		{2, 2065, 519, true, false},
		{4, 1501, 701, false, false},
		{1, 1024, 1025, false, true},
		{1, 1027, 1100, false, true},
		{1, 501, 2129, true, true},
		{2, 530, 2051, false, true},
		{2, 1030, 1059, true, true},
		{3, 1770, 620, false, true},
		{4, 1050, 1001, false, true},
	} {
		t.Run(fmt.Sprintf("%dx%dx%d %t", c.m, c.k, c.n, c.lines), func(t *testing.T) {
			g := newTestGraph("rows")
			var x ops.Value
			if c.apart {
				x = g.Emit(ops.T, g.input(filled(ops.Float32, 1, c.k, c.m)))
			} else {
				x = g.input(filled(ops.Float32, 1, c.m, c.k))
			}
			bias := g.param(filled(ops.Float32, 3, c.n))
			var y ops.Value
			if c.lines {
				y = g.Emit(ops.Addmm, bias, x, g.input(filled(ops.Float32, 2, c.k, c.n)), 1.0, 1.0)
			} else {
				y = g.Emit(ops.Linear, x, g.param(filled(ops.Float32, 2, c.n, c.k)), bias)
			}
			m := g.outputs(g.Emit(ops.Relu, y))
			tolerance := 1e-4
			if c.k > 1000 { // float32 sums of so many terms differ by more, in eager code's order and in the interpreter's
				tolerance = 5e-4
			}
			everywhere(t, m, g.in, tolerance)
		})
	}
}

// TestWhatIsReadInRuns: the compiler packs no weight that the runtime would read where it lies, and all others.
func TestWhatIsReadInRuns(t *testing.T) {
	want := fmt.Sprintf("enum { LONG_RUN = %d, LARGE = %d,", cpp.LongRun, cpp.LargeRight)
	if !strings.Contains(runtimeText(), want) {
		t.Errorf("the runtime does not say\n%s", want)
	}
	for _, c := range []struct {
		m, k, n int
		lines   bool
		packed  bool
	}{
		{1, 1024, 1024, false, false},
		{2, 1024, 1024, false, false},
		{3, 1024, 1024, false, true},
		{1, 1023, 1024, false, true},
		{1, 255, 8192, false, true},
		{1, 1024, 1024, true, true},
	} {
		g := newTestGraph("runs")
		x := g.input(filled(ops.Float32, 1, c.m, c.k))
		var y ops.Value
		if c.lines {
			y = g.Emit(ops.Mm, x, g.param(filled(ops.Float32, 2, c.k, c.n)))
		} else {
			y = g.Emit(ops.Linear, x, g.param(filled(ops.Float32, 2, c.n, c.k)), nil)
		}
		if text := strings.Join(programOf(t, g.outputs(y), false, true).Shards, ""); strings.Contains(text, "R->pack(") != c.packed {
			t.Errorf("%+v\n%s", c, text)
		}
	}
}

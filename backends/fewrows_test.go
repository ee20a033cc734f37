package backends

import (
	"fmt"
	"testing"

	"tcdbg/ops"
)

// TestFewRows: products of one to five rows with a packed weight, which are read where they lie, or gathered where the
// elements of a row are apart.
func TestFewRows(t *testing.T) {
	for _, c := range []struct {
		m, k, n int
		apart   bool
	}{
		{1, 1, 1, false},
		{1, 700, 33, false},
		{2, 576, 144, false},
		{2, 96, 65, true},
		{3, 33, 1000, false},
		{4, 1, 40, true},
		{4, 257, 32, true},
		{5, 64, 70, false},
	} {
		t.Run(fmt.Sprintf("%dx%dx%d", c.m, c.k, c.n), func(t *testing.T) {
			g := newTestGraph("rows")
			var x ops.Value
			if c.apart {
				x = g.Emit(ops.T, g.input(filled(ops.Float32, 1, c.k, c.m)))
			} else {
				x = g.input(filled(ops.Float32, 1, c.m, c.k))
			}
			w, bias := g.param(filled(ops.Float32, 2, c.n, c.k)), g.param(filled(ops.Float32, 3, c.n))
			m := g.outputs(g.Emit(ops.Relu, g.Emit(ops.Linear, x, w, bias)))
			everywhere(t, m, g.in, 1e-4)
		})
	}
}

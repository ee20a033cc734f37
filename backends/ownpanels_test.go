package backends

import (
	"fmt"
	"testing"

	"tcdbg/ops"
)

// TestOwnPanels: products whose threads each pack the left operand for themselves, and those next to them in size.
func TestOwnPanels(t *testing.T) {
	needCompiler(t)
	for _, c := range [][3]int{{1, 900, 700}, {15, 513, 300}, {64, 784, 33}, {170, 771, 64}, {171, 771, 64}, {200, 300, 500}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			g := newTestGraph("own")
			x := g.input(filled(ops.Float32, 1, c[0], c[1]))
			y := g.Emit(ops.Relu, g.Emit(ops.Linear, x, g.param(filled(ops.Float32, 2, c[2], c[1])), g.param(filled(ops.Float32, 3, c[2]))))
			m := g.outputs(g.Emit(ops.Linear, y, g.param(filled(ops.Float32, 4, c[1], c[2])), nil))
			everywhere(t, m, g.in, 5e-2) // sums of up to 900 products of numbers to 9, twice
		})
	}
}

package backends

import (
	"fmt"
	"math"
	"testing"

	"tcdbg/ops"
)

// TestColumns: reductions down columns, by one accumulator or by several, with numbers left over behind the last whole step
// of these, of one loop and of two, and with NaN among the numbers.
func TestColumns(t *testing.T) {
	for _, rows := range []int{3, 17, 67} {
		for _, columns := range []int{7, 37} {
			t.Run(fmt.Sprintf("%dx%d", rows, columns), func(t *testing.T) {
				g := newTestGraph("columns")
				x := filled(ops.Float32, 1, rows, columns)
				nan := filled(ops.Float32, 2, 2, rows, columns)
				putElement(nan.Storage().Bytes(), ops.Float32, rows*columns-1, math.NaN())
				a, b := g.input(x), g.input(nan)
				m := g.outputs(
					g.Emit(ops.Mean, a, []int{0}), g.Emit(ops.Amax, g.Emit(ops.Relu, a), []int{0}), g.Emit(ops.Argmax, a, 0),
					g.Emit(ops.Amin, b, []int{0, 1}), g.Emit(ops.Sum, b, []int{1}), g.Emit(ops.Var, a, []int{0}),
				)
				everywhere(t, m, g.in, 1e-4)
			})
		}
	}
}

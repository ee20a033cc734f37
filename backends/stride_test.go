package backends

import (
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestEverySecondElement reads float32 and int32 with a step of two, at lengths
// that end within, at and after a vector, from the first element and the second.
func TestEverySecondElement(t *testing.T) {
	for _, n := range []int{7, 16, 33, 64} {
		for _, start := range []int{0, 1} {
			g := newTestGraph("every")
			var outs []ops.Value
			for _, d := range []ops.DType{ops.Float32, ops.Int32} {
				x := g.input(filled(d, 1, 3, 2*n))
				v := g.Emit(ops.Slice, x, sym.C(1), sym.C(start), sym.C(2*n), sym.C(2))
				outs = append(outs, g.Emit(ops.Add, v, v))
			}
			everywhere(t, g.outputs(outs...), g.in, 0)
		}
	}
}

package backends

import (
	"testing"

	"tcdbg/ops"
	"tcdbg/tracer"
)

// TestFirstLayers: 3x3 windows in steps of two on planes of one channel, whose rows are long enough that the image is read
// where it lies. What tiles see beyond the left and the upper border is left out, what they see elsewhere is padded by itself.
func TestFirstLayers(t *testing.T) {
	for _, c := range []convCase{
		{2, 3, 120, 224, 16, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
		{1, 3, 5, 225, 10, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
		{1, 3, 4, 223, 16, 3, 3, ints(2, 2), ints(2, 1), ints(1, 1), 1},
		{1, 1, 9, 224, 16, 3, 3, ints(1, 2), ints(2, 2), ints(1, 1), 1},
		{1, 20, 6, 224, 9, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
		{1, 3, 6, 226, 24, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
		{1, 3, 9, 224, 16, 3, 3, ints(2, 2), ints(1, 2), ints(2, 1), 1},
	} {
		t.Run(c.String(), func(t *testing.T) {
			g := newTestGraph("first")
			y := c.emit(g, ops.Float32, true, g.param(filled(ops.Float32, 3, c.out)))
			m := g.outputs(g.Emit(ops.Relu, y))
			run, err := inductorAt(t, 16).Compile(&tracer.Request{Module: m, Example: g.in}) // the width that has the form
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(g.in), m.Run(g.in), 1e-4); err != nil {
				t.Error(err)
			}
		})
	}
}

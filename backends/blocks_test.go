package backends

import (
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file tests regions whose images have channels side by side.

// blockNet has what may stand in a region: convolutions of all forms, normalization,
// residuals, pools, squeeze-and-excitation, concatenation, an output and an input in the
// middle of it. channels is a multiple of 8.
func blockNet(t *testing.T, channels int) (*modelGraph, []ops.Value) {
	t.Helper()
	g := &modelGraph{testGraph: newTestGraph("blocks")}
	x := ops.Value(g.input(filled(ops.Float32, 1, 2, 3, 22, 18)))
	relu := func(x ops.Value) ops.Value { return g.Emit(ops.Relu, x) }
	x = relu(g.norm(g.conv(x, 3, channels, 3, 2, 1), channels, 27))
	first := x
	x = g.EmitN(ops.MaxPool2d, x, ints(3, 3), ints(1, 1), ints(1, 1), ints(1, 1), false)[0]
	y := relu(g.norm(g.conv(x, channels, 2*channels, 1, 1, 1), 2*channels, channels))
	y = g.Emit(ops.Hardswish, g.norm(g.conv(y, 2*channels, 2*channels, 5, 1, 2*channels), 2*channels, 25))
	y = g.squeezed(y, 2*channels)
	x = g.Emit(ops.Add, x, g.norm(g.conv(y, 2*channels, channels, 1, 1, 1), channels, 2*channels))
	z := relu(g.norm(g.conv(x, channels, 8, 3, 1, 1), 8, 9*channels))
	x = g.Emit(ops.Cat, []ops.Value{x, z, first}, sym.C(1))
	x = g.conv(relu(g.norm(x, 2*channels+8, 1)), 2*channels+8, channels, 3, 2, 1)
	x = g.Emit(ops.AvgPool2d, x, ints(2, 2), ints(2, 2), ints(0, 0), false, true, nil)
	last := g.conv(x, channels, 5, 1, 1, 1)
	return g, []ops.Value{last, g.Emit(ops.AdaptiveAvgPool2d, x, ints(1, 1)), z}
}

// TestBlocks compares regions with eager, for all widths of vectors and the interpreter.
func TestBlocks(t *testing.T) {
	for _, channels := range []int{8, 16, 40, 48} {
		g, out := blockNet(t, channels)
		everywhere(t, g.outputs(out...), g.in, 1e-3)
	}
}

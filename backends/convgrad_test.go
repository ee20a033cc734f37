package backends

import (
	"math"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// gradCases are convolutions of enough channels for forms of their own in the backward pass.
var gradCases = []convCase{
	{2, 64, 14, 14, 48, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{3, 33, 9, 11, 40, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{2, 40, 15, 13, 33, 3, 3, ints(1, 1), ints(0, 2), ints(1, 1), 1},
	{2, 40, 7, 7, 64, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{3, 140, 7, 6, 40, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1}, // panels enough for each thread to pack its own
	{2, 36, 15, 14, 48, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
	{3, 48, 10, 9, 50, 1, 1, ints(1, 1), ints(0, 0), ints(1, 1), 1},
	{2, 20, 10, 9, 35, 1, 1, ints(2, 2), ints(0, 0), ints(1, 1), 1},
}

// gradients are the gradients that mask asks for.
func (c convCase) gradients(g *testGraph, mask []bool) []ops.Value {
	x := g.input(filled(ops.Float32, 1, c.n, c.in, c.h, c.w))
	w := g.param(filled(ops.Float32, 2, c.out, c.in/c.groups, c.kh, c.kw))
	y := g.Emit(ops.Convolution, x, w, nil, c.stride, c.pad, c.dil, false, ints(0, 0), sym.C(c.groups))
	shape := y.TensorMeta().Shape
	oh, _ := shape[2].IsConst()
	ow, _ := shape[3].IsConst()
	dy := g.input(filled(ops.Float32, 3, c.n, c.out, int(oh), int(ow)))
	var outs []ops.Value
	for i, v := range g.EmitN(ops.ConvolutionBackward, dy, x, w, c.stride, c.pad, c.dil, false, ints(0, 0), sym.C(c.groups), mask) {
		if mask[i] {
			outs = append(outs, v)
		}
	}
	return outs
}

// TestConvolutionGradients holds the gradients of every form beside eager's. Those of
// convolutions in groups stay eager calls.
func TestConvolutionGradients(t *testing.T) {
	more := []convCase{
		{2, 17, 20, 23, 9, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
		{3, 16, 31, 24, 37, 2, 5, ints(1, 1), ints(0, 3), ints(2, 1), 1}, // taps apart, uneven padding
		{1, 20, 26, 21, 5, 1, 4, ints(1, 1), ints(0, 0), ints(1, 2), 1},  // none
		{2, 5, 9, 8, 7, 1, 1, ints(3, 2), ints(0, 0), ints(1, 1), 1},     // positions that no tap reaches
		{1, 4, 12, 13, 6, 2, 2, ints(3, 3), ints(1, 0), ints(1, 1), 1},   // steps longer than the kernel
		{2, 4, 10, 11, 6, 5, 4, ints(2, 3), ints(2, 1), ints(1, 1), 1},
		{1, 3, 6, 7, 4, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
		{1, 3, 9, 2, 4, 7, 1, ints(4, 1), ints(3, 0), ints(1, 1), 1},
	}
	all := append(more, convCases...)
	for _, c := range append(test.Some(t, 2, all), gradCases...) {
		t.Run(c.String(), func(t *testing.T) {
			masks := [][]bool{{true, true}}
			if c.String() == all[0].String() {
				masks = append(masks, []bool{false, true}, []bool{true, false})
			}
			for _, mask := range masks {
				g := newTestGraph("convgrad")
				m := g.outputs(c.gradients(g, mask)...)
				shape := g.in[2].(*torch.Tensor).Shape()
				_, externs := calls(programOf(t, m))
				if eager := c.groups > 1; eager != (externs == 1) {
					t.Errorf("mask %v: %d eager calls", mask, externs)
				}
				everywhere(t, m, g.in, 1e-4+1e-5*math.Sqrt(float64(c.n*shape[2]*shape[3]))) // sums over all positions
			}
		})
	}
}

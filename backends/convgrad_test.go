package backends

import (
	"math"
	"slices"
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
	{2, 3, 31, 29, 64, 7, 7, ints(2, 2), ints(3, 3), ints(1, 1), 1}, // first layers: a number of the image for a vector of channels
	{1, 3, 83, 70, 32, 7, 7, ints(1, 2), ints(3, 0), ints(1, 1), 1}, // several bands
	{3, 1, 9, 20, 16, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{1, 4, 21, 18, 48, 3, 3, ints(2, 2), ints(1, 0), ints(1, 1), 1},
	{2, 2, 17, 15, 16, 4, 7, ints(1, 3), ints(2, 3), ints(2, 1), 1}, // rows of the filter apart
	{2, 3, 12, 16, 16, 1, 3, ints(3, 1), ints(0, 4), ints(1, 1), 1}, // more padding than the window reaches
}

// groupGrads are convolutions in groups: depthwise ones of every window that is compiled and of others, by steps of one and more,
// of rows shorter and longer than a vector; groups within a vector, of whole vectors, and of neither.
var groupGrads = []convCase{
	{2, 32, 14, 15, 32, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 32},
	{2, 24, 17, 30, 24, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 24},
	{3, 40, 8, 8, 40, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 40},
	{2, 19, 9, 7, 19, 5, 5, ints(1, 1), ints(2, 2), ints(1, 1), 19},
	{2, 16, 21, 50, 16, 5, 5, ints(2, 2), ints(2, 2), ints(1, 1), 16},
	{2, 48, 20, 33, 48, 7, 7, ints(1, 1), ints(3, 3), ints(1, 1), 48},
	{1, 32, 4, 4, 32, 7, 7, ints(1, 1), ints(3, 3), ints(1, 1), 32},
	{2, 16, 15, 15, 16, 7, 7, ints(2, 2), ints(3, 3), ints(1, 1), 16},
	{1, 16, 70, 70, 16, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 16}, // several bands
	{2, 9, 12, 11, 9, 3, 2, ints(2, 1), ints(0, 1), ints(1, 2), 9},
	{2, 18, 13, 16, 18, 3, 3, ints(3, 2), ints(1, 0), ints(1, 1), 18},
	{1, 17, 12, 13, 17, 3, 5, ints(2, 2), ints(2, 4), ints(2, 2), 17},
	{1, 8, 10, 10, 8, 3, 3, ints(2, 2), ints(3, 1), ints(1, 1), 8}, // more padding than the window reaches
	{2, 5, 7, 8, 5, 1, 1, ints(2, 2), ints(0, 0), ints(1, 1), 5},
	{1, 6, 1, 40, 6, 1, 3, ints(1, 2), ints(0, 1), ints(1, 1), 6},
	{2, 32, 14, 13, 32, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 8},
	{2, 64, 15, 14, 64, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 8},
	{2, 64, 9, 20, 64, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 4},
	{1, 64, 10, 9, 64, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 2},
	{2, 40, 8, 7, 40, 5, 5, ints(1, 1), ints(2, 2), ints(1, 1), 10},
	{2, 12, 9, 10, 24, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 12}, // two filters for each channel
	{2, 24, 9, 10, 36, 3, 3, ints(2, 1), ints(1, 1), ints(1, 1), 4},
	{1, 20, 6, 6, 32, 1, 1, ints(1, 1), ints(0, 0), ints(1, 1), 2},
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

// TestConvolutionGradients holds the gradients of every form beside eager's. None of them is an eager call.
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
	for _, c := range slices.Concat(test.Some(t, 2, all), gradCases, groupGrads) {
		t.Run(c.String(), func(t *testing.T) {
			masks := [][]bool{{true, true}}
			if c.String() == all[0].String() {
				masks = append(masks, []bool{false, true}, []bool{true, false})
			}
			for _, mask := range masks {
				g := newTestGraph("convgrad")
				m := g.outputs(c.gradients(g, mask)...)
				shape := g.in[2].(*torch.Tensor).Shape()
				if p := programOf(t, m); hasExterns(p) {
					t.Errorf("mask %v: eager calls:\n%s", mask, p.Wrapper)
				}
				everywhere(t, m, g.in, 1e-4+1e-5*math.Sqrt(float64(c.n*shape[2]*shape[3]))) // sums over all positions
			}
		})
	}
}

// TestTransposedInGroups holds transposed convolutions in groups and their gradients beside eager's, of each channel by itself too.
func TestTransposedInGroups(t *testing.T) {
	for _, c := range []struct{ groups, step, pad int }{{2, 2, 1}, {16, 2, 1}, {16, 1, 2}, {4, 1, 0}, {16, 2, 3}} {
		g := newTestGraph("transposed")
		step, pad, one, none := ints(c.step, c.step), ints(c.pad, c.pad), ints(1, 1), ints(0, 0)
		x, w := g.input(filled(ops.Float32, 1, 2, 16, 9, 8)), g.input(filled(ops.Float32, 2, 16, 16/c.groups, 3, 3))
		bias := g.input(filled(ops.Float32, 4, 16))
		y := g.Emit(ops.Convolution, x, w, bias, step, pad, one, true, none, sym.C(c.groups))
		dy := g.input(filled(ops.Float32, 3, constants(y.TensorMeta().Shape)...))
		grads := g.EmitN(ops.ConvolutionBackward, dy, x, w, step, pad, one, true, none, sym.C(c.groups), []bool{true, true})
		m := g.outputs(append(grads, y)...)
		if p := programOf(t, m); hasExterns(p) {
			t.Errorf("%v: eager calls:\n%s", c, p.Wrapper)
		}
		everywhere(t, m, g.in, 1e-3)
	}
}

// TestGroupsInOneDimension: convolutions of one dimension in groups, and their gradients, are as eager's; none is an eager call.
func TestGroupsInOneDimension(t *testing.T) {
	for _, c := range []struct{ in, out, groups, taps, step, pad int }{
		{16, 16, 16, 3, 2, 1}, {16, 16, 16, 5, 3, 2}, {6, 12, 6, 3, 2, 0}, {8, 8, 8, 7, 1, 3}, {16, 32, 4, 3, 2, 1}, {4, 6, 2, 4, 1, 0},
	} {
		g := newTestGraph("line")
		step, pad, one, none := ints(c.step), ints(c.pad), ints(1), ints(0)
		x, w := g.input(filled(ops.Float32, 1, 2, c.in, 41)), g.input(filled(ops.Float32, 2, c.out, c.in/c.groups, c.taps))
		y := g.Emit(ops.Convolution, x, w, nil, step, pad, one, false, none, sym.C(c.groups))
		dy := g.input(filled(ops.Float32, 3, constants(y.TensorMeta().Shape)...))
		grads := g.EmitN(ops.ConvolutionBackward, dy, x, w, step, pad, one, false, none, sym.C(c.groups), []bool{true, true})
		m := g.outputs(append(grads, y)...)
		if _, externs := calls(programOf(t, m)); externs > 0 {
			t.Errorf("%+v: %d eager calls", c, externs)
		}
		everywhere(t, m, g.in, 1e-3)
	}
}

//go:build unix

package backends

import (
	"fmt"
	"slices"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/tune"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file tests convolutions of bfloat16 that tiles or the dot product multiply. Where the processor has no tiles, they are made
// up in C.

// tileConv is a convolution in the middle of a network.
type tileConv struct {
	images, in, out, h, w         int
	kernel, step, pad, dilation   int
	normAfter, reluBefore, sliced bool
}

var tileConvs = []tileConv{
	{2, 64, 48, 7, 7, 1, 1, 0, 1, true, false, false},
	{1, 32, 64, 14, 9, 3, 1, 1, 1, true, false, false},
	{3, 64, 40, 15, 11, 3, 2, 1, 1, false, false, false},
	{1, 96, 32, 17, 33, 1, 2, 0, 1, true, false, false},
	{2, 32, 16, 20, 6, 5, 1, 2, 2, true, false, false},
	{1, 32, 32, 3, 150, 3, 3, 1, 2, false, false, false},
	{2, 128, 64, 6, 6, 1, 1, 0, 1, true, true, false},
	{1, 64, 64, 30, 30, 1, 1, 0, 1, true, true, true},
	{40, 32, 32, 33, 33, 3, 1, 1, 1, false, false, false}, // more images than are laid out at a time
	{2, 64, 24, 8, 130, 2, 1, 0, 1, true, false, true},
	{2, 64, 40, 7, 7, 3, 1, 1, 1, true, false, false},    // by the dot product rows apart: two to a tile, and one alone
	{1, 32, 64, 40, 7, 3, 1, 1, 1, false, false, false},  // several runs of them
	{1, 64, 16, 5, 4, 3, 1, 1, 1, true, false, false},    // two rows of four
	{2, 32, 48, 28, 28, 3, 2, 1, 1, true, false, false},  // a tile for each, in steps
	{1, 96, 32, 11, 28, 3, 1, 1, 1, false, false, false}, // two tiles for each
	{1, 64, 32, 9, 16, 3, 1, 2, 2, true, false, false},   // halves of a row
	{1, 32, 24, 19, 32, 3, 1, 1, 1, false, false, false}, // tiles of different heights
	{1, 32, 32, 12, 20, 5, 1, 2, 1, true, false, false},  // which reach beyond a row
	{1, 32, 32, 6, 250, 3, 1, 1, 1, false, false, false}, // one row is a run

	// By the dot product images that are read where they lie: the last pixels are a tile, begin within the one before, or in another run.
	{2, 96, 48, 1, 14, 1, 1, 0, 1, true, false, false},
	{2, 64, 64, 3, 5, 1, 1, 0, 1, true, false, false},
	{1, 32, 32, 1, 27, 1, 1, 0, 1, false, false, false},
	{2, 448, 40, 17, 17, 1, 1, 0, 1, true, false, false}, // several slices of the sums
	{1, 64, 16, 1, 257, 1, 1, 0, 1, true, false, true},
	{2, 64, 32, 2, 6, 1, 1, 0, 1, true, false, false}, // fewer than a tile, which are laid out
}

// wholeNumbers are numbers of bfloat16 from -most to most, whose products and sums are exact.
func wholeNumbers(seed, most int, shape ...int) *torch.Tensor {
	return filled(ops.Float32, seed, shape...).Mul(100).Floor().Remainder(2*most + 1).Sub(most).To(torch.Bfloat16)
}

// firstTiles are convolutions that begin a network: what a row of the window sees takes the place of channels.
var firstTiles = []tileConv{
	{2, 3, 64, 33, 30, 7, 2, 3, 1, true, false, false},
	{1, 1, 16, 9, 200, 5, 1, 2, 1, false, false, false}, // laid out in parts
	{3, 4, 40, 14, 11, 3, 1, 1, 1, true, false, false},
	{1, 3, 32, 21, 64, 8, 4, 0, 1, false, false, false}, // windows side by side
	{1, 2, 24, 40, 17, 16, 3, 7, 1, true, false, false}, // the widest window
}

// module is the convolution between two of one pixel, or between the image and one.
func (c tileConv) module() (*graph.Module, []torch.Value) {
	g := newTestGraph("tiles")
	conv := func(x ops.Value, seed, in, out, kernel, step, pad, dilation int) ops.Value {
		w := g.param(wholeNumbers(seed, 1, out, in, kernel, kernel))
		bias := g.param(wholeNumbers(seed+1, 2, out))
		return g.Emit(ops.Convolution, x, w, bias, ints(step, step), ints(pad, pad), ints(dilation, dilation), false, ints(0, 0), sym.C(1))
	}
	norm := func(x ops.Value, seed, channels int) ops.Value {
		mean, ones := g.param(wholeNumbers(seed, 3, channels).To(torch.Float32)), g.param(torch.Ones(channels))
		return g.Emit(ops.BatchNorm, x, mean, ones, ones, mean, false, 0.1, 0.0)
	}
	in := c.in
	if c.sliced {
		in = 2 * c.in
	}
	var y ops.Value
	if c.in <= 4 {
		y = g.input(wholeNumbers(1, 2, c.images, c.in, c.h, c.w))
	} else {
		y = conv(g.input(wholeNumbers(1, 2, c.images, 32, c.h, c.w)), 2, 32, in, 1, 1, 0, 1)
	}
	if c.sliced {
		y = g.Emit(ops.Slice, y, sym.C(1), sym.C(c.in/2), sym.C(c.in/2+c.in), sym.C(1))
	}
	if c.reluBefore {
		y = g.Emit(ops.Relu, norm(y, 9, c.in))
	}
	y = conv(y, 4, c.in, c.out, c.kernel, c.step, c.pad, c.dilation)
	if c.normAfter {
		y = g.Emit(ops.Relu, norm(y, 6, c.out))
	}
	return g.outputs(conv(y, 7, c.out, 32, 1, 1, 0, 1)), g.in
}

// TestConvolutionsByTiles: each gives what its operators give, to the last bit, since all sums are of whole numbers, and runs in
// the form of tiles.
func TestConvolutionsByTiles(t *testing.T) {
	needCompiler(t)
	for use, name := range map[BFloatUse]string{Fastest: "the processor's", MadeUpTiles: "in C", AnyDot: "by the dot product"} {
		t.Run(name, func(t *testing.T) {
			if use == MadeUpTiles && !dotProduct() {
				t.Skip("tiles in C need a processor with the dot product of bfloat16")
			}
			e := NewSet(Config{CacheDir: sharedCache, Threads: 3, BFloat: use}).engine()
			if e.err != nil {
				t.Fatal(e.err)
			}
			if way := e.rt.bfloat.chosen(use); way == cpp.BFloatWidened || use != AnyDot && way != cpp.BFloatTiles {
				t.Skip("this processor has no tiles, or no dot product of bfloat16")
			}
			for _, c := range slices.Concat(test.Some(t, 5, tileConvs), test.Some(t, 2, firstTiles)) {
				t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) { c.run(t, e) })
			}
		})
	}
}

// inBlocks compiles a module, whose images have channels side by side wherever they may, and loads its kernels.
func inBlocks(t *testing.T, e *engine, m *graph.Module, in []torch.Value) *executable {
	t.Helper()
	opt := inductor.Options{Params: paramInputs(m.G, nil, nil), Tuned: tune.Choices{Layout: tune.LayoutBlocks}}
	x, err := e.compiled(m.G, &tracer.Request{Module: m, Example: in}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.load(x, &tracer.Request{}); err != nil {
		t.Fatal(err)
	}
	return x
}

func (c tileConv) run(t *testing.T, e *engine) {
	t.Helper()
	m, in := c.module()
	want := m.Run(in)
	x := inBlocks(t, e, m, in)
	tiled := slices.ContainsFunc(x.prog.Products, func(p tune.Product) bool {
		return plan.ConvForm(p.Form) == plan.ConvTiles && p.Shapes[1] == fmt.Sprintf("%dx%dx%dx%d", c.out, c.in, c.kernel, c.kernel)
	})
	if !tiled {
		for _, p := range x.prog.Products {
			t.Log(p.Kernel, p.Shapes, cpp.FormName(p.Form))
		}
		t.Error("not in the form of tiles")
	}
	for _, b := range x.prog.Buffers {
		if b.DType == ops.Float32 && len(b.Shape) == 5 && c.out%32 == 0 && !c.sliced { // else another form reads it
			t.Errorf("an image in float32: %s %v", b.Name, b.Shape)
		}
	}
	for range 2 {
		if err := sameValues(x.run(in), want, 0); err != nil {
			t.Error(err)
		}
	}
}

package backends

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/tune"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
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
	for _, channels := range test.Some(t, 1, []int{40, 16, 8, 48}) {
		g, out := blockNet(t, channels)
		everywhere(t, g.outputs(out...), g.in, 1e-3)
	}
}

// TestDepthwiseInBlocks: between images in blocks, windows reach over every border of the image,
// and beyond it; some are those that are compiled, of these some for two rows at a time, which a run of pixels may be too long
// for; some are read tap by tap.
func TestDepthwiseInBlocks(t *testing.T) {
	for _, c := range test.Some(t, 5, []convCase{
		{2, 16, 6, 8, 16, 3, 3, ints(1, 1), ints(0, 0), ints(1, 1), 16},
		{1, 40, 13, 14, 40, 3, 3, ints(2, 2), ints(0, 0), ints(1, 1), 40},
		{1, 32, 13, 33, 32, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 32},
		{2, 16, 9, 10, 16, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 16},
		{2, 24, 7, 23, 24, 5, 5, ints(2, 2), ints(2, 2), ints(1, 1), 24},
		{1, 32, 3, 3, 32, 3, 3, ints(2, 2), ints(4, 4), ints(1, 1), 32},
		{1, 48, 6, 5, 48, 7, 7, ints(1, 1), ints(3, 3), ints(1, 1), 48},
		{2, 16, 12, 19, 16, 5, 3, ints(1, 1), ints(2, 2), ints(1, 2), 16},
		{1, 16, 11, 70, 16, 3, 5, ints(1, 2), ints(0, 0), ints(1, 1), 16},
		{1, 24, 14, 13, 24, 3, 3, ints(3, 3), ints(1, 1), ints(3, 1), 24},
		{1, 16, 80, 61, 16, 7, 7, ints(2, 2), ints(3, 3), ints(1, 1), 16},
	}) {
		t.Run(c.String(), func(t *testing.T) {
			g := &modelGraph{testGraph: newTestGraph("depthwise")}
			x := g.conv(g.input(filled(ops.Float32, 1, c.n, 20, c.h, c.w)), 20, c.in, 1, 1, 1)
			y := g.Emit(ops.Convolution, x, g.small(c.out, 1, c.kh, c.kw), nil, c.stride, c.pad, c.dil, false, ints(0, 0), sym.C(c.groups))
			m := g.outputs(g.conv(g.Emit(ops.Hardswish, y), c.out, 12, 1, 1, 1))
			everywhere(t, m, g.in, 1e-3)
		})
	}
}

// TestFirstLayersInBlocks: an image of few channels in planes becomes one in blocks, by windows of three columns, one step or two
// apart, whose tiles reach over each border, for one vector of channels and for more; rows of the result are long and short.
func TestFirstLayersInBlocks(t *testing.T) {
	for _, c := range test.Some(t, 3, []convCase{
		{2, 3, 5, 58, 32, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
		{1, 3, 9, 121, 48, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
		{1, 4, 14, 17, 24, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
		{2, 1, 6, 120, 16, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
		{1, 2, 7, 64, 40, 5, 3, ints(1, 1), ints(2, 0), ints(1, 1), 1},
		{1, 3, 4, 70, 16, 3, 3, ints(2, 1), ints(0, 2), ints(1, 1), 1},
	}) {
		t.Run(c.String(), func(t *testing.T) {
			g := &modelGraph{testGraph: newTestGraph("first")}
			x, w := g.input(filled(ops.Float32, 1, c.n, c.in, c.h, c.w)), g.small(c.out, c.in, c.kh, c.kw)
			y := g.Emit(ops.Convolution, x, w, nil, c.stride, c.pad, c.dil, false, ints(0, 0), sym.C(1))
			everywhere(t, g.outputs(g.conv(g.Emit(ops.Relu, y), c.out, 12, 1, 1, 1)), g.in, 1e-3)
		})
	}
}

// TestGroupsInBlocks: between images in blocks, groups of which several fill a block, one does, or which fill several; those of
// other windows, and of as many channels as fill no block, stay in planes.
func TestGroupsInBlocks(t *testing.T) {
	for _, c := range []struct {
		convCase
		blocks bool
	}{
		{convCase{2, 32, 9, 10, 32, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 16}, true},
		{convCase{2, 32, 12, 15, 32, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 8}, true},
		{convCase{1, 24, 7, 7, 24, 3, 3, ints(1, 1), ints(2, 2), ints(1, 1), 3}, true},
		{convCase{2, 64, 14, 9, 64, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 4}, true},
		{convCase{1, 64, 15, 17, 64, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 2}, true},
		{convCase{1, 128, 6, 8, 128, 5, 3, ints(1, 1), ints(2, 0), ints(2, 1), 2}, true},
		{convCase{1, 32, 8, 8, 32, 5, 5, ints(1, 1), ints(2, 2), ints(1, 1), 4}, false},
		{convCase{1, 48, 8, 8, 48, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 4}, false},
		{convCase{1, 32, 8, 8, 64, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 4}, false},
	} {
		t.Run(c.String(), func(t *testing.T) {
			g := &modelGraph{testGraph: newTestGraph("groups")}
			x := g.conv(g.input(filled(ops.Float32, 1, c.n, 20, c.h, c.w)), 20, c.in, 1, 1, 1)
			w := g.small(c.out, c.in/c.groups, c.kh, c.kw)
			y := g.Emit(ops.Convolution, x, w, nil, c.stride, c.pad, c.dil, false, ints(0, 0), sym.C(c.groups))
			m := g.outputs(g.conv(g.Emit(ops.Hardswish, y), c.out, 12, 1, 1, 1))
			if p := programOf(t, m, false, true, true, true); c.blocks != strings.Contains(p.IR, fmt.Sprintf(" go=%d", c.out/c.groups)) {
				t.Errorf("groups in blocks: want %v\n%s", c.blocks, p.IR)
			}
			everywhere(t, m, g.in, 1e-2) // of results in hundreds
		})
	}
}

// TestTransposedDepthwiseInBlocks: between images in blocks, transposed convolutions of each channel by itself, whose image
// has zeros between its pixels.
func TestTransposedDepthwiseInBlocks(t *testing.T) {
	for _, c := range []struct{ channels, kernel, step, pad int }{
		{16, 3, 2, 1}, {24, 5, 2, 2}, {32, 4, 2, 1}, {16, 7, 2, 0}, {8, 3, 3, 0}, {16, 3, 1, 1},
	} {
		g := &modelGraph{testGraph: newTestGraph("transposed")}
		x := g.conv(g.input(filled(ops.Float32, 1, 2, 20, 9, 11)), 20, c.channels, 1, 1, 1)
		step, pad := ints(c.step, c.step), ints(c.pad, c.pad)
		w := g.small(c.channels, 1, c.kernel, c.kernel)
		y := g.Emit(ops.Convolution, x, w, nil, step, pad, ints(1, 1), true, ints(0, 0), sym.C(c.channels))
		m := g.outputs(g.conv(g.Emit(ops.Hardswish, y), c.channels, 12, 1, 1, 1))
		far := func(s string) bool { return strings.Contains(s, "block=8 lanes=8") && strings.Contains(s, " uh=") }
		if p := programOf(t, m, false, true, true, true); c.step > 1 && !slices.ContainsFunc(strings.Split(p.IR, "\n"), far) {
			t.Errorf("%v: no image in blocks with zeros between its pixels:\n%s", c, p.IR)
		}
		everywhere(t, m, g.in, 1e-3)
	}
}

// TestBlocksOfDynamicBatch: one program with a region serves every batch.
func TestBlocksOfDynamicBatch(t *testing.T) {
	g := newDynamicGraph(2, 9)
	x := g.input(false, g.s0, sym.C(3), sym.C(9), sym.C(8))
	v, w := g.input(true, sym.C(16), sym.C(3), sym.C(3), sym.C(3)), g.input(true, sym.C(5), sym.C(16), sym.C(3), sym.C(3))
	conv := func(x, w ops.Value) ops.Value {
		return g.Emit(ops.Convolution, x, w, nil, ints(1, 1), ints(1, 1), ints(1, 1), false, ints(0, 0), sym.C(1))
	}
	g.G.SetOutput([]ops.Arg{conv(g.Emit(ops.Hardswish, conv(x, v)), w)})
	m := graph.NewModule(g.G)
	if p := programOf(t, m, false, true, true); !strings.Contains(p.IR, "block=8") {
		t.Errorf("no image in blocks:\n%s", p.IR)
	}
	plain := inductor.Options{Machine: cpp.Machine{Lanes: 8, Cache: 1 << 20}, Cores: 1, Params: []bool{false, true, true}, NoLayout: true}
	if p, err := inductor.Compile(m.G, plain); err != nil || strings.Contains(p.IR, "block=8") {
		t.Errorf("with layout_optimization off an image is in blocks: %v\n%s", err, p.IR)
	}
	for _, lanes := range widthsOf(t) {
		run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m})
		if err != nil {
			t.Fatal(err)
		}
		for _, batch := range []int{2, 1, 5} {
			in := []torch.Value{
				filled(ops.Float32, batch, batch, 3, 9, 8), filled(ops.Float32, 3, 16, 3, 3, 3), filled(ops.Float32, 4, 5, 16, 3, 3),
			}
			if err := sameValues(run(in), m.Run(in), 1e-4); err != nil {
				t.Errorf("%d lanes, batch %d: %v", lanes, batch, err)
			}
		}
	}
}

// TestNarrowPanels: the last panel of channels fills half a vector, or one and a half, of which no more is computed than there is. Sums
// of whole numbers are exact, so that results are eager's to the last bit; tiles have 12 to 14 pixels, and others.
func TestNarrowPanels(t *testing.T) {
	for _, c := range [][4]int{
		{64, 8, 14, 1}, {64, 24, 28, 1}, {24, 40, 13, 1}, {40, 72, 12, 1}, {8, 88, 26, 1}, {16, 24, 14, 3}, {24, 8, 28, 3}, {48, 56, 15, 3},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			in, out, width, kernel := c[0], c[1], c[2], c[3]
			g := &modelGraph{testGraph: newTestGraph("narrow")}
			whole := func(seed, most int, shape ...int) *torch.Tensor {
				return wholeNumbers(seed, most, shape...).To(torch.Float32)
			}
			conv := func(x ops.Value, seed, in, out, kernel int) ops.Value {
				w, pad := g.param(whole(seed, 1, out, in, kernel, kernel)), kernel/2
				return g.Emit(ops.Convolution, x, w, nil, ints(1, 1), ints(pad, pad), ints(1, 1), false, ints(0, 0), sym.C(1))
			}
			scale := g.param(whole(4, 1, 2, in, 1, 1)) // on the way in: the image is made where it is packed
			x := conv(g.input(whole(1, 2, 2, 16, 9, width)), 2, 16, in, 1)
			if kernel == 1 {
				x = g.Emit(ops.Mul, g.Emit(ops.Relu, x), scale)
			}
			y := g.Emit(ops.Relu, conv(x, 3, in, out, kernel))
			everywhere(t, g.outputs(conv(y, 5, out, 16, 1)), g.in, 0)
		})
	}
}

// TestWinogradOfBlocks: odd sizes, tiles beyond the image, no padding and more than the kernel
// reaches, several tasks of an image, results in blocks and in planes.
func TestWinogradOfBlocks(t *testing.T) {
	for _, c := range test.Some(t, 1, [][5]int{
		{13, 9, 1, 48, 32},
		{7, 7, 1, 64, 40},
		{21, 40, 0, 32, 33},
		{11, 12, 2, 96, 64},
		{30, 61, 1, 32, 48},
		{8, 6, 1, 128, 64},
		{14, 14, 1, 256, 256},
		{7, 9, 1, 288, 200},
		{13, 5, 1, 224, 160},
	}) {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			height, width, pad, channels, last := c[0], c[1], c[2], c[3], c[4]
			g := &modelGraph{testGraph: newTestGraph("winograd")}
			x := g.conv(g.input(filled(ops.Float32, 1, 2, 3, height, width)), 3, channels, 1, 1, 1)
			w := g.small(last, channels, 3, 3)
			y := g.Emit(ops.Convolution, x, w, nil, ints(1, 1), ints(pad, pad), ints(1, 1), false, ints(0, 0), sym.C(1))
			z := g.Emit(ops.Relu, y)
			everywhere(t, g.outputs(g.Emit(ops.AdaptiveAvgPool2d, z, ints(1, 1)), g.conv(z, last, 3, 1, 1, 1)), g.in, 1e-3)
		})
	}
}

// TestWinogradInStepsOfTwo: even and odd sizes, tiles beyond the image, no padding and more than the kernel reaches, several tasks
// of an image and lots of tiles, results in blocks and in planes. All sums are of whole numbers, and no number is halved, so that
// results are eager's to the last bit.
func TestWinogradInStepsOfTwo(t *testing.T) {
	for _, c := range test.Some(t, 3, [][5]int{
		{28, 28, 1, 32, 48},
		{27, 39, 1, 64, 40},
		{41, 40, 0, 32, 33},
		{29, 52, 2, 48, 64},
		{28, 27, 1, 288, 200},
		{21, 22, 0, 256, 256},
	}) {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			height, width, pad, channels, last := c[0], c[1], c[2], c[3], c[4]
			g := newTestGraph("strided")
			conv := func(x ops.Value, seed, in, out, kernel, stride, pad int) ops.Value {
				w := g.param(wholeNumbers(seed, 1, out, in, kernel, kernel).To(torch.Float32))
				return g.Emit(ops.Convolution, x, w, nil, ints(stride, stride), ints(pad, pad), ints(1, 1), false, ints(0, 0), sym.C(1))
			}
			x := conv(g.input(wholeNumbers(1, 2, 2, 3, height, width).To(torch.Float32)), 2, 3, channels, 1, 1, 0)
			y := g.Emit(ops.Relu, conv(x, 3, channels, last, 3, 2, pad))
			m := g.outputs(g.Emit(ops.MaxPool2d, y, ints(2, 2)), conv(y, 4, last, 16, 1, 1, 0))
			machine := cpp.Machine{Lanes: 16, Cache: 1 << 20, Threads: 2}
			p, err := inductor.Compile(m.G, inductor.Options{Machine: machine, Cores: 1, Params: paramInputs(m.G, nil, nil)})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(p.Products, func(p tune.Product) bool { return cpp.FormName(p.Form) == "winograd" }) {
				t.Errorf("no convolution in Winograd's form: %v", p.Products)
			}
			everywhere(t, m, g.in, 0)
		})
	}
}

// TestWinogradOfLots: filters that a second cache does not hold are read once for each lot of tiles; of so many tiles a part is
// turned at a time, and rows of both images share a lot.
func TestWinogradOfLots(t *testing.T) {
	needCompiler(t)
	for _, threads := range []int{1, 2, 5} {
		g := &modelGraph{testGraph: newTestGraph("lots")}
		x := g.conv(g.input(filled(ops.Float32, 1, 2, 3, 53, 52)), 3, 96, 1, 1, 1)
		y := g.Emit(ops.Relu, g.conv(x, 96, 256, 3, 1, 1))
		m := g.outputs(g.Emit(ops.AvgPool2d, y, ints(4, 4)), g.Emit(ops.MaxPool2d, y, ints(4, 4)))
		be := &inductorBackend{NewSet(Config{CacheDir: sharedCache, Threads: threads})}
		run, err := be.Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(g.in), m.Run(g.in), 1e-3); err != nil {
			t.Errorf("%d threads: %v", threads, err)
		}
	}
}

// TestBlocksAndGradients: regions beside the gradients of their convolutions.
func TestBlocksAndGradients(t *testing.T) {
	g := newTestGraph("gradients")
	x, dy := g.input(filled(ops.Float32, 1, 2, 16, 9, 8)), g.input(filled(ops.Float32, 2, 2, 24, 5, 4))
	v, w := g.input(filled(ops.Float32, 3, 32, 16, 3, 3)), g.input(filled(ops.Float32, 4, 24, 32, 3, 3))
	conv := func(x, w ops.Value, stride int) ops.Value {
		return g.Emit(ops.Convolution, x, w, nil, ints(stride, stride), ints(1, 1), ints(1, 1), false, ints(0, 0), sym.C(1))
	}
	back := func(dy, x, w ops.Value, stride int) []ops.Value {
		return g.EmitN(ops.ConvolutionBackward, dy, x, w, ints(stride, stride), ints(1, 1), ints(1, 1), false, ints(0, 0), sym.C(1),
			[]bool{true, true})
	}
	a := conv(x, v, 1)
	h := g.Emit(ops.Relu, a)
	y := conv(h, w, 2)
	d := back(dy, h, w, 2)
	e := back(g.Emit(ops.Mul, d[0], g.Emit(ops.Gt, a, 0.0)), x, v, 1)
	everywhere(t, g.outputs(y, d[1], e[0], e[1]), g.in, 1e-3)
}

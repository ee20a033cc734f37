package backends

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file compares the convolution template with eager.

// convCase is one conv2d: sizes of image and kernel and the arguments.
type convCase struct {
	n, in, h, w, out, kh, kw int
	stride, pad, dil         []sym.Int
	groups                   int
}

var convCases = []convCase{
	{1, 1, 1, 1, 1, 1, 1, ints(1, 1), ints(0, 0), ints(1, 1), 1},
	{2, 3, 8, 9, 5, 3, 3, ints(1, 1), ints(0, 0), ints(1, 1), 1},
	{2, 3, 8, 9, 5, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{1, 4, 11, 7, 20, 3, 2, ints(2, 1), ints(1, 2), ints(1, 1), 1},
	{1, 3, 17, 19, 15, 7, 7, ints(2, 2), ints(3, 3), ints(1, 1), 1},
	{2, 5, 12, 12, 7, 3, 3, ints(1, 2), ints(2, 2), ints(2, 3), 1},
	{2, 16, 9, 9, 100, 1, 1, ints(1, 1), ints(0, 0), ints(1, 1), 1},
	{2, 6, 9, 9, 4, 1, 1, ints(2, 2), ints(0, 0), ints(1, 1), 1},
	{1, 6, 9, 9, 4, 1, 1, ints(1, 1), ints(1, 0), ints(1, 1), 1},
	{1, 50, 6, 40, 17, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{2, 6, 9, 10, 6, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 6},
	{2, 6, 9, 10, 12, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 3},
	{1, 8, 9, 10, 34, 3, 3, ints(1, 1), ints(2, 2), ints(2, 2), 2},
	// more images than are laid out at a time; several slices of k and blocks of
	// rows; strides beyond two; a last panel that is gathered
	{3, 32, 150, 150, 2, 2, 1, ints(1, 1), ints(1, 0), ints(1, 1), 1},
	{1, 45, 14, 14, 200, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
	{1, 40, 13, 15, 30, 5, 4, ints(3, 4), ints(2, 1), ints(2, 3), 1},
	{1, 400, 7, 7, 90, 1, 1, ints(1, 1), ints(0, 0), ints(1, 1), 1},
	// pixels as rows: several images, rows cut into tiles, more tiles than a run has
	{2, 60, 9, 17, 64, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{3, 70, 9, 5, 30, 3, 2, ints(2, 1), ints(1, 2), ints(2, 1), 1},
	{2, 300, 13, 13, 33, 1, 1, ints(2, 2), ints(0, 0), ints(1, 1), 1},
	// Winograd's form: rows of tiles cut into blocks, two rows in a block, the last
	// of them alone; odd sizes; no padding, and more than the kernel reaches
	{2, 32, 30, 61, 40, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{3, 33, 14, 13, 70, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{1, 40, 21, 11, 32, 3, 3, ints(1, 1), ints(0, 0), ints(1, 1), 1},
	{1, 48, 37, 12, 33, 3, 3, ints(1, 1), ints(2, 3), ints(1, 1), 1},
	{1, 32, 150, 3, 32, 3, 3, ints(1, 1), ints(0, 0), ints(1, 1), 1},
	// few channels, read directly: several panels of channels and runs of tiles, steps of one
	// and two and, of narrow vectors, more; dilation; no padding
	{2, 3, 40, 37, 70, 7, 7, ints(2, 2), ints(3, 3), ints(1, 1), 1},
	{3, 4, 19, 30, 16, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{2, 1, 33, 35, 40, 5, 3, ints(3, 3), ints(2, 2), ints(1, 2), 1},
	{1, 2, 20, 64, 33, 4, 4, ints(4, 2), ints(0, 0), ints(2, 1), 1},
	// rows of several tiles, of which those at a border are padded by themselves: steps of one
	// and two, a last row and column that nothing is missing of, several slices of k, windows
	// that see nothing of the image
	{2, 3, 12, 60, 16, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{2, 3, 16, 122, 12, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
	{1, 4, 12, 130, 40, 7, 7, ints(2, 2), ints(3, 3), ints(1, 1), 1},
	{1, 2, 7, 140, 20, 5, 3, ints(1, 2), ints(6, 5), ints(3, 2), 1},
	// one pixel whose window is the image, which is a product, and one whose window is less
	{3, 40, 1, 1, 33, 1, 1, ints(1, 1), ints(0, 0), ints(1, 1), 1},
	{2, 7, 4, 5, 20, 4, 5, ints(2, 1), ints(0, 0), ints(1, 1), 1},
	{2, 7, 5, 5, 20, 4, 5, ints(2, 1), ints(0, 0), ints(1, 1), 1},
}

func (c convCase) String() string {
	return fmt.Sprintf("%dx%dx%dx%d by %dx%dx%d stride %v pad %v dilation %v groups %d", c.n, c.in, c.h, c.w, c.out, c.kh, c.kw,
		c.stride, c.pad, c.dil, c.groups)
}

// emit is the convolution of a new input by a new weight, a parameter or not.
func (c convCase) emit(g *testGraph, d ops.DType, param bool, bias ops.Arg) ops.Value {
	x := g.input(filled(d, 1, c.n, c.in, c.h, c.w))
	add := g.input
	if param {
		add = g.param
	}
	w := add(filled(d, 2, c.out, c.in/c.groups, c.kh, c.kw))
	return g.Emit(ops.Convolution, x, w, bias, c.stride, c.pad, c.dil, false, ints(0, 0), sym.C(c.groups))
}

// programOf compiles a module without running it.
func programOf(t *testing.T, m *graph.Module, params ...bool) *inductor.Program {
	t.Helper()
	p, err := inductor.Compile(m.G, inductor.Options{Machine: cpp.Machine{Lanes: 8, Cache: 1 << 20}, Cores: 1, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// calls counts the kernels and eager calls of a program.
func calls(p *inductor.Program) (kernels, externs int) {
	for _, s := range p.Steps {
		kernels += len(s.Kernels)
		if s.Extern != nil {
			externs++
		}
	}
	return kernels, externs
}

// TestConvolution runs every form; in the short form of the tests a few of the cases.
func TestConvolution(t *testing.T) {
	for _, c := range test.Some(t, 6, convCases) {
		t.Run(c.String(), func(t *testing.T) {
			for _, param := range []bool{true, false} {
				g := newTestGraph("conv")
				bias := g.param(filled(ops.Float32, 3, c.out))
				y := c.emit(g, ops.Float32, param, nil)
				z := c.emit(g, ops.Float32, param, bias)
				m := g.outputs(y, g.Emit(ops.Relu, z))
				if _, externs := calls(programOf(t, m)); externs != 0 {
					t.Fatalf("%d eager calls", externs)
				}
				everywhere(t, m, g.in, 1e-4)
			}
		})
	}
}

// TestConvolutionBNReLU: bias, batch norm in eval mode, a residual and relu run
// on the tile. What depends on the channel alone is a kernel of its own.
func TestConvolutionBNReLU(t *testing.T) {
	for _, groups := range []int{1, 6} {
		c := convCase{2, 6, 9, 10, 6, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), groups}
		g := newTestGraph("block")
		mean, gamma, beta := g.param(filled(ops.Float32, 3, 6)), g.param(filled(ops.Float32, 5, 6)), g.param(filled(ops.Float32, 6, 6))
		variance := filled(ops.Float32, 4, 6)
		for i := range 6 {
			putElement(variance.Storage().Bytes(), ops.Float32, i, 0.5+float64(i))
		}
		v := g.param(variance)
		y := g.Emit(ops.BatchNorm, c.emit(g, ops.Float32, true, beta), mean, v, gamma, beta, false, 0.1, 1e-5)
		m := g.outputs(g.Emit(ops.Relu, g.Emit(ops.Add, y, g.input(filled(ops.Float32, 7, 2, 6, 9, 10)))))
		p := programOf(t, m)
		kernels, externs := calls(p)
		if externs != 0 || kernels > 2 || strings.Count(p.Wrapper, "const float *T") != 1 {
			t.Errorf("groups %d: %d kernels and %d eager calls:\n%s", groups, kernels, externs, p.Wrapper)
		}
		everywhere(t, m, g.in, 1e-4)
	}
}

// TestConvolutionOfOneDimension runs conv1d, padded and dilated.
func TestConvolutionOfOneDimension(t *testing.T) {
	g := newTestGraph("conv1d")
	x, w, b := g.input(filled(ops.Float32, 1, 2, 4, 30)), g.param(filled(ops.Float32, 2, 6, 2, 5)), g.param(filled(ops.Float32, 3, 6))
	m := g.outputs(g.Emit(ops.Relu, g.Emit(ops.Convolution, x, w, b, ints(2), ints(3), ints(2), false, ints(0), sym.C(2))))
	if _, externs := calls(programOf(t, m)); externs != 0 {
		t.Errorf("%d eager calls", externs)
	}
	everywhere(t, m, g.in, 1e-4)
}

// TestConvolutionOfViews reads image and weight through strides.
func TestConvolutionOfViews(t *testing.T) {
	g := newTestGraph("views")
	x := g.Emit(ops.Transpose, g.input(filled(ops.Float32, 1, 2, 3, 9, 8)), sym.C(2), sym.C(3))
	w := g.Emit(ops.Transpose, g.input(filled(ops.Float32, 2, 3, 5, 3, 3)), sym.C(0), sym.C(1))
	m := g.outputs(g.Emit(ops.Convolution, x, w, nil, ints(1, 1), ints(1, 1), ints(1, 1), false, ints(0, 0), sym.C(1)))
	everywhere(t, m, g.in, 1e-4)
}

// TestConvolutionStaysEager: what the template does not cover is called as it is.
func TestConvolutionStaysEager(t *testing.T) {
	c := convCases[2]
	g := newTestGraph("f64")
	double := g.outputs(c.emit(g, ops.Float64, true, nil))
	everywhere(t, double, g.in, 1e-9)
	if p, reason := programOf(t, double), "no template for this dtype"; !strings.Contains(p.Wrapper, reason) {
		t.Errorf("no eager call because of %q:\n%s", reason, p.Wrapper)
	}
}

// TestEpilogueAsksAhead: where a convolution's epilogue reads much more than the product, it is asked for the lines of
// a tile before that is computed, and says so; results are what they were.
func TestEpilogueAsksAhead(t *testing.T) {
	for _, c := range []struct {
		size int
		asks bool
	}{{40, true}, {8, false}} {
		g := newTestGraph("ahead")
		x, w := g.input(filled(ops.Float32, 1, 2, 16, c.size, c.size)), g.input(filled(ops.Float32, 2, 70, 16, 3, 3))
		y := g.input(filled(ops.Float32, 3, 2, 70, c.size, c.size))
		one := ints(1, 1)
		conv := g.Emit(ops.Convolution, x, w, nil, one, one, one, false, ints(0, 0), sym.C(1))
		m := g.outputs(g.Emit(ops.Relu, g.Emit(ops.Add, conv, y)))
		if asks := strings.Contains(strings.Join(programOf(t, m).Shards, ""), ", .ahead = 1"); asks != c.asks {
			t.Errorf("images of %dx%d: asks ahead %v, want %v", c.size, c.size, asks, c.asks)
		}
		everywhere(t, m, g.in, 1e-4)
	}
}

// TestStoresAskAhead: an epilogue that only writes is asked for its lines where they are more than a cache holds, that of
// a product as that of a convolution; results are what they were.
func TestStoresAskAhead(t *testing.T) {
	for _, c := range []struct {
		size int
		asks bool
	}{{60, true}, {20, false}} {
		g := newTestGraph("stores")
		x, w := g.input(filled(ops.Float32, 1, 2, 80, c.size, c.size)), g.input(filled(ops.Float32, 2, 150, 80, 1, 1))
		one := ints(1, 1)
		conv := g.outputs(g.Emit(ops.Convolution, x, w, nil, one, ints(0, 0), one, false, ints(0, 0), sym.C(1)))
		h := newTestGraph("stored")
		mm := h.outputs(h.Emit(ops.Mm, h.input(filled(ops.Float32, 3, 30*c.size, 33)), h.input(filled(ops.Float32, 4, 33, 10*c.size+3))))
		for m, in := range map[*graph.Module][]torch.Value{conv: g.in, mm: h.in} {
			if asks := strings.Contains(strings.Join(programOf(t, m).Shards, ""), ", .ahead = 1"); asks != c.asks {
				t.Errorf("%s of size %d: asks ahead %v, want %v", m.G.Name, c.size, asks, c.asks)
			}
			everywhere(t, m, in, 1e-4)
		}
	}
}

// TestConvolutionFollowsParameters: the packed weight is that of the last call.
func TestConvolutionFollowsParameters(t *testing.T) {
	g := newTestGraph("prologue")
	m := g.outputs(convCases[12].emit(g, ops.Float32, true, nil))
	run, err := inductorAt(t, 8).Compile(&tracer.Request{Module: m, Example: g.in})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := sameValues(run(g.in), m.Run(g.in), 1e-4); err != nil {
			t.Fatal(err)
		}
		g.in[1] = filled(ops.Float32, 9, 34, 4, 3, 3)
	}
}

func benchmarkConv(b *testing.B, c convCase) {
	g := newTestGraph("conv")
	m := g.outputs(g.Emit(ops.Relu, c.emit(g, ops.Float32, true, nil)))
	run := compiled(b, m, g.in)
	flops := 2 * float64(c.n*c.out*c.h*c.w) * float64(c.in/c.groups*c.kh*c.kw)
	compareTo(b, run, func() { m.Run(g.in) }, flops, flops, "FLOP")
}

// The convolutions of ResNet's bottleneck, and a depthwise one.
func BenchmarkConv3x3x64At56(b *testing.B) {
	benchmarkConv(b, convCase{1, 64, 56, 56, 64, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1})
}

func BenchmarkConv1x1x256At14(b *testing.B) {
	benchmarkConv(b, convCase{1, 1024, 14, 14, 256, 1, 1, ints(1, 1), ints(0, 0), ints(1, 1), 1})
}

func BenchmarkConvDepthwise96At56(b *testing.B) {
	benchmarkConv(b, convCase{1, 96, 56, 56, 96, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 96})
}

// TestConvolutionOfDynamicSizes: one program serves every batch; an image of
// unknown size stays an eager call.
func TestConvolutionOfDynamicSizes(t *testing.T) {
	conv := func(height func(*dynamicGraph) sym.Int) (*graph.Module, *inductor.Program) {
		g := newDynamicGraph(2, 9)
		x := g.input(false, g.s0, sym.C(4), height(g), sym.C(8))
		w := g.input(true, sym.C(6), sym.C(2), sym.C(3), sym.C(3))
		y := g.Emit(ops.Convolution, x, w, nil, ints(1, 1), ints(1, 1), ints(1, 1), false, ints(0, 0), sym.C(2))
		g.G.SetOutput([]ops.Arg{g.Emit(ops.Relu, y)})
		m := graph.NewModule(g.G)
		return m, programOf(t, m)
	}
	if _, p := conv(func(g *dynamicGraph) sym.Int { return g.s1 }); !strings.Contains(p.Wrapper, "no lowering for these arguments") {
		t.Errorf("an image of dynamic height is no eager call:\n%s", p.Wrapper)
	}
	m, p := conv(func(*dynamicGraph) sym.Int { return sym.C(9) })
	if _, externs := calls(p); externs != 0 {
		t.Fatalf("%d eager calls", externs)
	}
	for _, lanes := range widthsOf(t) {
		run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m})
		if err != nil {
			t.Fatal(err)
		}
		for _, batch := range []int{2, 1, 7} {
			in := []torch.Value{filled(ops.Float32, batch, batch, 4, 9, 8), filled(ops.Float32, 3, 6, 2, 3, 3)}
			if err := sameValues(run(in), m.Run(in), 1e-4); err != nil {
				t.Errorf("%d lanes, batch %d: %v", lanes, batch, err)
			}
		}
	}
}

// TestPanelRowsAgree: the compiler reserves packed filters for the height of the
// runtime's register tile.
func TestPanelRowsAgree(t *testing.T) {
	want := fmt.Sprintf("#if W == 16\n#define MR %d\n#else\n#define MR %d\n#endif", cpp.PanelRows(16), cpp.PanelRows(8))
	if !strings.Contains(runtimeText(), want) || cpp.PanelRows(4) != cpp.PanelRows(8) {
		t.Errorf("the runtime's tile does not say\n%s", want)
	}
}

// depthCases are depthwise convolutions: rows that fill no vector and those that do, bands
// of rows, channels that fill no vector of 8 or 16, steps and dilations, a window larger
// than the image, many taps, one row.
var depthCases = []convCase{
	{2, 16, 7, 7, 16, 5, 5, ints(1, 1), ints(2, 2), ints(1, 1), 16},
	{1, 24, 14, 14, 24, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 24},
	{2, 6, 9, 20, 6, 3, 3, ints(1, 1), ints(0, 0), ints(1, 1), 6},
	{1, 5, 14, 33, 5, 5, 3, ints(2, 2), ints(2, 1), ints(1, 1), 5},
	{2, 3, 12, 23, 3, 3, 2, ints(2, 1), ints(3, 1), ints(2, 3), 3},
	{1, 32, 56, 57, 32, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 32},
	{2, 40, 28, 31, 40, 5, 5, ints(3, 2), ints(2, 2), ints(1, 1), 40},
	{1, 16, 5, 5, 16, 7, 7, ints(1, 1), ints(3, 3), ints(1, 1), 16},
	{1, 9, 30, 30, 9, 11, 9, ints(1, 1), ints(5, 4), ints(1, 1), 9},
	{3, 17, 1, 70, 17, 1, 4, ints(1, 1), ints(0, 3), ints(1, 1), 17},
	{1, 8, 3, 3, 8, 3, 3, ints(2, 2), ints(4, 4), ints(1, 1), 8},
}

// groupCases are convolutions whose groups fill a vector together, and some whose groups do
// not: too many channels for one, more channels out than in, a window of five.
var groupCases = []convCase{
	{2, 32, 9, 14, 32, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 8},
	{1, 24, 11, 23, 24, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 6},
	{2, 32, 7, 7, 32, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 4},
	{1, 48, 20, 9, 48, 5, 3, ints(2, 1), ints(3, 2), ints(2, 1), 3},
	{1, 40, 33, 31, 40, 1, 3, ints(1, 2), ints(0, 0), ints(1, 1), 20},
	{2, 32, 8, 8, 32, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	{1, 64, 8, 8, 64, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 2},
	{1, 16, 8, 9, 32, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 4},
	{1, 16, 8, 9, 16, 5, 5, ints(1, 1), ints(2, 2), ints(1, 1), 4},
	{1, 32, 9, 29, 32, 3, 3, ints(2, 2), ints(2, 1), ints(2, 1), 8},  // four channels, runs of eight pixels
	{2, 32, 10, 27, 32, 3, 3, ints(1, 2), ints(1, 1), ints(1, 1), 4}, // eight, runs of seven
	{2, 48, 6, 7, 48, 2, 3, ints(1, 1), ints(1, 3), ints(1, 1), 12},
}

// TestGroups: groups of few channels, the weight packed beforehand or not.
// They fill vectors of 8 where 8 is a multiple of a group's channels.
func TestGroups(t *testing.T) {
	for _, c := range test.Some(t, 3, groupCases) {
		t.Run(c.String(), func(t *testing.T) {
			fills := c.groups > 1 && c.in == c.out && 8%(c.in/c.groups) == 0 && c.kw == 3
			for _, param := range []bool{true, false} {
				g := newTestGraph("groups")
				bias := g.param(filled(ops.Float32, 3, c.out))
				m := g.outputs(g.Emit(ops.Relu, c.emit(g, ops.Float32, param, bias)))
				text := strings.Join(programOf(t, m, true, false, param).Shards, "")
				if own := strings.Contains(text, "fused_convolution_relu_0, 4, {"); own != fills {
					t.Errorf("the form of channels on their own: %v, want %v:\n%s", own, fills, text)
				}
				everywhere(t, m, g.in, 1e-4)
			}
		})
	}
}

// TestDepthwise: a filter for each channel, with bias and what follows, in all forms; the
// weight may be new in every call.
func TestDepthwise(t *testing.T) {
	for _, c := range test.Some(t, 5, depthCases) {
		t.Run(c.String(), func(t *testing.T) {
			for _, param := range []bool{true, false} {
				g := newTestGraph("depthwise")
				bias := g.param(filled(ops.Float32, 3, c.out))
				m := g.outputs(g.Emit(ops.Hardswish, c.emit(g, ops.Float32, param, bias)))
				text := strings.Join(programOf(t, m, true, false, param).Shards, "")
				if !strings.Contains(text, "fused_convolution_add_clamp_mul_div_0, 4, {") {
					t.Errorf("not the form of channels on their own:\n%s", text)
				}
				everywhere(t, m, g.in, 1e-5)
			}
		})
	}
}

// TestDepthwiseOfViews reads an image whose columns do not lie side by side.
func TestDepthwiseOfViews(t *testing.T) {
	g := newTestGraph("views")
	x := g.Emit(ops.Transpose, g.input(filled(ops.Float32, 1, 2, 16, 9, 18)), sym.C(2), sym.C(3))
	w := g.param(filled(ops.Float32, 2, 16, 1, 3, 3))
	m := g.outputs(g.Emit(ops.Convolution, x, w, nil, ints(1, 1), ints(1, 1), ints(1, 1), false, ints(0, 0), sym.C(16)))
	everywhere(t, m, g.in, 1e-5)
}

// TestDepthwiseStencil: where the template has no form, a filter for each channel is a
// loop of products, with what follows in the same kernel, in all forms.
func TestDepthwiseStencil(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		for _, c := range depthCases[2:5] {
			g := newTestGraph("depthwise")
			m := g.outputs(g.Emit(ops.Relu, c.emit(g, ops.Float64, true, g.param(filled(ops.Float64, 3, c.out)))))
			if p := programOf(t, m, true, false, true); strings.Contains(p.IR, "matmul") || strings.Contains(p.IR, "extern") {
				t.Errorf("%v is no loop:\n%s", c, p.IR)
			}
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(g.in), m.Run(g.in), 1e-5); err != nil {
				t.Errorf("%v: %v", c, err)
			}
		}
	})
}

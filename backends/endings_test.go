package backends

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file tests epilogues that are computed while a convolution's sums are in registers.

// endingCase is a convolution between others that keep its image and its result in blocks.
type endingCase struct{ in, out, width, kernel, stride int }

var endingCases = []endingCase{
	{32, 64, 14, 1, 1}, {64, 16, 28, 1, 1}, {16, 72, 56, 1, 1}, {24, 40, 14, 1, 1}, {48, 8, 28, 1, 1}, // panels of 32, 16, 8 and 24 lanes
	{64, 96, 7, 1, 1}, {32, 48, 15, 1, 1}, {32, 64, 26, 1, 1}, // two rows in a tile; tiles that are not whole
	{320, 32, 14, 1, 1}, {16, 24, 28, 3, 2}, {40, 88, 28, 3, 2}, // slices of the sum; windows
	{64, 64, 14, 3, 1}, {32, 72, 15, 3, 1}, {48, 48, 28, 3, 2}, {256, 256, 29, 3, 2}, // Winograd's form
	{3, 16, 112, 3, 2}, {3, 48, 140, 3, 1}, {3, 24, 112, 3, 2}, {3, 64, 112, 7, 2}, // first layers
}

// ending is an epilogue of a sum with its bias and another array, and what the description says of it; 0 where it is none.
type ending struct {
	name string
	kind int
	of   func(g *testGraph, x, more ops.Value) ops.Value
}

var endings = []ending{
	{"bias", 1, func(_ *testGraph, x, _ ops.Value) ops.Value { return x }},
	{"relu", 2, func(g *testGraph, x, _ ops.Value) ops.Value { return g.Emit(ops.Relu, x) }},
	{"add", 3, func(g *testGraph, x, more ops.Value) ops.Value { return g.Emit(ops.Add, more, x) }},
	{"add relu", 4, func(g *testGraph, x, more ops.Value) ops.Value { return g.Emit(ops.Relu, g.Emit(ops.Add, x, more)) }},
	{"hardswish", 5, func(g *testGraph, x, _ ops.Value) ops.Value { return g.Emit(ops.Hardswish, x) }},
	{"add twice", 0, func(g *testGraph, x, more ops.Value) ops.Value {
		return g.Emit(ops.Add, g.Emit(ops.Add, x, more), more)
	}},
	{"relu add", 0, func(g *testGraph, x, more ops.Value) ops.Value { return g.Emit(ops.Add, g.Emit(ops.Relu, x), more) }},
	{"add hardswish", 0, func(g *testGraph, x, more ops.Value) ops.Value {
		return g.Emit(ops.Hardswish, g.Emit(ops.Add, x, more))
	}},
}

// describedIn is the line of the text that calls the ended convolution.
func (c endingCase) describedIn(text string) string {
	product := fmt.Sprintf("tc_gemm_args g = {%d, %d, %d, 1, ", c.out, endedRows*((c.width-1)/c.stride+1), c.in*c.kernel*c.kernel)
	for line := range strings.Lines(text) {
		if strings.Contains(line, product) && strings.Contains(line, "R->gemm") {
			return line
		}
	}
	return ""
}

// convolution is one of whole numbers, whose sums are exact, with a bias; of the ended one some biases are no numbers.
func (c endingCase) convolution(g *testGraph, x ops.Value, seed, in, out, kernel, stride int) ops.Value {
	exact := func(seed, most int, shape ...int) *torch.Tensor {
		return wholeNumbers(seed, most, shape...).To(torch.Float32)
	}
	w, bias, pad := g.param(exact(seed, 1, out, in, kernel, kernel)), exact(seed+1, 3, out), kernel/2
	for i, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if seed == endedSeed {
			putElement(bias.Storage().Bytes(), ops.Float32, 1+2*i, special)
		}
	}
	return g.Emit(ops.Convolution, x, w, g.param(bias), ints(stride, stride), ints(pad, pad), ints(1, 1), false, ints(0, 0), sym.C(1))
}

// endedSeed is that of the convolution with the ending, and endedRows how many rows its result has.
const (
	endedSeed = 4
	endedRows = 5
)

// module is the graph of a case and an ending, whose result is read where it lies in blocks, with nothing rounded.
func (c endingCase) module(of func(g *testGraph, x, more ops.Value) ops.Value) (*graph.Module, []torch.Value) {
	g := newTestGraph("ending")
	input := wholeNumbers(1, 2, 2, 3, endedRows*c.stride, c.width).To(torch.Float32)
	var x ops.Value = g.input(input)
	image := x
	if c.in != 3 {
		image = c.convolution(g, x, 2, 3, c.in, 1, 1)
	}
	more := c.convolution(g, x, 6, 3, c.out, 1, c.stride)
	y := of(g, c.convolution(g, image, endedSeed, c.in, c.out, c.kernel, c.stride), more)
	return g.outputs(g.Emit(ops.MaxPool2d, y, ints(2, 2), ints(1, 1)), c.convolution(g, g.Emit(ops.Relu, more), 8, c.out, 16, 1, 1)), g.in
}

// TestEndings: with and without an ending results are eager's to the last bit, with numbers that are none among them. The
// description of the convolution says which ending it has, and of an epilogue that is none it says nothing.
func TestEndings(t *testing.T) {
	needCompiler(t)
	for _, lanes := range []int{8, 16} {
		t.Run(fmt.Sprintf("lanes%d", lanes), func(t *testing.T) { endingsOf(t, lanes) })
	}
}

func endingsOf(t *testing.T, lanes int) {
	needLanes(t, lanes)
	e := NewSet(Config{CacheDir: sharedCache, Lanes: lanes, Threads: 2, Stderr: t.Output()}).engine()
	if e.err != nil {
		t.Fatal(e.err)
	}
	for _, c := range test.Some(t, 5, endingCases) {
		for _, ending := range endings {
			t.Run(fmt.Sprintf("%v %s", c, ending.name), func(t *testing.T) {
				m, in := c.module(ending.of)
				x := inBlocks(t, e, m, in)
				text := strings.Join(x.prog.Shards, "")
				says := ""
				if ending.kind > 0 {
					says = fmt.Sprintf(", .ending = %d}", ending.kind)
				}
				line := c.describedIn(text)
				if line == "" || !strings.Contains(line, says) || strings.Contains(line, "ending") != (says != "") {
					t.Errorf("the description %q, want %q in it\n%s", line, says, text)
				}
				for range 2 {
					if err := sameValues(x.run(in), m.Run(in), 0); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

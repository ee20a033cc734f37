package backends

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// shortRow is a convolution whose result has rows of a few pixels.
type shortRow struct {
	images, in, out, h, w, kernel, step, pad int
}

func (c shortRow) pixels(n int) int { return (n+2*c.pad-c.kernel)/c.step + 1 }

// module is the convolution of whole numbers, whose sums are exact, with a residual and ReLU, between images in blocks.
func (c shortRow) module() (*graph.Module, []torch.Value) {
	g, seed := newTestGraph("short"), 0
	numbers := func(most int, shape ...int) *torch.Tensor {
		seed++
		return wholeNumbers(seed, most, shape...).To(torch.Float32)
	}
	conv := func(x ops.Value, in, out, kernel, step, pad int) ops.Value {
		w := g.param(numbers(1, out, in, kernel, kernel))
		return g.Emit(ops.Convolution, x, w, nil, ints(step, step), ints(pad, pad), ints(1, 1), false, ints(0, 0), sym.C(1))
	}
	x := conv(g.input(numbers(3, c.images, 4, c.h, c.w)), 4, c.in, 1, 1, 0)
	y := conv(x, c.in, c.out, c.kernel, c.step, c.pad)
	residual := conv(g.input(numbers(2, c.images, 3, c.pixels(c.h), c.pixels(c.w))), 3, c.out, 1, 1, 0)
	return g.outputs(conv(g.Emit(ops.Relu, g.Emit(ops.Add, y, residual)), c.out, 8, 1, 1, 0)), g.in
}

// TestShortRows: between images in blocks, two rows of a result share a tile where they are short. Of an odd number of rows the
// last has a tile of its own; a panel with one vector of channels takes a row at a time.
func TestShortRows(t *testing.T) {
	for _, c := range []shortRow{
		{2, 32, 64, 14, 14, 1, 2, 0},
		{1, 48, 48, 13, 13, 3, 2, 1},
		{1, 32, 80, 9, 12, 3, 2, 1},
		{2, 16, 48, 6, 4, 3, 1, 1},
		{1, 16, 32, 2, 14, 1, 2, 0},
		{1, 24, 40, 16, 10, 3, 2, 1},
		{1, 160, 32, 5, 5, 5, 1, 2},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			m, in := c.module()
			run, err := inductorAt(t, 16).Compile(&tracer.Request{Module: m, Example: in}) // the width that has such tiles
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(in), m.Run(in), 0); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBlocksAskAhead: the epilogue of a convolution between images in blocks is asked for the lines of a tile where these are
// more than a cache holds, and for halves of lines where it reads some; results are what they were.
func TestBlocksAskAhead(t *testing.T) {
	for _, c := range []struct {
		out, size      int
		residual, asks bool
	}{
		{64, 48, false, true},
		{56, 60, false, false},
		{56, 60, true, true},
		{64, 16, true, false},
	} {
		g := &modelGraph{testGraph: newTestGraph("ahead")}
		x := g.Emit(ops.Hardswish, g.conv(g.input(filled(ops.Float32, 1, 2, 4, c.size, c.size)), 4, 8, 1, 1, 1))
		y := g.conv(x, 8, c.out, 1, 1, 1)
		if c.residual {
			y = g.Emit(ops.Add, y, g.Emit(ops.Hardswish, g.conv(x, 8, c.out, 1, 1, 1)))
		}
		m := g.outputs(g.conv(g.Emit(ops.Hardswish, y), c.out, 8, 1, 1, 1))
		p, err := inductor.Compile(m.G, inductor.Options{
			Machine: cpp.Machine{Lanes: 16, Cache: 1 << 20}, Cores: 1, Params: []bool{false, true, true, true, true}[:len(g.in)],
		})
		if err != nil {
			t.Fatal(err)
		}
		if asks := strings.Contains(strings.Join(p.Shards, ""), ", .ahead = 1"); asks != c.asks {
			t.Errorf("%v: asks ahead %v\n%s", c, asks, p.IR)
		}
		everywhere(t, m, g.in, 1e-3)
	}
}

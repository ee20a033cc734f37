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
)

// This file tests convolutions that make their image as they pack it, and concatenations that
// share memory.

// denseBlock is a block of DenseNet with so many layers: each reads what all before it made.
func denseBlock(images, size, channels, layers, growth int) (*modelGraph, ops.Value) {
	g := &modelGraph{testGraph: newTestGraph("dense")}
	x := g.conv(g.input(filled(ops.Float32, 1, images, 3, size, size+1)), 3, channels, 3, 1, 1)
	features := []ops.Value{g.EmitN(ops.MaxPool2d, x, ints(3, 3), ints(1, 1), ints(1, 1), ints(1, 1), false)[0]}
	for range layers {
		in := features[0]
		if len(features) > 1 {
			in = g.Emit(ops.Cat, features, sym.C(1))
		}
		y := g.conv(g.Emit(ops.Relu, g.norm(in, channels, 1)), channels, 2*growth, 1, 1, 1)
		features = append(features, g.conv(g.Emit(ops.Relu, g.norm(y, 2*growth, channels)), 2*growth, growth, 3, 1, 1))
		channels += growth
	}
	return g, g.Emit(ops.AdaptiveAvgPool2d, g.Emit(ops.Relu, g.Emit(ops.Cat, features, sym.C(1))), ints(1, 1))
}

// programFor is a graph's program for vectors of so many lanes.
func programFor(t *testing.T, m *graph.Module, lanes int) *inductor.Program {
	t.Helper()
	p, err := inductor.Compile(m.G, inductor.Options{
		Machine: cpp.Machine{Lanes: lanes, Cache: 1 << 20}, Cores: 1, Params: paramInputs(m.G, nil, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDenseBlock: the layers of a block write each result once, and take norm and ReLU with the
// packing of their image; results are eager's.
func TestDenseBlock(t *testing.T) {
	g, out := denseBlock(2, 9, 32, 3, 16)
	m := g.outputs(out)
	p := programFor(t, m, 8)
	if n := strings.Count(strings.Join(p.Shards, ""), ".made = 1"); n != 2 {
		t.Errorf("%d convolutions make their image, want 2: the first layer's is the pool's as well", n)
	}
	fused := 0
	for _, f := range p.Fusions {
		if f.Kind == "prologue" && f.Fused {
			fused++
		}
	}
	if fused != 2 {
		t.Errorf("%d prologues are recorded, want 2", fused)
	}
	if n := strings.Count(p.IR, "] // cat"); n != 4 {
		t.Errorf("pieces of concatenations are copied %d times, want each of 4 once:\n%s", n, p.IR)
	}
	everywhere(t, m, g.in, 1e-3)
}

// TestMadeImagesAskAhead: a convolution that makes its image asks for the lines of its result as others do, where they are more than a
// cache holds.
func TestMadeImagesAskAhead(t *testing.T) {
	for _, c := range []struct {
		size int
		asks bool
	}{{72, true}, {10, false}} {
		g, out := denseBlock(2, c.size, 32, 2, 16)
		m := g.outputs(out)
		text := strings.Join(programFor(t, m, 16).Shards, "")
		if asks := strings.Contains(text, ".made = 1, .ahead = 1"); asks != c.asks || !strings.Contains(text, ".made = 1") {
			t.Errorf("images of %dx%d: asks ahead %v, want %v, of a convolution that makes its image", c.size, c.size, asks, c.asks)
		}
		everywhere(t, m, g.in, 1e-3)
	}
}

// TestMadeImages: images of more pixels than a run of tiles, of fewer than a tile, more channels
// than a slice of weights, panels that are not full, one image, blocks of 8.
func TestMadeImages(t *testing.T) {
	for _, c := range test.Some(t, 2, [][4]int{
		{1, 20, 16, 40}, {2, 3, 336, 32}, {3, 5, 24, 8}, {2, 17, 160, 72}, {1, 2, 1040, 16}, {1, 33, 48, 64},
	}) {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			images, size, channels, last := c[0], c[1], c[2], c[3]
			g := &modelGraph{testGraph: newTestGraph("made")}
			x := g.input(filled(ops.Float32, 1, images, 3, size, size+1))
			half := channels / 16 * 8
			y := g.Emit(ops.Cat, []ops.Value{g.conv(x, 3, half, 3, 1, 1), g.conv(x, 3, channels-half, 3, 1, 1)}, sym.C(1))
			scale := g.input(filled(ops.Float32, 2, images, channels, 1, 1))
			y = g.conv(g.Emit(ops.Mul, y, scale), channels, last, 1, 1, 1)
			z := g.conv(g.Emit(ops.Relu, g.norm(g.Emit(ops.Cat, []ops.Value{y, y}, sym.C(1)), 2*last, channels)), 2*last, last, 1, 1, 1)
			out := g.Emit(ops.AdaptiveAvgPool2d, g.Emit(ops.Hardswish, z), ints(1, 1))
			m := g.outputs(out)
			if p := programFor(t, m, 8); strings.Count(strings.Join(p.Shards, ""), ".made = 1") < 2 {
				t.Error("an image is not made as it is packed")
			}
			everywhere(t, m, g.in, 1e-3)
		})
	}
}

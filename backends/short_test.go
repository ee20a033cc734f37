package backends

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/ops"
)

// lying is an input of so many rows and columns, or one that is turned to have them.
func lying(g *testGraph, seed, rows, cols int, turned bool) ops.Value {
	if turned {
		return g.Emit(ops.T, g.input(filled(ops.Float32, seed, cols, rows)))
	}
	return g.input(filled(ops.Float32, seed, rows, cols))
}

// TestShortSums: products of few terms and many rows, with operands that lie as they do in a gradient of a weight and
// otherwise, rows and columns that do not fill a tile, and what an epilogue reads beside the product.
func TestShortSums(t *testing.T) {
	for _, c := range []struct {
		m, k, n     int
		left, right bool // turned
		added       bool
	}{
		{512, 64, 784, true, false, false},
		{300, 1, 40, true, false, false},
		{227, 7, 33, false, false, true},
		{224, 128, 65, false, true, true},
		{1000, 13, 31, true, true, false},
		{450, 100, 96, true, false, true},
	} {
		t.Run(fmt.Sprintf("%dx%dx%d", c.m, c.n, c.k), func(t *testing.T) {
			g := newTestGraph("short")
			y := g.Emit(ops.Mm, lying(g, 1, c.m, c.k, c.left), lying(g, 2, c.k, c.n, c.right))
			want := 1
			if c.added {
				y, want = g.Emit(ops.Add, y, g.input(filled(ops.Float32, 3, c.m, c.n))), 2
			}
			m := g.outputs(y)
			code := strings.Join(programOf(t, m).Shards, "")
			if !strings.Contains(code, fmt.Sprintf(".lines = %d, ", want)) || !strings.Contains(code, fmt.Sprintf(".line_row = %d}", c.n)) {
				t.Errorf("the product does not ask for %d arrays with rows of %d numbers", want, c.n)
			}
			everywhere(t, m, g.in, 1e-4)
		})
	}
}

// TestLongSums: products of few rows and many terms, whose columns the threads share out, with operands that lie both ways and
// rows, columns and terms that do not fill a tile or a slice.
func TestLongSums(t *testing.T) {
	for _, c := range []struct {
		n           int
		left, right bool // turned
	}{{390, false, false}, {416, true, true}} {
		t.Run(fmt.Sprint(c.n), func(t *testing.T) {
			g := newTestGraph("long")
			const rows, terms = 17, 8197
			y := g.Emit(ops.Mm, lying(g, 1, rows, terms, c.left), lying(g, 2, terms, c.n, c.right))
			everywhere(t, g.outputs(g.Emit(ops.Relu, y)), g.in, 1e-3)
		})
	}
}

// TestLongSumsNameNoLines: what is no short sum is not told of lines, and neither is one that reads its rows one way and
// writes them another.
func TestLongSumsNameNoLines(t *testing.T) {
	for _, k := range []int{128, 129} {
		g := newTestGraph("long")
		y := g.Emit(ops.Mm, g.input(filled(ops.Float32, 1, 300, k)), g.input(filled(ops.Float32, 2, k, 40)))
		if has := strings.Contains(strings.Join(programOf(t, g.outputs(y)).Shards, ""), ".lines"); has != (k <= 128) {
			t.Errorf("a sum of %d terms names lines: %v", k, has)
		}
	}
	g := newTestGraph("turned")
	y := g.Emit(ops.Mm, g.input(filled(ops.Float32, 1, 300, 64)), g.input(filled(ops.Float32, 2, 64, 40)))
	m := g.outputs(g.Emit(ops.Add, y, g.Emit(ops.Slice, g.input(filled(ops.Float32, 3, 300, 41)), 1, 0, 40)))
	if strings.Contains(strings.Join(programOf(t, m).Shards, ""), ".lines") {
		t.Error("lines of rows that differ are named")
	}
}

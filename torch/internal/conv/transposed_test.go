package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tcdbg/torch/internal/gemm"
	"tcdbg/torch/internal/simd"
)

// TestTransposedPays: few windows become the rows, many stay columns, and so do those
// whose depth does not pay for transforming the result.
func TestTransposedPays(t *testing.T) {
	defer simd.Force(simd.Best)()
	if simd.Best == simd.Plain {
		t.Skip("plain Go has narrow tiles")
	}
	for _, c := range []struct {
		filters, batch, windows, depth int
		want                           bool
	}{
		{512, 2, 49, 4608, true},
		{2048, 2, 49, 1024, true},
		{64, 2, 12544, 147, false},
		{256, 2, 3136, 64, false},
		{512, 2, 49, 8, false},
	} {
		if got := transposedPays(c.filters, c.batch, c.windows, c.depth); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestProductTransposed compares with sums in float64: images whose columns follow each
// other at a distance, filters that do not fill a vector, a depth of two blocks.
func TestProductTransposed(t *testing.T) {
	for _, l := range simd.Levels() {
		for _, s := range [][4]int{{1, 1, 1, 1}, {5, 3, 7, 9}, {70, 2, 49, 300}, {33, 1, 64, 257}} {
			for _, threads := range []int{1, 3} {
				t.Run(fmt.Sprint(l, s, threads), func(t *testing.T) {
					defer simd.Force(l)()
					checkProductTransposed(t, s[0], s[1], s[2], s[3], threads)
				})
			}
		}
	}
}

func checkProductTransposed(t *testing.T, filters, images, windows, depth, threads int) {
	const gap = 11 // numbers after each image that are not to be touched
	a, b := make([]float32, filters*depth), make([]float32, images*windows*depth)
	for _, s := range [][]float32{a, b} {
		for i := range s {
			s[i] = rand.Float32() - 0.5
		}
	}
	jump := filters*windows + gap
	got := make([]float32, images*jump)
	for i := range got {
		got[i] = -7
	}
	productTransposed(gemm.Target{Data: got, LD: windows, Cols: windows, Jump: jump}, gemm.Lanes{Data: a, Lane: depth, Step: 1},
		gemm.Lanes{Data: b, Lane: depth, Step: 1}, filters, images*windows, depth, threads)
	for i, v := range got {
		image, f, w := i/jump, i%jump/windows, i%jump%windows
		want := -7.0
		if f < filters {
			want = 0
			for k := range depth {
				want += float64(a[f*depth+k]) * float64(b[(image*windows+w)*depth+k])
			}
		}
		if math.Abs(float64(v)-want) > 1e-6*float64(depth+10) {
			t.Fatalf("image %d, filter %d, window %d: %v, want %v", image, f, w, v, want)
		}
	}
}

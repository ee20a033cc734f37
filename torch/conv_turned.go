package torch

import (
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file is convolution of small images as the product of windows and filters
// instead of filters and windows. Tiles are as wide as vectors, so that columns beyond
// the last one cost as much as others, and columns of several images are taken apart
// number by number; rows come in any number. Few windows make better rows, then, and
// the result, which has a row for each window, is turned at the end.

// What a number of the result costs besides its own multiply-adds, in multiply-adds:
const (
	turningCost  = 64  // laid down and turned at the end
	straddleCost = 128 // put to its image, once for each depthBlock
)

// turnedPays reports whether the windows of a batch of images had better be the rows.
func turnedPays(filters, batch, windows, depth int) bool {
	level := simd.Active()
	lanes := level.Lanes()
	padded := func(n int) float64 { return float64((n+lanes-1)/lanes*lanes) / float64(n) }
	n := batch * windows
	slivers := (n + 2*lanes - 1) / (2 * lanes)
	blocks := (depth + depthBlock - 1) / depthBlock
	straddling := 0.0
	if windows%(2*lanes) != 0 {
		straddling = min(1, float64(batch-1)/float64(slivers))
	}
	straight := padded(n)*float64(depth) + straddling*straddleCost*float64(blocks)
	return padded(filters)*float64(depth)+turningCost < straight
}

// productTurned stores in to, whose rows are the filters, the product of filters and
// windows.
func productTurned(to target, filters, windows panel, m, n, k, threads int) {
	room := memory.Borrow(n * m)
	defer room.GiveBack()
	gemmPanels(target{room.Floats, m, m, 0}, windows, filters, n, m, k, threads)
	level, images := simd.Active(), n/to.cols
	const part = 32 // rows of the result that are turned together
	parts := (m + part - 1) / part
	if m*n < parallel.Grain {
		threads = 1
	}
	parallel.Each(threads, images*parts, func(i int) {
		image, row := i/parts, i%parts*part
		dst, src := &to.data[image*to.jump+row*to.ld], &room.Floats[image*to.cols*m+row]
		level.Pack(dst, src, m*4, 4, min(part, m-row), to.cols, to.ld)
	})
}

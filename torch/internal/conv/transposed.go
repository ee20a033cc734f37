package conv

import (
	"tcdbg/torch/internal/gemm"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file is convolution of small images as the product of windows and filters
// instead of filters and windows. Tiles are as wide as vectors, so that columns beyond
// the last one cost as much as others, and columns of several images are taken apart
// number by number; rows come in any number. Few windows make better rows, then, and
// the result, which has a row for each window, is transposed at the end.

// What a number of the result costs besides its own multiply-adds, in multiply-adds:
const (
	transposingCost = 64  // laid down and transposed at the end
	straddleCost    = 128 // put to its image, once for each DepthBlock
)

// transposedPays reports whether the windows of a batch of images had better be the rows.
func transposedPays(filters, batch, windows, depth int) bool {
	level := simd.Active()
	lanes := level.Lanes()
	padded := func(n int) float64 { return float64((n+lanes-1)/lanes*lanes) / float64(n) }
	n := batch * windows
	slivers := (n + 2*lanes - 1) / (2 * lanes)
	blocks := (depth + gemm.DepthBlock - 1) / gemm.DepthBlock
	straddling := 0.0
	if windows%(2*lanes) != 0 {
		straddling = min(1, float64(batch-1)/float64(slivers))
	}
	straight := padded(n)*float64(depth) + straddling*straddleCost*float64(blocks)
	return padded(filters)*float64(depth)+transposingCost < straight
}

// productTransposed stores in to, whose rows are the filters, the product of filters and
// windows.
func productTransposed(to gemm.Target, filters, windows gemm.Panel, m, n, k, threads int) {
	room := memory.Borrow(n * m)
	defer room.GiveBack()
	gemm.Panels(gemm.Target{Data: room.Floats, LD: m, Cols: m, Jump: 0}, windows, filters, n, m, k, threads)
	level, images := simd.Active(), n/to.Cols
	const part = 32 // rows of the result that are transposed together
	parts := (m + part - 1) / part
	if m*n < parallel.Grain {
		threads = 1
	}
	parallel.Each(threads, images*parts, func(i int) {
		image, row := i/parts, i%parts*part
		dst, src := &to.Data[image*to.Jump+row*to.LD], &room.Floats[image*to.Cols*m+row]
		level.Pack(dst, src, m*4, 4, min(part, m-row), to.Cols, to.LD)
	})
}

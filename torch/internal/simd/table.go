package simd

// This file is the table that Level reads: what each instruction set offers.

// tileFunc is a register tile: see Level.Tile.
type tileFunc func(k int, a, b, c *float32, ldc, n int, add bool)

// packFunc packs a sliver of n lanes in k steps; stride and width are bytes.
type packFunc func(dst, src *float32, stride, k, n, width int)

type kernels struct {
	lanes          int
	tiles          [2][]tileFunc // by vectors and rows, both counted from one
	packRows       packFunc
	packTransposed packFunc // at most lanes of them
	packRuns       func(dst, src *float32, offs *int, k, width int, runs *int, count int)
	fetch          func(src *float32, stride, lines, n int) // nil: no such hint
	peak           func(rounds int)
	vectors
	winograd
	randoms
	half halfTable
}

// table has a row for each Level that this build knows; assembly adds to it.
var table = append([]kernels{plain}, assembly()...)

const plainLanes = 8

var plain = kernels{
	lanes:          plainLanes,
	tiles:          plainTiles(),
	packRows:       func(dst, src *float32, stride, k, n, width int) { packStrided(dst, src, 4, stride, k, n, width/4) },
	packTransposed: func(dst, src *float32, stride, k, n, width int) { packStrided(dst, src, stride, 4, k, n, width/4) },
	packRuns:       packRunsPlain,
	vectors:        plainVectors(),
	winograd:       winograd{winoFilterPlain, winoValuesPlain, winoPixelsPlain},
}

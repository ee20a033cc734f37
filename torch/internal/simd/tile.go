package simd

import "unsafe"

// This file is the matrix product's part of the package: tiles and packing.
//
// A sliver holds a few rows of the left operand, or columns of the right one,
// for a stretch of the depth: step after step, its lanes side by side.

// MaxRows and MaxCols bound the tile of every level.
const (
	MaxRows = 14
	MaxCols = 32
)

// Rows is the height of the tallest tile.
func (l Level) Rows() int { return len(table[l].tiles[0]) }

// Lanes is the width of a narrow tile; wide ones are twice as wide.
func (l Level) Lanes() int { return table[l].lanes }

// Tile multiplies a sliver a of h rows with a sliver b of v*Lanes columns over
// k steps and stores n columns at c, whose rows are ldc bytes apart, or adds
// them to what is there.
func (l Level) Tile(h, v, k int, a, b, c *float32, ldc, n int, add bool) {
	table[l].tiles[v-1][h-1](k, a, b, c, ldc, n, add)
}

// Pack writes k steps of a sliver of n lanes at dst, each step width lanes
// wide. In src, lanes are lane bytes and steps step bytes apart.
func (l Level) Pack(dst, src *float32, lane, step, k, n, width int) {
	switch t := &table[l]; {
	case lane == 4 && n <= 2*t.lanes || n == 1:
		t.packRows(dst, src, step, k, n, width*4)
	case step == 4:
		for i := 0; i < n; i += t.lanes { // one square after the other
			t.packTransposed(forward(dst, i*4), forward(src, i*lane), lane, k, min(t.lanes, n-i), width*4)
		}
	default:
		packStrided(dst, src, lane, step, k, n, width)
	}
}

// Fetch is a hint that n rows of k numbers, lane bytes apart, are packed soon: they are
// brought nearer while something else is computed.
func (l Level) Fetch(src *float32, lane, k, n int) {
	if f := table[l].fetch; f != nil && n > 0 && k > 0 {
		f(src, lane, (4*k+line-1)/line, n)
	}
}

// FetchBytes is a hint that n bytes are read soon.
func (l Level) FetchBytes(p unsafe.Pointer, n int) {
	if f := table[l].fetch; f != nil && n > 0 {
		f((*float32)(p), line, 1, (n+line-1)/line)
	}
}

func forward(p *float32, bytes int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), bytes))
}

// MaxRun is the greatest length of a Run.
const MaxRun = 32

// Run is a part of a sliver's step: Len lanes (at most MaxRun) from byte To on, which are at
// byte From after the step's place in memory.
type Run struct{ To, From, Len int }

// PackRuns writes the steps of a sliver that is made of runs; step p is offs[p]
// bytes after src.
func (l Level) PackRuns(dst, src *float32, offs []int, width int, runs []Run) {
	if len(offs) == 0 || len(runs) == 0 {
		return
	}
	table[l].packRuns(dst, src, unsafe.SliceData(offs), len(offs), width*4, (*int)(unsafe.Pointer(unsafe.SliceData(runs))), len(runs))
}

// PeakFlops runs multiply-adds on registers alone and returns how many
// floating-point operations it did: timed, it is the limit of one core. The
// plain level has no such loop and returns 0.
func (l Level) PeakFlops(rounds int) int {
	t := &table[l]
	if t.peak == nil {
		return 0
	}
	t.peak(rounds)
	return rounds * 14 * 2 * t.lanes
}

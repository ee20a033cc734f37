package gemm

import (
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file is the float32 matrix product on the tiles of package simd: which
// part of it a thread computes, and in which order, so that packed operands
// are in the cache when the tiles read them.
//
// The depth is cut in blocks. Of one operand, all slivers are packed first,
// for all threads; of the other one, a thread packs those of its own part of
// the result just before it multiplies them.

// DepthBlock is the depth of a packed block: a sliver of each operand fits L1.
const DepthBlock = 256

// Panel is one operand of a product as packing sees it: lanes (rows of the left
// operand, columns of the right one) by steps of the depth.
type Panel interface {
	// Pack writes n lanes from lane at on and k steps from step p0 on, width
	// lanes a step.
	Pack(l simd.Level, dst []float32, at, n, p0, k, width int)
	// Fetch is a hint that these lanes and steps are packed soon.
	Fetch(l simd.Level, at, n, p0, k int)
}

// Lanes is a panel in memory: lane i of step p is data[i*lane+p*step].
type Lanes struct {
	Data       []float32
	Lane, Step int
}

func (s Lanes) Pack(l simd.Level, dst []float32, at, n, p0, k, width int) {
	l.Pack(&dst[0], &s.Data[at*s.Lane+p0*s.Step], s.Lane*4, s.Step*4, k, n, width)
}

func (s Lanes) Fetch(l simd.Level, at, n, p0, k int) {
	if from := &s.Data[at*s.Lane+p0*s.Step]; s.Step == 1 {
		l.Fetch(from, s.Lane*4, k, n)
	} else if s.Lane == 1 {
		l.Fetch(from, s.Step*4, n, k)
	}
}

func leftPanel(m Matrix[float32]) Panel { return Lanes{m.Data, m.RS, m.CS} }

func rightPanel(m Matrix[float32]) Panel { return Lanes{m.Data, m.CS, m.RS} }

// Target is where a product goes: row i, column j is at i*ld + j, but every
// cols columns a new image starts, jump elements on.
type Target struct {
	Data           []float32
	LD, Cols, Jump int
}

// product32 is one product.
type product32 struct {
	level   simd.Level
	c       Target
	a, b    Panel
	m, n, k int
	rows    int // slivers of a
	wide    int // lanes of a sliver of b
	cols    int // slivers of b
}

// Float32 computes c = a@b for float32.
func Float32(c []float32, ldc int, a, b Matrix[float32], m, n, k, threads int) {
	if k > 0 && (m == 1 || n == 1) {
		vector32(c, ldc, a, b, m, n, k)
		return
	}
	Panels(Target{c, ldc, n, 0}, leftPanel(a), rightPanel(b), m, n, k, threads)
}

// Panels multiplies panels.
func Panels(c Target, a, b Panel, m, n, k, threads int) {
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		c.clear(m, n)
		return
	}
	g := &product32{level: simd.Active(), c: c, a: a, b: b, m: m, n: n, k: k}
	g.rows = (m + g.level.Rows() - 1) / g.level.Rows()
	g.wide = 2 * g.level.Lanes()
	g.cols = (n + g.wide - 1) / g.wide
	if work := m * n * k; work < 2<<20 {
		threads = 1
	}
	if n >= m {
		g.byColumns(threads)
	} else {
		g.byRows(threads)
	}
}

func (c Target) clear(m, n int) {
	for i := range m {
		for j := 0; j < n; j += c.Cols {
			clear(c.Data[j/c.Cols*c.Jump+i*c.LD:][:min(c.Cols, n-j)])
		}
	}
}

// row is where sliver i of a starts: heights differ by one at most.
func (g *product32) row(i int) int { return i * g.m / g.rows }

// vectors is how many vectors wide sliver j of b is.
func (g *product32) vectors(j int) int {
	if g.n-j*g.wide <= g.wide/2 {
		return 1
	}
	return 2
}

// width is the sum of the lanes of all slivers of b.
func (g *product32) width() int {
	return (g.cols-1)*g.wide + g.vectors(g.cols-1)*g.wide/2
}

func (g *product32) packLeft(dst []float32, i, p0, kc int) {
	at := g.row(i)
	h := g.row(i+1) - at
	g.a.Pack(g.level, dst, at, h, p0, kc, h)
}

func (g *product32) packRight(dst []float32, j, p0, kc int) {
	g.b.Pack(g.level, dst, j*g.wide, min(g.wide, g.n-j*g.wide), p0, kc, g.vectors(j)*g.wide/2)
}

// share is how many of n slivers a part of the result holds: enough parts for
// a thread that is held up to be helped, at most limit slivers.
func share(n, threads, limit int) int {
	if threads == 1 {
		return min(n, limit)
	}
	return max(min(n/(4*threads), limit), 1)
}

// far reports whether an operand of so many numbers hardly lies in the second cache.
func far(numbers int) bool { return numbers > 256<<10 }

// byColumns packs all of a for everyone; a part is some columns.
func (g *product32) byColumns(threads int) {
	left := memory.Borrow(g.m * g.k)
	defer left.GiveBack()
	parallel.Each(threads, g.rows, func(i int) {
		for p := 0; p < g.k; p += DepthBlock {
			kc := min(DepthBlock, g.k-p)
			g.packLeft(left.Floats[g.m*p+g.row(i)*kc:], i, p, kc)
		}
	})
	part := share(g.cols, threads, 8)
	parallel.Each(threads, (g.cols+part-1)/part, func(c int) {
		from, to := c*part, min((c+1)*part, g.cols)
		right := memory.Borrow(part * g.wide * min(DepthBlock, g.k))
		defer right.GiveBack()
		for p := 0; p < g.k; p += DepthBlock {
			kc := min(DepthBlock, g.k-p)
			for j := from; j < to; j++ {
				g.packRight(right.Floats[(j-from)*g.wide*kc:], j, p, kc)
			}
			if at, next := from*g.wide, p+kc; far(g.n*g.k) && next < g.k {
				g.b.Fetch(g.level, at, min(to*g.wide, g.n)-at, next, min(DepthBlock, g.k-next))
			}
			g.block(left.Floats[g.m*p:], right.Floats, 0, g.rows, from, to, kc, p > 0)
		}
	})
}

// byRows packs all of b for everyone; a part is some rows.
func (g *product32) byRows(threads int) {
	width := g.width()
	right := memory.Borrow(width * g.k)
	defer right.GiveBack()
	blocks := (g.k + DepthBlock - 1) / DepthBlock
	parallel.Each(threads, g.cols*blocks, func(i int) {
		j, p := i/blocks, i%blocks*DepthBlock
		kc := min(DepthBlock, g.k-p)
		g.packRight(right.Floats[width*p+j*g.wide*kc:], j, p, kc)
	})
	part := share(g.rows, threads, 16)
	parallel.Each(threads, (g.rows+part-1)/part, func(c int) {
		from, to := c*part, min((c+1)*part, g.rows)
		first := g.row(from)
		left := memory.Borrow((g.row(to) - first) * min(DepthBlock, g.k))
		defer left.GiveBack()
		for p := 0; p < g.k; p += DepthBlock {
			kc := min(DepthBlock, g.k-p)
			for i := from; i < to; i++ {
				g.packLeft(left.Floats[(g.row(i)-first)*kc:], i, p, kc)
			}
			if next := p + kc; far(g.m*g.k) && next < g.k {
				g.a.Fetch(g.level, first, g.row(to)-first, next, min(DepthBlock, g.k-next))
			}
			g.block(left.Floats, right.Floats[width*p:], from, to, 0, g.cols, kc, p > 0)
		}
	})
}

// rowsInL2 is how many slivers of a, DepthBlock deep, stay in L2 while slivers
// of b pass.
const rowsInL2 = 32

// block multiplies packed slivers of one block of the depth: left holds those
// of a from i0 on, right those of b from j0 on.
func (g *product32) block(left, right []float32, i0, i1, j0, j1, kc int, add bool) {
	first := g.row(i0)
	for lo := i0; lo < i1; lo += rowsInL2 {
		hi := min(lo+rowsInL2, i1)
		for j := j0; j < j1; j++ {
			b := &right[(j-j0)*g.wide*kc]
			v, n := g.vectors(j), min(g.wide, g.n-j*g.wide)
			image, col := j*g.wide/g.c.Cols, j*g.wide%g.c.Cols
			at := image*g.c.Jump + col
			whole := col+n <= g.c.Cols
			for i := lo; i < hi; i++ {
				r := g.row(i)
				h := g.row(i+1) - r
				a := &left[(r-first)*kc]
				if whole {
					g.level.Tile(h, v, kc, a, b, &g.c.Data[at+r*g.c.LD], g.c.LD*4, n, add)
				} else {
					g.straddle(h, v, kc, a, b, r, j*g.wide, n, add)
				}
			}
		}
	}
}

// straddle computes a tile whose columns belong to several images.
func (g *product32) straddle(h, v, kc int, a, b *float32, row, col, n int, add bool) {
	room := memory.Borrow(simd.MaxRows * simd.MaxCols)
	defer room.GiveBack()
	g.level.Tile(h, v, kc, a, b, &room.Floats[0], g.wide*4, n, false)
	for i := range h {
		src := room.Floats[i*g.wide:][:n]
		for j := col; len(src) > 0; {
			run := min(g.c.Cols-j%g.c.Cols, len(src))
			dst := g.c.Data[j/g.c.Cols*g.c.Jump+(row+i)*g.c.LD+j%g.c.Cols:][:run]
			for q, x := range src[:run] {
				if add {
					x += dst[q]
				}
				dst[q] = x
			}
			src, j = src[run:], j+run
		}
	}
}

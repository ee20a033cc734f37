package torch

import (
	"sync"
	"unsafe"
)

// This file is the matrix product: cache blocks, packing, and the register
// tile behind one function value.

// gemmPlain computes c = a@b by rows: good enough for types without a tile.
func gemmPlain[T float64 | int64](c []T, ldc int, a, b matrix[T], m, n, k int) {
	rows := b
	if b.cs != 1 && n > 1 {
		rows = packRows(b, k, n)
	}
	parallel(m, m*n*max(k/8, 1), func(from, to int) {
		for i := from; i < to; i++ {
			row := c[i*ldc : i*ldc+n]
			clear(row)
			for p := range k {
				x := a.data[i*a.rs+p*a.cs]
				y := rows.data[p*rows.rs : p*rows.rs+n]
				for j, v := range y {
					row[j] += T(x * v) //nolint:unconvert // the conversion keeps the product from being fused
				}
			}
		}
	})
}

func packRows[T any](b matrix[T], k, n int) matrix[T] {
	out := matrix[T]{data: make([]T, k*n), rs: n, cs: 1}
	for p := range k {
		for j := range n {
			out.data[p*n+j] = b.data[p*b.rs+j*b.cs]
		}
	}
	return out
}

// Blocks of the float32 product: a panel of a (blockM x blockK) stays in L2,
// a sliver of b (blockK x tile width) in L1.
const (
	tileM  = 6
	tileN  = 16
	blockM = 120
	blockK = 256
	blockN = 2048
)

type panels struct{ a, b []float32 }

var panelPool = sync.Pool{New: func() any { return &panels{} }}

func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		b := alignedBytes(n * 4)
		return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n)
	}
	return s[:n]
}

// packFunc writes one sliver of the right operand: k rows from row p0, n (at
// most 16) columns from column j0, zeros in the others.
type packFunc func(dst []float32, p0, j0, k, n int)

// gemm32 computes c = a@b for float32.
func gemm32(c []float32, ldc int, a, b matrix[float32], m, n, k int) {
	if k > 0 && (m == 1 || n == 1) {
		gemv32(c, ldc, a, b, m, n, k)
		return
	}
	gemmPacked(c, ldc, a, m, n, k, func(dst []float32, p0, j0, kc, nc int) { packB(dst, b, p0, j0, kc, nc) })
}

// gemmPacked is gemm32 whose right operand need not exist in memory: pack
// makes it sliver by sliver.
func gemmPacked(c []float32, ldc int, a matrix[float32], m, n, k int, pack packFunc) {
	if k == 0 {
		for i := range m {
			clear(c[i*ldc : i*ldc+n])
		}
		return
	}
	bp := panelPool.Get().(*panels)
	defer panelPool.Put(bp)
	for jc := 0; jc < n; jc += blockN {
		nc := min(blockN, n-jc)
		slivers := (nc + tileN - 1) / tileN
		for pc := 0; pc < k; pc += blockK {
			kc := min(blockK, k-pc)
			bp.b = grow(bp.b, slivers*tileN*kc)
			parallel(slivers, slivers*tileN*kc, func(from, to int) {
				for s := from; s < to; s++ {
					pack(bp.b[s*tileN*kc:], pc, jc+s*tileN, kc, min(tileN, nc-s*tileN))
				}
			})
			blocks := (m + blockM - 1) / blockM
			if t := GetNumThreads(); blocks < t {
				blocks = min(t, (m+tileM-1)/tileM)
			}
			rows := ((m+blocks-1)/blocks + tileM - 1) / tileM * tileM
			blocks = (m + rows - 1) / rows
			parallel(blocks, m*nc*max(kc/16, 1), func(from, to int) {
				ap := panelPool.Get().(*panels)
				defer panelPool.Put(ap)
				for i := from * rows; i < min(to*rows, m); i += blockM {
					mc := min(blockM, min(to*rows, m)-i)
					ap.a = grow(ap.a, (mc+tileM-1)/tileM*tileM*kc)
					packA(ap.a, a, i, pc, mc, kc)
					macro(c[i*ldc+jc:], ldc, ap.a, bp.b, mc, nc, kc, pc == 0)
				}
			})
		}
	}
}

// macro multiplies a packed panel of a with all slivers of b.
func macro(c []float32, ldc int, a, b []float32, m, n, k int, first bool) {
	var edge [tileM * tileN]float32
	for j := 0; j < n; j += tileN {
		bs := unsafe.Pointer(&b[j*k])
		for i := 0; i < m; i += tileM {
			as := unsafe.Pointer(&a[i*k])
			if i+tileM <= m && j+tileN <= n {
				tile32(k, as, bs, unsafe.Pointer(&c[i*ldc+j]), ldc*4, first)
				continue
			}
			tile32(k, as, bs, unsafe.Pointer(&edge), tileN*4, true)
			for r := range min(tileM, m-i) {
				row := c[(i+r)*ldc+j:][:min(tileN, n-j)]
				for q := range row {
					if first {
						row[q] = edge[r*tileN+q]
					} else {
						row[q] += edge[r*tileN+q]
					}
				}
			}
		}
	}
}

// packA lays a panel out in slivers of 6 rows, column after column.
func packA(dst []float32, a matrix[float32], i0, p0, m, k int) {
	for i := 0; i < m; i += tileM {
		d := dst[i*k : (i+tileM)*k]
		h := min(tileM, m-i)
		for r := range tileM {
			if r >= h {
				for p := range k {
					d[p*tileM+r] = 0
				}
				continue
			}
			at := (i0+i+r)*a.rs + p0*a.cs
			for p := range k {
				d[p*tileM+r] = a.data[at+p*a.cs]
			}
		}
	}
}

// packB lays out one sliver of b: k rows of 16 columns.
func packB(dst []float32, b matrix[float32], p0, j0, k, n int) {
	if b.cs == 1 && n == tileN {
		for p := range k {
			at := (p0+p)*b.rs + j0
			copy(dst[p*tileN:(p+1)*tileN], b.data[at:at+tileN])
		}
		return
	}
	for j := range tileN {
		if j >= n {
			for p := range k {
				dst[p*tileN+j] = 0
			}
			continue
		}
		at := p0*b.rs + (j0+j)*b.cs
		for p := range k {
			dst[p*tileN+j] = b.data[at+p*b.rs]
		}
	}
}

// gemv32 is the product with a vector: bound by reading the matrix.
func gemv32(c []float32, ldc int, a, b matrix[float32], m, n, k int) {
	if m == 1 {
		gemvRow(c, a, b, n, k)
		return
	}
	parallel(m, m*k, func(from, to int) {
		for i := from; i < to; i++ {
			c[i*ldc] = dotStrided(a.data[i*a.rs:], a.cs, b.data, b.rs, k)
		}
	})
}

func gemvRow(c []float32, a, b matrix[float32], n, k int) {
	if b.rs == 1 || n == 1 {
		parallel(n, n*k, func(from, to int) {
			for j := from; j < to; j++ {
				c[j] = dotStrided(a.data, a.cs, b.data[j*b.cs:], b.rs, k)
			}
		})
		return
	}
	parallel((n+255)/256, n*k, func(from, to int) {
		lo, hi := from*256, min(to*256, n)
		clear(c[lo:hi])
		for p := range k {
			x := a.data[p*a.cs]
			for j := lo; j < hi; j++ {
				c[j] += float32(x * b.data[p*b.rs+j*b.cs])
			}
		}
	})
}

func dotStrided(x []float32, xs int, y []float32, ys, n int) float32 {
	if xs == 1 && ys == 1 {
		return dot32(x[:n], y[:n])
	}
	s := float32(0)
	for i := range n {
		s += float32(x[i*xs] * y[i*ys])
	}
	return s
}

func dot32(x, y []float32) float32 {
	var a, b, c, d float32
	n := len(x) &^ 3
	y = y[:len(x)]
	for i := 0; i < n; i += 4 {
		a += float32(x[i] * y[i])
		b += float32(x[i+1] * y[i+1])
		c += float32(x[i+2] * y[i+2])
		d += float32(x[i+3] * y[i+3])
	}
	for i := n; i < len(x); i++ {
		a += float32(x[i] * y[i])
	}
	return (a + b) + (c + d)
}

// tilePlain is the tile in Go.
func tilePlain(k int, a, b, c unsafe.Pointer, ldc int, first bool) {
	as := unsafe.Slice((*float32)(a), k*tileM)
	bs := unsafe.Slice((*float32)(b), k*tileN)
	var acc [tileM][tileN]float32
	for p := range k {
		row := (*[tileN]float32)(bs[p*tileN:])
		col := (*[tileM]float32)(as[p*tileM:])
		for r, x := range col {
			for j, y := range row {
				acc[r][j] += float32(x * y)
			}
		}
	}
	for r := range acc {
		dst := (*[tileN]float32)(unsafe.Add(c, r*ldc))
		for j, v := range acc[r] {
			if first {
				dst[j] = v
			} else {
				dst[j] += v
			}
		}
	}
}

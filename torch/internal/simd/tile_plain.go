package simd

import "unsafe"

// This file is tiles and packing in Go.

func plainTiles() [2][]tileFunc {
	var out [2][]tileFunc
	for v := 1; v <= 2; v++ {
		for h := 1; h <= 6; h++ {
			out[v-1] = append(out[v-1], func(k int, a, b, c *float32, ldc, n int, add bool) {
				tilePlain(h, v*plainLanes, k, a, b, c, ldc, n, add)
			})
		}
	}
	return out
}

func tilePlain(h, width, k int, a, b, c *float32, ldc, n int, add bool) {
	as, bs := unsafe.Slice(a, k*h), unsafe.Slice(b, k*width)
	var sums [MaxRows][MaxCols]float32
	for p := range k {
		row := bs[p*width:][:width]
		for i, x := range as[p*h:][:h] {
			acc := sums[i][:width]
			for j, y := range row {
				acc[j] += float32(x * y)
			}
		}
	}
	for i := range h {
		dst := unsafe.Slice(forward(c, i*ldc), n)
		for j := range dst {
			if add {
				dst[j] += sums[i][j]
			} else {
				dst[j] = sums[i][j]
			}
		}
	}
}

func packStrided(dst, src *float32, lane, step, k, n, width int) {
	if k == 0 {
		return
	}
	d := unsafe.Slice(dst, (k-1)*width+n)
	for p := range k {
		row := d[p*width:][:n]
		for j := range row {
			row[j] = *forward(src, p*step+j*lane)
		}
	}
}

func packRunsPlain(dst, src *float32, offs *int, k, width int, runs *int, count int) {
	for p, at := range unsafe.Slice(offs, k) {
		for _, r := range unsafe.Slice((*Run)(unsafe.Pointer(runs)), count) {
			copy(unsafe.Slice(forward(dst, p*width+r.To), r.Len), unsafe.Slice(forward(src, at+r.From), r.Len))
		}
	}
}

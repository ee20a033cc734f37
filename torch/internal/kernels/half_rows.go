package kernels

import (
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file is operators on tensors of half precision that compute in float32 and look at
// their numbers more than once: a part at a time is converted, to a place that stays in
// the caches.

// halfBlock is about how many numbers are converted at once.
const halfBlock = 4096

// HalfRows replaces rows of n numbers of half precision by f of them, which gets some rows
// at a time and overwrites them; false, with nothing done, where out and x are not such rows.
func HalfRows(out, x *strided.Array, n, work int, f func(rows []float32)) bool {
	const longest = 1 << 15 // a longer row would not stay in L2
	half := x.DType.IsFloat() && x.DType.Size() == 2 && out.DType == x.DType
	if !half || !x.IsContiguous() || !out.IsContiguous() || x.Storage == out.Storage || n == 0 || n > longest {
		return false
	}
	src, dst := strided.Slice[uint16](x), strided.Slice[uint16](out)
	widen, narrow := strided.Copier(ops.Float32, x.DType), strided.Copier(x.DType, ops.Float32)
	l, put := simd.Active(), func(dst, src []byte) { copy(dst, src) }
	if 2*len(dst) >= strided.StreamSize {
		put = l.Stream
	}
	step := max(halfBlock/n, 1) * n
	parallel.For((len(src)+step-1)/step, len(src)*work, func(from, to int) {
		room := memory.Borrow(step)
		defer room.GiveBack()
		for b := from; b < to; b++ {
			part := src[b*step : min((b+1)*step, len(src))]
			rows := room.Floats[:len(part)]
			at := unsafe.Pointer(&rows[0])
			widen(at, unsafe.Pointer(&part[0]), 4, 2, len(part))
			f(rows)
			narrow(at, at, 2, 4, len(part)) // in place: it goes forward
			put(strided.BytesOf(dst[b*step:][:len(part)]), strided.BytesOf(rows)[:2*len(part)])
		}
		simd.StreamEnd()
	})
	return true
}

// halfSumFold adds numbers of half precision in float64.
func halfSumFold(d ops.DType) fold[uint16, float64] {
	widen, number := strided.Copier(ops.Float32, d), strided.HalfToFloat
	if d == ops.BFloat16 {
		number = strided.BfloatToFloat
	}
	f := fold[uint16, float64]{
		step:  func(acc float64, x uint16) float64 { return acc + float64(number(x)) },
		merge: func(a, b float64) float64 { return a + b },
	}
	f.run = func(acc float64, s []uint16) float64 {
		partsAsFloats(widen, s, func(_ int, x []float32) { acc += simd.Active().Sum(x) })
		return acc
	}
	f.rows = func(acc []float64, s []uint16) {
		partsAsFloats(widen, s, func(at int, x []float32) { simd.Active().AddWide(acc[at:][:len(x)], x) })
	}
	return f
}

// partsAsFloats calls f for the parts of s, converted, and where they begin.
func partsAsFloats(widen strided.CopyFunc, s []uint16, f func(at int, x []float32)) {
	buf := strided.ScratchPool.Get().(*strided.Scratch)
	defer strided.ScratchPool.Put(buf)
	room := unsafe.Slice((*float32)(unsafe.Pointer(buf)), int(unsafe.Sizeof(*buf))/4)
	for at := 0; at < len(s); at += halfBlock {
		part := s[at:min(at+halfBlock, len(s))]
		widen(unsafe.Pointer(&room[0]), unsafe.Pointer(&part[0]), 4, 2, len(part))
		f(at, room[:len(part)])
	}
}

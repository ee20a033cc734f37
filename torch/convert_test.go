package torch

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file tests the conversions of formats of 16 bits, by vectors and one by one.

// eachLevel runs f with every instruction set that the machine has.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer simd.Force(l)()
			f(t)
		})
	}
}

// TestBfloatRuns: bfloat16 and back, for every bfloat16 and the float32 numbers around
// and between two of them, in runs and one by one.
func TestBfloatRuns(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		testHalfRuns(t, ops.BFloat16, func(h uint16) uint32 { return uint32(h) << 16 }, nearestBfloat)
	})
}

// TestHalfRuns is the same of float16, against the conversion of one number; NaN may
// keep more of its bits.
func TestHalfRuns(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		testHalfRuns(t, ops.Float16, func(h uint16) uint32 { return math.Float32bits(ops.HalfToFloat(h)) }, ops.FloatToHalf)
	})
}

func testHalfRuns(t *testing.T, d DType, widened func(uint16) uint32, nearest func(float32) uint16) {
	const all = 1 << 16
	halves, wide := make([]uint16, all), make([]float32, 2*all)
	for i := range halves {
		halves[i] = uint16(i)
	}
	for _, step := range []int{1, 2} { // numbers apart in float32
		strided.Copier(ops.Float32, d)(unsafe.Pointer(&wide[0]), unsafe.Pointer(&halves[0]), 4*step, 2, all)
		for i := range halves {
			want := widened(uint16(i))
			if got := math.Float32bits(wide[i*step]); got != want &&
				!(wide[i*step] != wide[i*step] && math.Float32frombits(want) != math.Float32frombits(want)) {
				t.Fatalf("%#04x becomes %#08x, want %#08x", i, got, want)
			}
		}
		for _, low := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000, 0x8001, 0xffff} {
			for i := range halves {
				wide[i*step] = math.Float32frombits(uint32(i)<<16 | low)
			}
			got := make([]uint16, all)
			strided.Copier(d, ops.Float32)(unsafe.Pointer(&got[0]), unsafe.Pointer(&wide[0]), 2, 4*step, all)
			for i, h := range got {
				if want := nearest(wide[i*step]); h != want && !(d == ops.Float16 && wide[i*step] != wide[i*step] && isNaNHalf(d, h)) {
					t.Fatalf("%v becomes %#04x, want %#04x", wide[i*step], h, want)
				}
			}
		}
	}
}

func isNaNHalf(d DType, h uint16) bool {
	f := halfValue(d, h)
	return f != f
}

// TestHalfRunsOfAllLengths: every length is converted whole, nothing else is written,
// and a result may begin where its operand does.
func TestHalfRunsOfAllLengths(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, d := range []DType{ops.BFloat16, ops.Float16} {
			for n := range 150 {
				wide, halves := make([]float32, n+1), make([]uint16, n+1)
				for i := range wide {
					wide[i] = float32(i) / 3
				}
				strided.Copier(d, ops.Float32)(unsafe.Pointer(&halves[0]), unsafe.Pointer(&wide[0]), 2, 4, n)
				for i, v := range wide[:n] {
					if want := strided.RoundTo(d, v); halfValue(d, halves[i]) != want {
						t.Fatalf("%s: number %d of %d is %v, want %v", d, i, n, halfValue(d, halves[i]), want)
					}
				}
				back := slices.Repeat([]float32{-1}, n+1)
				strided.Copier(ops.Float32, d)(unsafe.Pointer(&back[0]), unsafe.Pointer(&halves[0]), 4, 2, n)
				for i, v := range back[:n] {
					if v != halfValue(d, halves[i]) {
						t.Fatalf("%s: number %d of %d comes back as %v", d, i, n, v)
					}
				}
				if halves[n] != 0 || back[n] != -1 {
					t.Fatalf("%s: %d numbers: one more is written", d, n)
				}
				strided.Copier(d, ops.Float32)(unsafe.Pointer(&wide[0]), unsafe.Pointer(&wide[0]), 2, 4, n)
				if n > 0 && !slices.Equal(unsafe.Slice((*uint16)(unsafe.Pointer(&wide[0])), n), halves[:n]) {
					t.Fatalf("%s: %d numbers in place are other ones", d, n)
				}
			}
		}
	})
}

func halfValue(d DType, h uint16) float32 {
	if d == ops.BFloat16 {
		return ops.BFloatToFloat(h)
	}
	return ops.HalfToFloat(h)
}

// nearestBfloat finds the nearest bfloat16 by distances in float64, the even one of
// two that are as near; what is half a step above the largest number is infinite.
func nearestBfloat(f float32) uint16 {
	down := uint16(math.Float32bits(f) >> 16) // towards zero
	x := math.Abs(float64(f))
	low := math.Abs(float64(ops.BFloatToFloat(down)))
	switch {
	case f != f:
		return 0x7fc0
	case math.IsInf(x, 1):
		return down
	}
	high := math.Abs(float64(ops.BFloatToFloat(down + 1)))
	if math.IsInf(high, 1) {
		high = math.Ldexp(1, 128)
	}
	if x-low > high-x || x-low == high-x && down&1 == 1 {
		return down + 1
	}
	return down
}

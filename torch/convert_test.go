package torch

import (
	"math"
	"testing"
	"unsafe"

	"tcdbg/internal/ops"
)

// TestBfloatRuns: bfloat16 and back, for every bfloat16 and the float32 numbers around
// and between two of them, in runs and one by one.
func TestBfloatRuns(t *testing.T) {
	const all = 1 << 16
	halves, wide := make([]uint16, all), make([]float32, 2*all)
	for i := range halves {
		halves[i] = uint16(i)
	}
	for _, step := range []int{1, 2} { // numbers apart in float32
		copier(ops.Float32, ops.BFloat16)(unsafe.Pointer(&wide[0]), unsafe.Pointer(&halves[0]), 4*step, 2, all)
		for i := range halves {
			if got, want := math.Float32bits(wide[i*step]), uint32(i)<<16; got != want {
				t.Fatalf("%#04x becomes %#08x, want %#08x", i, got, want)
			}
		}
		for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			for i := range halves {
				wide[i*step] = math.Float32frombits(uint32(i)<<16 | low)
			}
			got := make([]uint16, all)
			copier(ops.BFloat16, ops.Float32)(unsafe.Pointer(&got[0]), unsafe.Pointer(&wide[0]), 2, 4*step, all)
			for i, h := range got {
				if want := nearestBfloat(wide[i*step]); h != want {
					t.Fatalf("%v becomes %#04x, want %#04x", wide[i*step], h, want)
				}
			}
		}
	}
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

package strided

import "tcdbg/ops"

// This file rounds to the half-precision formats and names the conversions between float32 and the half-precision formats.

// HalfToFloat widens a float16.
func HalfToFloat(h uint16) float32 { return ops.HalfToFloat(h) }

func floatToHalf(f float32) uint16 { return ops.FloatToHalf(f) }

// BfloatToFloat widens a bfloat16.
func BfloatToFloat(h uint16) float32 { return ops.BFloatToFloat(h) }

func floatToBfloat(f float32) uint16 { return ops.FloatToBFloat(f) }

// RoundTo rounds a float32 to a half-precision type.
func RoundTo(d ops.DType, x float32) float32 {
	switch d {
	case ops.Float16:
		return HalfToFloat(floatToHalf(x))
	case ops.BFloat16:
		return BfloatToFloat(floatToBfloat(x))
	}
	return x
}

package torch

import "tcdbg/ops"

// This file names the conversions between float32 and the half-precision formats.

func halfToFloat(h uint16) float32   { return ops.HalfToFloat(h) }
func floatToHalf(f float32) uint16   { return ops.FloatToHalf(f) }
func bfloatToFloat(h uint16) float32 { return ops.BFloatToFloat(h) }
func floatToBfloat(f float32) uint16 { return ops.FloatToBFloat(f) }

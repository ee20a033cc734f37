package torch

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/goroutine"
	"tcdbg/torch/internal/refusal"
)

// This file is autocast: operators that users call, those that are made of others as a whole,
// get their tensors in the types that ops.Autocast says.

// autocast is a type of half precision for the goroutines that compute in it; 0 for the others.
var autocast goroutine.Local

// Autocast runs f with products, convolutions and attention in a type of half precision, Bfloat16 or
// Float16, as PyTorch's torch.autocast("cpu", dtype=d) does; Float32 turns that off within f.
// Goroutines that f starts compute as without it.
func Autocast(d DType, f func()) {
	CheckAutocast(d)
	v := uint32(0)
	if d != Float32 {
		v = uint32(d) + 1
	}
	was := autocast.Set(v)
	defer func() { autocast.Set(was) }()
	f()
}

// CheckAutocast refuses types that Autocast does not take.
func CheckAutocast(d DType) {
	if d != Float32 && d != Bfloat16 && d != Float16 {
		refusal.Fail("autocast", "RuntimeError", "autocast on the CPU takes bfloat16, float16 and (to turn it off) float32, not %s", d)
	}
}

// AutocastType is the type that products of the calling goroutine are computed in, if it is under Autocast.
func AutocastType() (d DType, on bool) {
	v := autocast.Get()
	if v == 0 {
		return Float32, false
	}
	return DType(v - 1), true
}

// autocasted is a call's arguments in the types that autocast wants.
func autocasted(row *ops.Op, args []ops.Arg) []ops.Arg {
	d, on := AutocastType()
	if !on {
		return args
	}
	return ops.Autocast(row, args, d, func(v ops.Value, d DType) ops.Value { return eager{GradEnabled()}.Emit(ops.To, v, d) })
}

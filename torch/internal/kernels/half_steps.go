package kernels

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/internal/special"
	"tcdbg/torch/internal/strided"
)

// This file keeps functions of half precision with PyTorch's, which evaluates
// those of few elements step by step in half precision; where its vectors are
// filled they compute in float32 and round once.

// vectorOfHalves is how many numbers of half precision PyTorch's loops take at once.
const vectorOfHalves = 32

// halfSteps are such functions; round rounds a step.
var halfSteps = map[ops.ID]func(x float32, round func(float32) float32) float32{
	ops.Rsqrt: func(x float32, round func(float32) float32) float32 {
		return 1 / round(float32(math.Sqrt(float64(x))))
	},
	ops.I0e: special.BesselI0eRounded,
}

// inHalfSteps is a kernel that leaves all but few numbers of half precision to plain.
func inHalfSteps(id ops.ID, f func(float32, func(float32) float32) float32, plain Kernel) Kernel {
	return func(k *Call) {
		d := k.out().DType
		if ops.OpMath(d) == d || k.out().Numel() >= vectorOfHalves {
			plain(k)
			return
		}
		round := func(x float32) float32 { return strided.RoundTo(d, x) }
		var s loopSet
		s[ops.Float32] = each1(func(x float32) float32 { return f(x, round) })
		pointwise(ops.Get(id).Name, k.out(), []ops.Arg{k.self()}, ops.Float32, false, &s)
	}
}

package kernels

import (
	"math"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/special"
	"tcdbg/torch/internal/strided"
)

// This file holds the kernels of one operand.

func unaryKernels() map[ops.ID]Kernel {
	table := map[ops.ID]Kernel{}
	for id, f := range map[ops.ID]func(float64) float64{
		ops.Exp: math.Exp, ops.Exp2: math.Exp2, ops.Expm1: math.Expm1, ops.Log: ops.LogOf, ops.Log2: special.Log2,
		ops.Log10: math.Log10, ops.Log1p: math.Log1p,
		ops.Rsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) }, ops.Reciprocal: func(x float64) float64 { return 1 / x },
		ops.Sin: math.Sin, ops.Cos: math.Cos, ops.Tan: math.Tan, ops.Asin: math.Asin, ops.Acos: math.Acos, ops.Atan: math.Atan,
		ops.Sinh: math.Sinh, ops.Cosh: math.Cosh, ops.Asinh: math.Asinh, ops.Acosh: math.Acosh, ops.Atanh: math.Atanh, ops.Tanh: math.Tanh,
		ops.Sigmoid: special.Sigmoid, ops.Erf: math.Erf, ops.Erfc: math.Erfc, ops.Erfinv: math.Erfinv, ops.Lgamma: special.Lgamma,
		ops.Digamma: special.Digamma,
		ops.I0:      special.BesselI0, ops.I0e: special.BesselI0e,
		ops.I1: special.BesselI1, ops.I1e: special.BesselI1e,
		ops.Erfcx: special.Erfcx, ops.LogNdtr: special.LogNdtr,
		ops.Silu: func(x float64) float64 { return x / (1 + math.Exp(-x)) },
	} {
		loops := floats(f).with(ops.Complex64, complexLoop(id))
		if v, ok := vectorUnary[id]; ok {
			loops.vectors1(v)
		}
		if id == ops.Erfinv {
			loops.with(ops.Float32, run1(special.Erfinvs))
		}
		table[id] = (&pwKernel{loops: loops}).run
	}
	table[ops.Gelu] = geluKernel
	for id, f := range halfSteps {
		table[id] = inHalfSteps(id, f, table[id])
	}
	sqrt := floats(math.Sqrt).vectors1(simd.Sqrt).with(ops.Complex64, complexLoop(ops.Sqrt))
	table[ops.Sqrt] = (&pwKernel{loops: sqrt}).run
	table[ops.Abs] = realOr(
		absComplex,
		&pwKernel{loops: signedLoops(nil, absLoop[float64], absLoop[int64], absLoop[int32], absLoop[int16],
			absLoop[int8]).vectors1(simd.Abs).with(ops.Uint8, KeepLoop[uint8]()).with(ops.Bool, KeepLoop[uint8]())},
	)
	table[ops.Neg] = (&pwKernel{loops: numeric(nil, negLoop[float64], negLoop[int64], negLoop[int32], negLoop[int16],
		negLoop[int8], negLoop[uint8]).vectors1(simd.Neg).with(ops.Complex64, each1(func(x complex64) complex64 { return -x }))}).run
	table[ops.Sign] = (&pwKernel{loops: numeric(signLoop[float32], signLoop[float64], signLoop[int64], signLoop[int32],
		signLoop[int16], signLoop[int8], signLoop[uint8]).with(ops.Bool, KeepLoop[uint8]())}).run
	table[ops.Relu] = (&pwKernel{loops: numeric(nil, reluLoop[float64], reluLoop[int64], reluLoop[int32], reluLoop[int16],
		reluLoop[int8], reluLoop[uint8]).vectors1(simd.Relu)}).run
	table[ops.Floor] = rounding(floorLoop[float32], floorLoop[float64])
	table[ops.Ceil] = rounding(ceilLoop[float32], ceilLoop[float64])
	table[ops.Trunc] = rounding(truncLoop[float32], truncLoop[float64])
	table[ops.Round] = roundKernel
	table[ops.BitwiseNot] = (&pwKernel{loops: intsOnly(notLoop[int64], notLoop[int32], notLoop[int16], notLoop[int8],
		notLoop[uint8]).with(ops.Bool, flipLoop())}).run
	table[ops.Polygamma] = polygammaKernel
	table[ops.NanToNum] = nanToNum
	predicates(table)
	for id, k := range complexKernels() {
		table[id] = k
	}
	return table
}

func geluKernel(k *Call) {
	f, v := func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x*math.Sqrt2/2)) }, simd.Gelu
	if ops.In[ops.GeluArgs](k.Call).Approximate.Str() == "tanh" {
		v = simd.GeluTanh
		f = func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}
	}
	(&pwKernel{loops: floats(f).vectors1(v)}).run(k)
}

// vectorUnary are the functions that package simd has for float32.
var vectorUnary = map[ops.ID]simd.Unary{
	ops.Exp: simd.Exp, ops.Sigmoid: simd.Sigmoid, ops.Silu: simd.Silu, ops.Tanh: simd.Tanh, ops.Erf: simd.Erf,
}

type loop1[T any] func(o, a []T)

// numeric builds a set from the instances of one generic loop; that of float32
// is nil where another one takes its place.
func numeric(
	f32 loop1[float32], f64 loop1[float64], i64 loop1[int64], i32 loop1[int32], i16 loop1[int16], i8 loop1[int8],
	u8 loop1[uint8],
) *loopSet {
	return signedLoops(f32, f64, i64, i32, i16, i8).with(ops.Uint8, run1(u8))
}

func signedLoops(f32 loop1[float32], f64 loop1[float64], i64 loop1[int64], i32 loop1[int32], i16 loop1[int16], i8 loop1[int8]) *loopSet {
	var s loopSet
	s[ops.Float64] = run1(f64)
	if f32 != nil {
		s[ops.Float32] = run1(f32)
	}
	return s.withInts(run1(i64), run1(i32), run1(i16), run1(i8), nil)
}

func intsOnly(i64 loop1[int64], i32 loop1[int32], i16 loop1[int16], i8 loop1[int8], u8 loop1[uint8]) *loopSet {
	return new(loopSet).withInts(run1(i64), run1(i32), run1(i16), run1(i8), run1(u8))
}

func absLoop[T float32 | float64 | int64 | int32 | int16 | int8](o, a []T) {
	for i, x := range a {
		if x < 0 {
			x = -x
		}
		o[i] = x + 0 // -0 becomes 0
	}
}

func negLoop[T strided.Number](o, a []T) {
	for i, x := range a {
		o[i] = -x
	}
}

func signLoop[T strided.Number](o, a []T) {
	for i, x := range a {
		switch {
		case x > 0:
			o[i] = 1
		case x < 0:
			o[i] = 0
			o[i]--
		default:
			o[i] = 0
		}
	}
}

// reluLoop keeps NaN and -0, as PyTorch does.
func reluLoop[T strided.Number](o, a []T) {
	for i, x := range a {
		if x < 0 {
			x = 0
		}
		o[i] = x
	}
}

func notLoop[T int64 | int32 | int16 | int8 | uint8](o, a []T) {
	for i, x := range a {
		o[i] = ^x
	}
}

func KeepLoop[T any]() strided.Loop { return run1(func(o, a []T) { copy(o, a) }) }

func flipLoop() strided.Loop {
	return each1(func(x bool) bool { return !x })
}

// rounding keeps integers as they are.
func rounding(f32 loop1[float32], f64 loop1[float64]) Kernel {
	s := new(loopSet).withInts(KeepLoop[int64](), KeepLoop[int32](), KeepLoop[int16](), KeepLoop[int8](), KeepLoop[uint8]())
	s[ops.Float32], s[ops.Float64] = run1(f32), run1(f64)
	return (&pwKernel{loops: s}).run
}

// The loops call what they round with by name: the compiler has an instruction for it.

func floorLoop[T float32 | float64](o, a []T) {
	for i, x := range a {
		o[i] = T(math.Floor(float64(x)))
	}
}

func ceilLoop[T float32 | float64](o, a []T) {
	for i, x := range a {
		o[i] = T(math.Ceil(float64(x)))
	}
}

func truncLoop[T float32 | float64](o, a []T) {
	for i, x := range a {
		o[i] = T(math.Trunc(float64(x)))
	}
}

func evenLoop[T float32 | float64](o, a []T) {
	for i, x := range a {
		o[i] = T(math.RoundToEven(float64(x)))
	}
}

func roundKernel(k *Call) {
	d := whole(ops.In[ops.RoundArgs](k.Call).Decimals)
	if d == 0 || !k.self().DType.IsFloat() {
		rounding(evenLoop[float32], evenLoop[float64])(k)
		return
	}
	ten := math.Pow(10, math.Abs(float64(d)))
	f := func(x float64) float64 {
		if d < 0 {
			return math.RoundToEven(x/ten) * ten
		}
		return math.RoundToEven(x*ten) / ten
	}
	s := floats(f)
	t32 := float32(ten)
	s[ops.Float32] = each1(func(x float32) float32 {
		if d < 0 {
			return float32(math.RoundToEven(float64(x/t32))) * t32
		}
		return float32(math.RoundToEven(float64(x*t32))) / t32
	})
	(&pwKernel{loops: s}).run(k)
}

func nanToNum(k *Call) {
	if !k.self().DType.IsFloat() {
		strided.Copy(k.out(), k.self())
		return
	}
	d := k.self().DType
	lim := maxOf(d)
	nan, pos, neg := 0.0, lim, -lim
	a := ops.In[ops.NanToNumArgs](k.Call)
	for i, given := range []ops.NumberArg{a.Nan, a.Posinf, a.Neginf} {
		if !given.IsNone() {
			*[]*float64{&nan, &pos, &neg}[i] = given.Float()
		}
	}
	s := floats(func(x float64) float64 {
		switch {
		case math.IsNaN(x):
			return nan
		case math.IsInf(x, 1):
			return pos
		case math.IsInf(x, -1):
			return neg
		}
		return x
	})
	(&pwKernel{loops: s}).run(k)
}

// maxOf is the largest finite number of a floating type.
func maxOf(d ops.DType) float64 {
	switch d {
	case ops.Float16:
		return 65504
	case ops.BFloat16:
		return float64(strided.BfloatToFloat(0x7f7f))
	case ops.Float64:
		return math.MaxFloat64
	}
	return math.MaxFloat32
}

func predicates(table map[ops.ID]Kernel) {
	test := func(f32 func(float32) bool, f64 func(float64) bool, ints bool) Kernel {
		var s loopSet
		s[ops.Float32], s[ops.Float64] = each1(f32), each1(f64)
		fixed := constLoop(ints)
		s.withInts(fixed, fixed, fixed, fixed, fixed)
		s[ops.Bool] = fixed
		s[ops.Complex64] = each1(func(x complex64) bool {
			if ints { // finite where both parts are
				return f32(real(x)) && f32(imag(x))
			}
			return f32(real(x)) || f32(imag(x))
		})
		return (&pwKernel{loops: &s, inputs: true}).run
	}
	table[ops.Isnan] = test(func(x float32) bool { return x != x }, math.IsNaN, false)
	table[ops.Isinf] = test(
		func(x float32) bool { return math.IsInf(float64(x), 0) }, func(x float64) bool { return math.IsInf(x, 0) },
		false,
	)
	table[ops.Isfinite] = test(func(x float32) bool { return x-x == 0 }, func(x float64) bool { return x-x == 0 }, true)
	table[ops.Signbit] = signbitKernel
	var s loopSet
	s[ops.Float32], s[ops.Float64] = isZero[float32](), isZero[float64]()
	s.withInts(isZero[int64](), isZero[int32](), isZero[int16](), isZero[int8](), isZero[uint8]())
	s[ops.Bool] = isZero[uint8]()
	s[ops.Complex64] = each1(func(x complex64) bool { return x == 0 })
	table[ops.LogicalNot] = (&pwKernel{loops: &s, inputs: true}).run
}

func isZero[T strided.Number]() strided.Loop { return each1(func(x T) bool { return x == 0 }) }

func constLoop(v bool) strided.Loop {
	return func(n int, p *[strided.MaxOperands]unsafe.Pointer) {
		o := unsafe.Slice((*bool)(p[0]), n)
		for i := range o {
			o[i] = v
		}
	}
}

func polygammaKernel(k *Call) {
	n := whole(ops.In[ops.PolygammaArgs](k.Call).N)
	s := floats(func(x float64) float64 { return special.Polygamma(n, x) })
	if n == 1 {
		s[ops.Float32], s[ops.Float64] = each1(special.Trigamma[float32]), each1(special.Trigamma[float64])
	}
	(&pwKernel{loops: s}).run(k)
}

func signbitKernel(k *Call) {
	var s loopSet
	s[ops.Float32], s[ops.Float64] = each1(func(x float32) bool { return math.Signbit(float64(x)) }), each1(math.Signbit)
	s.withInts(below0[int64](), below0[int32](), below0[int16](), below0[int8](), below0[uint8]())
	s[ops.Bool] = constLoop(false)
	(&pwKernel{loops: &s, inputs: true}).run(k)
}

func below0[T integer]() strided.Loop { return each1(func(x T) bool { return x < 0 }) }

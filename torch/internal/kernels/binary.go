package kernels

import (
	"math"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/special"
	"tcdbg/torch/internal/strided"
)

// This file holds the kernels of two and three operands.

type loop2[T any] func(o, a, b []T)

func numeric2(
	f32 loop2[float32], f64 loop2[float64], i64 loop2[int64], i32 loop2[int32], i16 loop2[int16], i8 loop2[int8],
	u8 loop2[uint8],
) *loopSet {
	var s loopSet
	if f32 != nil {
		s[ops.Float32] = run2(f32)
	}
	if f64 != nil {
		s[ops.Float64] = run2(f64)
	}
	return s.withInts(run2(i64), run2(i32), run2(i16), run2(i8), run2(u8))
}

func binaryKernels() map[ops.ID]Kernel {
	table := map[ops.ID]Kernel{
		ops.Add: addKernel(
			simd.Add, addLoop[float64], addLoop[int64], addLoop[int32], addLoop[int16], addLoop[int8], addLoop[uint8],
			1,
		),
		ops.Sub: addKernel(
			simd.Sub, subLoop[float64], subLoop[int64], subLoop[int32], subLoop[int16], subLoop[int8], subLoop[uint8],
			-1,
		),
		ops.Mul: (&pwKernel{
			pair: &mulPair,
			loops: numeric2(nil, mulLoop[float64], mulLoop[int64], mulLoop[int32], mulLoop[int16], mulLoop[int8],
				mulLoop[uint8]).vectors2(simd.Mul).with(ops.Bool, run2(bitAnd[uint8])).with(ops.Complex64,
				each2(func(x, y complex64) complex64 { return x * y })),
		}).run,
		ops.Div: divKernel,
		ops.Pow: powKernel,
		ops.Maximum: (&pwKernel{loops: numeric2(maxLoop[float32], maxLoop[float64], maxLoop[int64], maxLoop[int32],
			maxLoop[int16], maxLoop[int8], maxLoop[uint8]).with(ops.Bool, run2(bitOr[uint8]))}).run,
		ops.Minimum: (&pwKernel{loops: numeric2(minLoop[float32], minLoop[float64], minLoop[int64], minLoop[int32],
			minLoop[int16], minLoop[int8], minLoop[uint8]).with(ops.Bool, run2(bitAnd[uint8]))}).run,
		ops.Fmod: (&pwKernel{loops: intPair(fmodInt[int64], fmodInt[int32], fmodInt[int16], fmodInt[int8], fmodInt[uint8],
			math.Mod)}).run,
		ops.Remainder: (&pwKernel{loops: intPair(remInt[int64], remInt[int32], remInt[int16], remInt[int8], remInt[uint8], remainder)}).run,
		ops.Atan2:     (&pwKernel{loops: floats2(ops.Atan2Of)}).run,
		ops.Hypot:     (&pwKernel{loops: floats2(math.Hypot)}).run,
		ops.Copysign:  (&pwKernel{loops: floats2(math.Copysign)}).run,
		ops.Logaddexp: (&pwKernel{loops: floats2(special.Logaddexp)}).run,
		ops.Where:     whereKernel,
		ops.Clamp:     clampKernel,
	}
	bits := func(f64 loop2[int64], f32 loop2[int32], f16 loop2[int16], f8 loop2[int8], u8 loop2[uint8], bools bool) Kernel {
		s := numeric2(nil, nil, f64, f32, f16, f8, u8)
		if bools {
			s[ops.Bool] = run2(u8)
		}
		return (&pwKernel{loops: s}).run
	}
	table[ops.BitwiseAnd] = bits(bitAnd[int64], bitAnd[int32], bitAnd[int16], bitAnd[int8], bitAnd[uint8], true)
	table[ops.BitwiseOr] = bits(bitOr[int64], bitOr[int32], bitOr[int16], bitOr[int8], bitOr[uint8], true)
	table[ops.BitwiseXor] = bits(bitXor[int64], bitXor[int32], bitXor[int16], bitXor[int8], bitXor[uint8], true)
	table[ops.BitwiseLeftShift] = bits(shiftLeft[int64], shiftLeft[int32], shiftLeft[int16], shiftLeft[int8], shiftLeft[uint8], false)
	table[ops.BitwiseRightShift] = bits(shiftRight[int64], shiftRight[int32], shiftRight[int16], shiftRight[int8], shiftRight[uint8], false)
	table[ops.Fmax] = (&pwKernel{loops: intPair(fmax[int64], fmax[int32], fmax[int16], fmax[int8], fmax[uint8],
		fmax[float64]).with(ops.Bool, run2(bitOr[uint8]))}).run
	table[ops.Fmin] = (&pwKernel{loops: intPair(fmin[int64], fmin[int32], fmin[int16], fmin[int8], fmin[uint8],
		fmin[float64]).with(ops.Bool, run2(bitAnd[uint8]))}).run
	for id, f := range map[ops.ID]func(x, y float64) float64{
		ops.Xlogy: special.Xlogy, ops.Xlog1py: special.Xlog1py, ops.Zeta: special.Zeta, ops.Logaddexp2: special.Logaddexp2,
		ops.Igamma: special.Igamma, ops.Igammac: special.Igammac,
	} {
		table[id] = (&pwKernel{loops: floats2(f).withInts(viaFloat[int64](f), viaFloat[int32](f), viaFloat[int16](f),
			viaFloat[int8](f), viaFloat[uint8](f)).with(ops.Bool, viaFloat[uint8](f))}).run
	}
	next := floats2(math.Nextafter)
	next[ops.Float32] = each2(math.Nextafter32)
	table[ops.Nextafter] = (&pwKernel{loops: next}).run
	table[ops.Gcd] = (&pwKernel{loops: new(loopSet).withInts(each2(gcd[int64]), each2(gcd[int32]), each2(gcd[int16]),
		each2(gcd[int8]), each2(gcd[uint8]))}).run
	table[ops.Lcm] = (&pwKernel{loops: new(loopSet).withInts(each2(lcm[int64]), each2(lcm[int32]), each2(lcm[int16]),
		each2(lcm[int8]), each2(lcm[uint8]))}).run
	comparisons(table)
	return table
}

// addKernel takes alpha as a third operand where it is not 1.
func addKernel(
	f32 simd.Binary, f64 loop2[float64], i64 loop2[int64], i32 loop2[int32], i16 loop2[int16], i8 loop2[int8],
	u8 loop2[uint8], sign int,
) Kernel {
	sign32 := complex64(complex(float32(sign), 0))
	one := &pwKernel{
		pair: &f32,
		loops: numeric2(nil, f64, i64, i32, i16, i8, u8).vectors2(f32).with(ops.Bool, run2(bitOr[uint8])).with(
			ops.Complex64, each2(func(x, y complex64) complex64 { return x + sign32*y }),
		),
	}
	var s loopSet
	s[ops.Float32], s[ops.Float64] = axpy[float32](float32(sign)), axpy[float64](float64(sign))
	s.withInts(
		axpy[int64](int64(sign)), axpy[int32](int32(sign)), axpy[int16](int16(sign)), axpy[int8](int8(sign)),
		axpy[uint8](uint8(int8(sign))),
	)
	s[ops.Bool] = each3(func(x, y, a uint8) uint8 { return x | y&a })
	s[ops.Complex64] = each3(func(x, y, a complex64) complex64 { return x + sign32*a*y })
	scaled := &pwKernel{loops: &s}
	return func(k *Call) {
		if alpha := ops.In[ops.AddArgs](k.Call).Alpha; alpha.Float() == 1 {
			one.run(k)
		} else {
			scaled.runWith(k, alpha.Arg)
		}
	}
}

func axpy[T strided.Number](sign T) strided.Loop {
	return run3(func(o, a, b, c []T) {
		for i, x := range a {
			o[i] = x + T(T(sign*c[i])*b[i]) //nolint:unconvert // the conversions keep the products from being fused
		}
	})
}

func addLoop[T strided.Number](o, a, b []T) {
	b, o = b[:len(a)], o[:len(a)]
	for i, x := range a {
		o[i] = x + b[i]
	}
}

func subLoop[T strided.Number](o, a, b []T) {
	b, o = b[:len(a)], o[:len(a)]
	for i, x := range a {
		o[i] = x - b[i]
	}
}

func mulLoop[T strided.Number](o, a, b []T) {
	b, o = b[:len(a)], o[:len(a)]
	for i, x := range a {
		o[i] = x * b[i]
	}
}

func quoLoop[T float32 | float64](o, a, b []T) {
	b, o = b[:len(a)], o[:len(a)]
	for i, x := range a {
		o[i] = x / b[i]
	}
}

func maxLoop[T strided.Number](o, a, b []T) {
	for i, x := range a {
		y := b[i]
		if y > x || y != y {
			x = y
		}
		if a[i] != a[i] {
			x = a[i]
		}
		o[i] = x
	}
}

func minLoop[T strided.Number](o, a, b []T) {
	for i, x := range a {
		y := b[i]
		if y < x || y != y {
			x = y
		}
		if a[i] != a[i] {
			x = a[i]
		}
		o[i] = x
	}
}

type integer interface {
	int64 | int32 | int16 | int8 | uint8
}

func bitAnd[T integer](o, a, b []T) {
	for i, x := range a {
		o[i] = x & b[i]
	}
}

func bitOr[T integer](o, a, b []T) {
	for i, x := range a {
		o[i] = x | b[i]
	}
}

func bitXor[T integer](o, a, b []T) {
	for i, x := range a {
		o[i] = x ^ b[i]
	}
}

func shiftLeft[T integer](o, a, b []T) {
	for i, x := range a {
		o[i] = 0
		if b[i] >= 0 && uint64(b[i]) < 64 {
			o[i] = x << uint64(b[i])
		}
	}
}

func shiftRight[T integer](o, a, b []T) {
	for i, x := range a {
		s := uint64(63)
		if b[i] >= 0 {
			s = min(uint64(b[i]), 63)
		}
		o[i] = x >> s
	}
}

func zeroDivision() {
	refusal.Fail("div", "RuntimeError", "ZeroDivisionError")
}

func fmodInt[T integer](x, y T) T {
	if y == 0 {
		zeroDivision()
	}
	return x % y
}

func remInt[T integer](x, y T) T {
	if y == 0 {
		zeroDivision()
	}
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

func floorInt[T integer](x, y T) T {
	if y == 0 {
		zeroDivision()
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

func truncInt[T integer](x, y T) T {
	if y == 0 {
		zeroDivision()
	}
	return x / y
}

func intPair(
	i64 func(x, y int64) int64, i32 func(x, y int32) int32, i16 func(x, y int16) int16, i8 func(x, y int8) int8,
	u8 func(x, y uint8) uint8, f func(x, y float64) float64,
) *loopSet {
	return floats2(f).withInts(each2(i64), each2(i32), each2(i16), each2(i8), each2(u8))
}

// remainder is Python's %: the result has the sign of y.
func remainder(x, y float64) float64 {
	m := math.Mod(x, y)
	if m != 0 && (y < 0) != (m < 0) {
		m += y
	}
	return m
}

// floorDivide is Python's // on floats.
func floorDivide(x, y float64) float64 {
	if y == 0 {
		return x / y
	}
	m := math.Mod(x, y)
	d := (x - m) / y
	if m != 0 && (y < 0) != (m < 0) {
		d--
	}
	if d == 0 {
		return math.Copysign(0, x/y)
	}
	f := math.Floor(d)
	if d-f > 0.5 {
		f++
	}
	return f
}

func floorDivide32(x, y float32) float32 {
	if y == 0 {
		return x / y
	}
	m := float32(math.Mod(float64(x), float64(y)))
	d := float32(x-m) / y
	if m != 0 && (y < 0) != (m < 0) {
		d--
	}
	if d == 0 {
		return float32(math.Copysign(0, float64(x/y)))
	}
	f := float32(math.Floor(float64(d)))
	if d-f > 0.5 {
		f++
	}
	return f
}

func divKernel(k *Call) {
	switch ops.In[ops.DivArgs](k.Call).RoundingMode.Str() {
	case "floor":
		s := intPair(floorInt[int64], floorInt[int32], floorInt[int16], floorInt[int8], floorInt[uint8], floorDivide)
		s[ops.Float32] = each2(floorDivide32)
		(&pwKernel{loops: s}).run(k)
	case "trunc":
		s := intPair(truncInt[int64], truncInt[int32], truncInt[int16], truncInt[int8], truncInt[uint8],
			func(x, y float64) float64 { return math.Trunc(x / y) })
		s[ops.Float32] = each2(func(x, y float32) float32 { return float32(math.Trunc(float64(strided.RoundTo(k.dtype, x/y)))) })
		(&pwKernel{loops: s}).run(k)
	default:
		var s loopSet
		s.vectors2(simd.Div)
		s[ops.Float64] = run2(quoLoop[float64])
		s[ops.Complex64] = each2(func(x, y complex64) complex64 { return x / y })
		(&pwKernel{loops: &s, pair: &divPair}).run(k)
	}
}

var mulPair, divPair = simd.Mul, simd.Div

// powKernel takes the common exponents by multiplication, as PyTorch does.
func powKernel(k *Call) {
	a := ops.In[ops.PowArgs](k.Call)
	if _, tensor := a.Exponent.Arg.(*strided.Array); !tensor && array(a.Self) != nil {
		if loops := fixedPower(a.Exponent.Float(), k.out().DType); loops != nil {
			if d := k.out().DType; ops.OpMath(d) == ops.Float32 || d == ops.Float64 {
				pointwise("pow", k.out(), []ops.Arg{k.self()}, ops.OpMath(d), false, loops)
				return
			}
		}
	}
	s := intPair(powInt[int64], powInt[int32], powInt[int16], powInt[int8], powInt[uint8], math.Pow)
	s[ops.Bool] = each2(func(x, y uint8) uint8 { return x | (1 - y) })
	s[ops.Complex64] = each2(powComplex)
	(&pwKernel{loops: s}).run(k)
}

// fixedPower is the power of a common exponent; half precision rounds products
// between.
func fixedPower(e float64, d ops.DType) *loopSet {
	var s loopSet
	switch e {
	case 0.5:
		return floats(math.Sqrt)
	case 2:
		s[ops.Float32], s[ops.Float64] = run1(func(o, a []float32) {
			simd.Active().Binary(simd.Mul, o, a, a)
		}), run1(func(o, a []float64) { mulLoop(o, a, a) })
	case 3:
		s[ops.Float32] = each1(func(x float32) float32 { return strided.RoundTo(d, x*x) * x })
		s[ops.Float64] = each1(func(x float64) float64 { return x * x * x })
	case -1:
		return floats(func(x float64) float64 { return 1 / x })
	case -2:
		return floats(func(x float64) float64 { return 1 / (x * x) })
	case -0.5:
		return floats(func(x float64) float64 { return 1 / math.Sqrt(x) })
	default:
		return nil
	}
	return &s
}

func powInt[T integer](x, y T) T {
	if y < 0 {
		switch {
		case x == 1:
			return 1
		case x+1 == 0:
			return 1 - 2*(y&1)*T(b2i(y&1 != 0))
		}
		return 0
	}
	r := T(1)
	for y > 0 {
		if y&1 != 0 {
			r *= x
		}
		x *= x
		y >>= 1
	}
	return r
}

func b2i(b bool) int8 {
	if b {
		return 1
	}
	return 0
}

func whereKernel(k *Call) {
	out := k.out()
	var it strided.Iterator
	it.Nops = 4
	d := out.DType
	it.SetTensor(0, out, d, out.Shape)
	a := ops.In[ops.WhereArgs](k.Call)
	it.SetTensor(1, array(a.Condition), ops.Bool, out.Shape)
	for i, operand := range []ops.TensorArg{a.Self, a.Other} {
		if t := array(operand); t != nil {
			it.SetTensor(i+2, t, d, out.Shape)
		} else {
			it.SetNumber(i+2, operand.Arg, d)
		}
	}
	switch d.Size() {
	case 1:
		it.Loop = chooseLoop[uint8]
	case 2:
		it.Loop = chooseLoop[uint16]
	case 4:
		it.Loop = chooseWords
	default:
		it.Loop = chooseLoop[uint64]
	}
	it.Run(out.Shape)
}

func chooseLoop[T any](n int, p *[strided.MaxOperands]unsafe.Pointer) {
	o, c := unsafe.Slice((*T)(p[0]), n), unsafe.Slice((*bool)(p[1]), n)
	a, b := unsafe.Slice((*T)(p[2]), n), unsafe.Slice((*T)(p[3]), n)
	for i := range o {
		if c[i] {
			o[i] = a[i]
		} else {
			o[i] = b[i]
		}
	}
}

// chooseWords is chooseLoop of four bytes, whatever they mean.
func chooseWords(n int, p *[strided.MaxOperands]unsafe.Pointer) {
	f := func(i int) []float32 { return unsafe.Slice((*float32)(p[i]), n) }
	simd.Active().Choose(f(0), unsafe.Slice((*bool)(p[1]), n), f(2), f(3))
}

func clampKernel(k *Call) {
	set := func(f func(lo, hi bool) *loopSet) {
		a := ops.In[ops.ClampArgs](k.Call)
		lo, hi := !a.Min.IsNone(), !a.Max.IsNone()
		var bounds []ops.Arg
		if lo {
			bounds = append(bounds, a.Min.Arg)
		}
		if hi {
			bounds = append(bounds, a.Max.Arg)
		}
		(&pwKernel{loops: f(lo, hi)}).runWith(k, bounds...)
	}
	set(func(lo, hi bool) *loopSet {
		switch {
		case lo && hi:
			var s loopSet
			s[ops.Float32], s[ops.Float64] = run3(clampFloats), run3(clampLoop[float64])
			return s.withInts(
				run3(clampLoop[int64]), run3(clampLoop[int32]), run3(clampLoop[int16]), run3(clampLoop[int8]),
				run3(clampLoop[uint8]),
			)
		case lo:
			return numeric2(
				maxLoop[float32], maxLoop[float64], maxLoop[int64], maxLoop[int32], maxLoop[int16], maxLoop[int8],
				maxLoop[uint8],
			)
		}
		return numeric2(minLoop[float32], minLoop[float64], minLoop[int64], minLoop[int32], minLoop[int16], minLoop[int8], minLoop[uint8])
	})
}

func clampLoop[T strided.Number](o, a, lo, hi []T) {
	for i, x := range a {
		if x < lo[i] {
			x = lo[i]
		}
		if x > hi[i] {
			x = hi[i]
		}
		o[i] = x
	}
}

// clampFloats is clampLoop on the bits of numbers, which the compiler chooses between without a branch.
func clampFloats(o, a, lo, hi []float32) {
	lo, hi, o = lo[:len(a)], hi[:len(a)], o[:len(a)]
	for i, x := range a {
		bits, low, high := math.Float32bits(x), math.Float32bits(lo[i]), math.Float32bits(hi[i])
		if x < lo[i] {
			bits = low
		}
		if math.Float32frombits(bits) > hi[i] {
			bits = high
		}
		o[i] = math.Float32frombits(bits)
	}
}

func comparisons(table map[ops.ID]Kernel) {
	add := func(id ops.ID, f32, f64, i64, i32, i16, i8, u8 strided.Loop) {
		var s loopSet
		s[ops.Float32], s[ops.Float64], s[ops.Bool] = f32, f64, u8
		s.withInts(i64, i32, i16, i8, u8)
		switch id {
		case ops.Eq:
			s[ops.Complex64] = each2(func(x, y complex64) bool { return x == y })
		case ops.Ne:
			s[ops.Complex64] = each2(func(x, y complex64) bool { return x != y })
		case ops.LogicalAnd:
			s[ops.Complex64] = each2(func(x, y complex64) bool { return x != 0 && y != 0 })
		case ops.LogicalOr:
			s[ops.Complex64] = each2(func(x, y complex64) bool { return x != 0 || y != 0 })
		case ops.LogicalXor:
			s[ops.Complex64] = each2(func(x, y complex64) bool { return (x != 0) != (y != 0) })
		}
		table[id] = (&pwKernel{loops: &s, inputs: true}).run
	}
	add(ops.Lt, cmpLt[float32](), cmpLt[float64](), cmpLt[int64](), cmpLt[int32](), cmpLt[int16](), cmpLt[int8](), cmpLt[uint8]())
	add(ops.Le, cmpLe[float32](), cmpLe[float64](), cmpLe[int64](), cmpLe[int32](), cmpLe[int16](), cmpLe[int8](), cmpLe[uint8]())
	add(ops.Gt, cmpGt[float32](), cmpGt[float64](), cmpGt[int64](), cmpGt[int32](), cmpGt[int16](), cmpGt[int8](), cmpGt[uint8]())
	add(ops.Ge, cmpGe[float32](), cmpGe[float64](), cmpGe[int64](), cmpGe[int32](), cmpGe[int16](), cmpGe[int8](), cmpGe[uint8]())
	add(ops.Eq, cmpEq[float32](), cmpEq[float64](), cmpEq[int64](), cmpEq[int32](), cmpEq[int16](), cmpEq[int8](), cmpEq[uint8]())
	add(ops.Ne, cmpNe[float32](), cmpNe[float64](), cmpNe[int64](), cmpNe[int32](), cmpNe[int16](), cmpNe[int8](), cmpNe[uint8]())
	add(
		ops.LogicalAnd, logAnd[float32](), logAnd[float64](), logAnd[int64](), logAnd[int32](), logAnd[int16](),
		logAnd[int8](), logAnd[uint8](),
	)
	add(ops.LogicalOr, logOr[float32](), logOr[float64](), logOr[int64](), logOr[int32](), logOr[int16](), logOr[int8](), logOr[uint8]())
	add(
		ops.LogicalXor, logXor[float32](), logXor[float64](), logXor[int64](), logXor[int32](), logXor[int16](),
		logXor[int8](), logXor[uint8](),
	)
}

func cmpLt[T strided.Number]() strided.Loop {
	return run2(func(o []bool, a, b []T) {
		for i, x := range a {
			o[i] = x < b[i]
		}
	})
}

func cmpLe[T strided.Number]() strided.Loop {
	return run2(func(o []bool, a, b []T) {
		for i, x := range a {
			o[i] = x <= b[i]
		}
	})
}

func cmpGt[T strided.Number]() strided.Loop {
	return run2(func(o []bool, a, b []T) {
		for i, x := range a {
			o[i] = x > b[i]
		}
	})
}

func cmpGe[T strided.Number]() strided.Loop {
	return run2(func(o []bool, a, b []T) {
		for i, x := range a {
			o[i] = x >= b[i]
		}
	})
}

func cmpEq[T strided.Number]() strided.Loop {
	return run2(func(o []bool, a, b []T) {
		for i, x := range a {
			o[i] = x == b[i]
		}
	})
}

func cmpNe[T strided.Number]() strided.Loop {
	return run2(func(o []bool, a, b []T) {
		for i, x := range a {
			o[i] = x != b[i]
		}
	})
}

func logAnd[T strided.Number]() strided.Loop {
	return each2(func(x, y T) bool { return x != 0 && y != 0 })
}

func logOr[T strided.Number]() strided.Loop {
	return each2(func(x, y T) bool { return x != 0 || y != 0 })
}

func logXor[T strided.Number]() strided.Loop {
	return each2(func(x, y T) bool { return (x != 0) != (y != 0) })
}

func fmax[T strided.Number](x, y T) T {
	if x != x || y > x {
		return y
	}
	return x
}

func fmin[T strided.Number](x, y T) T {
	if x != x || y < x {
		return y
	}
	return x
}

func gcd[T integer](x, y T) T {
	for y != 0 {
		x, y = y, x%y
	}
	if x < 0 {
		return -x
	}
	return x
}

func lcm[T integer](x, y T) T {
	if x == 0 || y == 0 {
		return 0
	}
	v := x / gcd(x, y) * y
	if v < 0 {
		return -v
	}
	return v
}

func viaFloat[T integer](f func(x, y float64) float64) strided.Loop {
	return each2(func(x, y T) T { return T(f(float64(x), float64(y))) })
}

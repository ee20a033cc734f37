package kernels

import (
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file turns typed loops into pointwise kernels.

// loopSet has a loop for each compute type; some have one for half precision too, which
// is taken where all operands have it. From around on come the same loops again, those
// of them that can write around the caches.
type loopSet [2 * ops.NumDTypes]strided.Loop

const around = ops.NumDTypes

// pwKernel runs loops over the tensor and number parameters of an operator.
type pwKernel struct {
	loops *loopSet
	// inputs decides the compute type by the operands rather than the result:
	// comparisons, whose result is bool.
	inputs bool
	// pair is the function of package simd that the float32 loop is, if any.
	pair *simd.Binary
}

func (p *pwKernel) run(k *Call) { p.runWith(k) }

// runWith runs a loop that takes further numbers.
func (p *pwKernel) runWith(k *Call, further ...ops.Arg) {
	out := k.out()
	var args [strided.MaxOperands]ops.Arg
	n := 0
	params := k.Op.Params()
	for i := range params {
		if params[i].IsTensor() && k.Args[i] != nil {
			args[n] = k.Args[i]
			n++
		}
	}
	d := k.dtype
	if p.inputs {
		d = ops.ResultType(args[:n]...)
	}
	n += copy(args[n:], further)
	pointwisePair(k.Op.Name, out, args[:n], ops.OpMath(d), p.inputs, p.loops, p.pair)
}

// pointwise runs the loop for compute type d.
func pointwise(name string, out *strided.Array, args []ops.Arg, d ops.DType, predicate bool, loops *loopSet) {
	pointwisePair(name, out, args, d, predicate, loops, nil)
}

func pointwisePair(name string, out *strided.Array, args []ops.Arg, d ops.DType, predicate bool, loops *loopSet, pair *simd.Binary) {
	if halfLoop(out, args, loops) {
		d = out.DType
	}
	loop := loops[d]
	if loop == nil {
		refusal.Fail(name, "NotImplementedError", "\"%s_cpu\" not implemented for '%s'", name, d.ScalarType())
	}
	var it strided.Iterator
	it.Loop, it.Around, it.Nops = loop, loops[around+d], len(args)+1
	if d == ops.Float32 {
		it.Pair = pair
	}
	want := d
	if predicate {
		want = ops.Bool
	}
	it.SetTensor(0, out, want, out.Shape)
	for i, a := range args {
		if h, ok := a.(strided.Holder); ok {
			it.SetTensor(i+1, h.Array(), d, out.Shape)
		} else {
			it.SetNumber(i+1, a, d)
		}
	}
	it.Run(out.Shape)
}

func run1[R, A any](f func(o []R, a []A)) strided.Loop {
	return func(n int, p *[strided.MaxOperands]unsafe.Pointer) {
		f(unsafe.Slice((*R)(p[0]), n), unsafe.Slice((*A)(p[1]), n))
	}
}

func run2[R, A any](f func(o []R, a, b []A)) strided.Loop {
	return func(n int, p *[strided.MaxOperands]unsafe.Pointer) {
		f(unsafe.Slice((*R)(p[0]), n), unsafe.Slice((*A)(p[1]), n), unsafe.Slice((*A)(p[2]), n))
	}
}

func run3[R, A any](f func(o []R, a, b, c []A)) strided.Loop {
	return func(n int, p *[strided.MaxOperands]unsafe.Pointer) {
		f(unsafe.Slice((*R)(p[0]), n), unsafe.Slice((*A)(p[1]), n), unsafe.Slice((*A)(p[2]), n), unsafe.Slice((*A)(p[3]), n))
	}
}

// each1 applies f to every element.
func each1[R, A any](f func(A) R) strided.Loop {
	return run1(func(o []R, a []A) {
		for i, x := range a {
			o[i] = f(x)
		}
	})
}

func each2[R, A any](f func(x, y A) R) strided.Loop {
	return run2(func(o []R, a, b []A) {
		for i, x := range a {
			o[i] = f(x, b[i])
		}
	})
}

func each3[R, A any](f func(x, y, z A) R) strided.Loop {
	return run3(func(o []R, a, b, c []A) {
		for i, x := range a {
			o[i] = f(x, b[i], c[i])
		}
	})
}

// floats makes the loops of a function of float64: float32 goes through it too,
// which rounds once.
func floats(f func(float64) float64) *loopSet {
	var s loopSet
	s[ops.Float32] = each1(func(x float32) float32 { return float32(f(float64(x))) })
	s[ops.Float64] = each1(f)
	return &s
}

func floats2(f func(x, y float64) float64) *loopSet {
	var s loopSet
	s[ops.Float32] = each2(func(x, y float32) float32 { return float32(f(float64(x), float64(y))) })
	s[ops.Float64] = each2(f)
	return &s
}

// withInts adds integer loops to a set.
func (s *loopSet) withInts(i64, i32, i16, i8, u8 strided.Loop) *loopSet {
	s[ops.Int64], s[ops.Int32], s[ops.Int16], s[ops.Int8], s[ops.Uint8] = i64, i32, i16, i8, u8
	return s
}

func (s *loopSet) with(d ops.DType, l strided.Loop) *loopSet {
	s[d], s[around+d] = l, nil
	return s
}

// vectors1 adds the loops of package simd for a function of one number.
func (s *loopSet) vectors1(f simd.Unary) *loopSet {
	for d, h := range halfFormats {
		s[d] = run1(func(o, a []uint16) { simd.Active().HalfUnary(f, h, o, a) })
	}
	s[ops.Float32] = run1(func(o, a []float32) { simd.Active().Unary(f, o, a) })
	s[around+ops.Float32] = run1(func(o, a []float32) { simd.Active().UnaryAround(f, o, a) })
	return s
}

// vectors2 is vectors1 for two numbers.
func (s *loopSet) vectors2(f simd.Binary) *loopSet {
	for d, h := range halfFormats {
		s[d] = run2(func(o, a, b []uint16) { simd.Active().HalfBinary(f, h, o, a, b) })
	}
	s[ops.Float32] = run2(func(o, a, b []float32) { simd.Active().Binary(f, o, a, b) })
	s[around+ops.Float32] = run2(func(o, a, b []float32) { simd.Active().BinaryAround(f, o, a, b) })
	return s
}

// halfFormats are the formats of 16 bits, whose loops compute in float32 and need
// vectors.
var halfFormats = map[ops.DType]simd.Half{ops.BFloat16: simd.BFloat, ops.Float16: simd.Float16}

// halfLoop reports whether all operands have the type of out and there is a loop for it,
// so that none has to be converted aside.
func halfLoop(out *strided.Array, args []ops.Arg, loops *loopSet) bool {
	if out.DType.Size() != 2 || !out.DType.IsFloat() || loops[out.DType] == nil || !simd.Active().Halves() {
		return false
	}
	for _, a := range args {
		if t, ok := a.(*strided.Array); !ok || t.DType != out.DType {
			return false
		}
	}
	return true
}

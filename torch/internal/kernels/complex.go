package kernels

import (
	"math"
	"math/cmplx"

	"tcdbg/ops"
	"tcdbg/torch/internal/strided"
)

// This file holds the kernels of complex numbers.

// complexFunctions are computed in complex128 and rounded once.
var complexFunctions = map[ops.ID]func(complex128) complex128{
	ops.Exp: cmplx.Exp, ops.Log: cmplx.Log, ops.Sqrt: cmplx.Sqrt,
	ops.Log10:      cmplx.Log10,
	ops.Log2:       func(x complex128) complex128 { return cmplx.Log(x) / math.Ln2 },
	ops.Log1p:      func(x complex128) complex128 { return cmplx.Log(1 + x) },
	ops.Exp2:       func(x complex128) complex128 { return cmplx.Exp(x * math.Ln2) },
	ops.Expm1:      func(x complex128) complex128 { return cmplx.Exp(x) - 1 },
	ops.Rsqrt:      func(x complex128) complex128 { return 1 / cmplx.Sqrt(x) },
	ops.Reciprocal: func(x complex128) complex128 { return 1 / x },
	ops.Sigmoid:    func(x complex128) complex128 { return 1 / (1 + cmplx.Exp(-x)) },
	ops.Sin:        cmplx.Sin, ops.Cos: cmplx.Cos, ops.Tan: cmplx.Tan, ops.Asin: cmplx.Asin, ops.Acos: cmplx.Acos, ops.Atan: cmplx.Atan,
	ops.Sinh: cmplx.Sinh, ops.Cosh: cmplx.Cosh, ops.Tanh: cmplx.Tanh, ops.Asinh: cmplx.Asinh, ops.Acosh: cmplx.Acosh,
	ops.Atanh: cmplx.Atanh,
}

// complexLoop is the loop of a function that complex numbers have, else nil.
func complexLoop(id ops.ID) strided.Loop {
	f, ok := complexFunctions[id]
	if !ok {
		return nil
	}
	return each1(func(x complex64) complex64 { return complex64(f(complex128(x))) })
}

func complexKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.ConjCopy: conjKernel(),
		ops.Angle:    realOr(func(x complex64) float32 { return float32(cmplx.Phase(complex128(x))) }, &pwKernel{loops: floats(angle)}),
		ops.Complex:  complexKernel,
	}
}

// complexNumber reads a number argument, real or complex.
func complexNumber(a ops.Arg) complex128 {
	if z, ok := a.(complex128); ok {
		return z
	}
	return complex(ops.NumberOf(a), 0)
}

// cumComplex is cumsum or cumprod of complex numbers, with sums of float64.
func cumComplex(x *strided.Array, dim int, out *strided.Array, prod bool) {
	src := strided.Elements[complex64](x, ops.Complex64)
	dst := make([]complex64, len(src))
	n, inner := x.Shape[dim], strided.Product(x.Shape[dim+1:])
	for row := range strided.Product(x.Shape[:dim]) * inner {
		at := row/inner*n*inner + row%inner
		acc := complex128(0)
		if prod {
			acc = 1
		}
		for range n {
			if prod {
				acc *= complex128(src[at])
			} else {
				acc += complex128(src[at])
			}
			dst[at] = complex64(acc)
			at += inner
		}
	}
	strided.Store(out, dst, ops.Complex64)
}

// prodComplex multiplies the complex numbers of x over the masked dimensions.
func prodComplex(x *strided.Array, mask []bool, out *strided.Array) {
	acc := make([]complex128, strided.Product(out.Shape))
	for i := range acc {
		acc[i] = 1
	}
	src, n := strided.Elements[complex64](x, ops.Complex64), 0
	strided.EachIndex(x.Shape, func(ix []int) {
		at := 0
		for d, i := range ix {
			if !mask[d] {
				at = at*x.Shape[d] + i
			}
		}
		acc[at] *= complex128(src[n])
		n++
	})
	rounded := make([]complex64, len(acc))
	for i, z := range acc {
		rounded[i] = complex64(z)
	}
	strided.Store(out, rounded, ops.Complex64)
}

// conjKernel copies what is real.
func conjKernel() Kernel {
	p := &pwKernel{loops: new(loopSet).with(ops.Complex64, each1(func(x complex64) complex64 { return complex(real(x), -imag(x)) }))}
	return func(k *Call) {
		if k.self().DType.IsComplex() {
			p.run(k)
			return
		}
		strided.Copy(k.out(), k.self())
	}
}

func absComplex(x complex64) float32 {
	return float32(math.Hypot(float64(real(x)), float64(imag(x))))
}

// realOr is a kernel whose result is real for complex operands too: f takes
// those, p the others.
func realOr(f func(complex64) float32, p *pwKernel) Kernel {
	return func(k *Call) {
		x := k.self()
		if !x.DType.IsComplex() {
			p.run(k)
			return
		}
		in := strided.Elements[complex64](x, ops.Complex64)
		out := make([]float32, len(in))
		for i, z := range in {
			out[i] = f(z)
		}
		strided.Store(k.out(), out, ops.Float32)
	}
}

// angle is that of a real number: pi for negative ones.
func angle(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x < 0:
		return math.Pi
	}
	return 0
}

// complexKernel stores the two parts side by side.
func complexKernel(k *Call) {
	out := k.out()
	stride := make([]int, len(out.Stride))
	for i, s := range out.Stride {
		stride[i] = 2 * s
	}
	a := ops.In[ops.ComplexArgs](k.Call)
	for i, part := range []ops.TensorArg{a.Real, a.Imag} {
		strided.Copy(strided.Over(out.Storage, ops.Float32, out.Shape, stride, 2*out.Offset+i), array(part))
	}
}

// powComplex multiplies where the exponent is a small whole number.
func powComplex(x, y complex64) complex64 {
	switch y {
	case 0:
		return 1
	case 1:
		return x
	case 2:
		return x * x
	case 3:
		return x * x * x
	}
	return complex64(cmplx.Pow(complex128(x), complex128(y)))
}

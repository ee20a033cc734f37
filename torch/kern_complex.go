package torch

import (
	"math"
	"math/cmplx"

	"tcdbg/ops"
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
	ops.Sinh: cmplx.Sinh, ops.Cosh: cmplx.Cosh, ops.Tanh: cmplx.Tanh, ops.Asinh: cmplx.Asinh, ops.Acosh: cmplx.Acosh, ops.Atanh: cmplx.Atanh,
}

// complexLoop is the loop of a function that complex numbers have, else nil.
func complexLoop(id ops.ID) pwLoop {
	f, ok := complexFunctions[id]
	if !ok {
		return nil
	}
	return each1(func(x complex64) complex64 { return complex64(f(complex128(x))) })
}

func complexKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{
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
func cumComplex(x *Tensor, dim int, out *Tensor, prod bool) {
	src := elements[complex64](x, ops.Complex64)
	dst := make([]complex64, len(src))
	n, inner := x.shape[dim], product(x.shape[dim+1:])
	for row := range product(x.shape[:dim]) * inner {
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
	finish(out, dst, ops.Complex64)
}

// prodComplex multiplies the complex numbers of x over the masked dimensions.
func prodComplex(x *Tensor, mask []bool, out *Tensor) {
	acc := make([]complex128, product(out.shape))
	for i := range acc {
		acc[i] = 1
	}
	src, n := elements[complex64](x, ops.Complex64), 0
	eachIndex(x.shape, func(ix []int) {
		at := 0
		for d, i := range ix {
			if !mask[d] {
				at = at*x.shape[d] + i
			}
		}
		acc[at] *= complex128(src[n])
		n++
	})
	rounded := make([]complex64, len(acc))
	for i, z := range acc {
		rounded[i] = complex64(z)
	}
	finish(out, rounded, ops.Complex64)
}

// conjKernel copies what is real.
func conjKernel() kernel {
	p := &pwKernel{loops: new(loopSet).with(ops.Complex64, each1(func(x complex64) complex64 { return complex(real(x), -imag(x)) }))}
	return func(k *kernelCall) {
		if k.in(0).dtype.IsComplex() {
			p.run(k)
			return
		}
		copyInto(k.out(), k.in(0))
	}
}

func absComplex(x complex64) float32 {
	return float32(math.Hypot(float64(real(x)), float64(imag(x))))
}

// realOr is a kernel whose result is real for complex operands too: f takes
// those, p the others.
func realOr(f func(complex64) float32, p *pwKernel) kernel {
	return func(k *kernelCall) {
		x := k.in(0)
		if !x.dtype.IsComplex() {
			p.run(k)
			return
		}
		in := elements[complex64](x, ops.Complex64)
		out := make([]float32, len(in))
		for i, z := range in {
			out[i] = f(z)
		}
		finish(k.out(), out, ops.Float32)
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
func complexKernel(k *kernelCall) {
	out := k.out()
	stride := make([]int, len(out.stride))
	for i, s := range out.stride {
		stride[i] = 2 * s
	}
	for i := range 2 {
		copyInto(FromStorage(out.storage, ops.Float32, out.shape, stride, 2*out.offset+i), k.in(i))
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

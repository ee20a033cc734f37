package simd

import "math"

// This file is the loops of vec.go in Go, through float64 where a function is
// not exact.

var negInf = math.Inf(-1)

func exp(x float64) float64 { return math.Exp(x) }

func plainVectors() vectors {
	return vectors{
		unary: [numUnary]unaryFunc{
			Neg:      each(func(x float32) float32 { return -x }),
			Abs:      each(func(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }),
			Relu:     each(relu),
			Sqrt:     through(math.Sqrt),
			Exp:      through(math.Exp),
			Sigmoid:  through(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
			Silu:     through(func(x float64) float64 { return x / (1 + math.Exp(-x)) }),
			Tanh:     through(math.Tanh),
			Erf:      through(math.Erf),
			Gelu:     through(func(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }),
			GeluTanh: through(geluTanh),
		},
		binary: [numBinary]binaryFunc{
			Add: pairs(func(x, y float32) float32 { return x + y }),
			Sub: pairs(func(x, y float32) float32 { return x - y }),
			Mul: pairs(func(x, y float32) float32 { return x * y }),
			Div: pairs(func(x, y float32) float32 { return x / y }),
		},
		withScalar: [numBinary]scalarFunc{
			Mul: scalar(func(_, x, s float32) float32 { return x * s }),
			Add: scalar(func(_, x, s float32) float32 { return x + s }),
			Div: scalar(func(_, x, s float32) float32 { return x / s }),
		},
		axpy: scalar(func(old, x, s float32) float32 { return old + float32(s*x) }),
		normalize: func(dst, src *float32, n int, s, t float32) {
			for i, x := range floats(src, n) {
				floats(dst, n)[i] = (x - s) * t
			}
		},
		scaleShift: func(dst, scale, shift *float32, n int) {
			d, a, b := floats(dst, n), floats(scale, n), floats(shift, n)
			for i := range d {
				d[i] = float32(d[i]*a[i]) + b[i]
			}
		},
	}
}

func relu(x float32) float32 {
	if x < 0 {
		return 0
	}
	return x
}

func geluTanh(x float64) float64 {
	u := math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x)
	return x / (1 + math.Exp(-2*u))
}

func each(f func(float32) float32) unaryFunc {
	return func(dst, src *float32, n int) {
		d := floats(dst, n)
		for i, x := range floats(src, n) {
			d[i] = f(x)
		}
	}
}

func through(f func(float64) float64) unaryFunc {
	return each(func(x float32) float32 { return float32(f(float64(x))) })
}

func pairs(f func(x, y float32) float32) binaryFunc {
	return func(dst, a, b *float32, n int) {
		d, y := floats(dst, n), floats(b, n)
		for i, x := range floats(a, n) {
			d[i] = f(x, y[i])
		}
	}
}

func scalar(f func(old, x, s float32) float32) scalarFunc {
	return func(dst, src *float32, n int, s float32) {
		d := floats(dst, n)
		for i, x := range floats(src, n) {
			d[i] = f(d[i], x, s)
		}
	}
}

func dotPlain(x, y []float32) float32 {
	var a, b, c, d float32
	n := len(x) &^ 3
	y = y[:len(x)]
	for i := 0; i < n; i += 4 {
		a += float32(x[i] * y[i])
		b += float32(x[i+1] * y[i+1])
		c += float32(x[i+2] * y[i+2])
		d += float32(x[i+3] * y[i+3])
	}
	for i := n; i < len(x); i++ {
		a += float32(x[i] * y[i])
	}
	return (a + b) + (c + d)
}

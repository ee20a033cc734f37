package torch

import (
	"runtime"
	"testing"

	"tcdbg/ops"
	"tcdbg/torch/internal/strided"
)

// This file tests operators of half precision that are computed without conversions
// aside: they give what rounding the float32 results gives, bit by bit.

// everyHalf is every number of type d, from number first on and around.
func everyHalf(d DType, first int) *Tensor {
	const all = 1 << 16
	x := newTensor(d, []int{all})
	for i := range all {
		strided.Slice[uint16](&x.array)[i] = uint16(i + first)
	}
	return x
}

func TestHalfLoops(t *testing.T) {
	functions := map[string]func(x, y *Tensor) *Tensor{
		"neg": func(x, _ *Tensor) *Tensor { return x.Neg() }, "abs": func(x, _ *Tensor) *Tensor { return x.Abs() },
		"relu": func(x, _ *Tensor) *Tensor { return x.Relu() }, "sqrt": func(x, _ *Tensor) *Tensor { return x.Sqrt() },
		"exp": func(x, _ *Tensor) *Tensor { return x.Exp() }, "sigmoid": func(x, _ *Tensor) *Tensor { return x.Sigmoid() },
		"tanh": func(x, _ *Tensor) *Tensor { return x.Tanh() }, "erf": func(x, _ *Tensor) *Tensor { return x.Erf() },
		"silu": func(x, _ *Tensor) *Tensor { return Functional1("silu", nil, x) },
		"gelu": func(x, _ *Tensor) *Tensor { return Functional1("gelu", nil, x) },
		"add":  func(x, y *Tensor) *Tensor { return x.Add(y) }, "sub": func(x, y *Tensor) *Tensor { return x.Sub(y) },
		"mul": func(x, y *Tensor) *Tensor { return x.Mul(y) }, "div": func(x, y *Tensor) *Tensor { return x.Div(y) },
		"with a number": func(x, _ *Tensor) *Tensor { return x.Mul(1.0 / 3) },
		"one for all":   func(x, y *Tensor) *Tensor { return x.Add(y.Narrow(0, 77, 1)) },
	}
	eachLevel(t, func(t *testing.T) {
		for _, d := range []DType{ops.BFloat16, ops.Float16} {
			for name, f := range functions {
				x, y := everyHalf(d, 0), everyHalf(d, 12345)
				sameHalves(t, d, name, f(x, y), f(x.To(ops.Float32), y.To(ops.Float32)).To(d))
				for n := 1; n < 70; n++ { // and from places that vectors do not like
					x, y := x.Narrow(0, 0x3c00+n%3, n), y.Narrow(0, 78, n)
					if name != "one for all" {
						sameHalves(t, d, name, f(x, y), f(x.To(ops.Float32), y.To(ops.Float32)).To(d))
					}
				}
				x, y = x.View(256, 256).T(), y.View(256, 256)
				if name != "one for all" {
					sameHalves(t, d, name+" transposed", f(x, y), f(x.To(ops.Float32), y.To(ops.Float32)).To(d))
				}
			}
		}
	})
}

func sameHalves(t *testing.T, d DType, name string, got, want *Tensor) {
	t.Helper()
	got, want = denseTensor(got, d), denseTensor(want, d)
	if got.array.DType != d || got.Numel() != want.Numel() {
		t.Fatalf("%s of %s has %d numbers of %s", name, d, got.Numel(), got.array.DType)
	}
	w := strided.Slice[uint16](&want.array)
	for i, h := range strided.Slice[uint16](&got.array) {
		if h != w[i] && !(isNaNHalf(d, h) && isNaNHalf(d, w[i])) {
			t.Fatalf("%s of %s: number %d is %v, want %v", name, d, i, halfValue(d, h), halfValue(d, w[i]))
		}
	}
	runtime.KeepAlive(got)
	runtime.KeepAlive(want)
}

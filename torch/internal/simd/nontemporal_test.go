package simd

import (
	"math"
	"slices"
	"testing"
	"unsafe"
)

// TestAround: around the caches the numbers are the same, to the bit, wherever a result
// begins and however long it is, and nothing else is written.
func TestAround(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for _, n := range append(lengths, 5000) {
			a, b := random(n, 1), random(n, 2)
			for off := range 17 {
				for name, f := range map[string][2]func(dst []float32){
					"exp":  {func(dst []float32) { l.Unary(Exp, dst, a) }, func(dst []float32) { l.UnaryAround(Exp, dst, a) }},
					"gelu": {func(dst []float32) { l.Unary(Gelu, dst, a) }, func(dst []float32) { l.UnaryAround(Gelu, dst, a) }},
					"sub":  {func(dst []float32) { l.Binary(Sub, dst, a, b) }, func(dst []float32) { l.BinaryAround(Sub, dst, a, b) }},
					"scalar": {
						func(dst []float32) { l.WithScalar(Sub, dst, a, 3) },
						func(dst []float32) { l.WithScalarAround(Sub, dst, a, 3) },
					},
				} {
					want := make([]float32, n)
					got, clean := guarded(n, off)
					f[0](want)
					f[1](got)
					StreamEnd()
					if !slices.Equal(got, want) || !clean() {
						t.Fatalf("%s of %d numbers, %d off: differs or writes outside", name, n, off)
					}
				}
			}
		}
	})
}

// TestAroundOfEveryFunction: each loop around the caches is that of its function.
func TestAroundOfEveryFunction(t *testing.T) {
	const n = 100
	a, b := random(n, 0), random(n, 0)
	want, got := make([]float32, n), make([]float32, n)
	same := func(t *testing.T, what string, f int) {
		t.Helper()
		if StreamEnd(); !slices.EqualFunc(got, want,
			func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y }) {
			t.Errorf("%s %d differs", what, f)
		}
	}
	eachAssembly(t, func(t *testing.T, l Level) {
		for f := range numUnary {
			l.Unary(f, want, a)
			l.UnaryAround(f, got, a)
			same(t, "unary", int(f))
		}
		for f := range numBinary {
			l.Binary(f, want, a, b)
			l.BinaryAround(f, got, a, b)
			same(t, "binary", int(f))
			l.WithScalar(f, want, a, 0.75)
			l.WithScalarAround(f, got, a, 0.75)
			same(t, "scalar", int(f))
		}
	})
}

// TestAroundOfUnalignedNumbers: a result whose numbers lie across lines is written too.
func TestAroundOfUnalignedNumbers(t *testing.T) {
	bytes := make([]byte, 4*300+1)
	dst := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(&bytes[0]), 1)), 300)
	src := random(300, 0)
	for _, l := range Levels() {
		l.UnaryAround(Neg, dst, src)
		for i := range src {
			if dst[i] != -src[i] {
				t.Fatalf("%v: number %d is %v", l, i, dst[i])
			}
		}
	}
}

// TestExpSumOfMasked: what is masked weighs nothing, what is far below next to nothing.
func TestExpSumOfMasked(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for _, x := range []float64{math.Inf(-1), -1e30, -200, -103, -88.1, -87.5, -87.2, -80, -1, 0} {
			src, dst := make([]float32, 128), make([]float32, 128)
			for i := range src {
				src[i] = float32(x) + 3
			}
			sum := l.ExpSum(dst, src, 3)
			for i, v := range dst {
				want := math.Exp(float64(float32(src[i] - 3)))
				if e := math.Abs(float64(v) - want); !(e <= 2e-7*want || e < 0x1p-126) {
					t.Fatalf("exp(%v) is %v, want %v", x, v, want)
				}
			}
			if math.IsInf(x, -1) && sum != 0 {
				t.Errorf("masked numbers weigh %v", sum)
			}
		}
	})
}

package simd

import (
	"math"
	"slices"
	"testing"
	"unsafe"
)

// This file tests the loops of every level against Go's math in float64.

// units is how many steps of float32 got is away from want, where the step of
// results that are not normal numbers is the least one.
func units(got float32, want float64) float64 {
	w := float32(want)
	switch {
	case want != want:
		if got != got {
			return 0
		}
		return math.Inf(1)
	case got == w:
		return 0
	case math.IsInf(float64(w), 0) || math.IsInf(float64(got), 0) || got != got:
		return math.Inf(1)
	}
	step := float64(math.Nextafter32(float32(math.Abs(want)), float32(math.Inf(1)))) - math.Abs(float64(w))
	return math.Abs(float64(got)-want) / max(step, 0x1p-149)
}

// inputs covers the axis: all magnitudes, both signs, the bounds of the pieces,
// and what is no number.
func inputs() []float32 {
	var out []float32
	for x := 1e-42; x < 3e38; x *= 1.0037 {
		out = append(out, float32(x), float32(-x))
	}
	for x := -105.0; x < 95; x += 0.0117 {
		out = append(out, float32(x))
	}
	for x := -5.5; x < 5.5; x += 0.00037 { // where gelu's pieces meet
		out = append(out, float32(x))
	}
	for _, x := range []float64{
		0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0.625, 1, math.Sqrt2, 5.3, 88.72,
		88.73, -87.34, -103.97,
	} {
		out = append(out, float32(x), float32(math.Nextafter32(float32(x), 0)))
	}
	return out
}

func TestUnary(t *testing.T) {
	// limit is the greatest error in units; tiny is an error that does not count
	// (where a result of PyTorch's own formula has none of the bits either).
	for _, c := range []struct {
		name        string
		f           Unary
		want        func(float64) float64
		limit, tiny float64
	}{
		{"neg", Neg, func(x float64) float64 { return -x }, 0, 0},
		{"abs", Abs, math.Abs, 0, 0},
		{"relu", Relu, func(x float64) float64 {
			if x < 0 {
				return 0
			}
			return x
		}, 0, 0},
		{"sqrt", Sqrt, math.Sqrt, 0.51, 0},
		{"exp", Exp, math.Exp, 1.5, 0},
		{"sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 3, 3e-38},
		{"silu", Silu, func(x float64) float64 { return x / (1 + math.Exp(-x)) }, 3, 3e-36},
		{"tanh", Tanh, math.Tanh, 3, 0},
		{"erf", Erf, math.Erf, 1.5, 0},
		// PyTorch's own is off by up to 1e-6
		{"gelu", Gelu, func(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }, 2, 3.5e-7},
		{"geluTanh", GeluTanh, geluTanh, 4, 2e-7},
	} {
		eachAssembly(t, func(t *testing.T, l Level) {
			src := inputs()
			dst, clean := guarded(len(src), 1)
			l.Unary(c.f, dst, src)
			worst := 0.0
			for i, x := range src {
				want := c.want(float64(x))
				e := units(dst[i], want)
				if e > worst && math.Abs(float64(dst[i])-want) > c.tiny {
					worst = e
				}
				if (e > c.limit && !(math.Abs(float64(dst[i])-want) <= c.tiny)) ||
					want == 0 && math.Signbit(want) != math.Signbit(float64(dst[i])) && c.limit == 0 {
					t.Fatalf("%s(%v) = %v, want %v (%.2f units)", c.name, x, dst[i], want, e)
				}
			}
			if !clean() {
				t.Errorf("%s wrote outside", c.name)
			}
			t.Logf("%s: worst %.2f units", c.name, worst)
		})
	}
}

// lengths are slices shorter and longer than vectors and unrolled loops.
var lengths = []int{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 127, 130, 1000}

func TestMapsOfAllLengths(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for _, n := range lengths {
			a, b, c := random(n, 1), random(n, 2), random(n, 3)
			for name, f := range map[string]func(l Level, dst []float32){
				"add":        func(l Level, dst []float32) { l.Binary(Add, dst, a, b) },
				"sub":        func(l Level, dst []float32) { l.Binary(Sub, dst, a, b) },
				"mul":        func(l Level, dst []float32) { l.Binary(Mul, dst, a, b) },
				"div":        func(l Level, dst []float32) { l.Binary(Div, dst, a, b) },
				"exp":        func(l Level, dst []float32) { l.Unary(Exp, dst, a) },
				"relu":       func(l Level, dst []float32) { l.Unary(Relu, dst, a) },
				"in place":   func(l Level, dst []float32) { copy(dst, a); l.Unary(Neg, dst, dst) },
				"mul scalar": func(l Level, dst []float32) { l.WithScalar(Mul, dst, a, 3) },
				"add scalar": func(l Level, dst []float32) { l.WithScalar(Add, dst, a, 3) },
				"sub scalar": func(l Level, dst []float32) { l.WithScalar(Sub, dst, a, 3) },
				"div scalar": func(l Level, dst []float32) { l.WithScalar(Div, dst, a, 3) },
				"normalize":  func(l Level, dst []float32) { l.Normalize(dst, a, 0.25, 7) },
				"axpy":       func(l Level, dst []float32) { copy(dst, b); l.Axpy(dst, a, 3) },
				"scaleShift": func(l Level, dst []float32) { copy(dst, a); l.ScaleShift(dst, b, c) },
				"expSum":     func(l Level, dst []float32) { l.ExpSum(dst, a, 0.25) },
			} {
				got, clean := guarded(n, 1)
				want, _ := guarded(n, 0)
				f(l, got)
				f(Plain, want)
				for i := range want {
					if math.Abs(float64(got[i]-want[i])) > 3e-7*(1+math.Abs(float64(want[i]))) {
						t.Fatalf("%s of %d: element %d is %v, want %v", name, n, i, got[i], want[i])
					}
				}
				if !clean() {
					t.Errorf("%s of %d wrote outside", name, n)
				}
			}
		}
	})
}

func TestReductions(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for _, n := range append(lengths, 5000, 10000) {
			a, b := random(n, 1), random(n, 2)
			room := make([]float32, n)
			for name, f := range map[string]func(l Level) float64{
				"sum":       func(l Level) float64 { return l.Sum(a) },
				"deviation": func(l Level) float64 { return l.Deviation(a, 0.125) },
				"dot":       func(l Level) float64 { return float64(l.Dot(a, b)) },
				"largest":   func(l Level) float64 { return float64(l.Largest(a)) },
				"expSum":    func(l Level) float64 { return l.ExpSum(room, a, 0.5) },
			} {
				got, want := f(l), f(Plain)
				limit := 1e-5 * (1 + math.Abs(want))
				if name != "dot" && name != "expSum" {
					limit = 1e-12 * (1 + math.Abs(want))
				}
				if got != want && !(math.Abs(got-want) <= limit) {
					t.Errorf("%s of %d is %v, want %v", name, n, got, want)
				}
			}
		}
	})
}

func TestReductionsSeeEveryNaN(t *testing.T) {
	nan := float32(math.NaN())
	eachAssembly(t, func(t *testing.T, l Level) {
		for at := range 70 {
			a := random(70, 1)
			a[at] = nan
			room := make([]float32, len(a))
			high := l.Largest(a)
			if s := l.Sum(a); s == s {
				t.Errorf("Sum misses NaN at %d", at)
			}
			if s := l.ExpSum(room, a, high); s == s {
				t.Errorf("ExpSum misses NaN at %d", at)
			}
		}
	})
}

func TestAddWide(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for _, n := range lengths {
			src := random(n, 1)
			got := make([]float64, n+1)
			for i := range got {
				got[i] = float64(i) + 0.1
			}
			l.AddWide(got, src)
			for i, x := range src {
				if got[i] != float64(i)+0.1+float64(x) {
					t.Fatalf("%d of %d is %v", i, n, got[i])
				}
			}
			if got[n] != float64(n)+0.1 {
				t.Fatal("wrote outside")
			}
		}
	})
}

func TestChoose(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for _, n := range lengths {
			a, b := random(n, 1), random(n, 2)
			cond := make([]bool, n)
			for i := range cond {
				cond[i] = i%3 == 1 || i%7 == 2
			}
			got, clean := guarded(n, 3)
			l.Choose(got, cond, a, b)
			for i, c := range cond {
				want := b[i]
				if c {
					want = a[i]
				}
				if got[i] != want {
					t.Fatalf("%d of %d is %v, want %v", i, n, got[i], want)
				}
			}
			if !clean() {
				t.Fatal("wrote outside")
			}
		}
	})
}

func TestStream(t *testing.T) {
	for _, l := range Levels() {
		for off := range 18 {
			for _, n := range append(lengths, 5000) {
				src := random(n, off/2)
				got, clean := guarded(n, off)
				l.Stream(bytesOf(got), bytesOf(src))
				StreamEnd()
				if !slices.Equal(got, src) {
					t.Fatalf("%v: %d numbers, %d off, are not copied", l, n, off)
				}
				if !clean() {
					t.Fatalf("%v: %d numbers, %d off, were written outside", l, n, off)
				}
			}
		}
	}
}

func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// TestPick: at every step and length the numbers and codes are those of plain Go, and
// nothing beyond the last number that counts is needed.
func TestPick(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for _, step := range []int{1, 2, 3} {
			for n := 1; n <= 3*l.Lanes()+1; n++ {
				src := random((n-1)*step+1, 2)
				for i := range src {
					if i%11 == 5 {
						src[i] = float32(math.NaN())
					}
				}
				best, whole := guarded(n, 1)
				codes, want, wantCodes := make([]int32, n), make([]float32, n), make([]int32, n)
				for i := range best {
					best[i] = []float32{0, src[i*step], float32(math.NaN()), float32(math.Inf(-1))}[i%4]
					want[i] = best[i]
				}
				l.Pick(best, codes, src, step, 7)
				Plain.Pick(want, wantCodes, src, step, 7)
				for i := range want {
					if math.Float32bits(best[i]) != math.Float32bits(want[i]) || codes[i] != wantCodes[i] {
						t.Fatalf("step %d, %d numbers: number %d is %v by code %d, want %v by %d", step, n, i, best[i], codes[i],
							want[i], wantCodes[i])
					}
				}
				if !whole() {
					t.Fatalf("step %d, %d numbers: writes outside of its result", step, n)
				}
			}
		}
	})
}

// TestSecond: at every length the numbers are those of plain Go, one less than twice
// as many suffice, and nothing else is written.
func TestSecond(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for n := 1; n <= 3*l.Lanes()+1; n++ {
			src := random(2*n-1, 1)
			got, whole := guarded(n, 1)
			l.Second(got, src)
			for i, v := range got {
				if v != src[2*i] {
					t.Fatalf("%d numbers: number %d is %v, want %v", n, i, v, src[2*i])
				}
			}
			if !whole() {
				t.Fatalf("%d numbers: writes outside of its result", n)
			}
		}
	})
}

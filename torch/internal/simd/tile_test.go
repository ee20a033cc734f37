package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// This file tests tiles and packing of every level against the plain ones, on
// memory with guards around it.

// guard lies around what a kernel may write.
const guard = -12345

// guarded returns n numbers that start off elements after an aligned address,
// and a check that nothing around them was written.
func guarded(n, off int) ([]float32, func() bool) {
	all := make([]float32, n+off+64)
	for i := range all {
		all[i] = guard
	}
	return all[off+16 : off+16+n], func() bool {
		for i, v := range all {
			if (i < off+16 || i >= off+16+n) && v != guard {
				return false
			}
		}
		return true
	}
}

// random are n numbers that lie so far from an aligned place, the same in every run: sums of very many, whose
// rounding is bounded by what they come to, may miss a bound with one draw in thousands.
func random(n, off int) []float32 {
	s, _ := guarded(n, off)
	r := rand.New(rand.NewPCG(uint64(n), uint64(off)))
	for i := range s {
		s[i] = r.Float32() - 0.5
	}
	return s
}

func eachAssembly(t *testing.T, f func(t *testing.T, l Level)) {
	for _, l := range Levels()[1:] {
		t.Run(l.String(), func(t *testing.T) { f(t, l) })
	}
	if Best == Plain {
		t.Skip("this machine runs plain Go only")
	}
}

func TestTile(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for h := 1; h <= l.Rows(); h++ {
			for v := 1; v <= 2; v++ {
				width := v * l.Lanes()
				for _, k := range []int{1, 3, 4, 9, 64} {
					for n := 1; n <= width; n += 1 + n/9 {
						for _, add := range []bool{false, true} {
							checkTile(t, l, h, v, width, k, n, add)
						}
					}
				}
			}
		}
	})
}

func checkTile(t *testing.T, l Level, h, v, width, k, n int, add bool) {
	t.Helper()
	a, b := random(k*h, 1), random(k*width, 3)
	ldc := n + 5
	got, clean := guarded((h-1)*ldc+n, 1)
	for i := range got {
		got[i] = float32(i)
	}
	want := append([]float32(nil), got...)
	tilePlain(h, width, k, &a[0], &b[0], &want[0], ldc*4, n, add)
	l.Tile(h, v, k, &a[0], &b[0], &got[0], ldc*4, n, add)
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-5*(1+math.Abs(float64(want[i]))) {
			t.Fatalf("%dx%d k %d n %d add %v: element %d is %v, want %v", h, width, k, n, add, i, got[i], want[i])
		}
	}
	if !clean() {
		t.Fatalf("%dx%d k %d n %d add %v: wrote outside", h, width, k, n, add)
	}
}

func TestPack(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for _, k := range []int{0, 1, 7, 16, 17, 40} {
			for n := 1; n <= 2*l.Lanes(); n++ {
				for _, width := range []int{n, 2 * l.Lanes()} {
					src := random(4096, n%3)
					for _, by := range [][2]int{{4, 4 * (n + 1)}, {4 * (k + 2), 4}, {8, 8 * n}} {
						checkPack(t, fmt.Sprintf("k %d n %d width %d by %v", k, n, width, by), k, n, width, func(l Level, dst *float32) {
							l.Pack(dst, &src[0], by[0], by[1], k, n, width)
						}, l)
					}
				}
			}
		}
	})
}

func TestPackRuns(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		width := 2 * l.Lanes()
		for range 200 {
			var runs []Run
			n := 0
			for n < width && len(runs) < 1+rand.IntN(8) {
				r := Run{To: 4 * n, From: 4 * rand.IntN(500), Len: 1 + rand.IntN(width-n)}
				n += r.Len
				runs = append(runs, r)
			}
			k := rand.IntN(9)
			offs := make([]int, k)
			for i := range offs {
				offs[i] = 4 * rand.IntN(500)
			}
			src := random(2000, rand.IntN(4))
			checkPack(t, fmt.Sprint(runs, offs), k, n, width,
				func(l Level, dst *float32) { l.PackRuns(dst, &src[0], offs, width, runs) }, l)
		}
	})
}

// checkPack compares a packing with the plain one and refuses writes outside.
func checkPack(t *testing.T, what string, k, n, width int, pack func(l Level, dst *float32), l Level) {
	t.Helper()
	size := max((k-1)*width+n, 0)
	got, clean := guarded(size, 1)
	want, _ := guarded(size, 1)
	pack(Plain, unsafe.SliceData(want))
	pack(l, unsafe.SliceData(got))
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: step %d, lane %d is %v, want %v", what, i/width, i%width, got[i], want[i])
		}
	}
	if !clean() {
		t.Fatalf("%s: wrote outside", what)
	}
}

// TestStartLevel holds what the environment variable may ask for.
func TestStartLevel(t *testing.T) {
	for word, want := range map[string]Level{"plain": Plain, "": Best, "sse": Best, "avx2": min(AVX2, Best), "avx512": Best} {
		if got := startLevel(word); got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}

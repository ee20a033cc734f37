package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// twisted are words of a generator with a seed.
func twisted(l Level, n int) []uint32 {
	words := make([]uint32, TwisterSize+n)
	words[0] = 5489
	for i := uint32(1); i < TwisterSize; i++ {
		words[i] = 1812433253*(words[i-1]^words[i-1]>>30) + i
	}
	l.Twist(words)
	return words[TwisterSize:]
}

// TestTwist: the ten thousandth number of mt19937 is the one that the C++ standard
// demands, and all levels have the same ones.
func TestTwist(t *testing.T) {
	want := twisted(Plain, 10000)
	if got := Temper(want[9999]); got != 4123659995 {
		t.Errorf("number 10000 is %d, want 4123659995", got)
	}
	eachAssembly(t, func(t *testing.T, l Level) {
		for _, n := range []int{8, 16, 224, 232, 624, 10000} {
			if !slices.Equal(twisted(l, n), want[:n]) {
				t.Errorf("%d words differ", n)
			}
		}
	})
}

// TestRandomLoops: every level makes the same numbers, to the last bit, of random words
// and of those at the ends.
func TestRandomLoops(t *testing.T) {
	words := twisted(Plain, 1<<20)
	for i := range 64 { // the least and the greatest uniform number, for radius and angle
		words[i*7] = untempered(uint32(i%3) - 1)
	}
	eachAssembly(t, func(t *testing.T, l Level) {
		same := func(name string, got, want []float32) {
			t.Helper()
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%s: number %d of %d is %v, want %v", name, i, len(want), got[i], want[i])
				}
			}
		}
		for _, n := range []int{0, 1, 7, 8, 9, 31, 1000, len(words)} {
			got, want := make([]float32, n), make([]float32, n)
			l.Uniforms(got, words, 3.5, -1.25)
			uniformsPlain(want, words[:n], 3.5, -1.25)
			same("uniform", got, want)
		}
		for _, n := range []int{0, 16, 48, len(words)} {
			got, want := make([]float32, n), make([]float32, n)
			l.Normals(got, words, 0.25, 1.75)
			normalsPlain(want, words[:n], 0.25, 1.75)
			same("normal", got, want)
		}
		for _, n := range []int{0, 7, 8, 33, len(words) / 2} {
			for _, p := range []float64{0, 0x1p-53, 0x1p-31, 0.3, 0.5, Double(words), math.Nextafter(Double(words), 1), 1} {
				got, want := make([]float32, n), make([]float32, n)
				l.Bernoullis(got, words, p)
				for i := range want {
					if Double(words[2*i:]) < p {
						want[i] = 1
					}
				}
				same("Bernoulli", got, want)
			}
		}
	})
}

// untempered is the word that gives a number: each step of Temper is taken back.
func untempered(y uint32) uint32 {
	y ^= y >> 18
	y ^= y << 15 & 0xefc60000
	x := y
	for range 5 {
		x = y ^ x<<7&0x9d2c5680
	}
	y = x
	for range 3 {
		x = y ^ x>>11
	}
	return x
}

// TestFusedMulAdd compares with float64 where that is exact, and with big numbers'
// rounding by the machine's own instruction elsewhere.
func TestFusedMulAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1 << 20 {
		a, b, c := float32(r.NormFloat64()), float32(r.NormFloat64()), float32(math.Ldexp(r.NormFloat64(), r.IntN(60)-30))
		p := float64(a) * float64(b)
		s := p + float64(c)
		if back := s - p; (p-(s-back))+(float64(c)-back) != 0 {
			continue
		}
		if got := fusedMulAdd(a, b, c); got != float32(s) {
			t.Fatalf("%v*%v+%v is %v, want %v", a, b, c, got, float32(s))
		}
	}
	// The sum in float64 lies half way between two numbers, the true one beside it.
	if got, want := fusedMulAdd(1+0x1p-23, 1+0x1p-23, 0x1p30), float32(0x1p30); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := fusedMulAdd(0x1p-40, 0x1p-40, 1+0x1p-23), float32(1+0x1p-23); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// BenchmarkRandom is what a number costs.
func BenchmarkRandom(b *testing.B) {
	words, dst := twisted(Best, 1<<16), make([]float32, 1<<16)
	line := make([]uint32, TwisterSize+1<<16)
	copy(line, words)
	for _, l := range Levels() {
		for name, f := range map[string]func(){
			"twist": func() { l.Twist(line) }, "uniform": func() { l.Uniforms(dst, words, 1, 0) },
			"normal": func() { l.Normals(dst, words, 0, 1) },
		} {
			b.Run(l.String()+"/"+name, func(b *testing.B) {
				b.SetBytes(4 << 16)
				for b.Loop() {
					f()
				}
			})
		}
	}
}

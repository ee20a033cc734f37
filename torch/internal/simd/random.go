package simd

import "math"

// This file is random numbers: the recurrence of the Mersenne Twister (mt19937) and what
// distributions make of its words. The normal numbers are those of PyTorch's kernel for
// AVX2 to the last bit, which takes logarithm, sine and cosine from the polynomials of
// the Cephes library, a product and a sum rounded as one; machines without AVX2 compute
// the same ones, step by step.

// The recurrence of mt19937 on a line of words: word i+TwisterSize is made of those at
// i, i+1 and i+twisterShift.
const (
	TwisterSize   = 624
	twisterShift  = 397
	twisterMatrix = 0x9908b0df
)

// randoms is the part of kernels that makes random numbers; nil where plain Go does.
type randoms struct {
	twist    func(words *uint32, n int)
	uniforms func(dst *float32, words *uint32, n int, scale, base float32)
	normals  func(dst *float32, words *uint32, n int, mean, std float32)
	// bernoullis compares 53 bits with a whole number.
	bernoullis func(dst *float32, words *uint32, n int, below int64)
}

// Twist continues a line of words whose first TwisterSize there are, by a multiple of
// eight.
func (l Level) Twist(words []uint32) {
	n := len(words) - TwisterSize
	if f := table[l].twist; f != nil && n > 0 {
		f(&words[0], n)
		return
	}
	twistPlain(words)
}

// Uniforms makes numbers of [base, base+scale) of as many words.
func (l Level) Uniforms(dst []float32, words []uint32, scale, base float32) {
	words = words[:len(dst)]
	if f := table[l].uniforms; f != nil && len(dst) >= 8 {
		n := len(dst) &^ 7
		f(&dst[0], &words[0], n, scale, base)
		dst, words = dst[n:], words[n:]
	}
	uniformsPlain(dst, words, scale, base)
}

// Normals makes normal numbers of as many words, a multiple of NormalBlock.
func (l Level) Normals(dst []float32, words []uint32, mean, std float32) {
	words = words[:len(dst)]
	if f := table[l].normals; f != nil && len(dst) > 0 {
		f(&dst[0], &words[0], len(dst), mean, std)
		return
	}
	normalsPlain(dst, words, mean, std)
}

// doubleBits are the bits of two words that make a double of [0, 1).
const doubleBits = 53

// Bernoullis makes numbers, each of two words, that are one with probability p, else zero.
func (l Level) Bernoullis(dst []float32, words []uint32, p float64) {
	words = words[:2*len(dst)]
	// A whole number is less than p where it is less than the next one above.
	below := int64(math.Ceil(p * (1 << doubleBits)))
	if f := table[l].bernoullis; f != nil && len(dst) >= 8 {
		n := len(dst) &^ 7
		f(&dst[0], &words[0], n, below)
		dst, words = dst[n:], words[2*n:]
	}
	bernoullisPlain(dst, words, below)
}

func bernoullisPlain(dst []float32, words []uint32, below int64) {
	for i := range dst {
		dst[i] = 0
		if int64(Word64(words[2*i:])&(1<<doubleBits-1)) < below {
			dst[i] = 1
		}
	}
}

// Word64 is the number of 64 bits that two words give.
func Word64(words []uint32) uint64 { return uint64(Temper(words[0]))<<32 | uint64(Temper(words[1])) }

// Double is the number of [0, 1) that two words give.
func Double(words []uint32) float64 {
	return float64(Word64(words)&(1<<doubleBits-1)) / (1 << doubleBits)
}

// twistPlain continues the words at s, of which there are TwisterSize before those
// that are written.
func twistPlain(s []uint32) {
	for i := range s[TwisterSize:] {
		t := (s[i]&0x80000000 | s[i+1]&0x7fffffff) >> 1
		if s[i+1]&1 != 0 {
			t ^= twisterMatrix
		}
		s[i+TwisterSize] = s[i+twisterShift] ^ t
	}
}

// Temper is the number that a word of the state gives.
func Temper(y uint32) uint32 {
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// uniformBits are the bits of a word that make a number of [0, 1).
const uniformBits = 24

func uniform(word uint32) float32 {
	return float32(Temper(word)&(1<<uniformBits-1)) * (1.0 / (1 << uniformBits))
}

// Below is one where the uniform number of a word is less than p, else zero.
func Below(word uint32, p float32) float32 {
	if uniform(word) < p {
		return 1
	}
	return 0
}

func uniformsPlain(dst []float32, words []uint32, scale, base float32) {
	for i, w := range words {
		dst[i] = fusedMulAdd(uniform(w), scale, base)
	}
}

// NormalBlock is how many numbers Box and Muller's method makes of as many words at
// once: the first half of them are radii, the second angles.
const NormalBlock = 16

func normalsPlain(dst []float32, words []uint32, mean, std float32) {
	const half = NormalBlock / 2
	for b := 0; b < len(words); b += NormalBlock {
		for j := b; j < b+half; j++ {
			radius := float32(math.Sqrt(float64(-2 * cephesLog(1-uniform(words[j])))))
			sin, cos := cephesSinCos(float32(2*math.Pi) * uniform(words[j+half]))
			dst[j] = fusedMulAdd(radius*cos, std, mean)
			dst[j+half] = fusedMulAdd(radius*sin, std, mean)
		}
	}
}

// fusedMulAdd is a*b+c, rounded once: the product is exact in float64, and where the sum
// is not, it is made odd, so that rounding it again does no harm.
func fusedMulAdd(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	back := s - p
	lost := (p - (s - back)) + (float64(c) - back)
	if lost != 0 && !math.IsInf(s, 0) {
		if bits := math.Float64bits(s); bits&1 == 0 {
			if (lost > 0) == (s > 0) {
				bits++
			} else {
				bits--
			}
			s = math.Float64frombits(bits)
		}
	}
	return float32(s)
}

// logarithm are the coefficients of log(1+x), highest power first.
var logarithm = [...]float32{
	7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
	-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
}

// The logarithm of two in two parts, and the square root of a half.
const (
	logTwoHigh, logTwoLow = 0.693359375, -2.12194440e-4
	rootHalf              = 0.707106781186547524
)

// cephesLog is the logarithm of a number of (0, 1].
func cephesLog(x float32) float32 {
	bits := math.Float32bits(x)
	e := float32(int32(bits>>23) - 126)
	m := math.Float32frombits(bits&^0x7f800000 | 0x3f000000)
	add := float32(0)
	if m < rootHalf {
		add = m
		e--
	}
	m = float32(m-1) + add
	z := m * m
	y := logarithm[0]
	for _, c := range logarithm[1:] {
		y = fusedMulAdd(y, m, c)
	}
	y = fusedMulAdd(y*m, z, e*logTwoLow)
	y -= float32(z * 0.5)
	return float32(m+y) + float32(e*logTwoHigh)
}

// A quarter of pi in three parts with few bits, negative, and its inverse.
var quarterPi = [...]float32{-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8}

const overQuarterPi = 1.27323954473516

// Coefficients of sine and cosine between minus and plus a quarter of pi.
var (
	sine   = [...]float32{-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}
	cosine = [...]float32{2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2}
)

// cephesSinCos are sine and cosine of an angle of [0, 2 pi).
func cephesSinCos(x float32) (sin, cos float32) {
	octant := (int32(x*overQuarterPi) + 1) &^ 1
	y := float32(octant)
	for _, c := range quarterPi {
		x = fusedMulAdd(y, c, x)
	}
	z := x * x
	c := cosine[0]
	for _, k := range cosine[1:] {
		c = fusedMulAdd(c, z, k)
	}
	c = fusedMulAdd(c*z, z, -z*0.5) + 1
	s := sine[0]
	for _, k := range sine[1:] {
		s = fusedMulAdd(s, z, k)
	}
	s = fusedMulAdd(s*z, x, x)
	if octant&2 != 0 {
		s, c = c, s
	}
	if octant&4 != 0 {
		s = -s
	}
	if (octant-2)&4 == 0 {
		c = -c
	}
	return s, c
}

package simd

import "unsafe"

// This file is loops over slices of float32. Results and operands have the
// same length; a result may be an operand, but must not overlap one otherwise.

// Unary names a function of one number.
type Unary int

// The functions of one number.
const (
	Neg Unary = iota
	Abs
	Relu // NaN stays
	Sqrt
	Exp
	Sigmoid
	Silu
	Tanh
	Erf
	Gelu
	GeluTanh
	numUnary
)

// Binary names a function of two numbers.
type Binary int

// The functions of two numbers.
const (
	Add Binary = iota
	Sub
	Mul
	Div
	numBinary
)

type (
	unaryFunc  func(dst, src *float32, n int)
	binaryFunc func(dst, a, b *float32, n int)
	scalarFunc func(dst, src *float32, n int, s float32)
)

// vectors is the part of kernels that works on slices.
type vectors struct {
	unary      [numUnary]unaryFunc
	binary     [numBinary]binaryFunc
	withScalar [numBinary]scalarFunc // none for Sub: it adds -s
	axpy       scalarFunc
	normalize  func(dst, src *float32, n int, s, t float32)
	scaleShift func(dst, scale, shift *float32, n int)
	// Results around the caches are whole lines of them; the plain level has none.
	unaryAround  [numUnary]unaryFunc
	binaryAround [numBinary]binaryFunc
	scalarAround [numBinary]scalarFunc
	// Reductions fold whole vectors only.
	sum       func(src *float32, n int) float64
	deviation func(src *float32, n int, mean float64) float64
	dot       func(a, b *float32, n int) float32
	largest   func(src *float32, n int) float32
	expSum    func(dst, src *float32, n int, shift float32) float32
	// So do these.
	addWide          func(dst *float64, src *float32, n int)
	choose           func(dst *float32, cond *uint8, a, b *float32, n int)
	stream           func(dst, src *float32, n int)
	pick, pickSecond func(best *float32, codes *int32, src *float32, n, code int)
	second           func(dst, src *float32, n int)
}

// Unary sets dst to f of src.
func (l Level) Unary(f Unary, dst, src []float32) {
	if n := len(src); n > 0 {
		table[l].unary[f](&dst[:n][0], &src[0], n)
	}
}

// Binary sets dst to f of a and b.
func (l Level) Binary(f Binary, dst, a, b []float32) {
	if n := len(a); n > 0 {
		table[l].binary[f](&dst[:n][0], &a[0], &b[:n][0], n)
	}
}

// WithScalar sets dst to f of src and s.
func (l Level) WithScalar(f Binary, dst, src []float32, s float32) {
	if f == Sub {
		f, s = Add, -s
	}
	if n := len(src); n > 0 {
		table[l].withScalar[f](&dst[:n][0], &src[0], n, s)
	}
}

// Axpy adds s times src to dst.
func (l Level) Axpy(dst, src []float32, s float32) {
	if n := len(src); n > 0 {
		table[l].axpy(&dst[:n][0], &src[0], n, s)
	}
}

// Normalize sets dst to (src-mean)*scale.
func (l Level) Normalize(dst, src []float32, mean, scale float32) {
	if n := len(src); n > 0 {
		table[l].normalize(&dst[:n][0], &src[0], n, mean, scale)
	}
}

// ScaleShift sets dst to dst*scale+shift.
func (l Level) ScaleShift(dst, scale, shift []float32) {
	if n := len(dst); n > 0 {
		table[l].scaleShift(&dst[0], &scale[:n][0], &shift[:n][0], n)
	}
}

// split cuts n into whole vectors, which assembly folds, and the rest.
func (l Level) split(n int) int {
	if l == Plain {
		return 0
	}
	return n - n%table[l].lanes
}

// Sum adds in float64.
func (l Level) Sum(src []float32) float64 {
	n := l.split(len(src))
	s := 0.0
	if n > 0 {
		s = table[l].sum(&src[0], n)
	}
	for _, x := range src[n:] {
		s += float64(x)
	}
	return s
}

// Deviation adds the squares of the distances from mean in float64.
func (l Level) Deviation(src []float32, mean float64) float64 {
	n := l.split(len(src))
	s := 0.0
	if n > 0 {
		s = table[l].deviation(&src[0], n, mean)
	}
	for _, x := range src[n:] {
		d := float64(x) - mean
		s += float64(d * d)
	}
	return s
}

// Dot is the sum of products.
func (l Level) Dot(a, b []float32) float32 {
	n := l.split(len(a))
	b = b[:len(a)]
	s := float32(0)
	if n > 0 {
		s = table[l].dot(&a[0], &b[0], n)
	}
	if n < len(a) {
		s += dotPlain(a[n:], b[n:])
	}
	return s
}

// Largest is the largest number, minus infinity of none. Where there are NaNs,
// it is NaN or the largest of some of the others.
func (l Level) Largest(src []float32) float32 {
	n := l.split(len(src))
	high := float32(negInf)
	if n > 0 {
		high = table[l].largest(&src[0], n)
	}
	for _, x := range src[n:] {
		if x > high || x != x {
			high = x
		}
	}
	return high
}

// expBlock is how many exponentials are added in float32 before the sum goes on
// in float64.
const expBlock = 4096

// ExpSum sets dst to exp(src-shift) and returns the sum. shift is no smaller than src, or not
// by more than 80; an exponential below the normal numbers may count as zero.
func (l Level) ExpSum(dst, src []float32, shift float32) float64 {
	s := 0.0
	for len(src) > expBlock {
		s += l.expSum(dst[:expBlock], src[:expBlock], shift)
		dst, src = dst[expBlock:], src[expBlock:]
	}
	return s + l.expSum(dst[:len(src)], src, shift)
}

func (l Level) expSum(dst, src []float32, shift float32) float64 {
	n := l.split(len(src))
	s := 0.0
	if n > 0 {
		s = float64(table[l].expSum(&dst[0], &src[0], n, shift))
	}
	for i, x := range src[n:] {
		e := float32(exp(float64(x - shift)))
		dst[n+i] = e
		s += float64(e)
	}
	return s
}

func floats(p *float32, n int) []float32 { return unsafe.Slice(p, n) }

// AddWide adds src to sums in float64.
func (l Level) AddWide(dst []float64, src []float32) {
	n := l.split(len(src))
	dst = dst[:len(src)]
	if n > 0 {
		table[l].addWide(&dst[0], &src[0], n)
	}
	for i, x := range src[n:] {
		dst[n+i] += float64(x)
	}
}

// Choose sets dst to a where cond, else to b.
func (l Level) Choose(dst []float32, cond []bool, a, b []float32) {
	n := l.split(len(dst))
	cond, a, b = cond[:len(dst)], a[:len(dst)], b[:len(dst)]
	if n > 0 {
		table[l].choose(&dst[0], (*uint8)(unsafe.Pointer(&cond[0])), &a[0], &b[0], n)
	}
	for i := n; i < len(dst); i++ {
		dst[i] = b[i]
		if cond[i] {
			dst[i] = a[i]
		}
	}
}

// Pick takes numbers of src, step apart, where they are above best or NaN, and code
// with them.
func (l Level) Pick(best []float32, codes []int32, src []float32, step, code int) {
	codes, n := codes[:len(best)], 0
	if f := l.picker(step); f != nil {
		n = l.vectorsOf(len(best), len(src)/step, func(at, n int) { f(&best[at], &codes[at], &src[at*step], n, code) })
	}
	for i := n; i < len(best); i++ {
		if x := src[i*step]; x > best[i] || x != x {
			best[i], codes[i] = x, int32(code)
		}
	}
}

// Second sets dst to the first, third and so on of src.
func (l Level) Second(dst, src []float32) {
	n := 0
	if f := table[l].second; f != nil {
		n = l.vectorsOf(len(dst), len(src)/2, func(at, n int) { f(&dst[at], &src[2*at], n) })
	}
	for i := n; i < len(dst); i++ {
		dst[i] = src[2*i]
	}
}

// vectorsOf calls f for whole vectors, the last of which may see again what the one
// before has seen, and returns how many of n numbers that are; more than readable are
// not looked at: two vectors are read for one where every second number counts.
func (l Level) vectorsOf(n, readable int, f func(at, n int)) int {
	n = min(n, readable)
	whole := l.split(n)
	if whole == 0 {
		return 0
	}
	f(0, whole)
	if whole < n {
		f(n-table[l].lanes, table[l].lanes)
	}
	return n
}

// picker is the loop of Pick for a step, nil where there is none.
func (l Level) picker(step int) func(best *float32, codes *int32, src *float32, n, code int) {
	switch step {
	case 1:
		return table[l].pick
	case 2:
		return table[l].pickSecond
	}
	return nil
}

package simd

// This file is the formats of 16 bits: conversions from and to float32, and functions that
// are computed in float32 between the two.

// Half names a format of 16 bits.
type Half int

// The formats of 16 bits.
const (
	BFloat Half = iota
	Float16
	numHalf
)

type (
	halfUnary  func(dst, src *uint16, n int)
	halfBinary func(dst, a, b *uint16, n int)
)

// halfTable is loops over whole vectors by format; the plain level has none.
type halfTable [numHalf]struct {
	widen  func(dst *float32, src *uint16, n int)
	narrow func(dst *uint16, src *float32, n int)
	unary  [numUnary]halfUnary
	binary [numBinary]halfBinary
}

// Halves reports whether there are loops for the formats of 16 bits.
func (l Level) Halves() bool { return table[l].half[BFloat].widen != nil }

// Widen converts as many numbers of src to dst as whole vectors hold, and returns how
// many: the rest is the caller's.
func (l Level) Widen(h Half, dst []float32, src []uint16) int {
	n := l.split(len(src))
	if n > 0 {
		table[l].half[h].widen(&dst[:n][0], &src[0], n)
	}
	return n
}

// Narrow is the way back, to the nearest number, ties to even; of NaN the sign stays in
// Float16 and nothing in BFloat. It goes forward: dst may begin where src does.
func (l Level) Narrow(h Half, dst []uint16, src []float32) int {
	n := l.split(len(src))
	if n > 0 {
		table[l].half[h].narrow(&dst[:n][0], &src[0], n)
	}
	return n
}

// mostLanes is the numbers of the widest vector.
const mostLanes = 16

// HalfUnary sets dst to f of src, where Halves says so.
func (l Level) HalfUnary(f Unary, h Half, dst, src []uint16) {
	n, g := l.split(len(src)), table[l].half[h].unary[f]
	if n > 0 {
		g(&dst[:n][0], &src[0], n)
	}
	if n < len(src) {
		var x [mostLanes]uint16
		copy(x[:], src[n:])
		g(&x[0], &x[0], l.Lanes())
		copy(dst[n:len(src)], x[:])
	}
}

// HalfBinary sets dst to f of a and b, where Halves says so.
func (l Level) HalfBinary(f Binary, h Half, dst, a, b []uint16) {
	n, g := l.split(len(a)), table[l].half[h].binary[f]
	b = b[:len(a)]
	if n > 0 {
		g(&dst[:n][0], &a[0], &b[0], n)
	}
	if n < len(a) {
		var x, y [mostLanes]uint16
		copy(x[:], a[n:])
		copy(y[:], b[n:])
		g(&x[0], &x[0], &y[0], l.Lanes())
		copy(dst[n:len(a)], x[:])
	}
}

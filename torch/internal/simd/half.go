package simd

// This file converts between float32 and the formats of 16 bits.

// Half names a format of 16 bits.
type Half int

// The formats of 16 bits.
const (
	BFloat Half = iota
	Float16
	numHalf
)

// conversions are those of whole vectors; the plain level has none.
type conversions struct {
	widen  [numHalf]func(dst *float32, src *uint16, n int)
	narrow [numHalf]func(dst *uint16, src *float32, n int)
}

// Widen converts as many numbers of src to dst as whole vectors hold, and returns how
// many: the rest is the caller's.
func (l Level) Widen(f Half, dst []float32, src []uint16) int {
	n := l.split(len(src))
	if n > 0 {
		table[l].widen[f](&dst[:n][0], &src[0], n)
	}
	return n
}

// Narrow is the way back, to the nearest number, ties to even; of NaN the sign stays in
// Float16 and nothing in BFloat. It goes forward: dst may begin where src does.
func (l Level) Narrow(f Half, dst []uint16, src []float32) int {
	n := l.split(len(src))
	if n > 0 {
		table[l].narrow[f](&dst[:n][0], &src[0], n)
	}
	return n
}

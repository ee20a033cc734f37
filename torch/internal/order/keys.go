package order

import "math"

// This file writes numbers as unsigned keys: what is greater has the greater key, equal numbers
// have the same, so that sorting and selecting compare whole numbers alone.

// Keys says how the numbers of a row became keys.
type Keys struct {
	Bits   int  // of a key that count, the lowest ones: 32 or 64
	Floats bool // the greatest key of all is NaN
}

// Last is the greatest key.
func (k Keys) Last() uint64 { return math.MaxUint64 >> (64 - k.Bits) }

// IsNaN reports whether a key is that of NaN.
func (k Keys) IsNaN(key uint64) bool { return k.Floats && key == k.Last() }

// Reverse makes what was greater the less.
func (k Keys) Reverse(keys []uint64) {
	last := k.Last()
	for i := range keys {
		keys[i] ^= last
	}
}

// Floats32 writes the keys of row: NaN is above all, whatever its bits, and -0 is 0.
func Floats32(keys []uint64, row []float32) {
	keys = keys[:len(row)]
	for i, x := range row {
		b := math.Float32bits(x + 0)
		b ^= uint32(int32(b)>>31) | 1<<31 // negative numbers grow downwards
		if x != x {
			b = math.MaxUint32
		}
		keys[i] = uint64(b)
	}
}

// Floats64 is Floats32 of float64.
func Floats64(keys []uint64, row []float64) {
	keys = keys[:len(row)]
	for i, x := range row {
		b := math.Float64bits(x + 0)
		b ^= uint64(int64(b)>>63) | 1<<63
		if x != x {
			b = math.MaxUint64
		}
		keys[i] = b
	}
}

// Ints32 writes the keys of row.
func Ints32(keys []uint64, row []int32) {
	keys = keys[:len(row)]
	for i, x := range row {
		keys[i] = uint64(uint32(x) ^ 1<<31)
	}
}

// Ints64 writes the keys of row.
func Ints64(keys []uint64, row []int64) {
	keys = keys[:len(row)]
	for i, x := range row {
		keys[i] = uint64(x) ^ 1<<63
	}
}

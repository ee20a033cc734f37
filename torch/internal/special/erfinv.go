package special

import (
	"math"
	"sync"
)

// This file is the inverse error function of float32. As x comes near 1 it grows like
// the root of a logarithm of 1-x, so it is x times a piecewise polynomial of 1-x, the
// pieces of which halve their width with each power of two. It is so near to the exact
// value in double precision that rounding it to float32 gives the nearest number.

const (
	erfinvBinades = 24 // the powers of two that 1-|x| reaches but for 0
	erfinvSplit   = 5  // each is cut into 2^5 pieces
	erfinvPieces  = erfinvBinades<<erfinvSplit + 1
	erfinvDegree  = 7

	mantissaBits = 52
	erfinvFirst  = (1023 - erfinvBinades) << erfinvSplit // the number of the piece from 2^-24 on, by its bits
)

// erfinvPiece is a polynomial around the middle of a piece, lowest power first.
type erfinvPiece [erfinvDegree + 1]float64

// erfinvTable are the polynomials for erfinv(x)/x of all pieces; the last one, of which
// 1-|x| = 1 is a part, continues the one before.
var erfinvTable = sync.OnceValue(func() *[erfinvPieces]erfinvPiece {
	var table [erfinvPieces]erfinvPiece
	for i := range table {
		table[i] = newErfinvPiece(i)
	}
	return &table
})

// erfinvMiddle is the middle of the piece with a number.
func erfinvMiddle(i int) float64 {
	low := uint64(i+erfinvFirst) << (mantissaBits - erfinvSplit)
	return math.Float64frombits(low | 1<<(mantissaBits-erfinvSplit-1))
}

// newErfinvPiece interpolates between the Chebyshev points of a piece, by divided
// differences.
func newErfinvPiece(i int) (p erfinvPiece) {
	middle := erfinvMiddle(i)
	half := math.Ldexp(1, math.Ilogb(middle)-erfinvSplit-1)
	var at, c [erfinvDegree + 1]float64
	for k := range at {
		at[k] = half * math.Cos(math.Pi*(float64(k)+0.5)/float64(len(at)))
		x := 1 - (middle + at[k])
		c[k] = math.Erfinv(x) / x
	}
	for step := 1; step < len(c); step++ {
		for k := len(c) - 1; k >= step; k-- {
			c[k] = (c[k] - c[k-1]) / (at[k] - at[k-step])
		}
	}
	for k := len(c) - 1; k >= 0; k-- { // p = p*(t-at[k]) + c[k]
		for m := len(p) - 1; m > 0; m-- {
			p[m] = p[m-1] - at[k]*p[m]
		}
		p[0] = c[k] - at[k]*p[0]
	}
	return p
}

// Erfinvs stores the inverse error function of a in o.
func Erfinvs(o, a []float32) {
	table := erfinvTable()
	for i, v := range a {
		x := float64(v)
		y := 1 - math.Abs(x)
		if !(y > 0) { // the ends, beyond them, and NaN
			o[i] = float32(math.Erfinv(x))
			continue
		}
		n := int(math.Float64bits(y)>>(mantissaBits-erfinvSplit)) - erfinvFirst
		p := &table[n]
		t := y - erfinvMiddle(n)
		t2 := t * t
		low := (p[0] + t*p[1]) + t2*(p[2]+t*p[3])
		high := (p[4] + t*p[5]) + t2*(p[6]+t*p[7])
		o[i] = float32(x * (low + t2*t2*high))
	}
}

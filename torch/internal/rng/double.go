package rng

import "math"

// This file is logarithm, sine and cosine of the random numbers in double precision. They
// are those of package math by the same polynomials, without its branches, which random
// arguments take one way as often as the other.

// fractionBits are the bits of a double after its point.
const fractionBits = 52

// logUnit is the logarithm of x of (0, 1], not below the normal numbers: x is 2^k times a
// number from the root of a half to that of two, 1+f, and the rest a polynomial of
// f/(2+f).
func logUnit(x float64) float64 {
	const (
		rootHalf        = 0x3fe6a09e667f3bcd // its bits
		ln2High, ln2Low = 6.93147180369123816490e-01, 1.90821492927058770002e-10
		l1, l2, l3      = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01
		l4, l5, l6, l7  = 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01
	)
	bits := math.Float64bits(x)
	power := int64(bits-rootHalf) >> fractionBits
	k := float64(power)
	f := math.Float64frombits(bits-uint64(power)<<fractionBits) - 1
	s := f / (2 + f)
	s2 := s * s
	s4 := s2 * s2
	r := s2*(l1+s4*(l3+s4*(l5+s4*l7))) + s4*(l2+s4*(l4+s4*l6))
	half := 0.5 * f * f
	return k*ln2High - ((half - (s*(half+r) + k*ln2Low)) - f)
}

// sinCosTurn are sine and cosine of an angle from 0 to a full turn: those of its distance
// from the nearest multiple of a right angle, in either order and with either sign.
func sinCosTurn(x float64) (sin, cos float64) {
	const (
		quarter1, quarter2, quarter3 = 7.85398125648498535156e-1, 3.77489470793079817668e-8, 2.69515142907905952645e-15
		s0, s1, s2                   = 1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6
		s3, s4, s5                   = -1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1
		c0, c1, c2                   = -1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7
		c3, c4, c5                   = 2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2
	)
	octant := (uint64(x*(4/math.Pi)) + 1) &^ 1
	y := float64(octant)
	z := ((x - y*quarter1) - y*quarter2) - y*quarter3
	zz := z * z
	both := [2]float64{
		z + z*zz*((((((s0*zz)+s1)*zz+s2)*zz+s3)*zz+s4)*zz+s5),
		1 - 0.5*zz + zz*zz*((((((c0*zz)+c1)*zz+c2)*zz+c3)*zz+c4)*zz+c5),
	}
	second := octant >> 1 & 1
	const signBit = 63
	sinSign := octant >> 2 & 1 << signBit
	cosSign := (octant>>2 ^ octant>>1) & 1 << signBit
	sin = math.Float64frombits(math.Float64bits(both[second]) ^ sinSign)
	cos = math.Float64frombits(math.Float64bits(both[1-second]) ^ cosSign)
	return sin, cos
}

package special

import (
	"math"
	"math/cmplx"
)

// AiryAi is Airy's function: its series near zero, else K of order 1/3, of a
// real argument on the right and of an imaginary one on the left.
func AiryAi(x float64) float64 {
	switch {
	case math.IsInf(x, 0) || x != x:
		return math.NaN()
	case x > 103.892:
		return 0
	case math.Abs(x) < 1:
		return airySeries(x)
	}
	a := math.Abs(x)
	z := 2.0 / 3 * a * math.Sqrt(a)
	if x > 0 {
		return math.Sqrt(x/3) / math.Pi * math.Exp(-z) * BesselKe(1.0/3, z)
	}
	if z > airyWaves {
		return airyWave(a, z)
	}
	turn := cmplx.Exp(complex(0, math.Pi/3))
	w := complex(math.Sqrt(a/3)/math.Pi, 0) * cmplx.Exp(complex(0, math.Pi/6)) * besselKImaginary(1.0/3, z)
	return 2 * real(turn*w)
}

// airyWaves is the phase from which on the expansion in waves has all digits; the
// integral loses them, the faster it turns.
const airyWaves = 300

// airyWave is Ai(-a) of a large a, with z two thirds of a^1.5.
func airyWave(a, z float64) float64 {
	const u1, u2, u3, u4, u5 = 5.0 / 72, 385.0 / 10368, 85085.0 / 2239488, 37182145.0 / 644972544, 5391411025.0 / 46438023168
	r := 1 / (z * z)
	sin, cos := math.Sincos(z - math.Pi/4)
	return (cos*(1-r*(u2-r*u4)) + sin/z*(u1-r*(u3-r*u5))) / math.Sqrt(math.Pi*math.Sqrt(a))
}

// airySeries sums the two power series of Ai.
func airySeries(x float64) float64 {
	const ai0, dai0 = 0.355028053887817239, 0.258819403792806798
	x3 := x * x * x
	f, g, sf, sg := 1.0, x, 1.0, x
	for k := 1.0; k < 30; k++ {
		f *= x3 / ((3*k - 1) * 3 * k)
		g *= x3 / (3 * k * (3*k + 1))
		sf, sg = sf+f, sg+g
	}
	return ai0*sf - dai0*sg
}

// besselKImaginary is K_v(iy) for y > 0: half the integral of
// exp(-iy cosh t - v t) along a path that bends into the half plane where it
// decays on both sides.
func besselKImaginary(v, y float64) complex128 {
	const h, bend = 1.0 / 32, math.Pi / 4
	var sum complex128
	for i := -400; i <= 400; i++ {
		s := float64(i) * h
		th := math.Tanh(s)
		t := complex(s, -bend*th)
		e := complex(0, -y)*cmplx.Cosh(t) - complex(v, 0)*t
		if real(e) < -60 {
			continue
		}
		sum += cmplx.Exp(e) * complex(1, -bend*(1-th*th))
	}
	return sum * complex(h/2, 0)
}

package special

import "math"

// This file holds Bessel's functions J and Y of order 0 and 1 as PyTorch gives
// them: its rational terms, which are those of the Cephes library, leave out the
// leading 1 of some denominators, which shows from the eighth digit on.

// ratio is a rational function; the highest coefficients come first, and the
// denominator lacks the leading 1 that belongs to it.
type ratio struct{ over, under []float64 }

// lack is by how much PyTorch's quotient at z exceeds the right one.
func (r ratio) lack(z float64) float64 {
	over := horner(0, r.over, z)
	return over/horner(0, r.under, z) - over/horner(1, r.under, z)
}

func horner(lead float64, c []float64, z float64) float64 {
	for _, v := range c {
		lead = lead*z + v
	}
	return lead
}

// besselOrder is one order: its functions, the ratios of J and Y up to besselNear,
// the ratio of both beyond, and the squares of the first two zeros of J.
type besselOrder struct {
	j, y              func(float64) float64
	nearJ, nearY, far ratio
	square1, square2  float64
	phase             float64 // of the waves beyond
	odd               bool
}

// besselNear is where the waves begin.
const besselNear = 5

var besselOrders = [2]besselOrder{
	{
		j: math.J0, y: math.Y0, phase: math.Pi / 4,
		square1: 5.78318596294678452118, square2: 30.4712623436620863991,
		nearJ: ratio{
			[]float64{-4.79443220978201773821e9, 1.95617491946556577543e12, -2.49248344360967716204e14, 9.70862251047306323952e15},
			[]float64{
				4.99563147152651017219e2, 1.73785401676374683123e5, 4.84409658339962045305e7, 1.11855537045356834862e10,
				2.11277520115489217587e12, 3.10518229857422583814e14, 3.18121955943204943306e16, 1.71086294081043136091e18,
			},
		},
		nearY: ratio{
			[]float64{
				1.55924367855235737965e4, -1.46639295903971606143e7, 5.43526477051876500413e9, -9.82136065717911466409e11,
				8.75906394395366999549e13, -3.46628303384729719441e15, 4.42733268572569800351e16, -1.84950800436986690637e16,
			},
			[]float64{
				1.04128353664259848412e3, 6.26107330137134956842e5, 2.68919633393814121987e8, 8.64002487103935000337e10,
				2.02979612750105546709e13, 3.17157752842975028269e15, 2.50596256172653059228e17,
			},
		},
		far: ratio{
			[]float64{
				-1.13663838898469149931e-2, -1.28252718670509318512, -1.95539544257735972385e1, -9.32060152123768231369e1,
				-1.77681167980488050595e2, -1.47077505154951170175e2, -5.14105326766599330220e1, -6.05014350600728481186,
			},
			[]float64{
				6.43178256118178023184e1, 8.56430025976980587198e2, 3.88240183605401609683e3, 7.24046774195652478189e3,
				5.93072701187316984827e3, 2.06209331660327847417e3, 2.42005740240291393179e2,
			},
		},
	},
	{
		j: math.J1, y: math.Y1, phase: 3 * math.Pi / 4, odd: true,
		square1: 14.6819706421238932572, square2: 49.2184563216946036703,
		nearJ: ratio{
			[]float64{-8.99971225705559398224e8, 4.52228297998194034323e11, -7.27494245221818276015e13, 3.68295732863852883286e15},
			[]float64{
				6.20836478118054335476e2, 2.56987256757748830383e5, 8.35146791431949253037e7, 2.21511595479792499675e10,
				4.74914122079991414898e12, 7.84369607876235854894e14, 8.95222336184627338078e16, 5.32278620332680085395e18,
			},
		},
		nearY: ratio{
			[]float64{
				1.26320474790178026440e9, -6.47355876379160291031e11, 1.14509511541823727583e14, -8.12770255501325109621e15,
				2.02439475713594898196e17, -7.78877196265950026825e17,
			},
			[]float64{
				5.94301592346128195359e2, 2.35564092943068577943e5, 7.34811944459721705660e7, 1.87601316108706159478e10,
				3.88231277496238566008e12, 6.20557727146953693363e14, 6.87141087355300489866e16, 3.97270608116560655612e18,
			},
		},
		far: ratio{
			[]float64{
				5.10862594750176621635e-2, 4.98213872951233449420, 7.58238284132545283818e1, 3.66779609360150777800e2,
				7.10856304998926107277e2, 5.97489612400613639965e2, 2.11688757100572135698e2, 2.52070205858023719784e1,
			},
			[]float64{
				7.42373277035675149943e1, 1.05644886038262816351e3, 4.98641058337653607651e3, 9.56231892404756170795e3,
				7.99704160447350683650e3, 2.82619278517639096600e3, 3.36093607810698293419e2,
			},
		},
	},
}

// BesselJ is J of order n; PyTorch has no limits at the infinities.
func BesselJ(n int) func(float64) float64 {
	o := &besselOrders[n]
	return func(x float64) float64 {
		switch {
		case math.IsInf(x, 0):
			return math.NaN()
		case x < 0 && o.odd:
			return -o.valueJ(-x)
		}
		return o.valueJ(math.Abs(x))
	}
}

// valueJ is J at x >= 0.
func (o *besselOrder) valueJ(x float64) float64 {
	if x > besselNear {
		return o.j(x) - o.wave(x)*math.Sin(x-o.phase)
	}
	z := x * x
	d := (z - o.square1) * (z - o.square2) * o.nearJ.lack(z)
	if o.odd {
		d *= x
	} else if x < 1e-5 { // PyTorch's parabola
		d = 0
	}
	return o.j(x) + d
}

// BesselY is Y of order n: minus infinity at zero, undefined below.
func BesselY(n int) func(float64) float64 {
	o := &besselOrders[n]
	return func(x float64) float64 {
		switch {
		case math.IsInf(x, 0):
			return math.NaN()
		case x == 0:
			return math.Inf(-1)
		case !(x > 0):
			return math.NaN()
		case x > besselNear:
			return o.y(x) + o.wave(x)*math.Cos(x-o.phase)
		}
		d := o.nearY.lack(x * x)
		if o.odd {
			d *= x
		}
		return o.y(x) + d + 2/math.Pi*math.Log(x)*(o.valueJ(x)-o.j(x))
	}
}

// wave is how much PyTorch adds beyond besselNear, less its sine or cosine.
func (o *besselOrder) wave(x float64) float64 {
	return besselNear / x * o.far.lack(besselNear*besselNear/(x*x)) * math.Sqrt(2/math.Pi) / math.Sqrt(x)
}

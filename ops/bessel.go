package ops

// This file holds the Bessel functions and their kin.

func besselRows() []*Op {
	row := func(id ID, name string, back func(b B, g, x, y Value) Value) *Op {
		var bk backFn
		if back != nil {
			bk = unaryBack(back)
		}
		r := unaryRow(id, "special."+name, floatType, bk, nil)
		r.Tags |= TagNotMethod
		return r
	}
	// over is f/x with its limit at zero.
	over := func(b B, f, x Value, limit float64) Value {
		return b.where(b.eq(x, 0.0), limit, b.div(f, x))
	}
	return []*Op{
		row(BesselJ0, "bessel_j0", func(b B, g, x, _ Value) Value { return b.neg(b.mul(g, b.Emit(BesselJ1, x))) }),
		row(BesselJ1, "bessel_j1", func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(b.Emit(BesselJ0, x), over(b, y, x, 0.5)))
		}),
		row(BesselY0, "bessel_y0", func(b B, g, x, _ Value) Value { return b.neg(b.mul(g, b.Emit(BesselY1, x))) }),
		row(BesselY1, "bessel_y1", func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(b.Emit(BesselY0, x), b.div(y, x)))
		}),
		row(ModifiedBesselI0, "modified_bessel_i0", func(b B, g, x, _ Value) Value { return b.mul(g, b.Emit(ModifiedBesselI1, x)) }),
		row(ModifiedBesselI1, "modified_bessel_i1", func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(b.Emit(ModifiedBesselI0, x), over(b, y, x, 0.5)))
		}),
		row(ModifiedBesselK0, "modified_bessel_k0", func(b B, g, x, _ Value) Value { return b.neg(b.mul(g, b.Emit(ModifiedBesselK1, x))) }),
		row(ModifiedBesselK1, "modified_bessel_k1", func(b B, g, x, y Value) Value {
			return b.neg(b.mul(g, b.add(b.Emit(ModifiedBesselK0, x), b.div(y, x))))
		}),
		row(ScaledModifiedBesselK0, "scaled_modified_bessel_k0", nil),
		row(ScaledModifiedBesselK1, "scaled_modified_bessel_k1", nil),
		row(SphericalBesselJ0, "spherical_bessel_j0", nil),
		row(AiryAi, "airy_ai", nil),
	}
}

package kernels

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/special"
)

// This file holds the kernels of Bessel's and Airy's functions and of the orthogonal
// polynomials.

func specialKernels() map[ops.ID]Kernel {
	table := map[ops.ID]Kernel{}
	for id, f := range map[ops.ID]func(float64) float64{
		ops.BesselJ0: special.BesselJ(0), ops.BesselJ1: special.BesselJ(1), ops.BesselY0: special.BesselY(0),
		ops.BesselY1:               special.BesselY(1),
		ops.ModifiedBesselI0:       special.BesselI0,
		ops.ModifiedBesselI1:       special.BesselI1,
		ops.ModifiedBesselK0:       func(x float64) float64 { return special.Unscaled(x, special.BesselKe(0, x)) },
		ops.ModifiedBesselK1:       func(x float64) float64 { return special.Unscaled(x, special.BesselKe(1, x)) },
		ops.ScaledModifiedBesselK0: func(x float64) float64 { return special.BesselKe(0, x) },
		ops.ScaledModifiedBesselK1: func(x float64) float64 { return special.BesselKe(1, x) },
		ops.SphericalBesselJ0:      special.SphericalJ0, ops.AiryAi: special.AiryAi,
	} {
		table[id] = (&pwKernel{loops: floats(f)}).run
	}
	polynomial := func(id ops.ID, f64 func(x float64, n int) float64, f32 func(x float32, n int) float32) {
		var s loopSet
		s[ops.Float64] = each2(func(x, n float64) float64 { return f64(x, special.Degree(n)) })
		s[ops.Float32] = each2(func(x, n float32) float32 { return f32(x, special.Degree(float64(n))) })
		table[id] = (&pwKernel{loops: &s}).run
	}
	polynomial(ops.ChebyshevT, special.Chebyshev[float64](special.ChebyshevT), special.Chebyshev[float32](special.ChebyshevT))
	polynomial(ops.ChebyshevU, special.Chebyshev[float64](special.ChebyshevU), special.Chebyshev[float32](special.ChebyshevU))
	polynomial(ops.ChebyshevV, special.Chebyshev[float64](special.ChebyshevV), special.Chebyshev[float32](special.ChebyshevV))
	polynomial(ops.ChebyshevW, special.Chebyshev[float64](special.ChebyshevW), special.Chebyshev[float32](special.ChebyshevW))
	polynomial(
		ops.ShiftedChebyshevT, special.Shifted(special.Chebyshev[float64](special.ChebyshevT)),
		special.Shifted(special.Chebyshev[float32](special.ChebyshevT)),
	)
	polynomial(
		ops.ShiftedChebyshevU, special.Shifted(special.Chebyshev[float64](special.ChebyshevU)),
		special.Shifted(special.Chebyshev[float32](special.ChebyshevU)),
	)
	polynomial(
		ops.ShiftedChebyshevV, special.Shifted(special.Chebyshev[float64](special.ChebyshevV)),
		special.Shifted(special.Chebyshev[float32](special.ChebyshevV)),
	)
	polynomial(
		ops.ShiftedChebyshevW, special.Shifted(special.Chebyshev[float64](special.ChebyshevW)),
		special.Shifted(special.Chebyshev[float32](special.ChebyshevW)),
	)
	polynomial(ops.HermiteH, special.HermiteH[float64], special.HermiteH[float32])
	polynomial(ops.HermiteHe, special.HermiteHe[float64], special.HermiteHe[float32])
	polynomial(ops.LaguerreL, special.Laguerre[float64], special.Laguerre[float32])
	polynomial(ops.LegendreP, special.Legendre[float64], special.Legendre[float32])
	return table
}

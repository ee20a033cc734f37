package ops

// This file holds the orthogonal polynomials. None has a derivative in
// PyTorch.

func polynomialRows() []*Op {
	var rows []*Op
	for _, p := range []struct {
		id   ID
		name string
	}{
		{ChebyshevT, "chebyshev_polynomial_t"},
		{ChebyshevU, "chebyshev_polynomial_u"},
		{ChebyshevV, "chebyshev_polynomial_v"},
		{ChebyshevW, "chebyshev_polynomial_w"},
		{ShiftedChebyshevT, "shifted_chebyshev_polynomial_t"},
		{ShiftedChebyshevU, "shifted_chebyshev_polynomial_u"},
		{ShiftedChebyshevV, "shifted_chebyshev_polynomial_v"},
		{ShiftedChebyshevW, "shifted_chebyshev_polynomial_w"},
		{HermiteH, "hermite_polynomial_h"},
		{HermiteHe, "hermite_polynomial_he"},
		{LaguerreL, "laguerre_polynomial_l"},
		{LegendreP, "legendre_polynomial_p"},
	} {
		rows = append(rows, &Op{
			ID: p.id, Name: "special." + p.name, Schema: "(Operand x, Operand n) -> Tensor",
			Tags: TagPointwise | TagNoGrad | TagNotMethod, Meta: pointwise(floatType),
		})
	}
	return rows
}

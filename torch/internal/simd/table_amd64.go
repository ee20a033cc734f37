package simd

// assembly are the kernels that cmd/gensimd wrote.
func assembly() []kernels {
	return []kernels{
		{
			lanes: 8, tiles: [2][]tileFunc{tiles2[0][:], tiles2[1][:]},
			packRows: packRows2, packTransposed: packTransposed2, packRuns: packRuns2, fetch: fetchLines, peak: peak2,
			vectors: vectors{
				unary: [numUnary]unaryFunc{
					Neg: neg2, Abs: abs2, Relu: relu2, Sqrt: sqrt2, Exp: exp2,
					Sigmoid: sigmoid2, Silu: silu2, Tanh: tanh2, Erf: erf2, Gelu: gelu2, GeluTanh: geluTanh2,
				},
				unaryAround: [numUnary]unaryFunc{
					Neg: negAround2, Abs: absAround2, Relu: reluAround2, Sqrt: sqrtAround2, Exp: expAround2,
					Sigmoid: sigmoidAround2, Silu: siluAround2, Tanh: tanhAround2, Erf: erfAround2, Gelu: geluAround2,
					GeluTanh: geluTanhAround2,
				},
				binary:       [numBinary]binaryFunc{Add: add2, Sub: sub2, Mul: mul2, Div: div2},
				binaryAround: [numBinary]binaryFunc{Add: addAround2, Sub: subAround2, Mul: mulAround2, Div: divAround2},
				withScalar:   [numBinary]scalarFunc{Mul: mulScalar2, Add: addScalar2, Div: divScalar2},
				scalarAround: [numBinary]scalarFunc{Mul: mulScalarAround2, Add: addScalarAround2, Div: divScalarAround2},
				axpy:         axpy2, normalize: normalize2, scaleShift: scaleShift2,
				sum: sum2, deviation: deviation2, dot: dot2, largest: largest2, expSum: expSum2,
				addWide: addWide2, choose: choose2, stream: stream2, pick: pick2, pickSecond: pickSecond2, second: second2,
			},
			winograd: winograd{winoFilter2, winoValues2, winoPixels2},
			randoms:  randoms{twist2, uniforms2, normals2, bernoullis2},
			half:     halves2,
		},
		{
			lanes: 16, tiles: [2][]tileFunc{tiles512[0][:], tiles512[1][:]},
			packRows: packRows512, packTransposed: packTransposed512, packRuns: packRuns512, fetch: fetchLines, peak: peak512,
			vectors: vectors{
				unary: [numUnary]unaryFunc{
					Neg: neg512, Abs: abs512, Relu: relu512, Sqrt: sqrt512, Exp: exp512,
					Sigmoid: sigmoid512, Silu: silu512, Tanh: tanh512, Erf: erf512, Gelu: gelu512, GeluTanh: geluTanh512,
				},
				unaryAround: [numUnary]unaryFunc{
					Neg: negAround512, Abs: absAround512, Relu: reluAround512, Sqrt: sqrtAround512, Exp: expAround512,
					Sigmoid: sigmoidAround512, Silu: siluAround512, Tanh: tanhAround512, Erf: erfAround512, Gelu: geluAround512,
					GeluTanh: geluTanhAround512,
				},
				binary:       [numBinary]binaryFunc{Add: add512, Sub: sub512, Mul: mul512, Div: div512},
				binaryAround: [numBinary]binaryFunc{Add: addAround512, Sub: subAround512, Mul: mulAround512, Div: divAround512},
				withScalar:   [numBinary]scalarFunc{Mul: mulScalar512, Add: addScalar512, Div: divScalar512},
				scalarAround: [numBinary]scalarFunc{Mul: mulScalarAround512, Add: addScalarAround512, Div: divScalarAround512},
				axpy:         axpy512, normalize: normalize512, scaleShift: scaleShift512,
				sum: sum512, deviation: deviation512, dot: dot512, largest: largest512, expSum: expSum512,
				addWide: addWide512, choose: choose512, stream: stream512, pick: pick512, pickSecond: pickSecond512, second: second512,
			},
			winograd: winograd{winoFilter512, winoValues512, winoPixels512},
			randoms:  randoms{twist2, uniforms2, normals2, bernoullis2},
			half:     halves512,
		},
	}
}

package ops

import "tcdbg/ops/sym"

// This file holds resampling with antialiasing: where an image shrinks, the
// filter grows with it. Each direction is a product with a matrix of weights.

func antialiasRows() []*Op {
	return []*Op{
		composite(UpsampleBilinear2dAA, "_upsample_bilinear2d_aa", "(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors=None, float? scales_h=None, float? scales_w=None) -> Tensor", TagInternal|TagNotMethod, func(b B, c *Call) Value {
			a := In[UpsampleBilinear2dAAArgs](c)
			m := a.Input.Meta()
			if len(m.Shape) != 4 {
				refuse(Errorf("It is expected input_size equals to 4, but got size %d", len(m.Shape)))
			}
			size, scale := a.OutputSize.Ints(), []float64{a.ScalesH.Float(), a.ScalesW.Float()}
			if size == nil {
				factors, _ := a.ScaleFactors.Arg.([]float64)
				if len(factors) != 2 {
					refuse(Errorf("Must specify exactly one of output_size and scale_factors"))
				}
				for i, f := range factors {
					size = append(size, sym.Const(int64(float64(sym.Force(m.Shape[2+i]))*f)))
				}
				scale = factors
			}
			return antialiased(b, a.Input.Value(), size, scale, a.AlignCorners.Bool(), false)
		}),
	}
}

// antialiased resamples the last two dimensions; a scale of zero is unknown.
func antialiased(b B, x Value, size []sym.Int, scale []float64, corners, cubic bool) Value {
	m := x.TensorMeta()
	wide := b.cast(x, OpMath(m.DType))
	if !m.DType.IsFloat() {
		wide = b.cast(x, Float32)
	}
	for i := 1; i >= 0; i-- { // width first
		d := 2 + i
		w := filterMatrix(b, wide.TensorMeta(), m.Shape[d], size[i], scale[i], corners, cubic)
		if i == 1 {
			wide = dotm(b, wide, mt(b, w))
		} else {
			wide = dotm(b, w, wide)
		}
		wide = toPixels(b, wide, m.DType)
	}
	return b.cast(wide, m.DType)
}

// filterMatrix has a row of weights, which sum to one, for each result.
func filterMatrix(b B, like *TensorMeta, n, out sym.Int, scale float64, corners, cubic bool) Value {
	step := 0.0
	if scale > 0 {
		step = 1 / scale
	}
	support := 1.0
	if cubic {
		support = 2
	}
	move := sampleRatio(b, n, out, step, corners, like)
	grow, back, forth := filterReach(b, move, support)
	d := like.DType
	center := b.mul(b.add(b.cast(b.arange(out, like), d), 0.5), move)
	first := b.Emit(ClampMin, b.Emit(Trunc, b.add(center, back)), 0.0)
	last := b.Emit(Trunc, b.add(center, forth))
	at := b.cast(b.arange(n, like), d)
	dist := b.Emit(Abs, b.div(b.add(b.sub(at, b.unsqueeze(center, 1)), 0.5), grow))
	var w Value
	if cubic {
		w = keysFilter(b, dist)
	} else {
		w = b.Emit(ClampMin, b.sub(1, dist), 0.0)
	}
	in := b.and(b.ge(at, b.unsqueeze(first, 1)), b.lt(at, b.unsqueeze(last, 1)))
	w = b.where(in, w, 0.0)
	return b.div(w, b.sum(w, true, 1))
}

// filterReach says by how much a filter grows that moves by the given ratio, and
// where its support begins and ends, from half a pixel before its center.
func filterReach(b B, move Arg, support float64) (grow, back, forth Arg) {
	if r, ok := move.(float64); ok {
		g := max(r, 1)
		return g, 0.5 - support*g, 0.5 + support*g
	}
	g := b.Emit(ClampMin, move, 1.0)
	reach := b.mul(g, support)
	return g, b.sub(0.5, reach), b.add(reach, 0.5)
}

// keysFilter is the cubic filter with a = -0.5.
func keysFilter(b B, x Value) Value {
	const a = -0.5
	near := b.add(b.mul(b.sq(x), b.sub(b.mul(x, a+2), a+3)), 1)
	far := b.mul(b.sub(b.mul(b.add(b.mul(b.sub(x, 5), x), 8), x), 4), a)
	return b.where(b.lt(x, 1.0), near, b.where(b.lt(x, 2.0), far, 0.0))
}

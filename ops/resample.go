package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds interpolate and grid_sample. With antialiasing, where an image shrinks,
// the filter grows with it: each direction is a product with a matrix of weights.

func interpolate(b B, c *Call) Value {
	a := In[InterpolateArgs](c)
	x := a.Input.Value()
	m := a.Input.Meta()
	n := len(m.Shape) - 2
	mode := a.Mode.Str()
	corners := a.AlignCorners.Bool()
	if a.Antialias.Bool() {
		return interpolateAntialiased(b, c, n, mode, corners)
	}
	switch mode {
	case "nearest", "nearest-exact", "area":
		if !a.AlignCorners.IsNone() {
			refuse(&Error{
				Kind: "ValueError",
				Msg:  "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear",
			})
		}
	}
	size, scale := interpolatedSize(c, n)
	d := OpMath(m.DType)
	wide := b.cast(x, d)
	switch {
	case mode == "area":
		return b.Emit(adaptiveAvgPools[n-1], x, size)
	case mode == "nearest" || mode == "nearest-exact":
		for i := range n { // wide, so that gradients are summed before they are rounded
			wide = resampleNearest(b, wide, 2+i, size[i], scale[i], mode == "nearest-exact")
		}
		return b.cast(wide, m.DType)
	case mode == "linear" && n == 1, mode == "bilinear" && n == 2, mode == "trilinear" && n == 3:
		y := wide
		for i := n - 1; i >= 0; i-- {
			y = toPixels(b, resampleLinear(b, y, d, 2+i, size[i], scale[i], corners), m.DType)
		}
		if n == 2 || d == m.DType {
			return b.cast(y, m.DType)
		}
		// In half precision the weights are rounded; their gradient is not.
		for i := n - 1; i >= 0; i-- {
			wide = resampleLinear(b, wide, m.DType, 2+i, size[i], scale[i], corners)
		}
		return b.cast(b.add(y, b.detach(b.sub(wide, y))), m.DType)
	case mode == "bicubic" && n == 2:
		y := wide
		for i := n - 1; i >= 0; i-- {
			y = toPixels(b, resampleCubic(b, y, m.DType, 2+i, size[i], scale[i], corners), m.DType)
		}
		if d == m.DType {
			return b.cast(y, m.DType)
		}
		for i := n - 1; i >= 0; i-- {
			wide = resampleCubic(b, wide, d, 2+i, size[i], scale[i], corners)
		}
		return b.cast(b.add(wide, b.detach(b.sub(y, wide))), m.DType)
	}
	refuse(&Error{
		Kind: "NotImplementedError",
		Msg: "Input Error: Only 3D, 4D and 5D input Tensors supported for the modes: nearest | linear | bilinear | bicubic | " +
			"trilinear | area | nearest-exact (got mode " + mode + ")",
	})
	return nil
}

// toPixels rounds what one direction of a resampling gives to bytes, where the
// image is of bytes; other types keep their fractions.
func toPixels(b B, x Value, d DType) Value {
	if d != Uint8 {
		return x
	}
	return b.Emit(Clamp, b.Emit(Floor, b.add(x, 0.5)), 0.0, 255.0)
}

// interpolateAntialiased is interpolate with a filter that grows where the image
// shrinks.
func interpolateAntialiased(b B, c *Call, n int, mode string, corners bool) Value {
	if n != 2 || mode != "bilinear" && mode != "bicubic" {
		refuse(&Error{
			Kind: "ValueError",
			Msg:  "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input",
		})
	}
	size, step := interpolatedSize(c, n)
	for i, s := range step {
		if s > 0 {
			step[i] = 1 / s
		}
	}
	return antialiased(b, In[InterpolateArgs](c).Input.Value(), size, step, corners, mode == "bicubic")
}

// interpolatedSize returns the new sizes and, where scale factors were given
// and count, those (else 0).
func interpolatedSize(c *Call, n int) (size []sym.Int, scale []float64) {
	a := In[InterpolateArgs](c)
	m := a.Input.Meta()
	scale = make([]float64, n)
	if size = a.Size.Ints(); size != nil {
		for len(size) == 1 && n > 1 || len(size) < n && len(size) > 0 {
			size = append(size[:len(size):len(size)], size[0])
		}
		return size, scale
	}
	factors, _ := a.ScaleFactor.Arg.([]float64)
	if len(factors) == 0 {
		refuse(&Error{Kind: "ValueError", Msg: "either size or scale_factor should be defined"})
	}
	for i := range n {
		f := factors[min(i, len(factors)-1)]
		size = append(size, scaledSize(m.Shape[2+i], f))
		if !a.RecomputeScaleFactor.Bool() {
			scale[i] = 1 / f
		}
	}
	return size, scale
}

// scaledSize is n*f, rounded down. A factor like 1.5 keeps n open: it is a
// fraction with a small power of two below the line, so that no product rounds.
func scaledSize(n sym.Int, f float64) sym.Int {
	for parts := int64(1); parts <= 1<<10; parts *= 2 {
		if p := f * float64(parts); p == math.Trunc(p) && math.Abs(p) < 1<<30 {
			return sym.FloorDiv(sym.Mul(n, sym.Const(int64(p))), sym.Const(parts))
		}
	}
	return sym.Const(int64(math.Floor(float64(sym.Force(n)) * f)))
}

// sampleRatio is how far the source moves for one step of the result: a number, or
// for open sizes a float64 tensor without dimensions.
func sampleRatio(b B, n, out sym.Int, scale float64, corners bool, like *TensorMeta) Arg {
	switch {
	case corners && sym.Le(out, symOne):
		return 0.0
	case corners:
		n, out = sym.Sub(n, symOne), sym.Sub(out, symOne)
	case scale > 0:
		return scale
	}
	from, fixed := n.IsConst()
	to, fixedToo := out.IsConst()
	if fixed && fixedToo {
		return float64(from) / float64(to)
	}
	if !fixed { // out may be a multiple of n
		if k, ok := sym.FloorDiv(out, n).IsConst(); ok && k > 0 && sym.Same(out, sym.Mul(n, sym.Const(k))) {
			return 1 / float64(k)
		}
	}
	wide := *like
	wide.DType = Float64
	return b.div(b.full(nil, n, &wide), b.full(nil, out, &wide))
}

// roundedRatio is ratio in the precision of d, in which the coordinates are.
func roundedRatio(b B, n, out sym.Int, scale float64, corners bool, like *TensorMeta, d DType) Arg {
	switch r := sampleRatio(b, n, out, scale, corners, like).(type) {
	case Value:
		return b.cast(r, d)
	case float64:
		if d == Float32 {
			return float64(float32(r))
		}
		return r
	}
	panic("ops: a ratio is a number or a tensor")
}

// sampleSources are the source coordinates of the result's elements in float32
// or float64, as x's type computes.
func sampleSources(b B, x Value, n, out sym.Int, scale float64, corners bool) Value {
	d := OpMath(x.TensorMeta().DType)
	if !d.IsFloat() {
		d = Float32
	}
	at := b.cast(b.arange(out, x.TensorMeta()), d)
	r := roundedRatio(b, n, out, scale, corners, x.TensorMeta(), d)
	if corners {
		return b.mul(at, r)
	}
	return b.sub(b.mul(b.add(at, 0.5), r), 0.5)
}

func resampleNearest(b B, x Value, d int, out sym.Int, scale float64, exact bool) Value {
	n := x.TensorMeta().Shape[d]
	r := roundedRatio(b, n, out, scale, false, x.TensorMeta(), Float32)
	at := b.cast(b.arange(out, x.TensorMeta()), Float32)
	if exact {
		at = b.add(at, 0.5)
	}
	idx := b.cast(b.Emit(Floor, b.mul(at, r)), Int64)
	return b.Emit(IndexSelect, x, d, b.Emit(Clamp, idx, 0, sym.Sub(n, symOne)))
}

// alongOnly brings a vector along dimension d of an n-dimensional tensor.
func alongOnly(b B, v Value, d, n int) Value {
	shape := make([]sym.Int, n)
	for i := range shape {
		shape[i] = symOne
	}
	shape[d] = v.TensorMeta().Shape[0]
	return b.view(v, shape...)
}

// weightsAs rounds the weights of an interpolation to the type of the image.
func weightsAs(b B, w Value, d DType) Value {
	if OpMath(d) == d {
		return w
	}
	return b.cast(b.cast(w, d), w.TensorMeta().DType)
}

func resampleLinear(b B, x Value, dtype DType, d int, out sym.Int, scale float64, corners bool) Value {
	m := x.TensorMeta()
	n := m.Shape[d]
	last := sym.Sub(n, symOne)
	at := sampleSources(b, x, n, out, scale, corners)
	if !corners {
		at = b.Emit(Clamp, at, 0.0)
	}
	low := b.Emit(Clamp, b.cast(b.Emit(Floor, at), Int64), 0, last)
	high := b.Emit(Clamp, b.add(low, 1), 0, last)
	w := b.Emit(Clamp, b.sub(at, low), 0.0, 1.0)
	w = weightsAs(b, w, dtype)
	wc, rest := alongOnly(b, w, d, len(m.Shape)), alongOnly(b, weightsAs(b, b.sub(1, w), dtype), d, len(m.Shape))
	left, right := b.Emit(IndexSelect, x, d, low), b.Emit(IndexSelect, x, d, high)
	return b.add(b.mul(left, rest), b.mul(right, wc))
}

// cubicWeights are the weights of the four neighbours at distance t from the
// second, with PyTorch's a = -0.75.
func cubicWeights(b B, t Value) [4]Value {
	const a = -0.75
	near := func(x Value) Value { // |x| <= 1
		return b.add(b.mul(b.sq(x), b.sub(b.mul(x, a+2), a+3)), 1)
	}
	far := func(x Value) Value { // 1 < |x| < 2
		return b.sub(b.mul(b.add(b.mul(b.sub(b.mul(x, a), 5*a), x), 8*a), x), 4*a)
	}
	return [4]Value{far(b.add(t, 1)), near(t), near(b.sub(1, t)), far(b.sub(2, t))}
}

func resampleCubic(b B, x Value, dtype DType, d int, out sym.Int, scale float64, corners bool) Value {
	m := x.TensorMeta()
	last := sym.Sub(m.Shape[d], symOne)
	at := sampleSources(b, x, m.Shape[d], out, scale, corners)
	low := b.Emit(Floor, at)
	ws := cubicWeights(b, b.sub(at, low))
	idx := b.cast(low, Int64)
	var sum Value
	for k, w := range ws {
		part := b.Emit(IndexSelect, x, d, b.Emit(Clamp, b.add(idx, k-1), 0, last))
		part = b.mul(part, alongOnly(b, weightsAs(b, w, dtype), d, len(m.Shape)))
		if sum == nil {
			sum = part
		} else {
			sum = b.add(sum, part)
		}
	}
	return sum
}

// gridSample reads an image at the places of a grid of coordinates in [-1, 1].
func gridSample(b B, c *Call) Value {
	a := In[GridSampleArgs](c)
	x, grid := a.Input.Value(), a.Grid.Value()
	m := a.Input.Meta()
	n := len(m.Shape) - 2
	if gm := a.Grid.Meta(); len(gm.Shape) != len(m.Shape) || sym.Ne(gm.Shape[len(gm.Shape)-1], sym.C(n)) ||
		sym.Ne(gm.Shape[0], m.Shape[0]) {
		refuse(Errorf(
			"grid_sampler(): expected grid to have size %d in last dimension, and the same batch size and number of dimensions as "+
				"the input, but got grid with sizes %s for input with sizes %s",
			n, ShapeText(gm.Shape), ShapeText(m.Shape),
		))
	}
	s := &sampler{
		b: b, x: x, n: n, mode: a.Mode.Str(), padding: a.PaddingMode.Str(), corners: a.AlignCorners.Bool(),
		out: grid.TensorMeta().Shape[1 : n+1],
	}
	coords := make([]Value, n) // by dimension of the image: the grid has x first
	for i := range n {
		g := b.sel(grid, n+1, sym.C(n-1-i))
		coords[i] = s.unnormalize(g, m.Shape[2+i])
	}
	switch s.mode {
	case "bilinear":
		return s.linear(coords)
	case "nearest":
		whole := make([]Value, n)
		for i := range coords {
			whole[i] = b.Emit(Round, s.inside(coords[i], m.Shape[2+i]))
		}
		// The grid has a gradient, of zero.
		none := b.mask(coords[0], b.full(nil, 0, NewMeta(Bool, m.Device, nil)))
		return b.add(s.read(whole), b.unsqueeze(none, 1))
	case "bicubic":
		return s.cubic(coords)
	}
	refuse(&Error{
		Kind: "ValueError",
		Msg:  "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '" + s.mode + "'",
	})
	return nil
}

type sampler struct {
	b             B
	x             Value
	n             int
	mode, padding string
	corners       bool
	out           []sym.Int
}

// unnormalize brings a coordinate from [-1, 1] to pixels, in the steps of PyTorch's
// loops: those over images are vectors and have the factor as one number.
func (s *sampler) unnormalize(g Value, size sym.Int) Value {
	b := s.b
	if s.n == 2 {
		extent := float64(sym.Force(size))
		if s.corners {
			return b.mul(b.add(g, 1), (extent-1)/2)
		}
		if d := g.TensorMeta().DType; d == Float32 && !powerOfTwo(extent) {
			// The vectors multiply and subtract with one rounding: float64 holds the product
			// whole, as float32 does where the factor is a power of two.
			return b.cast(b.sub(b.mul(b.cast(b.add(g, 1), Float64), extent/2), 0.5), d)
		}
		return b.sub(b.mul(b.add(g, 1), extent/2), 0.5)
	}
	if s.corners {
		return b.mul(b.div(b.add(g, 1), 2.0), sym.Sub(size, symOne))
	}
	return b.div(b.sub(b.mul(b.add(g, 1), size), 1), 2.0)
}

func powerOfTwo(x float64) bool {
	fraction, _ := math.Frexp(x)
	return fraction == 0.5
}

// inside applies the padding mode to coordinates.
func (s *sampler) inside(at Value, size sym.Int) Value {
	b := s.b
	last := float64(sym.Force(size)) - 1
	switch s.padding {
	case "border":
		return b.Emit(Clamp, at, 0.0, last)
	case "reflection":
		if s.corners {
			at = s.reflect(at, 0, 2*last)
		} else {
			at = s.reflect(at, -1, 2*last+1)
		}
		return b.Emit(Clamp, at, 0.0, last)
	}
	return at
}

// reflect mirrors coordinates at low/2 and high/2.
func (s *sampler) reflect(at Value, low, high float64) Value {
	b := s.b
	if low == high {
		return b.mul(at, 0.0)
	}
	from, span := low/2, (high-low)/2
	at = b.Emit(Abs, b.sub(at, from))
	extra := b.Emit(Fmod, at, span)
	flips := b.Emit(Floor, b.div(at, span))
	even := b.eq(b.Emit(Remainder, flips, 2.0), 0.0)
	return b.where(even, b.add(extra, from), b.add(b.sub(span, extra), from))
}

// read gathers the elements at whole coordinates; outside of the image they
// are zero.
func (s *sampler) read(coords []Value) Value {
	b, m := s.b, s.x.TensorMeta()
	var idx, valid Value
	for i, at := range coords {
		size := m.Shape[2+i]
		ok := b.and(b.ge(at, 0.0), b.le(at, float64(sym.Force(size))-1))
		pos := b.cast(b.Emit(Clamp, at, 0.0, float64(sym.Force(size))-1), Int64)
		if idx == nil {
			idx, valid = pos, ok
		} else {
			idx, valid = b.add(b.mul(idx, size), pos), b.and(valid, ok)
		}
	}
	count := numel(s.out)
	flat := b.reshape(s.x, m.Shape[0], m.Shape[1], numel(m.Shape[2:]))
	where := b.expand(b.reshape(idx, m.Shape[0], symOne, count), []sym.Int{m.Shape[0], m.Shape[1], count})
	got := b.Emit(Gather, flat, 2, where)
	got = b.where(b.reshape(valid, m.Shape[0], symOne, count), got, 0.0)
	return b.view(got, append([]sym.Int{m.Shape[0], m.Shape[1]}, s.out...)...)
}

// linear weighs the corners around each place. Weights are multiplied from the
// last dimension on, as PyTorch does.
func (s *sampler) linear(coords []Value) Value {
	b, m := s.b, s.x.TensorMeta()
	low := make([]Value, s.n)
	weights := make([][2]Value, s.n)
	for i := range coords {
		at := s.inside(coords[i], m.Shape[2+i])
		low[i] = b.detach(b.Emit(Floor, at))
		frac := b.sub(at, low[i])
		weights[i] = [2]Value{b.sub(1, frac), frac}
		if s.n == 3 {
			weights[i][0] = b.sub(b.add(low[i], 1), at)
		}
	}
	var sum Value
	for corner := range 1 << s.n {
		at := make([]Value, s.n)
		var w Value
		for i := s.n - 1; i >= 0; i-- {
			side := corner >> (s.n - 1 - i) & 1
			at[i] = low[i]
			if side == 1 {
				at[i] = b.add(low[i], 1)
			}
			w = timesOr(b, w, weights[i][side])
		}
		sum = plusOr(b, sum, b.mul(s.read(at), b.unsqueeze(w, 1)))
	}
	return sum
}

// timesOr is x*y, or y where there is no x yet; plusOr is so for sums.
func timesOr(b B, x, y Value) Value {
	if x == nil {
		return y
	}
	return b.mul(x, y)
}

func plusOr(b B, x, y Value) Value {
	if x == nil {
		return y
	}
	return b.add(x, y)
}

// cubic weighs the four neighbours in each dimension, the last one first.
func (s *sampler) cubic(coords []Value) Value {
	b := s.b
	low := make([]Value, s.n)
	weights := make([][4]Value, s.n)
	for i, at := range coords {
		low[i] = b.detach(b.Emit(Floor, at))
		weights[i] = movableCubicWeights(b, b.sub(at, low[i]))
	}
	return s.neighbours(nil, low, weights)
}

// movableCubicWeights are cubicWeights for a distance that has a gradient. PyTorch
// does not differentiate the steps of the weights: it has a polynomial for each
// slope, and the slopes nearly cancel over the neighbours, so that the steps show.
// Each weight is written as its own Taylor series at t: the value is that of the
// weight, since the series adds zero at t, and derivatives of every order are the
// coefficients.
func movableCubicWeights(b B, t Value) [4]Value {
	const a = -0.75
	here := b.detach(t)
	away := b.sub(t, here)
	weights := cubicWeights(b, here)
	for k, slope := range [4]struct {
		at                       Value // the place on the kernel, which falls as t grows
		square, linear, constant float64
	}{
		{b.sub(-1, here), -3 * a, -10 * a, -8 * a},
		{b.neg(here), -3 * (a + 2), -2 * (a + 3), 0},
		{b.sub(1, here), 3 * (a + 2), -2 * (a + 3), 0},
		{b.sub(2, here), 3 * a, -10 * a, 8 * a},
	} {
		first := b.add(b.mul(b.add(b.mul(slope.at, slope.square), slope.linear), slope.at), slope.constant)
		second := b.mul(b.add(b.mul(slope.at, 2*slope.square), slope.linear), -0.5)
		series := b.add(second, b.mul(away, slope.square/3))
		series = b.add(first, b.mul(away, series))
		weights[k] = b.sub(weights[k], b.mul(away, series))
	}
	return weights
}

// neighbours weighs those that share the coordinates at of the first dimensions.
func (s *sampler) neighbours(at, low []Value, weights [][4]Value) Value {
	d := len(at)
	if d == s.n {
		return s.read(at)
	}
	var sum Value
	for k, w := range weights[d] {
		here := s.inside(s.b.add(low[d], k-1), s.x.TensorMeta().Shape[2+d])
		part := s.neighbours(append(at[:d:d], here), low, weights)
		sum = plusOr(s.b, sum, s.b.mul(part, s.b.unsqueeze(w, 1)))
	}
	return sum
}

// gridSamplerRows are grid_sample with modes as numbers.
func gridSamplerRows() []*Op {
	row := func(id ID, name string, n int) *Op {
		return composite(id, name, "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "+
			"bool align_corners) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[GridSamplerArgs](c)
			if got := len(a.Input.Meta().Shape); got != n+2 {
				refuse(Errorf("%s(): expected a %dD input, but got one of %d dimensions", name, n+2, got))
			}
			mode, padding := a.InterpolationMode.Num(), a.PaddingMode.Num()
			if mode < 0 || mode > 2 || padding < 0 || padding > 2 {
				refuse(Errorf("%s(): unknown interpolation mode %d or padding mode %d", name, mode, padding))
			}
			return b.Emit(
				GridSample, a.Input.Arg, a.Grid.Arg, [...]string{"bilinear", "nearest", "bicubic"}[mode],
				[...]string{"zeros", "border", "reflection"}[padding], a.AlignCorners.Arg,
			)
		})
	}
	return []*Op{row(GridSampler2d, "grid_sampler_2d", 2), row(GridSampler3d, "grid_sampler_3d", 3)}
}

func antialiasRows() []*Op {
	return []*Op{
		composite(UpsampleBilinear2dAA, "_upsample_bilinear2d_aa",
			"(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors=None, float? scales_h=None, "+
				"float? scales_w=None) -> Tensor", TagInternal|TagNotMethod, func(b B, c *Call) Value {
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

package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds statistics: variances and covariances, quantiles and other order
// statistics, histograms, and reductions with two results.

func momentRows() []*Op {
	const schema = "(Tensor self, int[]? dim=None, *, Scalar? correction=1, bool keepdim=False) -> "
	moment := func(id ID, name string, f func(b B, c *Call) []Value, n int) *Op {
		ret := "Tensor"
		if n == 2 {
			ret = "(Tensor, Tensor)"
		}
		return &Op{
			ID: id, Name: name, Schema: schema + ret, Tags: TagReduction,
			Meta: func(c *Call) ([]Result, error) {
				a := In[MomentsArgs](c)
				m := a.Self.Meta()
				dims, err := wrapDims(a.Dim.Ints(), len(m.Shape), true)
				if err != nil {
					return nil, err
				}
				if _, err := floatDType(c, m.DType); err != nil {
					return nil, Errorf("std and var only support floating point and complex dtypes")
				}
				out := reduced(m, realType(m.DType), dims, a.Keepdim.Bool())
				if n == 2 {
					return []Result{out, reduced(m, m.DType, dims, a.Keepdim.Bool())}, nil
				}
				return one(out), nil
			},
			Decompose: func(bb Builder, c *Call) []Value { return f(B{bb}, c) },
		}
	}
	v := moment(Var, "var", func(b B, c *Call) []Value { v, _ := variance(b, c); return []Value{v} }, 1).and(TagComplex)
	v.Backward = backOf(varBack)
	s := moment(Std, "std", func(b B, c *Call) []Value {
		a := In[SelfArgs](c)
		m := a.Self.Meta()
		if OpMath(m.DType) == m.DType {
			v, _ := variance(b, c)
			return []Value{b.sqrt(v)}
		}
		// The variance of half precision may lie beyond its range.
		v, _ := variance(b, c.with("self", b.cast(a.Self.Value(), OpMath(m.DType))))
		return []Value{b.cast(b.sqrt(v), m.DType)}
	}, 1).and(TagComplex)
	s.Backward = backOf(stdBack)
	vm := moment(VarMean, "var_mean", func(b B, c *Call) []Value { v, m := variance(b, c); return []Value{v, m} },
		2).and(TagComplex | TagComplexGrad)
	vm.Tags |= TagNotMethod
	vm.Backward = backOf(func(b B, c *BackwardCall) []Value { return momentsBack(b, c, c.Grads[0]) })
	return []*Op{
		v, s, vm,
		{
			ID: Logsumexp, Name: "logsumexp", Schema: "(Tensor self, int[] dim, bool keepdim=False) -> Tensor", Tags: TagReduction,
			Meta: reduceMeta(func(_ *Call, d DType) (DType, error) { return FloatType(d), nil }, true),
			Decompose: decompF(func(b B, c *Call) Value {
				a := In[LogsumexpArgs](c)
				x := floated(b, floatType, a.Self.Value())
				dims := a.Dim.of(a.Self)
				if len(x.TensorMeta().Shape) == 0 {
					return b.Emit(Clone, x)
				}
				if sym.Is(numel(x.TensorMeta().Shape), 0) {
					return b.log(b.Emit(Sum, b.exp(x), a.Dim.Arg, a.Keepdim.Arg))
				}
				m := b.amax(x, true, dims...)
				m = b.where(b.Emit(Isfinite, m), m, 0.0)
				s := b.log(b.sum(b.exp(b.sub(x, m)), true, dims...))
				out := b.add(s, m)
				if !a.Keepdim.Bool() {
					out = b.Emit(Squeeze, out, sym.Consts(dims))
				}
				return out
			}),
			Backward: reduceBack(func(b B, c *BackwardCall, g Value, dims []int) Value {
				a := In[LogsumexpArgs](c.Call)
				e := b.exp(b.sub(a.Self.Value(), unreduced(b, c.Outs[0], c.Call, a.Keepdim.Bool(), dims)))
				return b.mul(unreduced(b, g, c.Call, a.Keepdim.Bool(), dims), e)
			}),
		},
		normRow(),
	}
}

// variance returns variance and mean over the dimensions of argument 1.
func variance(b B, c *Call) (v, mean Value) {
	a := In[MomentsArgs](c)
	x := a.Self.Value()
	m := x.TensorMeta()
	dims := a.Dim.of(a.Self)
	wide := b.cast(x, OpMath(m.DType))
	mu := wide
	if len(m.Shape) > 0 {
		mu = b.mean(wide, true, dims...)
	}
	square := absSquare(b, b.sub(wide, mu))
	if len(m.Shape) == 0 {
		v = square
	} else {
		v = b.sum(square, a.Keepdim.Bool(), dims...)
	}
	v = b.div(v, varDivisor(c, dims))
	if len(m.Shape) > 0 && !a.Keepdim.Bool() {
		mu = b.Emit(Squeeze, mu, sym.Consts(dims))
	}
	return b.cast(v, realType(m.DType)), b.cast(mu, m.DType)
}

// absSquare is |x|^2, a real number.
func absSquare(b B, x Value) Value {
	if x.TensorMeta().DType.IsComplex() {
		return b.add(b.sq(complexPart(b, x, 0)), b.sq(complexPart(b, x, 1)))
	}
	return b.sq(x)
}

// varDivisor is max(n - correction, 0).
func varDivisor(c *Call, dims []int) Arg {
	a := In[SelfDimsCorrectionArgs](c)
	n := count(a.Self.Meta(), dims)
	corr := 1.0
	if !a.Correction.IsNone() {
		corr = a.Correction.Float()
	}
	if corr == math.Trunc(corr) {
		d := sym.Sub(n, sym.Const(int64(corr)))
		if v, ok := d.IsConst(); ok {
			return math.Max(float64(v), 0)
		}
		return d
	}
	return math.Max(float64(sym.Force(n))-corr, 0)
}

func varBack(b B, c *BackwardCall) []Value {
	g := c.Grads[0]
	if g == nil {
		return []Value{nil}
	}
	return []Value{varGrad(b, c, g)}
}

func varGrad(b B, c *BackwardCall, g Value) Value {
	a := In[MomentsArgs](c.Call)
	x, dims, keep := a.Self.Value(), a.Dim.of(a.Self), a.Keepdim.Bool()
	mu := x
	if len(a.Self.Meta().Shape) > 0 {
		mu = b.mean(x, true, dims...)
	}
	g = unreduced(b, g, c.Call, keep, dims)
	if n, known := varDivisor(c.Call, dims).(float64); known {
		g = b.mul(g, 2/n)
	} else {
		g = b.div(b.mul(g, 2.0), varDivisor(c.Call, dims))
	}
	return b.mul(g, b.sub(x, mu))
}

func stdBack(b B, c *BackwardCall) []Value {
	if c.Grads[0] == nil {
		return []Value{nil}
	}
	return []Value{varGrad(b, c, ofVariance(b, c.Grads[0], c.Outs[0]))}
}

// ofVariance turns the gradient of a deviation y into that of the variance.
func ofVariance(b B, g, y Value) Value {
	h := b.div(g, b.mul(y, 2.0))
	return b.where(b.eq(y, 0.0), scalarLike(h, 0), h)
}

// momentsBack adds the gradients of a variance and of the mean beside it.
func momentsBack(b B, c *BackwardCall, gv Value) []Value {
	a := In[MomentsArgs](c.Call)
	var out Value
	if gv != nil {
		out = varGrad(b, c, gv)
	}
	if gm := c.Grads[1]; gm != nil {
		dims := a.Dim.of(a.Self)
		mean := unreduced(b, b.div(gm, count(a.Self.Meta(), dims)), c.Call, a.Keepdim.Bool(), dims)
		if out == nil {
			return []Value{mean}
		}
		out = b.add(out, mean)
	}
	return []Value{out}
}

func pairReductionRows() []*Op {
	return []*Op{
		compositeN(Aminmax, "aminmax", "(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", 0,
			func(b B, c *Call) []Value {
				a := In[AminmaxArgs](c)
				dims := []sym.Int{}
				if !a.Dim.IsNone() {
					a.Dim.of(a.Self)
				}
				if m := a.Self.Meta(); sym.Is(numel(m.Shape), 0) &&
					(a.Dim.IsNone() || len(m.Shape) > 0 && sym.Is(m.Shape[a.Dim.of(a.Self)], 0)) {
					if a.Dim.IsNone() {
						refuse(Errorf("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."))
					}
					refuse(IndexErrorf("aminmax: Expected reduction dim %d to have non-zero size.", a.Dim.of(a.Self)))
				}
				if !a.Dim.IsNone() && len(a.Self.Meta().Shape) > 0 {
					dims = []sym.Int{a.Dim.Int()}
				}
				return []Value{b.Emit(Amin, a.Self.Value(), dims, a.Keepdim.Arg), b.Emit(Amax, a.Self.Value(), dims, a.Keepdim.Arg)}
			}),
		stdMeanRow(),
		composite(Nanmean, "nanmean", dimsDSchema, 0, func(b B, c *Call) Value {
			a := In[NanmeanArgs](c)
			ok := b.not(b.Emit(Isnan, a.Self.Value()))
			n := b.Emit(Sum, ok, a.Dim.Arg, a.Keepdim.Arg)
			s := b.Emit(Nansum, c.Args...)
			return b.div(s, b.cast(n, s.TensorMeta().DType))
		}),
		middleRow(Median, "median", MedianDim),
	}
}

func stdMeanRow() *Op {
	row := compositeN(StdMean, "std_mean", "(Tensor self, int[]? dim=None, *, Scalar? correction=1, bool keepdim=False) -> (Tensor, "+
		"Tensor)", TagNotMethod, func(b B, c *Call) []Value {
		a := In[StdMeanArgs](c)
		v := b.Emit(Std, c.Args...)
		return []Value{v, b.Emit(Mean, a.Self.Value(), a.Dim.Arg, a.Keepdim.Arg)}
	}).and(TagComplex | TagComplexGrad)
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		g := c.Grads[0]
		if g != nil {
			g = ofVariance(b, g, c.Outs[0])
		}
		return momentsBack(b, c, g)
	})
	return row
}

// logcumsumexpRow has its derivative in logarithms too: of what is positive and
// of what is negative in the gradient.
func logcumsumexpRow() *Op {
	row := composite(Logcumsumexp, "logcumsumexp", "(Tensor self, int dim) -> Tensor", 0, nil)
	row.Decompose = decomp(func(b B, c *Call) Value {
		a := In[LogcumsumexpArgs](c)
		if len(a.Self.Meta().Shape) == 0 {
			return b.Emit(Clone, a.Self.Value())
		}
		d := a.Dim.of(a.Self)
		n := int(sym.Force(a.Self.Meta().Shape[d]))
		// Runs of 2, 4, 8, ... terms: sums relative to one maximum would lose
		// all that lies a hundred below it. They are rounded once, since the
		// derivative takes differences of them.
		x := b.cast(a.Self.Value(), Float64)
		for run := 1; run < n; run *= 2 {
			late := b.Emit(Logaddexp, b.slice(x, d, sym.C(run), sym.C(n)), b.slice(x, d, symZero, sym.C(n-run)))
			x = b.cat(d, b.slice(x, d, symZero, sym.C(run)), late)
		}
		if n < 2 {
			return b.Emit(Clone, a.Self.Value())
		}
		return b.cast(x, a.Self.Meta().DType)
	})
	row.Meta = func(c *Call) ([]Result, error) {
		a := In[LogcumsumexpArgs](c)
		m := a.Self.Meta()
		if _, err := WrapDim(a.Dim.Int(), len(m.Shape)); err != nil {
			return nil, err
		}
		if !isFloaty(m.DType) {
			return nil, &Error{
				Kind: "NotImplementedError",
				Msg:  `"logcumsumexp_out_cpu" not implemented for '` + m.DType.ScalarType() + "'",
			}
		}
		return one(NewMeta(m.DType, m.Device, m.Shape)), nil
	}
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		a := In[LogcumsumexpArgs](c.Call)
		g := c.Grads[0]
		if g == nil || len(a.Self.Meta().Shape) == 0 {
			return []Value{g}
		}
		d := []int{a.Dim.of(a.Self)}
		size := b.log(b.Emit(Abs, g))
		part := func(side Value) Value {
			v := b.Emit(Flip, b.sub(b.where(side, size, -inf), b.Emit(Logcumsumexp, a.Self.Value(), d[0])), d)
			return b.exp(b.add(b.Emit(Flip, b.Emit(Logcumsumexp, v, d[0]), d), a.Self.Value()))
		}
		return []Value{b.sub(part(b.gt(g, 0.0)), part(b.lt(g, 0.0)))}
	})
	return row
}

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

func quantileRows() []*Op {
	const dimTail = "(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"
	choice := func(id ID, name, overload, schema string) *Op {
		return &Op{
			ID: id, Name: name, Overload: overload, Schema: schema,
			Meta: func(c *Call) ([]Result, error) {
				res, err := dimResult(c, In[SelfArgs](c).Self.Meta().DType, false)
				if err != nil {
					return nil, err
				}
				idx := *res[0].(*TensorMeta)
				idx.DType = Int64
				return []Result{res[0], &idx}, nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[SelfDimKeepdimArgs](c.Call)
				return []Value{valueSelectBack(b, c, a.Self, a.Dim, a.Keepdim.Bool())}
			}),
		}
	}
	const quantileArgs = "(Tensor self, Operand q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor"
	return []*Op{
		choice(Mode, "mode", "", dimTail),
		choice(NanmedianDim, "nanmedian", "dim", "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
		middleRow(Nanmedian, "nanmedian", NanmedianDim),
		composite(Quantile, "quantile", quantileArgs, 0, func(b B, c *Call) Value { return quantile(b, c, false) }),
		composite(Nanquantile, "nanquantile", quantileArgs, 0, func(b B, c *Call) Value { return quantile(b, c, true) }),
		{
			ID: Frexp, Name: "frexp", Schema: "(Tensor self) -> (Tensor mantissa, Tensor exponent)",
			Meta: func(c *Call) ([]Result, error) {
				m := In[FrexpArgs](c).Self.Meta()
				if !m.DType.IsFloat() {
					return nil, Errorf("torch.frexp() only supports floating-point dtypes")
				}
				e := *m
				e.DType, e.Stride, e.Offset = Int32, LikeStrides(m), symZero
				res, err := selfLike(c)
				return append(res, &e), err
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				g := c.Grads[0]
				if g == nil {
					return []Value{nil}
				}
				scale := b.Emit(Exp2, b.neg(b.cast(c.Outs[1], g.TensorMeta().DType)))
				return []Value{b.mul(g, scale)}
			}),
		},
	}
}

// quantile sorts, then reads at the ranks that q asks for.
func quantile(b B, c *Call, ignoreNaN bool) Value {
	a := In[QuantilesArgs](c)
	x, m := a.Self.Value(), a.Self.Meta()
	if m.DType != Float32 && m.DType != Float64 {
		refuse(Errorf("%s() input tensor must be either float or double dtype", c.Op.Name))
	}
	if sym.Is(numel(m.Shape), 0) {
		refuse(Errorf("%s() input tensor must be non-empty", c.Op.Name))
	}
	q := a.Q.Value()
	if q == nil {
		if p := a.Q.Float(); !(p >= 0 && p <= 1) {
			refuse(Errorf("%s() q must be in the range [0, 1] but got %v", c.Op.Name, p))
		}
		q = b.full(nil, a.Q.Float(), NewMeta(m.DType, m.Device, nil))
	}
	qm := q.TensorMeta()
	if len(qm.Shape) > 1 {
		refuse(Errorf("%s() q must be a scalar or 1D tensor", c.Op.Name))
	}
	if qm.DType != m.DType {
		refuse(Errorf("%s() q tensor must be same dtype as the input tensor", c.Op.Name))
	}
	rank := len(m.Shape)
	// Rows come last.
	if a.Dim.IsNone() || rank == 0 {
		x = b.reshape(x, numel(m.Shape))
	} else {
		x = b.Emit(Movedim, x, []int{a.Dim.of(a.Self)}, []int{-1})
	}
	sorted := b.EmitN(Sort, x, -1)[0]
	at := ranks(b, sorted, b.reshape(q, numel(qm.Shape)), ignoreNaN)
	out := interpolateRanks(b, sorted, at, a.Interpolation.Str())
	return placeQuantiles(b, out, c, len(qm.Shape) == 0)
}

// ranks are the places of the quantiles in the sorted rows; a row with NaN
// asks for its last element, unless NaN are left out.
func ranks(b B, sorted, q Value, ignoreNaN bool) Value {
	m := sorted.TensorMeta()
	last := len(m.Shape) - 1
	n := m.Shape[last]
	missing := b.Emit(Isnan, sorted)
	if ignoreNaN {
		valid := b.cast(b.sum(b.not(missing), true, last), m.DType)
		return b.Emit(ClampMin, b.mul(q, b.sub(valid, 1)), 0.0)
	}
	at := b.mul(q, b.cast(b.full([]sym.Int{symOne}, sizeNumber(b, sym.Sub(n, symOne)), NewMeta(Int64, m.Device, nil)), m.DType))
	return b.where(
		b.Emit(Any, missing, []int{last}, true),
		b.cast(b.full(nil, sizeNumber(b, sym.Sub(n, symOne)), NewMeta(Int64, m.Device, nil)), m.DType), at,
	)
}

// sizeNumber is a size as a number argument.
func sizeNumber(b B, n sym.Int) Arg { return n }

// interpolateRanks reads rows at fractional ranks.
func interpolateRanks(b B, sorted, at Value, how string) Value {
	switch how {
	case "linear", "lower", "higher", "midpoint", "nearest":
	default:
		refuse(Errorf("quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got %s", how))
	}
	m := sorted.TensorMeta()
	last := len(m.Shape) - 1
	switch how {
	case "lower":
		at = b.Emit(Floor, at)
	case "higher":
		at = b.Emit(Ceil, at)
	case "nearest":
		at = b.Emit(Round, at)
	}
	at = expandIf(b, at, append(cloneInts(m.Shape[:last]), at.TensorMeta().Shape[len(at.TensorMeta().Shape)-1]))
	low := b.cast(at, Int64)
	below := b.Emit(Gather, sorted, last, low)
	var w Value
	switch how {
	case "linear":
		w = b.sub(at, b.cast(low, m.DType))
	case "midpoint":
		w = b.full(nil, 0.5, NewMeta(m.DType, m.Device, nil))
		w = expandIf(b, w, at.TensorMeta().Shape)
	default:
		return below
	}
	above := b.Emit(Gather, sorted, last, b.cast(b.Emit(Ceil, at), Int64))
	return b.Emit(Lerp, below, above, w)
}

// placeQuantiles brings rows of quantiles to the shape of the result: those of
// several q come first.
func placeQuantiles(b B, out Value, c *Call, single bool) Value {
	a := In[QuantilesArgs](c)
	m := a.Self.Meta()
	rank := len(m.Shape)
	keep := a.Keepdim.Bool()
	last := len(out.TensorMeta().Shape) - 1
	front := b.Emit(Movedim, out, []int{last}, []int{0})
	switch {
	case keep && a.Dim.IsNone():
		shape := make([]sym.Int, rank+1)
		for i := range shape {
			shape[i] = symOne
		}
		shape[0] = front.TensorMeta().Shape[0]
		front = b.reshape(front, shape...)
	case keep && rank > 0:
		front = b.unsqueeze(front, a.Dim.of(a.Self)+1)
	}
	if single {
		return b.squeeze(front, 0)
	}
	return front
}

func histogramRows() []*Op {
	return []*Op{histcRow(), {
		ID: Histogram, Name: "histogram", Tags: TagNoGrad,
		Schema: "(Tensor self, Operand bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, " +
			"Tensor bin_edges)",
		Meta: func(c *Call) ([]Result, error) {
			m := In[HistogramArgs](c).Self.Meta()
			if err := checkHistogram(c); err != nil {
				return nil, err
			}
			bins, err := histogramBins(c)
			if err != nil {
				return nil, err
			}
			vector := func(n sym.Int) *TensorMeta { return NewMeta(m.DType, m.Device, []sym.Int{n}) }
			return []Result{vector(bins), vector(sym.Add(bins, symOne))}, nil
		},
	}}
}

// histogramBins is the number of bins, one less than there are edges.
func histogramBins(c *Call) (sym.Int, error) {
	a := In[HistogramArgs](c)
	bins := symZero
	if edges := a.Bins.Meta(); edges == nil {
		n, ok := a.Bins.Arg.(sym.Int)
		if !ok {
			return n, &Error{Kind: "TypeError", Msg: "histogram(): argument 'bins' must be a tensor or an integer"}
		}
		bins = n
	} else {
		if len(edges.Shape) != 1 {
			return bins, Errorf(
				"torch.histogramdd: bins tensor should have one dimension, but got %d dimensions in the bins tensor for dimension 0",
				len(edges.Shape),
			)
		}
		if sym.Is(edges.Shape[0], 0) {
			return bins, Errorf(
				"torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension 0",
			)
		}
		bins = sym.Sub(edges.Shape[0], symOne)
	}
	if !sym.Lt(symZero, bins) {
		return bins, Errorf("torch.histogram(): bins must be > 0, but got %s for dimension 0", bins)
	}
	return bins, nil
}

// checkHistogram checks the types, the range and the weights.
func checkHistogram(c *Call) error {
	a := In[HistogramArgs](c)
	m := a.Self.Meta()
	if m.DType != Float32 && m.DType != Float64 {
		return &Error{Kind: "NotImplementedError", Msg: `"histogramdd" not implemented for '` + m.DType.ScalarType() + "'"}
	}
	if edges := a.Bins.Meta(); edges != nil && edges.DType != m.DType {
		return Errorf(
			"torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype %s and bins for "+
				"dimension 0 with dtype %s",
			m.DType, edges.DType,
		)
	}
	if w := a.Weight.Meta(); w != nil {
		if w.DType != m.DType {
			return Errorf(
				"torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, "+
					"but got input(%s), and weight(%s)",
				m.DType, w.DType,
			)
		}
		if !equalShape(w.Shape, m.Shape) {
			return Errorf(
				"torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its "+
					"innermost dimension, but got input with shape %s and weight with shape %s",
				ShapeText(append(cloneInts(m.Shape), symOne)), ShapeText(w.Shape),
			)
		}
	}
	if r, given := a.Range.Arg.([]float64); given {
		if a.Bins.Meta() != nil {
			return &Error{Kind: "TypeError", Msg: "histogram(): a range goes with a number of bins, not with a tensor of edges"}
		}
		return CheckHistogramRange(r...)
	}
	return nil
}

// CheckHistogramRange checks a range that was given or that the data have.
func CheckHistogramRange(r ...float64) error {
	switch {
	case len(r) != 2:
		return Errorf("torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got %d", len(r))
	case !(r[0]-r[0] == 0 && r[1]-r[1] == 0):
		return Errorf("torch.histogramdd: dimension 0's range [%g, %g] is not finite", r[0], r[1])
	case r[0] > r[1]:
		return Errorf("torch.histogramdd: min should not exceed max, but got min %g max %g for dimension 0", r[0], r[1])
	}
	return nil
}

func histcRow() *Op {
	return composite(Histc, "histc", "(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", TagNoGrad, histc)
}

// histc counts elements in equal bins; both bounds zero means those of the data.
func histc(b B, c *Call) Value {
	a := In[HistcArgs](c)
	m, bins := a.Self.Meta(), a.Bins.Num()
	if !m.DType.IsFloat() {
		refuse(&Error{Kind: "NotImplementedError", Msg: `"histogram_cpu" not implemented for '` + m.DType.ScalarType() + "'"})
	}
	if bins <= 0 {
		refuse(Errorf("torch.histc(): bins must be > 0, but got %d for dimension 0", bins))
	}
	lo, hi := a.Min.Float(), a.Max.Float()
	if lo > hi {
		refuse(Errorf("torch.histc: max must be larger than min"))
	}
	flat := b.reshape(a.Self.Value(), numel(m.Shape))
	var low, high Value
	switch {
	case lo != hi:
		low, high = b.full(nil, lo, m), b.full(nil, hi, m)
	case sym.Is(numel(m.Shape), 0):
		return b.Emit(Zeros, []int{bins}, m.DType)
	default:
		low, high = b.full(nil, lo, m), b.full(nil, hi, m)
		if lo == 0 && hi == 0 {
			low, high = b.Emit(Amin, flat), b.Emit(Amax, flat)
		}
		same := b.eq(low, high)
		low, high = b.where(same, b.sub(low, 1), low), b.where(same, b.add(high, 1), high)
	}
	at := b.div(b.mul(b.sub(flat, low), float64(bins)), b.sub(high, low))
	in := b.and(b.ge(flat, low), b.le(flat, high))
	idx := b.Emit(Clamp, b.cast(b.where(in, at, 0.0), Int64), 0, bins-1)
	count := b.Emit(ScatterAdd, b.Emit(Zeros, []int{bins}, Int64), 0, idx, b.cast(in, Int64))
	return b.cast(count, m.DType)
}

// covariance treats each row as a variable, each column as an observation.
func covariance(b B, c *Call) Value {
	in := In[CovArgs](c)
	if n := len(in.Self.Meta().Shape); n > 2 {
		refuse(Errorf("cov(): expected input to have two or fewer dimensions but got an input with %d dimensions", n))
	}
	x := atLeast(b, in.Self.Value(), 2)
	if d := x.TensorMeta().DType; d == Bool {
		refuse(Errorf("cov(): bool dtype is not supported for input"))
	}
	n := x.TensorMeta().Shape[1]
	w := observationWeights(b, c, n)
	if d := x.TensorMeta().DType; !isFloaty(d) {
		x = b.cast(x, Float32)
	}
	if w == nil {
		d := b.sub(x, b.mean(x, true, 1))
		return b.Emit(Squeeze, b.div(b.mm(d, b.t(b.conj(d))), atLeastZero(b, sym.Sub(n, in.Correction.Int()))))
	}
	total := b.sum(w, false)
	mean := b.div(b.sum(b.mul(x, w), true, 1), total)
	norm := b.sub(total, in.Correction.Arg)
	if a := in.Aweights.Value(); a != nil && !sym.Is(in.Correction.Int(), 0) {
		norm = b.sub(total, b.div(b.mul(b.sum(b.mul(w, a), false), in.Correction.Arg), total))
	}
	norm = b.where(b.le(norm, 0), scalarLike(norm, 0), norm)
	d := b.sub(x, mean)
	out := b.mm(d, b.t(b.conj(b.cast(b.mul(d, w), d.TensorMeta().DType))))
	return b.Emit(Squeeze, b.div(out, norm))
}

// atLeastZero is a size that counts as zero where it would be negative.
func atLeastZero(b B, n sym.Int) Arg {
	if v, ok := n.IsConst(); ok && v < 0 {
		return symZero
	}
	return n
}

// observationWeights is the product of frequencies and weights; nil for none.
func observationWeights(b B, c *Call, n sym.Int) Value {
	a := In[CovArgs](c)
	var w Value
	for _, weights := range []struct {
		name string
		TensorArg
	}{{"fweights", a.Fweights}, {"aweights", a.Aweights}} {
		v, name := weights.Value(), weights.name
		if v == nil {
			continue
		}
		m := v.TensorMeta()
		if len(m.Shape) > 1 {
			refuse(Errorf("cov(): expected %s to have one or fewer dimensions but got %s with %d dimensions", name, name, len(m.Shape)))
		}
		if name == "fweights" && !m.DType.IsInt() {
			refuse(Errorf("cov(): expected fweights to have integral dtype but got fweights with %s dtype", m.DType.ScalarType()))
		}
		if name == "aweights" && !m.DType.IsFloat() {
			refuse(Errorf("cov(): expected aweights to have floating point dtype but got aweights with %s dtype", m.DType.ScalarType()))
		}
		if sym.Ne(numel(m.Shape), n) {
			refuse(Errorf(
				"cov(): expected %s to have the same numel as there are observations in the input but got %s != %s",
				name, numel(m.Shape), n,
			))
		}
		if w == nil {
			w = v
		} else {
			w = b.mul(w, v)
		}
	}
	return w
}

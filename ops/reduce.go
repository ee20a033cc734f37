package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds the operators that fold dimensions away.

const (
	dimsSchema  = "(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"
	dimsDSchema = "(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor"
)

// reducedShape removes the marked dimensions, or sets them to 1.
func reducedShape(shape []sym.Int, dims []bool, keep bool) []sym.Int {
	out := make([]sym.Int, 0, len(shape))
	for i, s := range shape {
		switch {
		case !dims[i]:
			out = append(out, s)
		case keep:
			out = append(out, symOne)
		}
	}
	return out
}

// reduceMeta is the rule of a reduction with schema (self, dim, keepdim, ...).
// empty says whether a reduction over no elements has a value.
func reduceMeta(dtype func(c *Call, d DType) (DType, error), empty bool) func(*Call) ([]Result, error) {
	return func(c *Call) ([]Result, error) {
		a := In[SelfDimsKeepdimArgs](c)
		m := a.Self.Meta()
		dims, err := wrapDims(a.Dim.Ints(), len(m.Shape), true)
		if err != nil {
			return nil, err
		}
		d, err := dtype(c, m.DType)
		if err != nil {
			return nil, err
		}
		if err := checkEmpty(c, m, dims, empty); err != nil {
			return nil, err
		}
		return one(reduced(m, d, dims, a.Keepdim.Bool())), nil
	}
}

func checkEmpty(c *Call, m *TensorMeta, dims []bool, empty bool) error {
	for i, r := range dims {
		if empty || !r || !sym.Is(m.Shape[i], 0) {
			continue
		}
		if len(In[SelfDimsArgs](c).Dim.Ints()) == 0 {
			return Errorf(
				"%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
				c.Op.Name,
			)
		}
		return IndexErrorf("%s(): Expected reduction dim %d to have non-zero size.", c.Op.Name, i)
	}
	return nil
}

// reduced describes the result; its dimensions keep the input's order in memory.
func reduced(m *TensorMeta, d DType, dims []bool, keep bool) *TensorMeta {
	shape := reducedShape(m.Shape, dims, keep)
	out := NewMeta(d, m.Device, shape)
	if IsContiguous(m) {
		return out
	}
	kept := &TensorMeta{Shape: shape}
	for i := range m.Shape {
		switch {
		case !dims[i]:
			kept.Stride = append(kept.Stride, m.Stride[i])
		case keep:
			kept.Stride = append(kept.Stride, symZero)
		}
	}
	out.Stride = iteratorStrides(shape, []*TensorMeta{kept})
	return out
}

// sumType counts integers in int64.
func sumType(c *Call, d DType) (DType, error) {
	if t, ok := In[SumDTypeArgs](c).DType.Arg.(DType); ok {
		return t, nil
	}
	if !isFloaty(d) {
		return Int64, nil
	}
	return d, nil
}

func meanType(c *Call, d DType) (DType, error) {
	if t, ok := In[MeanArgs](c).DType.Arg.(DType); ok {
		d = t
	}
	if !isFloaty(d) {
		return 0, Errorf(
			"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: %s",
			d.ScalarType(),
		)
	}
	return d, nil
}

func sameDType(_ *Call, d DType) (DType, error) { return d, nil }
func floatDType(c *Call, d DType) (DType, error) {
	if !isFloaty(d) {
		return 0, Errorf("%s only support floating point and complex dtypes", c.Op.Name)
	}
	return d, nil
}

// unreduced brings the gradient (or result) v of a reduction back to the shape of
// the input.
func unreduced(b B, v Value, c *Call, keep bool, dims []int) Value {
	m := In[SelfArgs](c).Self.Meta()
	if !keep && len(m.Shape) > 0 {
		mask := make([]bool, len(m.Shape))
		for _, d := range dims {
			mask[d] = true
		}
		v = view2(b, v, reducedShape(m.Shape, mask, true))
	}
	return b.expand(v, m.Shape)
}

// view2 is view, made contiguous first where needed.
func view2(b B, x Value, shape []sym.Int) Value { return b.Emit(Reshape, x, shape) }

func reduceBack(f func(b B, c *BackwardCall, g Value, dims []int) Value) backFn {
	return backOf(func(b B, c *BackwardCall) []Value {
		if c.Grads[0] == nil {
			return []Value{nil}
		}
		a := In[SelfDimsArgs](c.Call)
		g := f(b, c, c.Grads[0], a.Dim.of(a.Self))
		return []Value{b.cast(g, a.Self.Meta().DType)}
	})
}

// count is the number of elements that one result folds.
func count(m *TensorMeta, dims []int) sym.Int {
	n := symOne
	for _, d := range dims {
		n = sym.Mul(n, m.Shape[d])
	}
	return n
}

func reductionRows() []*Op {
	return append(append(sumRows(), extremumRows()...), momentRows()...)
}

func sumRows() []*Op {
	return []*Op{
		{
			ID: Sum, Name: "sum", Schema: dimsDSchema, Tags: TagReduction | TagComplex, Meta: reduceMeta(sumType, true),
			Backward: reduceBack(func(b B, c *BackwardCall, g Value, dims []int) Value {
				return unreduced(b, g, c.Call, In[SumArgs](c.Call).Keepdim.Bool(), dims)
			}),
		},
		{
			ID: Mean, Name: "mean", Schema: dimsDSchema, Tags: TagReduction | TagComplex, Meta: reduceMeta(meanType, true),
			Backward: reduceBack(func(b B, c *BackwardCall, g Value, dims []int) Value {
				a := In[MeanArgs](c.Call)
				return b.div(unreduced(b, g, c.Call, a.Keepdim.Bool(), dims), count(a.Self.Meta(), dims))
			}),
		},
		{
			ID: Nansum, Name: "nansum", Schema: dimsDSchema, Tags: TagReduction, Meta: reduceMeta(sumType, true),
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[NansumArgs](c)
				x := a.Self.Value()
				if x.TensorMeta().DType.IsFloat() {
					x = b.where(b.Emit(Isnan, x), scalarLike(x, 0), x)
				}
				return b.Emit(Sum, x, a.Dim.Arg, a.Keepdim.Arg, a.DType.Arg)
			}),
			Backward: reduceBack(func(b B, c *BackwardCall, g Value, dims []int) Value {
				a := In[NansumArgs](c.Call)
				return b.mask(unreduced(b, g, c.Call, a.Keepdim.Bool(), dims), b.not(b.Emit(Isnan, a.Self.Value())))
			}),
		},
		{
			ID: Any, Name: "any", Schema: dimsSchema, Tags: TagReduction | TagNoGrad | TagComplex, Meta: reduceMeta(boolOrByte, true),
		},
		{
			ID: AllOf, Name: "all", Schema: dimsSchema, Tags: TagReduction | TagNoGrad | TagComplex, Meta: reduceMeta(boolOrByte, true),
		},
		{
			ID: CountNonzero, Name: "count_nonzero", Schema: "(Tensor self, int[]? dim=None) -> Tensor",
			Tags: TagReduction | TagNoGrad | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[CountNonzeroArgs](c)
				m := a.Self.Meta()
				dims, err := wrapDims(a.Dim.Ints(), len(m.Shape), true)
				if err != nil {
					return nil, err
				}
				return one(reduced(m, Int64, dims, false)), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[CountNonzeroArgs](c)
				return b.Emit(Sum, b.ne(a.Self.Value(), 0), a.Dim.Arg, false)
			}),
		},
		{
			ID: Prod, Name: "prod", Schema: "(Tensor self, int? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
			Tags: TagReduction | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				d, err := sumType(c, In[ProdArgs](c).Self.Meta().DType)
				if err != nil {
					return nil, err
				}
				return dimResult(c, d, true)
			},
			Backward: backOf(prodBack),
		},
		cumRow(Cumsum, "cumsum", func(b B, c *BackwardCall, g Value, dim int) Value {
			return reverseCumsum(b, g, dim)
		}).and(TagHasInPlace | TagComplex),
		cumRow(Cumprod, "cumprod", cumprodBack).and(TagHasInPlace | TagComplex),
	}
}

// boolOrByte: any and all of bytes are bytes.
func boolOrByte(_ *Call, d DType) (DType, error) {
	if d == Uint8 {
		return Uint8, nil
	}
	return Bool, nil
}

// dimResult is the rule of (self, int? dim, bool keepdim): no dim means all.
func dimResult(c *Call, d DType, empty bool) ([]Result, error) {
	a := In[SelfDimKeepdimArgs](c)
	m := a.Self.Meta()
	mask := make([]bool, len(m.Shape))
	for i := range mask {
		mask[i] = a.Dim.IsNone()
	}
	if !a.Dim.IsNone() {
		i, err := WrapDim(a.Dim.Int(), len(m.Shape))
		if err != nil {
			return nil, err
		}
		if len(mask) > 0 {
			mask[i] = true
		}
	}
	for i, r := range mask {
		if r && !empty && sym.Is(m.Shape[i], 0) {
			if a.Dim.IsNone() {
				return nil, Errorf(
					"%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "+
						"'dim' argument.",
					c.Op.Name,
				)
			}
			return nil, IndexErrorf("%s(): Expected reduction dim %d to have non-zero size.", c.Op.Name, i)
		}
	}
	return one(reduced(m, d, mask, a.Keepdim.Bool())), nil
}

// prodBack multiplies the other elements: products from the left and from the
// right, exact with zeros too.
func prodBack(b B, c *BackwardCall) []Value {
	a := In[ProdArgs](c.Call)
	g := c.Grads[0]
	if g == nil {
		return []Value{nil}
	}
	x := a.Self.Value()
	m := x.TensorMeta()
	if len(m.Shape) == 0 {
		return []Value{b.cast(g, m.DType)}
	}
	dim := 0
	flat := x
	if a.Dim.IsNone() {
		flat = b.reshape(x, numel(m.Shape))
		g = b.reshape(g, symOne)
	} else {
		dim = a.Dim.of(a.Self)
		if !a.Keepdim.Bool() {
			g = b.unsqueeze(g, dim)
		}
	}
	fm := flat.TensorMeta()
	g = b.expand(g, fm.Shape)
	n := fm.Shape[dim]
	oneShape := replaced(fm.Shape, dim, symOne)
	ones := b.full(oneShape, 1, g.TensorMeta())
	xs := b.cast(flat, g.TensorMeta().DType)
	left := b.Emit(Cumprod, b.cat(dim, ones, b.slice(xs, dim, symZero, sym.Sub(n, symOne))), sym.C(dim))
	rev := b.Emit(Flip, xs, sym.Consts([]int{dim}))
	right := b.Emit(Cumprod, b.cat(dim, ones, b.slice(rev, dim, symZero, sym.Sub(n, symOne))), sym.C(dim))
	out := b.mul(g, b.mul(left, b.Emit(Flip, right, sym.Consts([]int{dim}))))
	// Without zeros the product is divided by each factor, as PyTorch does.
	whole := c.Outs[0]
	if !a.Dim.IsNone() && !a.Keepdim.Bool() {
		whole = b.unsqueeze(whole, dim)
	}
	quotient := b.mul(g, b.div(b.reshape(b.expand(b.reshape(whole, oneShape...), fm.Shape), fm.Shape...), xs))
	out = b.where(b.Emit(Any, b.eq(xs, 0.0)), out, quotient)
	return []Value{b.cast(b.reshape(out, m.Shape...), m.DType)}
}

func (b B) cat(dim int, xs ...Value) Value { return b.Emit(Cat, xs, sym.C(dim)) }

// reverseCumsum sums from each element to the end.
func reverseCumsum(b B, g Value, dim int) Value {
	d := []sym.Int{sym.C(dim)}
	return b.Emit(Flip, b.Emit(Cumsum, b.Emit(Flip, g, d), sym.C(dim)), d)
}

func cumRow(id ID, name string, back func(b B, c *BackwardCall, g Value, dim int) Value) *Op {
	return &Op{
		ID: id, Name: name, Schema: "(Tensor self, int dim, *, dtype? dtype=None) -> Tensor",
		Meta: func(c *Call) ([]Result, error) {
			a := In[SelfDimDTypeArgs](c)
			m := a.Self.Meta()
			if _, err := WrapDim(a.Dim.Int(), len(m.Shape)); err != nil {
				return nil, err
			}
			d := a.DType.Or(m.DType)
			if a.DType.IsNone() && !isFloaty(d) {
				d = Int64
			}
			return one(&TensorMeta{DType: d, Device: m.Device, Shape: m.Shape, Stride: LikeStrides(m)}), nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			a := In[SelfDimArgs](c.Call)
			g, m := c.Grads[0], a.Self.Meta()
			if g == nil {
				return []Value{nil}
			}
			if len(m.Shape) > 0 {
				dim, _ := WrapDim(a.Dim.Int(), len(m.Shape))
				g = back(b, c, g, dim)
			}
			return []Value{b.cast(g, m.DType)}
		}),
	}
}

// cumprodBack: d out[j] / d x[i] is the product of x[0..j] without x[i]. The
// quotient form serves where no element is zero; zeros are handled by the
// product over an explicit mask, which costs n times the memory.
func cumprodBack(b B, c *BackwardCall, g Value, dim int) Value {
	x := b.cast(In[CumprodArgs](c.Call).Self.Value(), g.TensorMeta().DType)
	m := x.TensorMeta()
	n, rank := m.Shape[dim], len(m.Shape)
	// wide[.., i, j, ..] is x[j] with x[i] replaced by 1 and zero for j < i.
	shape := inserted(m.Shape, dim, n)
	wide := b.expand(b.unsqueeze(x, dim), shape)
	idx := b.arange(n, m)
	row := make([]sym.Int, rank+1)
	col := make([]sym.Int, rank+1)
	for i := range row {
		row[i], col[i] = symOne, symOne
	}
	row[dim], col[dim+1] = n, n
	ri, ci := b.view(idx, row...), b.view(idx, col...)
	prods := b.Emit(Cumprod, b.where(b.eq(ri, ci), scalarLike(x, 1), wide), sym.C(dim+1))
	prods = b.where(b.ge(ci, ri), prods, scalarLike(x, 0))
	out := b.sum(b.mul(prods, b.unsqueeze(g, dim)), false, dim+1)
	if d := m.DType; OpMath(d) != d { // rounds as the quotient does, where there is one
		quotient := b.div(reverseCumsum(b, b.mul(c.Outs[0], g), dim), x)
		return b.where(b.eq(x, 0.0), out, quotient)
	}
	return out
}

func extremumRows() []*Op {
	return []*Op{
		amaxRow(Amax, "amax"), amaxRow(Amin, "amin"),
		maxRow(Max, "max", Amax), maxRow(Min, "min", Amin),
		maxDimRow(MaxDim, "max", Argmax), maxDimRow(MinDim, "min", Argmin),
		argRow(Argmax, "argmax"), argRow(Argmin, "argmin"),
	}
}

// chosenBack is the derivative of a reduction to one of the elements: those equal to
// it share the gradient; where it is NaN, those that are NaN.
func chosenBack() func(Builder, *BackwardCall) []Value {
	return backOf(func(b B, c *BackwardCall) []Value {
		g, x, y := c.Grads[0], In[SelfArgs](c.Call).Self.Value(), c.Outs[0]
		if g == nil {
			return []Value{nil}
		}
		hit := b.eq(x, y)
		if x.TensorMeta().DType.IsFloat() {
			hit = b.or(hit, b.and(b.Emit(Isnan, x), b.Emit(Isnan, y)))
		}
		return []Value{b.mask(b.div(g, b.cast(b.sum(hit, false), g.TensorMeta().DType)), hit)}
	})
}

// evenly gives g to the elements of x that equal the extremum y, in equal parts.
func evenly(b B, c *BackwardCall, g, y Value, keep bool, dims []int) Value {
	hit := b.eq(In[SelfArgs](c.Call).Self.Value(), unreduced(b, y, c.Call, keep, dims))
	n := unreduced(b, b.sum(hit, true, dims...), c.Call, true, dims)
	if len(dims) == 0 {
		n = b.sum(hit, false)
	}
	return b.div(b.mask(unreduced(b, g, c.Call, keep, dims), hit), b.cast(n, g.TensorMeta().DType))
}

func amaxRow(id ID, name string) *Op {
	return &Op{
		ID: id, Name: name, Schema: "(Tensor self, int[]? dim=[], bool keepdim=False) -> Tensor", Tags: TagReduction,
		Meta: reduceMeta(sameDType, false),
		Backward: reduceBack(func(b B, c *BackwardCall, g Value, dims []int) Value {
			return evenly(b, c, g, c.Outs[0], In[SelfDimsKeepdimArgs](c.Call).Keepdim.Bool(), dims)
		}),
	}
}

func maxRow(id ID, name string, amax ID) *Op {
	return &Op{
		ID: id, Name: name, Schema: selfOnly, Tags: TagReduction,
		Meta: func(c *Call) ([]Result, error) {
			m := In[SelfArgs](c).Self.Meta()
			if sym.Is(numel(m.Shape), 0) {
				return nil, Errorf(
					"%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "+
						"'dim' argument.",
					c.Op.Name,
				)
			}
			return one(NewMeta(m.DType, m.Device, nil)), nil
		},
		Decompose: decomp(func(b B, c *Call) Value { return b.Emit(amax, In[SelfArgs](c).Self.Value()) }),
		Backward:  chosenBack(),
		GradName:  map[string]string{"max": "MaxBackward1", "min": "MinBackward1"}[name],
	}
}

func maxDimRow(id ID, name string, arg ID) *Op {
	return &Op{
		ID: id, Name: name, Overload: "dim", Schema: "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, " +
			"Tensor indices)", Tags: TagReduction,
		Meta: func(c *Call) ([]Result, error) {
			res, err := dimResult(c, In[SelfArgs](c).Self.Meta().DType, false)
			if err != nil {
				return nil, err
			}
			idx := *res[0].(*TensorMeta)
			idx.DType = Int64
			return []Result{res[0], &idx}, nil
		},
		Decompose: func(bb Builder, c *Call) []Value {
			a := In[SelfDimKeepdimArgs](c)
			b := B{bb}
			x := a.Self.Value()
			wide := x
			if x.TensorMeta().DType == Bool {
				wide = b.cast(x, Uint8)
			}
			if len(x.TensorMeta().Shape) == 0 {
				return []Value{b.Emit(Clone, x), b.Emit(arg, wide, a.Dim.Arg, a.Keepdim.Arg)}
			}
			idx := b.Emit(arg, wide, a.Dim.Arg, true)
			val := b.Emit(Gather, x, a.Dim.Arg, idx)
			if !a.Keepdim.Bool() {
				d := a.Dim.of(a.Self)
				idx, val = b.squeeze(idx, d), b.squeeze(val, d)
			}
			return []Value{val, idx}
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			a := In[SelfDimKeepdimArgs](c.Call)
			return []Value{valueSelectBack(b, c, a.Self, a.Dim, a.Keepdim.Bool())}
		}),
	}
}

// valueSelectBack scatters the gradient of selected values to where they came
// from; Outs[1] are their positions along dim.
func valueSelectBack(b B, c *BackwardCall, self TensorArg, dim IntArg, keep bool) Value {
	g := c.Grads[0]
	if g == nil {
		return nil
	}
	m := self.Meta()
	if len(m.Shape) == 0 {
		return g
	}
	d := dim.of(self)
	idx := c.Outs[1]
	if !keep {
		g, idx = b.unsqueeze(g, d), b.unsqueeze(idx, d)
	}
	return b.Emit(Scatter, b.zeros(m), sym.C(d), idx, g)
}

func argRow(id ID, name string) *Op {
	return &Op{
		ID: id, Name: name, Schema: "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", Tags: TagReduction | TagNoGrad,
		Meta: func(c *Call) ([]Result, error) {
			if _, err := notFor(isBool)(c.Op, In[SelfArgs](c).Self.Meta().DType); err != nil {
				return nil, err
			}
			return dimResult(c, Int64, false)
		},
	}
}

// normRow is torch.norm and linalg.vector_norm: p defaults to 2.
func normRow() *Op {
	return &Op{
		ID: Norm, Name: "norm", Schema: "(Tensor self, Scalar? p=2, int[]? dim=None, bool keepdim=False, *, " +
			"dtype? dtype=None) -> Tensor", Tags: TagReduction | TagComplex,
		Meta: func(c *Call) ([]Result, error) {
			a := In[NormArgs](c)
			m := a.Self.Meta()
			dims, err := wrapDims(a.Dim.Ints(), len(m.Shape), true)
			if err != nil {
				return nil, err
			}
			d := a.DType.Or(m.DType)
			if !isFloaty(d) {
				return nil, Errorf("linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s", d.ScalarType())
			}
			return one(reduced(m, realType(d), dims, a.Keepdim.Bool())), nil
		},
		Decompose: decompF(func(b B, c *Call) Value {
			a := In[NormArgs](c)
			x := a.Self.Value()
			if a.Self.Meta().DType.IsComplex() {
				x = b.Emit(Abs, x)
			} else {
				x = b.cast(x, OpMath(a.DType.Or(a.Self.Meta().DType)))
			}
			return vectorNorm(b, x, a.P.Arg, a.Dim.of(a.Self), a.Keepdim.Bool())
		}),
		Backward: backOf(normBack),
	}
}

func vectorNorm(b B, x Value, p Arg, dims []int, keep bool) Value {
	a := b.Emit(Abs, x)
	order := 2.0
	if p != nil {
		order = NumberOf(p)
	}
	list := sym.Consts(dims)
	switch {
	case len(x.TensorMeta().Shape) == 0 && order != 0:
		return a
	case math.IsInf(order, 1):
		return b.Emit(Amax, a, list, keep)
	case math.IsInf(order, -1):
		return b.Emit(Amin, a, list, keep)
	case order == 0:
		return b.cast(b.Emit(Sum, b.ne(x, 0), list, keep), x.TensorMeta().DType)
	case order == 1:
		return b.Emit(Sum, a, list, keep)
	case order == 2:
		return b.sqrt(b.Emit(Sum, b.sq(x), list, keep))
	}
	return b.pow(b.Emit(Sum, b.pow(a, order), list, keep), 1/order)
}

// signOf is x/|x|, zero at zero, of real and complex numbers.
func signOf(b B, x Value) Value {
	if x.TensorMeta().DType.IsComplex() {
		return b.sgn(x)
	}
	return b.Emit(Sign, x)
}

func normBack(b B, c *BackwardCall) []Value {
	a := In[NormArgs](c.Call)
	g := c.Grads[0]
	if g == nil {
		return []Value{nil}
	}
	x, dims, keep := a.Self.Value(), a.Dim.of(a.Self), a.Keepdim.Bool()
	order := 2.0
	if !a.P.IsNone() {
		order = a.P.Float()
	}
	gs, ys := unreduced(b, g, c.Call, keep, dims), unreduced(b, c.Outs[0], c.Call, keep, dims)
	sgn := signOf(b, x)
	var out Value
	switch {
	case order == 0:
		out = b.zeros(x.TensorMeta())
	case order == 1:
		out = b.mul(gs, sgn)
	case order == 2:
		r := b.mul(gs, b.div(x, ys))
		out = b.where(b.eq(ys, 0.0), scalarLike(r, 0), r)
	case math.IsInf(order, 0):
		hit := b.eq(b.Emit(Abs, x), ys)
		n := b.cast(b.sum(hit, true, dims...), gs.TensorMeta().DType)
		out = b.mask(b.div(b.mul(gs, sgn), n), hit)
	default:
		r := b.mul(b.mul(gs, sgn), b.div(b.pow(b.Emit(Abs, x), order-1), b.pow(ys, order-1)))
		out = b.where(b.eq(ys, 0.0), scalarLike(r, 0), r)
	}
	return []Value{b.cast(out, x.TensorMeta().DType)}
}

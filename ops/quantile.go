package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds order statistics: mode, median without NaN, quantiles.

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
	// Rows stand last.
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

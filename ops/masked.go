package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds torch.masked: reductions and normalisations that see only
// the elements where a mask is true. What the mask hides is replaced by the
// value that changes nothing.

const maskedTail = "bool keepdim=False, *, dtype? dtype=None, Tensor? mask=None) -> Tensor"

// maskedCall is a call with its mask and its dtype.
type maskedCall struct {
	*Call
	b    B
	x    Value
	mask Value // broadcast to x; nil for none
}

// maskedRow is a row of torch.masked with schema (input, args..., dtype, mask).
func maskedRow(id ID, name, args string, tags Tag, f func(m *maskedCall) Value) *Op {
	return composite(id, "masked."+name, "(Tensor input, "+args, TagNotMethod|tags, func(b B, c *Call) Value {
		m := &maskedCall{Call: c, b: b, x: In[InputArgs](c).Input.Value()}
		m.mask = maskFor(b, m.x, named[TensorArg](c, "mask").Value())
		return f(m)
	})
}

// maskFor broadcasts a mask to the shape of x.
func maskFor(b B, x, mask Value) Value {
	if mask == nil {
		return nil
	}
	m, mm := x.TensorMeta(), mask.TensorMeta()
	if len(mm.Shape) > len(m.Shape) {
		refuse(&Error{
			Kind: "IndexError",
			Msg:  "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)",
		})
	}
	return expandIf(b, b.cast(mask, Bool), m.Shape)
}

// filled is x with the hidden elements replaced.
func (m *maskedCall) filled(v float64) Value {
	if m.mask == nil {
		return m.x
	}
	d := m.x.TensorMeta().DType
	return m.b.where(m.mask, m.x, m.b.full(nil, leastOf(d, v), m.x.TensorMeta()))
}

// leastOf is v as an element of d, where the infinities of integers are their
// bounds.
func leastOf(d DType, v float64) Arg {
	if d.IsFloat() || !math.IsInf(v, 0) {
		return elementOf(d, v)
	}
	lo, hi := intBounds(d)
	if v < 0 {
		return sym.Const(lo)
	}
	return sym.Const(hi)
}

// intBounds are the least and greatest integer of a type.
func intBounds(d DType) (lo, hi int64) {
	switch d {
	case Uint8:
		return 0, math.MaxUint8
	case Int8:
		return math.MinInt8, math.MaxInt8
	case Int16:
		return math.MinInt16, math.MaxInt16
	case Int32:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func (m *maskedCall) dtype() DTypeArg  { return named[DTypeArg](m.Call, "dtype") }
func (m *maskedCall) dim() IntsArg     { return named[IntsArg](m.Call, "dim") }
func (m *maskedCall) keepdim() BoolArg { return named[BoolArg](m.Call, "keepdim") }

// resultType is the dtype argument, or that of the input.
func (m *maskedCall) resultType() DType {
	return m.dtype().Or(m.x.TensorMeta().DType)
}

// countType is resultType with small integers counted in int64.
func (m *maskedCall) countType() DType {
	if d := m.resultType(); !m.dtype().IsNone() || isFloaty(d) {
		return d
	}
	return Int64
}

func maskedRows() []*Op {
	const dims = "int[]? dim=None, " + maskedTail
	const dim = "int? dim=None, " + maskedTail
	const along = "int dim, *, dtype? dtype=None, Tensor? mask=None) -> Tensor"
	extremum := func(id ID, name string, op ID, fill float64) *Op {
		return maskedRow(id, name, dims, 0, func(m *maskedCall) Value {
			return m.b.cast(m.b.Emit(op, m.filled(fill), m.allDims(), m.keepdim().Arg), m.resultType())
		})
	}
	arg := func(id ID, name string, op ID, fill float64) *Op {
		return maskedRow(id, name, dim, TagNoGrad, func(m *maskedCall) Value {
			return m.b.cast(m.b.Emit(op, m.filled(fill), m.dim().Arg, m.keepdim().Arg), m.resultType())
		})
	}
	scan := func(id ID, name string, op ID, fill float64) *Op {
		return maskedRow(id, name, along, 0, func(m *maskedCall) Value {
			return m.b.Emit(op, m.filled(fill), m.dim().Arg, m.resultType())
		})
	}
	soft := func(id ID, name string, op ID, sign float64) *Op {
		return maskedRow(id, name, along, 0, func(m *maskedCall) Value {
			x := m.filled(-sign * inf)
			if sign < 0 {
				x = m.b.neg(x)
			}
			return m.b.Emit(op, x, m.dim().Arg, m.resultType())
		})
	}
	spread := func(id ID, name string, root bool) *Op {
		return maskedRow(id, name, "int[]? dim=None, bool? unbiased=None, *, Scalar? correction=None, bool keepdim=False, "+
			"dtype? dtype=None, Tensor? mask=None) -> Tensor", 0, func(m *maskedCall) Value {
			v := m.variance()
			if root {
				v = m.b.sqrt(v)
			}
			return v
		})
	}
	return []*Op{
		maskedRow(MaskedSum, "sum", dims, 0, func(m *maskedCall) Value {
			return m.b.Emit(Sum, m.filled(0), m.allDims(), m.keepdim().Arg, m.countType())
		}).and(TagComplex),
		maskedRow(MaskedProd, "prod", dims, 0, maskedProd).and(TagComplex),
		scan(MaskedCumsum, "cumsum", Cumsum, 0).and(TagComplex), scan(MaskedCumprod, "cumprod", Cumprod, 1).and(TagComplex),
		extremum(MaskedAmax, "amax", Amax, -inf), extremum(MaskedAmin, "amin", Amin, inf),
		arg(MaskedArgmax, "argmax", Argmax, -inf), arg(MaskedArgmin, "argmin", Argmin, inf),
		maskedRow(MaskedMean, "mean", dims, 0, func(m *maskedCall) Value {
			if d := m.resultType(); !isFloaty(d) {
				refuse(&Error{
					Kind: "ValueError",
					Msg: "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. " +
						"Got: " + d.String(),
				})
			}
			total := m.b.Emit(Sum, m.filled(0), m.allDims(), m.keepdim().Arg, m.resultType())
			return m.b.div(total, m.count(m.keepdim().Bool()))
		}).and(TagComplex),
		maskedRow(MaskedMedian, "median", "int dim=-1, "+maskedTail, 0, func(m *maskedCall) Value {
			d := m.x.TensorMeta().DType
			if !d.IsFloat() {
				m.x = m.b.cast(m.x, Float32)
			}
			return m.b.cast(m.b.EmitN(NanmedianDim, m.filled(nan), m.dim().Arg, m.keepdim().Arg)[0], d)
		}),
		maskedRow(MaskedLogsumexp, "logsumexp", dims, 0, func(m *maskedCall) Value {
			return m.b.cast(m.b.Emit(Logsumexp, m.filled(-inf), m.allDims(), m.keepdim().Arg), m.resultType())
		}),
		composite(MaskedLogaddexp, "masked.logaddexp",
			"(Tensor input, Tensor other, *, dtype? dtype=None, Tensor? input_mask=None, Tensor? other_mask=None) -> Tensor",
			TagNotMethod, func(b B, c *Call) Value {
				a := In[MaskedLogaddexpArgs](c)
				x := &maskedCall{Call: c, b: b, x: a.Input.Value(), mask: maskFor(b, a.Input.Value(), a.InputMask.Value())}
				y := &maskedCall{Call: c, b: b, x: a.Other.Value(), mask: maskFor(b, a.Other.Value(), a.OtherMask.Value())}
				return b.cast(b.Emit(Logaddexp, x.filled(-inf), y.filled(-inf)), a.DType.Or(a.Input.Meta().DType))
			}),
		maskedRow(MaskedNorm, "norm", "Scalar? ord=2.0, int[]? dim=None, "+maskedTail, 0, func(m *maskedCall) Value {
			a := In[MaskedNormArgs](m.Call)
			return m.norm(a.Ord.Arg, a.Dim.Arg, a.Keepdim.Arg)
		}),
		maskedRow(MaskedNormalize, "normalize", "Scalar ord, int dim, *, float eps=1e-12, dtype? dtype=None, "+
			"Tensor? mask=None) -> Tensor", 0, func(m *maskedCall) Value {
			a := In[MaskedNormalizeArgs](m.Call)
			n := m.norm(a.Ord.Arg, []sym.Int{a.Dim.Int()}, true)
			return m.b.div(m.filled(0), m.b.Emit(Maximum, n, m.b.full(nil, a.Eps.Float(), n.TensorMeta())))
		}),
		soft(MaskedSoftmax, "softmax", Softmax, 1), soft(MaskedLogSoftmax, "log_softmax", LogSoftmax, 1),
		soft(MaskedSoftmin, "softmin", Softmax, -1),
		spread(MaskedVar, "var", false), spread(MaskedStd, "std", true),
	}
}

// allDims is the list of dimensions: none means all.
func (m *maskedCall) allDims() []sym.Int { return sym.Consts(m.dims()) }

func (m *maskedCall) dims() []int { return m.dim().of(In[InputArgs](m.Call).Input) }

// count is the number of visible elements of each result.
func (m *maskedCall) count(keep bool) Value {
	if m.mask == nil {
		ones := m.b.Emit(OnesLike, m.x, Int64)
		return m.b.Emit(Sum, ones, m.allDims(), keep)
	}
	return m.b.Emit(Sum, m.mask, m.allDims(), keep)
}

func maskedProd(m *maskedCall) Value {
	x := m.filled(1)
	dims := m.dims()
	for i := len(dims) - 1; i >= 0; i-- {
		x = m.b.Emit(Prod, x, dims[i], m.keepdim().Arg, m.countType())
	}
	return m.b.cast(x, m.countType())
}

func (m *maskedCall) norm(ord, dim, keep Arg) Value {
	fill := 0.0
	if ord != nil && math.IsInf(NumberOf(ord), -1) {
		fill = inf
	}
	return m.b.Emit(Norm, m.filled(fill), ord, dim, keep, m.dtype().Arg)
}

// variance is the mean square of the distances from the mean, with correction.
func (m *maskedCall) variance() Value {
	a := In[MaskedSpreadArgs](m.Call)
	b, keep := m.b, a.Keepdim.Bool()
	d := FloatType(m.resultType())
	n := m.count(true)
	total := b.Emit(Sum, m.filled(0), m.allDims(), true, d)
	dist := b.sub(m.x, b.div(total, n))
	squares := &maskedCall{Call: m.Call, b: b, x: b.sq(dist), mask: m.mask}
	sum := b.Emit(Sum, squares.filled(0), m.allDims(), keep, d)
	n = b.reshape(n, sum.TensorMeta().Shape...)
	correction := 1.0
	if !a.Unbiased.IsNone() && !a.Unbiased.Bool() {
		correction = 0
	}
	if !a.Correction.IsNone() {
		correction = a.Correction.Float()
	}
	if correction != 0 {
		n = b.Emit(ClampMin, b.sub(b.cast(n, d), correction), 0.0)
	}
	return b.cast(b.div(sum, n), d)
}

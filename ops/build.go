package ops

import (
	"cmp"
	"runtime"
	"slices"

	"tcdbg/ops/sym"
)

// This file is what rules build with: arithmetic on a Builder, the shapes of derivatives
// and decompositions, and rows that are compositions of others.

// B adds arithmetic to a Builder, so that derivatives and decompositions read
// like formulas. Operands are tensors or numbers. Steps that one family of operators
// shares are functions of its file that take a B.
type B struct{ Builder }

// Short forms of the operators that rules use most.

func (b B) add(x, y Arg) Value   { return b.Emit(Add, x, y) }
func (b B) sub(x, y Arg) Value   { return b.Emit(Sub, x, y) }
func (b B) mul(x, y Arg) Value   { return b.Emit(Mul, x, y) }
func (b B) div(x, y Arg) Value   { return b.Emit(Div, x, y) }
func (b B) pow(x, y Arg) Value   { return b.Emit(Pow, x, y) }
func (b B) neg(x Arg) Value      { return b.Emit(Neg, x) }
func (b B) exp(x Arg) Value      { return b.Emit(Exp, x) }
func (b B) log(x Arg) Value      { return b.Emit(Log, x) }
func (b B) sqrt(x Arg) Value     { return b.Emit(Sqrt, x) }
func (b B) sq(x Arg) Value       { return b.Emit(Mul, x, x) }
func (b B) inv(x Arg) Value      { return b.Emit(Reciprocal, x) }
func (b B) lt(x, y Arg) Value    { return b.Emit(Lt, x, y) }
func (b B) le(x, y Arg) Value    { return b.Emit(Le, x, y) }
func (b B) gt(x, y Arg) Value    { return b.Emit(Gt, x, y) }
func (b B) ge(x, y Arg) Value    { return b.Emit(Ge, x, y) }
func (b B) eq(x, y Arg) Value    { return b.Emit(Eq, x, y) }
func (b B) ne(x, y Arg) Value    { return b.Emit(Ne, x, y) }
func (b B) and(x, y Arg) Value   { return b.Emit(LogicalAnd, x, y) }
func (b B) or(x, y Arg) Value    { return b.Emit(LogicalOr, x, y) }
func (b B) not(x Arg) Value      { return b.Emit(LogicalNot, x) }
func (b B) mm(x, y Value) Value  { return b.Emit(Mm, x, y) }
func (b B) t(x Value) Value      { return b.Emit(T, x) }
func (b B) detach(x Value) Value { return b.Emit(Detach, x) }

func (b B) where(c Value, x, y Arg) Value { return b.Emit(Where, c, x, y) }

// mask keeps g where c holds and is zero elsewhere.
func (b B) mask(g, c Value) Value { return b.Emit(Where, c, g, scalarLike(g, 0)) }

func (b B) view(x Value, shape ...sym.Int) Value    { return b.Emit(View, x, shape) }
func (b B) reshape(x Value, shape ...sym.Int) Value { return b.Emit(Reshape, x, shape) }
func (b B) expand(x Value, shape []sym.Int) Value   { return b.Emit(Expand, x, shape) }
func (b B) transpose(x Value, i, j int) Value {
	return b.Emit(Transpose, x, sym.C(i), sym.C(j))
}
func (b B) permute(x Value, dims ...int) Value { return b.Emit(Permute, x, sym.Consts(dims)) }
func (b B) unsqueeze(x Value, dim int) Value   { return b.Emit(Unsqueeze, x, sym.C(dim)) }
func (b B) squeeze(x Value, dim int) Value     { return b.Emit(Squeeze, x, []sym.Int{sym.C(dim)}) }
func (b B) slice(x Value, dim int, start, end sym.Int) Value {
	return b.Emit(Slice, x, sym.C(dim), start, end)
}
func (b B) sel(x Value, dim int, i sym.Int) Value { return b.Emit(Select, x, sym.C(dim), i) }

func (b B) sum(x Value, keep bool, dims ...int) Value {
	if len(dims) == 0 {
		return b.Emit(Sum, x)
	}
	return b.Emit(Sum, x, sym.Consts(dims), keep)
}

func (b B) mean(x Value, keep bool, dims ...int) Value {
	if len(dims) == 0 {
		return b.Emit(Mean, x)
	}
	return b.Emit(Mean, x, sym.Consts(dims), keep)
}

func (b B) amax(x Value, keep bool, dims ...int) Value {
	return b.Emit(Amax, x, sym.Consts(dims), keep)
}

// cast converts x to d; x itself when it has that type.
func (b B) cast(x Value, d DType) Value {
	if x.TensorMeta().DType == d {
		return x
	}
	return b.Emit(To, x, d)
}

// zeros, ones and full make tensors of m's dtype and device.
func (b B) zeros(m *TensorMeta) Value { return b.full(m.Shape, 0, m) }

func (b B) full(shape []sym.Int, v Arg, m *TensorMeta) Value {
	if f, ok := v.(int); ok {
		v = scalarOf(m.DType, float64(f))
	}
	return b.Emit(Full, shape, v, m.DType, m.Device)
}

// arange counts from 0 to n as int64.
func (b B) arange(n sym.Int, m *TensorMeta) Value {
	return b.Emit(Arange, n, nil, sym.C(1), Int64, m.Device)
}

// scalarOf is the number v in the form that fits d.
func scalarOf(d DType, v float64) Arg {
	if d.IsFloat() || d.IsComplex() {
		return v
	}
	return sym.Const(int64(v))
}

func scalarLike(x Value, v float64) Arg { return scalarOf(x.TensorMeta().DType, v) }

// asStored is a number as a tensor of type d holds it: PyTorch fills one where a
// number is on the left of a difference or a quotient.
func asStored(d DType, v float64) float64 {
	switch d {
	case BFloat16:
		return float64(BFloatToFloat(FloatToBFloat(float32(v))))
	case Float16:
		return float64(HalfToFloat(FloatToHalf(float32(v))))
	}
	return v
}

// sumTo reduces g to shape, from which it was broadcast.
func (b B) sumTo(g Value, shape []sym.Int) Value {
	m := g.TensorMeta()
	lead := len(m.Shape) - len(shape)
	var dims []int
	for i := range lead {
		dims = append(dims, i)
	}
	for i, s := range shape {
		if sym.Is(s, 1) && !sym.Is(m.Shape[lead+i], 1) {
			dims = append(dims, lead+i)
		}
	}
	if len(dims) == 0 {
		return g
	}
	if len(shape) == 0 {
		return b.Emit(Sum, g)
	}
	g = b.sum(g, true, dims...)
	if lead > 0 {
		g = b.view(g, shape...)
	}
	return g
}

// back brings a raw gradient to the shape and dtype of operand x.
func (b B) back(g Value, x *TensorMeta) Value {
	if g == nil {
		return nil
	}
	return b.cast(b.sumTo(g, x.Shape), x.DType)
}

// pointwiseBack makes the Backward of a pointwise operator: grad gives the raw
// gradient of the tensor in slot i (a schema position).
func pointwiseBack(grad func(b B, c *BackwardCall, g Value, i int) Value) func(Builder, *BackwardCall) []Value {
	return func(bb Builder, c *BackwardCall) []Value {
		b := B{bb}
		return eachSlot(c, func(i int) Value {
			m := MetaOf(c.Args[i])
			if c.Grads[0] == nil || !m.DType.IsFloat() && !m.DType.IsComplex() {
				return nil
			}
			return b.back(grad(b, c, c.Grads[0], i), m)
		})
	}
}

// wideBack runs a derivative in float32 where operands are half precision and
// rounds its results.
func wideBack(f backFn) backFn {
	return func(bb Builder, c *BackwardCall) []Value {
		b := B{bb}
		half := false
		up := func(v Value) Value {
			if v == nil || !tensorLike(v) {
				return v
			}
			d := v.TensorMeta().DType
			if OpMath(d) == d {
				return v
			}
			half = true
			return b.cast(v, OpMath(d))
		}
		wide := &BackwardCall{Call: &Call{c.Op, make([]Arg, len(c.Args))}, Needs: c.Needs}
		for i, a := range c.Args {
			wide.Args[i] = a
			if v, ok := a.(Value); ok {
				wide.Args[i] = up(v)
			}
		}
		for _, v := range c.Outs {
			wide.Outs = append(wide.Outs, up(v))
		}
		for _, v := range c.Grads {
			wide.Grads = append(wide.Grads, up(v))
		}
		if !half {
			return f(bb, c)
		}
		out := f(bb, wide)
		for i, v := range TensorArgs(c.Op, c.Args) {
			if i < len(out) && out[i] != nil && v != nil {
				out[i] = b.cast(out[i], v.TensorMeta().DType)
			}
		}
		return out
	}
}

func tensorLike(v Value) bool { return MetaOf(v) != nil }

// eachSlot calls f for the tensor parameters whose gradient is wanted.
func eachSlot(c *BackwardCall, f func(i int) Value) []Value {
	var out []Value
	params := c.Op.Params()
	for i := range params {
		switch {
		case params[i].IsTensor():
			if MetaOf(c.Args[i]) == nil || !c.Needs[i] {
				out = append(out, nil)
			} else {
				out = append(out, f(i))
			}
		case params[i].IsTensors():
			list, _ := c.Args[i].([]Value)
			out = append(out, make([]Value, len(list))...)
		}
	}
	return out
}

// unaryBack is pointwiseBack for one operand: f is the gradient formula in
// terms of the incoming gradient g, the operand x and the result y.
func unaryBack(f func(b B, g, x, y Value) Value) func(Builder, *BackwardCall) []Value {
	return pointwiseBack(func(b B, c *BackwardCall, g Value, _ int) Value {
		return f(b, g, In[SelfArgs](c.Call).Self.Value(), c.Outs[0])
	})
}

// backOf is a Backward whose result list is written out; nil gradients come in
// as a nil list.
func backOf(f func(b B, c *BackwardCall) []Value) func(Builder, *BackwardCall) []Value {
	return func(bb Builder, c *BackwardCall) []Value { return f(B{bb}, c) }
}

// decomp is a Decompose with one result.
func decomp(f func(b B, c *Call) Value) func(Builder, *Call) []Value {
	return func(bb Builder, c *Call) []Value { return []Value{f(B{bb}, c)} }
}

// decompF is decomp for an operator that rounds once: half-precision operands
// are computed in float32 and the result is rounded to the operator's dtype.
func decompF(f func(b B, c *Call) Value) func(Builder, *Call) []Value {
	return func(bb Builder, c *Call) []Value {
		b := B{bb}
		half, tensors := false, 0
		args := make([]Arg, len(c.Args))
		for i, a := range c.Args {
			args[i] = a
			if MetaOf(a) != nil {
				tensors++
			}
			if m := MetaOf(a); m != nil && OpMath(m.DType) != m.DType {
				args[i], half = b.cast(a.(Value), OpMath(m.DType)), true
			}
		}
		if !half && tensors < 2 {
			return []Value{f(b, c)}
		}
		res, err := c.Op.Meta(c)
		if err != nil {
			panic(err)
		}
		m := res[0].(*TensorMeta)
		out := f(b, &Call{c.Op, args})
		if half {
			out = b.cast(out, m.DType)
		}
		return []Value{b.laidOut(out, m)}
	}
}

// laidOut gives out the strides of m where the operators of a decomposition, whose
// operands come in another order, chose others.
func (b B) laidOut(out Value, m *TensorMeta) Value {
	got := out.TensorMeta()
	if !equalShape(got.Shape, m.Shape) || sameStrides(got, m) {
		return out
	}
	order := seq(0, len(m.Shape))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(m.Stride[j].Hint(), m.Stride[i].Hint()) })
	back := make([]int, len(order))
	for i, d := range order {
		back[d] = i
	}
	return b.permute(b.contiguous(b.permute(out, order...)), back...)
}

// sameStrides reports whether two tensors of one shape lie alike in memory.
func sameStrides(x, y *TensorMeta) bool {
	for i, n := range x.Shape {
		if !sym.Is(n, 1) && !sym.Same(x.Stride[i], y.Stride[i]) {
			return false
		}
	}
	return true
}

// contiguous is x itself where it is contiguous, else a copy.
func (b B) contiguous(x Value) Value {
	if IsContiguous(x.TensorMeta()) {
		return x
	}
	return b.Emit(Contiguous, x)
}

// composite is a row that is nothing but its decomposition; its rule is that of
// the decomposition run on metas.
func composite(id ID, name, schema string, tags Tag, f func(b B, c *Call) Value) *Op {
	row := &Op{ID: id, Name: name, Schema: schema, Tags: tags, Decompose: decomp(f)}
	row.Meta = metaOfDecomposition(row)
	return row
}

func compositeN(id ID, name, schema string, tags Tag, f func(b B, c *Call) []Value) *Op {
	row := &Op{ID: id, Name: name, Schema: schema, Tags: tags}
	row.Decompose = func(bb Builder, c *Call) []Value { return f(B{bb}, c) }
	row.Meta = metaOfDecomposition(row)
	return row
}

// metaOfDecomposition runs a decomposition without data.
func metaOfDecomposition(row *Op) func(*Call) ([]Result, error) {
	return func(c *Call) (res []Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				e, ok := p.(error)
				if _, bug := p.(runtime.Error); !ok || bug {
					panic(p)
				}
				res, err = nil, e
			}
		}()
		for _, v := range row.Decompose(metaBuilder{}, c) {
			res = append(res, v.TensorMeta())
		}
		return res, nil
	}
}

// metaValue is a tensor of which only the description exists.
type metaValue struct{ m *TensorMeta }

func (v metaValue) TensorMeta() *TensorMeta { return v.m }

// metaBuilder runs rules alone. A refusal panics with its error.
type metaBuilder struct{}

func (b metaBuilder) Emit(op ID, args ...Arg) Value { return b.EmitN(op, args...)[0] }

func (b metaBuilder) EmitN(op ID, args ...Arg) []Value {
	row := Get(op)
	bound, err := Bind(row, args, nil)
	if err != nil {
		panic(err)
	}
	res, err := row.Meta(&Call{row, bound})
	if err != nil {
		panic(err)
	}
	out := make([]Value, len(res))
	for i, r := range res {
		out[i] = metaValue{r.(*TensorMeta)}
	}
	return out
}

// refuse leaves a decomposition with an error of its rule.
func refuse(err error) {
	if err != nil {
		panic(err)
	}
}

// one is the result list of an operator with one tensor result.
func one(m *TensorMeta) []Result { return []Result{m} }

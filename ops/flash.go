package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds PyTorch's fused attention for processors. The weights of a row
// are exponentials of its scores less the greatest one, divided when they have
// been multiplied by the values; the derivative computes the scores again and
// takes the weights from the logarithm of their sum, so that nothing as large as
// the scores is kept. Half precision is rounded where a product reads it.

func flashRow() *Op {
	row := compositeN(FlashAttention, "_scaled_dot_product_flash_attention_for_cpu",
		"(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor, Tensor)",
		TagInternal|TagNotMethod, func(b B, c *Call) []Value { return newFlash(b, c).forward() })
	row.Backward = backOf(func(b B, c *BackwardCall) []Value { return newFlash(b, c.Call).backward(c) })
	return row
}

// flash is one call, with operands in the type that PyTorch sums in.
type flash struct {
	b       B
	half    DType // of the operands
	group   bool  // several heads of queries share one of keys
	small   bool  // the order of summation counts
	k0, v0  *TensorMeta
	q, k, v Value
	mask    Value // nil for none
	scale   float64
}

func newFlash(b B, c *Call) *flash {
	a := In[FlashAttentionArgs](c)
	f := &flash{b: b, half: a.Query.Meta().DType, k0: a.Key.Meta(), v0: a.Value.Meta(), scale: attentionScale(a.Query, a.Scale)}
	wide := OpMath(f.half)
	f.q, f.k, f.v, f.mask = b.cast(a.Query.Value(), wide), b.cast(a.Key.Value(), wide), b.cast(a.Value.Value(), wide), a.AttnMask.Value()
	if n := len(f.k0.Shape); sym.Ne(f.q.TensorMeta().Shape[n-3], f.k0.Shape[n-3]) {
		f.group = true
		f.k, f.v = groupedHeads(b, f.q, f.k), groupedHeads(b, f.q, f.v)
	}
	f.small = smallProduct(f.q.TensorMeta(), f.k.TensorMeta())
	if a.IsCausal.Bool() {
		f.mask = causalMask(b, f.q, f.k)
	}
	return f
}

// scores are those of all queries with all keys.
func (f *flash) scores() Value {
	s := f.b.mul(rowsByRows(f.b, f.q, f.k), f.scale)
	if f.mask != nil {
		s = f.b.add(s, f.b.cast(f.mask, s.TensorMeta().DType))
	}
	return s
}

// forward gives the weighted values and the logarithm of the weights' sum, which
// is infinite for a row without any key: so its weights are zero.
func (f *flash) forward() []Value {
	b, s := f.b, f.scores()
	top := b.amax(s, true, -1)
	if f.mask != nil {
		top = b.where(b.eq(top, math.Inf(-1)), 0.0, top)
	}
	e := b.exp(b.sub(s, top))
	sum := rowSum(b, e, f.small)
	norm, lse := sum, b.add(top, b.log(sum))
	if f.mask != nil {
		dead := b.eq(sum, 0.0)
		norm, lse = b.where(dead, 1.0, sum), b.where(dead, math.Inf(1), lse)
	}
	out := b.div(b.Emit(Matmul, weightsAs(b, e, f.half), f.v), norm)
	return []Value{b.cast(out, f.half), b.squeeze(lse, -1)}
}

func (f *flash) backward(c *BackwardCall) []Value {
	if c.Grads[0] == nil && c.Grads[1] == nil {
		return make([]Value, 4)
	}
	b, wide := f.b, f.q.TensorMeta().DType
	transposed := func(x Value) Value { return b.transpose(x, -2, -1) }
	p := b.exp(b.sub(f.scores(), b.unsqueeze(c.Outs[1], -1)))
	var inner, gv Value // what the weights' gradients differ from their mean by
	if g := c.Grads[0]; g != nil {
		g = b.cast(g, wide)
		inner = b.sub(rowsByRows(b, g, f.v), rowSum(b, b.mul(g, b.cast(c.Outs[0], wide)), f.small))
		gv = f.shared(b.Emit(Matmul, transposed(weightsAs(b, p, f.half)), g), f.v0)
	}
	if g := c.Grads[1]; g != nil {
		g = b.unsqueeze(g, -1)
		if inner == nil {
			inner = g
		} else {
			inner = b.add(inner, g)
		}
	}
	gs := b.mul(p, inner)
	reduced := weightsAs(b, gs, f.half)
	gq := b.mul(b.Emit(Matmul, reduced, f.k), f.scale)
	gk := f.shared(b.mul(b.Emit(Matmul, transposed(reduced), f.q), f.scale), f.k0)
	var gm Value
	if c.Needs[5] {
		gm = b.back(gs, In[FlashAttentionArgs](c.Call).AttnMask.Meta())
	}
	return []Value{b.cast(gq, f.half), gk, gv, gm}
}

// shared adds the gradients of the heads of queries that share x.
func (f *flash) shared(g Value, x *TensorMeta) Value {
	if f.group {
		d, shape := len(x.Shape)-3, g.TensorMeta().Shape
		g = f.b.sum(f.b.reshape(g, inserted(replaced(shape, d, x.Shape[d]), d+1, sym.FloorDiv(shape[d], x.Shape[d]))...), false, d+1)
	}
	return f.b.cast(g, f.half)
}

// SmallAttention reports whether the products of attention are so small that
// PyTorch's order of summation is kept to the last bit: so many steps cost nothing,
// and scores of some hundreds show a bit in every weight.
func SmallAttention(rows, keys, width int) bool {
	return rows*keys*width < 1000 && width%4 == 0
}

func smallProduct(x, y *TensorMeta) bool {
	n := len(x.Shape)
	rows, ok1 := x.Shape[n-2].IsConst()
	keys, ok2 := y.Shape[n-2].IsConst()
	width, ok3 := x.Shape[n-1].IsConst()
	return ok1 && ok2 && ok3 && SmallAttention(int(rows), int(keys), int(width))
}

// rowsByRows multiplies each row of x with each row of y; small products are
// added in four lanes.
func rowsByRows(b B, x, y Value) Value {
	if !smallProduct(x.TensorMeta(), y.TensorMeta()) {
		return b.Emit(Matmul, x, b.transpose(y, -2, -1))
	}
	return b.squeeze(laneSum(b, b.mul(b.unsqueeze(x, -2), b.unsqueeze(y, -3)), 4), -1)
}

// rowSum adds up each row, in eight lanes where the call is small.
func rowSum(b B, x Value, small bool) Value {
	if !small {
		return b.sum(x, true, -1)
	}
	return laneSum(b, x, 8)
}

// laneSum adds the numbers of each row to so many sums in turn, these by halves,
// and then what is left over.
func laneSum(b B, x Value, lanes int) Value {
	last := len(x.TensorMeta().Shape) - 1
	n := int(sym.Force(x.TensorMeta().Shape[last]))
	part := func(from, to int) Value { return b.slice(x, last, sym.C(from), sym.C(to)) }
	var sum Value
	plus := func(v Value) {
		if sum == nil {
			sum = v
			return
		}
		sum = b.add(sum, v)
	}
	at := 0
	for ; at+lanes <= n; at += lanes {
		plus(part(at, at+lanes))
	}
	if sum != nil {
		for half := lanes / 2; half > 0; half /= 2 {
			sum = b.add(b.slice(sum, last, symZero, sym.C(half)), b.slice(sum, last, sym.C(half), sym.C(2*half)))
		}
	}
	for ; at < n; at++ {
		plus(part(at, at+1))
	}
	return sum
}

package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds attention: in the order of PyTorch's fused kernel where that
// runs, else in that of its formula.

func attentionRows() []*Op {
	return []*Op{
		composite(
			Sdpa, "scaled_dot_product_attention",
			"(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
			TagNN|TagNotMethod, attention,
		),
		flashRow(), einsumRow(),
	}
}

func attention(b B, c *Call) Value {
	a := In[SdpaArgs](c)
	mask := a.AttnMask.Value()
	if a.IsCausal.Bool() && mask != nil {
		refuse(Errorf("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"))
	}
	if mask != nil && mask.TensorMeta().DType == Bool {
		mask = b.where(mask, b.full(nil, 0, a.Query.Meta()), math.Inf(-1))
	}
	if fusedAttention(c) {
		return b.EmitN(FlashAttention, a.Query.Value(), a.Key.Value(), a.Value.Value(), a.DropoutP.Arg, a.IsCausal.Arg, mask, a.Scale.Arg)[0]
	}
	return plainAttention(b, c, mask)
}

// fusedAttention reports whether PyTorch's fused kernel takes a call: batches and
// heads of one size, where nothing is dropped or empty and the mask is no leaf.
func fusedAttention(c *Call) bool {
	a := In[SdpaArgs](c)
	q, k, v, mask := a.Query.Meta(), a.Key.Meta(), a.Value.Meta(), a.AttnMask.Meta()
	n := len(q.Shape)
	if a.DropoutP.Float() > 0 || n != 3 && n != 4 || len(k.Shape) != n || len(v.Shape) != n {
		return false
	}
	for d := range n {
		same := sym.Eq(k.Shape[d], v.Shape[d])
		if d != n-2 && !(d == n-3 && a.EnableGqa.Bool()) {
			same = same && sym.Eq(q.Shape[d], k.Shape[d])
		}
		if !same {
			return false
		}
	}
	for _, t := range []*TensorMeta{q, k, v} {
		if sym.Is(t.Shape[n-2], 0) || sym.Is(t.Shape[n-1], 0) || !sym.Is(t.Stride[n-1], 1) {
			return false
		}
	}
	return mask == nil || !mask.RequiresGrad && (len(mask.Shape) == 2 || len(mask.Shape) == n)
}

// plainAttention is the formula, in float32 where operands are half precision.
func plainAttention(b B, c *Call, mask Value) Value {
	a := In[SdpaArgs](c)
	m := a.Query.Meta()
	wide := OpMath(m.DType)
	q, k, v := b.cast(a.Query.Value(), wide), b.cast(a.Key.Value(), wide), b.cast(a.Value.Value(), wide)
	if a.EnableGqa.Bool() {
		k, v = groupedHeads(b, q, k), groupedHeads(b, q, v)
	}
	scale := attentionScale(a.Query, a.Scale)
	var s Value
	if scale < 0 {
		s = b.mul(b.Emit(Matmul, q, b.transpose(k, -2, -1)), scale)
	} else {
		root := math.Sqrt(scale)
		s = b.Emit(Matmul, b.mul(q, root), b.mul(b.transpose(k, -2, -1), root))
	}
	if a.IsCausal.Bool() {
		mask = causalMask(b, q, k)
	}
	if mask != nil {
		s = b.add(s, mask)
	}
	p := b.Emit(Softmax, s, -1)
	if mask != nil { // rows without any key are zero, not NaN
		dead := b.Emit(AllOf, b.eq(s, math.Inf(-1)), []int{-1}, true)
		p = b.where(dead, scalarLike(p, 0), p)
	}
	if a.DropoutP.Float() > 0 {
		p = b.Emit(Dropout, p, a.DropoutP.Arg, true)
	}
	return b.cast(b.Emit(Matmul, p, v), m.DType)
}

// attentionScale is the scale that was given, or its default.
func attentionScale(query TensorArg, given NumberArg) float64 {
	if !given.IsNone() {
		return given.Float()
	}
	shape := query.Meta().Shape
	return 1 / math.Sqrt(float64(sym.Force(shape[len(shape)-1])))
}

// causalMask is zero where a query may see a key and -inf elsewhere.
func causalMask(b B, q, k Value) Value {
	qm, km := q.TensorMeta(), k.TensorMeta()
	n := len(qm.Shape)
	keep := b.ge(b.unsqueeze(b.arange(qm.Shape[n-2], qm), 1), b.arange(km.Shape[len(km.Shape)-2], qm))
	return b.where(keep, b.full(nil, 0, qm), math.Inf(-1))
}

// groupedHeads repeats key or value heads so that each query head has one.
func groupedHeads(b B, q, k Value) Value {
	qm, km := q.TensorMeta(), k.TensorMeta()
	d := len(km.Shape) - 3
	r := sym.FloorDiv(qm.Shape[len(qm.Shape)-3], km.Shape[d])
	return b.Emit(RepeatInterleave, k, r, d)
}

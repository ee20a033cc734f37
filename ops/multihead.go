package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds multi_head_attention_forward, on inputs with the sequence
// first.

const multiheadSchema = "(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, Tensor? in_proj_weight, Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, float dropout_p, Tensor out_proj_weight, Tensor? out_proj_bias, " +
	"bool training=True, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, Tensor? v_proj_weight=None, Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, bool is_causal=False) -> (Tensor, Tensor)"

func multiheadRows() []*Op {
	return []*Op{
		compositeN(MultiHeadAttention, "multi_head_attention_forward", multiheadSchema, TagNN|TagNotMethod, func(b B, c *Call) []Value {
			return (&multihead{B: b, a: In[MultiHeadAttentionArgs](c)}).run()
		}),
	}
}

type multihead struct {
	B
	a                   *MultiHeadAttentionArgs
	batch, heads, width sym.Int
	mask                Value
}

func (h *multihead) run() []Value {
	batched := len(h.a.Query.Meta().Shape) == 3
	lift := func(x Value) Value {
		if batched {
			return x
		}
		return h.unsqueeze(x, 1)
	}
	q, k, v := lift(h.a.Query.Value()), lift(h.a.Key.Value()), lift(h.a.Value.Value())
	qm := q.TensorMeta()
	embed := qm.Shape[2]
	h.batch, h.heads = qm.Shape[1], h.a.NumHeads.Int()
	if sym.Ne(embed, h.a.EmbedDimToCheck.Int()) {
		refuse(&Error{
			Kind: "AssertionError",
			Msg:  "was expecting embedding dimension of " + h.a.EmbedDimToCheck.Int().String() + ", but got " + embed.String(),
		})
	}
	h.width = sym.FloorDiv(embed, h.heads)
	if sym.Ne(sym.Mul(h.width, h.heads), embed) {
		refuse(&Error{Kind: "AssertionError", Msg: "embed_dim " + embed.String() + " not divisible by num_heads " + h.heads.String()})
	}
	rows := qm.Shape[0]
	q, k, v = h.project(q, k, v)
	h.mask = h.additive(h.a.AttnMask.Value(), q)
	if h.mask != nil && len(h.mask.TensorMeta().Shape) == 2 {
		h.mask = h.unsqueeze(h.mask, 0)
	}
	padding := h.additive(h.a.KeyPaddingMask.Value(), q)
	k, padding = h.extend(k, h.a.BiasK.Value(), padding)
	v, _ = h.extend(v, h.a.BiasV.Value(), nil)
	q, k, v = h.split(q), h.split(k), h.split(v)
	k, v, padding = h.zeroKey(k, v, padding)
	if padding != nil {
		h.addPadding(padding, k.TensorMeta().Shape[1])
	}
	p := h.weights(q, k)
	out := h.Emit(Bmm, p, v)
	out = h.reshape(h.transpose(out, 0, 1), sym.Mul(rows, h.batch), embed)
	out = h.Emit(Linear, out, h.a.OutProjWeight.Arg, h.a.OutProjBias.Arg)
	out = h.view(out, rows, h.batch, out.TensorMeta().Shape[1])
	p = h.view(p, h.batch, h.heads, rows, k.TensorMeta().Shape[1])
	if h.a.AverageAttnWeights.Bool() {
		p = h.mean(p, false, 1)
	}
	if !batched {
		out, p = h.squeeze(out, 1), h.squeeze(p, 0)
	}
	return []Value{out, p}
}

// project applies the weights of query, key and value, packed or separate.
func (h *multihead) project(q, k, v Value) (_, _, _ Value) {
	biases := []Arg{nil, nil, nil}
	if bias := h.a.InProjBias.Value(); bias != nil {
		for i, part := range h.EmitN(Chunk, bias, 3) {
			biases[i] = part
		}
	}
	ws := []Arg{h.a.QProjWeight.Arg, h.a.KProjWeight.Arg, h.a.VProjWeight.Arg}
	if !h.a.UseSeparateProjWeight.Bool() {
		if h.a.InProjWeight.Value() == nil {
			refuse(&Error{Kind: "AssertionError", Msg: "use_separate_proj_weight is False but in_proj_weight is None"})
		}
		for i, part := range h.EmitN(Chunk, h.a.InProjWeight.Value(), 3) {
			ws[i] = part
		}
	}
	for i, name := range []string{"q", "k", "v"} {
		if ws[i] == nil {
			refuse(&Error{Kind: "AssertionError", Msg: "use_separate_proj_weight is True but " + name + "_proj_weight is None"})
		}
	}
	return h.Emit(Linear, q, ws[0], biases[0]), h.Emit(Linear, k, ws[1], biases[1]), h.Emit(Linear, v, ws[2], biases[2])
}

// additive turns a mask of bools into one that is added.
func (h *multihead) additive(mask, like Value) Value {
	if mask == nil || mask.TensorMeta().DType != Bool {
		return mask
	}
	zero := h.full(nil, 0, like.TensorMeta())
	return h.where(mask, -inf, zero)
}

// extend appends a bias as one more key or value.
func (h *multihead) extend(x, bias, padding Value) (_, _ Value) {
	if bias == nil {
		return x, padding
	}
	m := x.TensorMeta()
	x = h.cat(0, x, h.expand(bias, []sym.Int{symOne, h.batch, m.Shape[2]}))
	if padding != nil {
		padding = h.Emit(ConstantPadNd, padding, []int{0, 1})
	}
	// The mask belongs to the keys: it grows with them, once.
	if h.mask != nil && sym.Ne(h.mask.TensorMeta().Shape[2], x.TensorMeta().Shape[0]) {
		h.mask = h.Emit(ConstantPadNd, h.mask, []int{0, 1})
	}
	return x, padding
}

// split turns [length, batch, embed] into [batch*heads, length, width].
func (h *multihead) split(x Value) Value {
	n := x.TensorMeta().Shape[0]
	return h.transpose(h.reshape(x, n, sym.Mul(h.batch, h.heads), h.width), 0, 1)
}

// zeroKey replaces keys and values by given ones and appends zeros.
func (h *multihead) zeroKey(k, v, padding Value) (_, _, _ Value) {
	if s := h.a.StaticK.Value(); s != nil {
		k = s
	}
	if s := h.a.StaticV.Value(); s != nil {
		v = s
	}
	if !h.a.AddZeroAttn.Bool() {
		return k, v, padding
	}
	pad := func(x Value, by ...int) Value {
		if x == nil {
			return nil
		}
		return h.Emit(ConstantPadNd, x, by)
	}
	h.mask = pad(h.mask, 0, 1)
	return pad(k, 0, 0, 0, 1), pad(v, 0, 0, 0, 1), pad(padding, 0, 1)
}

// addPadding adds the mask of keys to that of pairs.
func (h *multihead) addPadding(padding Value, n sym.Int) {
	wide := h.expand(h.view(padding, h.batch, symOne, symOne, n), []sym.Int{h.batch, h.heads, symOne, n})
	wide = h.reshape(wide, sym.Mul(h.batch, h.heads), symOne, n)
	if h.mask != nil {
		wide = h.add(h.mask, wide)
	}
	h.mask = wide
}

// weights are the attention weights, with dropout in training.
func (h *multihead) weights(q, k Value) Value {
	scale := math.Sqrt(1 / float64(sym.Force(h.width)))
	s := h.Emit(Bmm, h.mul(q, scale), h.transpose(k, -2, -1))
	if h.mask != nil {
		s = h.add(h.mask, s)
	}
	p := h.Emit(Softmax, s, -1)
	if h.a.Training.Bool() && h.a.DropoutP.Float() > 0 {
		p = h.Emit(Dropout, p, h.a.DropoutP.Arg, true)
	}
	return p
}

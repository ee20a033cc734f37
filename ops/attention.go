package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds attention: scaled_dot_product_attention in the order of PyTorch's fused
// kernel where that runs, else in that of its formula; that kernel; and
// multi_head_attention_forward, on inputs with the sequence first.

func attentionRows() []*Op {
	return []*Op{
		composite(
			Sdpa, "scaled_dot_product_attention",
			"(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "+
				"float? scale=None, bool enable_gqa=False) -> Tensor",
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
		return b.EmitN(FlashAttention, a.Query.Value(), a.Key.Value(), a.Value.Value(), a.DropoutP.Arg, a.IsCausal.Arg, mask,
			a.Scale.Arg)[0]
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

// flashRow is PyTorch's fused attention for processors. The weights of a row
// are exponentials of its scores less the greatest one, divided when they have
// been multiplied by the values; the derivative computes the scores again and
// takes the weights from the logarithm of their sum, so that nothing as large as
// the scores is kept. Half precision is rounded where a product reads it.
func flashRow() *Op {
	row := compositeN(FlashAttention, "_scaled_dot_product_flash_attention_for_cpu",
		"(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, "+
			"float? scale=None) -> (Tensor, Tensor)",
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

const multiheadSchema = "(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, Tensor? in_proj_weight, " +
	"Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, float dropout_p, Tensor out_proj_weight, " +
	"Tensor? out_proj_bias, " +
	"bool training=True, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, " +
	"bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, Tensor? v_proj_weight=None, " +
	"Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, bool is_causal=False) -> (Tensor, Tensor)"

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

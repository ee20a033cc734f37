package nn

import (
	"fmt"
	"math"
	"slices"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// MultiheadAttention is attention with several heads over one projection, or
// three where keys and values have lengths of their own.
type MultiheadAttention struct {
	Training
	QProjWeight, KProjWeight, VProjWeight *torch.Tensor // nil with InProjWeight
	InProjWeight                          *torch.Tensor
	InProjBias                            *torch.Tensor // nil without bias
	BiasK, BiasV                          *torch.Tensor // a further key and value; nil without
	OutProj                               *Linear
	EmbedDim, NumHeads                    int
	DropoutP                              float64
	AddZeroAttn, BatchFirst               bool
}

// NewMultiheadAttention makes a MultiheadAttention. Options: kw.Dropout(0.0),
// kw.Bias(true), kw.AddBiasKv(false), kw.AddZeroAttn(false), kw.Kdim(n),
// kw.Vdim(n), kw.BatchFirst(false), kw.Dtype, kw.Device.
func NewMultiheadAttention(embed, heads int, opts ...torch.Option) *MultiheadAttention {
	known("MultiheadAttention", opts, "dropout", "bias", "add_bias_kv", "add_zero_attn", "kdim", "vdim", "batch_first", "dtype", "device")
	if embed <= 0 || heads <= 0 {
		panic(&torch.Error{
			Op: "MultiheadAttention", Kind: "ValueError",
			Msg: fmt.Sprintf("embed_dim and num_heads must be greater than 0, got embed_dim=%d and num_heads=%d instead", embed, heads),
		})
	}
	if embed%heads != 0 {
		panic(&torch.Error{Op: "MultiheadAttention", Kind: "AssertionError", Msg: "embed_dim must be divisible by num_heads"})
	}
	m := &MultiheadAttention{
		EmbedDim: embed, NumHeads: heads, DropoutP: option(opts, "dropout", 0.0),
		AddZeroAttn: option(opts, "add_zero_attn", false), BatchFirst: option(opts, "batch_first", false),
	}
	kdim, vdim := option(opts, "kdim", embed), option(opts, "vdim", embed)
	if kdim == embed && vdim == embed {
		m.InProjWeight = parameter(opts, 3*embed, embed)
	} else {
		m.QProjWeight, m.KProjWeight, m.VProjWeight = parameter(opts, embed, embed), parameter(opts, embed, kdim), parameter(opts,
			embed, vdim)
	}
	bias := option(opts, "bias", true)
	if bias {
		m.InProjBias = parameter(opts, 3*embed)
	}
	m.OutProj = NewLinear(embed, embed, append(placed(opts), kw.Bias(bias))...)
	if option(opts, "add_bias_kv", false) {
		m.BiasK, m.BiasV = parameter(opts, 1, 1, embed), parameter(opts, 1, 1, embed)
	}
	m.ResetParameters()
	return m
}

// ResetParameters draws the weights again, but for those of the last layer.
func (m *MultiheadAttention) ResetParameters() {
	for _, w := range []*torch.Tensor{m.InProjWeight, m.QProjWeight, m.KProjWeight, m.VProjWeight} {
		if w != nil {
			XavierUniform_(w, 1)
		}
	}
	if m.InProjBias != nil {
		Zeros_(m.InProjBias)
		Zeros_(m.OutProj.Bias)
	}
	for _, b := range []*torch.Tensor{m.BiasK, m.BiasV} {
		if b != nil {
			XavierNormal_(b, 1)
		}
	}
}

// Forward is self-attention.
func (m *MultiheadAttention) Forward(x *torch.Tensor) *torch.Tensor { return m.Attend(x, x, x) }

// Attend is attention of a query over keys and values, [time, batch, embed] (or
// [batch, time, embed] with BatchFirst, or [time, embed]). Options: kw.AttnMask,
// [time, keys] or [batch*heads, time, keys], true where a query may not look or
// numbers to add; kw.KeyPaddingMask, [batch, keys], true for keys to leave out;
// kw.IsCausal(true), which says that the mask is the causal one.
func (m *MultiheadAttention) Attend(query, key, value *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	a := m.prepare(query, key, value, opts)
	causal := option(opts, "is_causal", false)
	if causal && option[*torch.Tensor](opts, "attn_mask", nil) == nil {
		panic(&torch.Error{Op: "MultiheadAttention", Kind: "RuntimeError", Msg: "Need attn_mask if specifying the is_causal hint."})
	}
	args := []torch.Option{kw.DropoutP(m.dropout())}
	if a.mask != nil {
		args = append(args, kw.AttnMask(a.mask))
	}
	return a.finish(F.ScaledDotProductAttention(a.q, a.k, a.v, args...))
}

// AttendWeights is Attend that returns the weights of the attention too: the
// mean over the heads, [batch, time, keys], or with kw.AverageAttnWeights(false)
// of each, [batch, heads, time, keys].
func (m *MultiheadAttention) AttendWeights(query, key, value *torch.Tensor, opts ...torch.Option) (out, weights *torch.Tensor) {
	a := m.prepare(query, key, value, opts)
	scores := a.q.Mul(math.Sqrt(1 / float64(a.q.Size(3)))).Matmul(a.k.Transpose(2, 3))
	if a.mask != nil {
		scores = scores.Add(a.mask)
	}
	weights = scores.Softmax(-1)
	if p := m.dropout(); p > 0 {
		weights = F.Dropout(weights, kw.P(p))
	}
	out = a.finish(weights.Matmul(a.v))
	if option(opts, "average_attn_weights", true) {
		weights = weights.Mean(kw.Dim(1))
	}
	if a.single {
		weights = weights.Squeeze(0)
	}
	return out, weights
}

func (m *MultiheadAttention) dropout() float64 {
	if m.IsTraining() {
		return m.DropoutP
	}
	return 0
}

// attending is one call of an attention: queries, keys and values by heads,
// [batch, heads, time, dim], and a mask to add, nil for none.
type attending struct {
	m             *MultiheadAttention
	q, k, v, mask *torch.Tensor
	single        bool // the arguments had no batch
}

func (m *MultiheadAttention) prepare(query, key, value *torch.Tensor, opts []torch.Option) *attending {
	known("MultiheadAttention", opts, "attn_mask", "key_padding_mask", "is_causal", "average_attn_weights")
	a := &attending{m: m, single: query.Dim() == 2}
	padding := option[*torch.Tensor](opts, "key_padding_mask", nil)
	switch {
	case a.single:
		query, key, value = query.Unsqueeze(0), key.Unsqueeze(0), value.Unsqueeze(0)
		if padding != nil {
			padding = padding.Unsqueeze(0)
		}
	case !m.BatchFirst:
		query, key, value = query.Transpose(0, 1), key.Transpose(0, 1), value.Transpose(0, 1)
	}
	a.mask = m.merge(option[*torch.Tensor](opts, "attn_mask", nil), padding, query, key)
	q, k, v := m.project(query, key, value)
	if m.BiasK != nil {
		batch := k.Size(0)
		k = torch.Cat([]*torch.Tensor{k, m.BiasK.Expand(batch, 1, -1)}, kw.Dim(1))
		v = torch.Cat([]*torch.Tensor{v, m.BiasV.Expand(batch, 1, -1)}, kw.Dim(1))
		a.widen()
	}
	a.q, a.k, a.v = m.heads(q), m.heads(k), m.heads(v)
	if m.AddZeroAttn {
		zeros := torch.Zeros(a.k.Size(0), m.NumHeads, 1, a.k.Size(3), kw.Dtype(k.DType()))
		a.k, a.v = torch.Cat([]*torch.Tensor{a.k, zeros}, kw.Dim(2)), torch.Cat([]*torch.Tensor{a.v, zeros}, kw.Dim(2))
		a.widen()
	}
	return a
}

// widen lets the mask allow one more key.
func (a *attending) widen() {
	if a.mask != nil {
		a.mask = F.Pad(a.mask, []int{0, 1})
	}
}

// merge makes one mask to add, [batch, heads or 1, time, keys], of the two that
// a call may have; nil for none.
func (m *MultiheadAttention) merge(mask, padding, query, key *torch.Tensor) *torch.Tensor {
	batch, time, keys := query.Size(0), query.Size(1), key.Size(1)
	if mask != nil {
		mask = additive(mask, query.DType())
		switch want := []int{time, keys}; mask.Dim() {
		case 2:
			m.checkMask("2D attn_mask", mask, want)
			mask = mask.Unsqueeze(0).Unsqueeze(0)
		case 3:
			m.checkMask("3D attn_mask", mask, []int{batch * m.NumHeads, time, keys})
			mask = mask.View(batch, m.NumHeads, time, keys)
		default:
			panic(&torch.Error{
				Op: "MultiheadAttention", Kind: "RuntimeError",
				Msg: fmt.Sprintf("attn_mask's dimension %d is not supported", mask.Dim()),
			})
		}
	}
	if padding == nil {
		return mask
	}
	m.checkMask("key_padding_mask", padding, []int{batch, keys})
	padding = additive(padding, query.DType()).View(batch, 1, 1, keys)
	if mask == nil {
		return padding
	}
	return mask.Add(padding)
}

func (m *MultiheadAttention) checkMask(name string, mask *torch.Tensor, want []int) {
	if !slices.Equal(mask.Shape(), want) {
		panic(&torch.Error{
			Op: "MultiheadAttention", Kind: "RuntimeError",
			Msg: fmt.Sprintf("The shape of the %s is %v, but should be %v.", name, mask.Shape(), want),
		})
	}
}

// additive turns a mask that is true where nothing may be seen into minus
// infinities; other masks are added as they are.
func additive(mask *torch.Tensor, d torch.DType) *torch.Tensor {
	if mask.DType() != torch.Bool {
		return mask
	}
	return torch.Zeros(mask.Shape(), kw.Dtype(d)).MaskedFill(mask, math.Inf(-1))
}

// project applies the projections to [batch, time, size].
func (m *MultiheadAttention) project(query, key, value *torch.Tensor) (q, k, v *torch.Tensor) {
	e := m.EmbedDim
	weight := func(own *torch.Tensor, i int) *torch.Tensor {
		if own != nil {
			return own
		}
		return m.InProjWeight.Narrow(0, i*e, e)
	}
	bias := func(i int) *torch.Tensor {
		if m.InProjBias == nil {
			return nil
		}
		return m.InProjBias.Narrow(0, i*e, e)
	}
	return affine(query, weight(m.QProjWeight, 0), bias(0)), affine(key, weight(m.KProjWeight, 1), bias(1)), affine(
		value, weight(m.VProjWeight, 2), bias(2),
	)
}

func (m *MultiheadAttention) heads(x *torch.Tensor) *torch.Tensor {
	return x.Reshape(x.Size(0), x.Size(1), m.NumHeads, m.EmbedDim/m.NumHeads).Transpose(1, 2)
}

// finish joins the heads and applies the last layer.
func (a *attending) finish(y *torch.Tensor) *torch.Tensor {
	y = y.Transpose(1, 2)
	y = a.m.OutProj.Forward(y.Reshape(y.Size(0), y.Size(1), a.m.EmbedDim))
	switch {
	case a.single:
		return y.Squeeze(0)
	case !a.m.BatchFirst:
		return y.Transpose(0, 1)
	}
	return y
}

// placed keeps the options that say where parameters live.
func placed(opts []torch.Option) []torch.Option {
	var out []torch.Option
	for _, o := range opts {
		if o.Name == "dtype" || o.Name == "device" {
			out = append(out, o)
		}
	}
	return out
}

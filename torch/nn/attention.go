package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// MultiheadAttention is attention with several heads over one projection.
type MultiheadAttention struct {
	Training
	InProjWeight, InProjBias *torch.Tensor
	OutProj                  *Linear
	EmbedDim, NumHeads       int
	DropoutP                 float64
	BatchFirst               bool
}

// NewMultiheadAttention makes a MultiheadAttention. Options: kw.Dropout,
// kw.Bias, kw.BatchFirst.
func NewMultiheadAttention(embed, heads int, opts ...torch.Option) *MultiheadAttention {
	known("MultiheadAttention", opts, "dropout", "bias", "batch_first", "dtype", "device")
	if embed%heads != 0 {
		panic(&torch.Error{Op: "MultiheadAttention", Kind: "AssertionError", Msg: "embed_dim must be divisible by num_heads"})
	}
	m := &MultiheadAttention{
		InProjWeight: parameter(opts, 3*embed, embed), EmbedDim: embed, NumHeads: heads,
		DropoutP: option(opts, "dropout", 0.0), BatchFirst: option(opts, "batch_first", false),
	}
	bias := option(opts, "bias", true)
	if bias {
		m.InProjBias = parameter(opts, 3*embed)
	}
	m.OutProj = NewLinear(embed, embed, kw.Bias(bias))
	XavierUniform_(m.InProjWeight, 1)
	if bias {
		Zeros_(m.InProjBias)
		Zeros_(m.OutProj.Bias)
	}
	return m
}

// Forward is self-attention.
func (m *MultiheadAttention) Forward(x *torch.Tensor) *torch.Tensor { return m.Attend(x, x, x) }

// Attend is attention of a query over keys and values. Options: kw.AttnMask,
// kw.IsCausal.
func (m *MultiheadAttention) Attend(query, key, value *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	known("MultiheadAttention", opts, "attn_mask", "is_causal")
	if !m.BatchFirst {
		query, key, value = query.Transpose(0, 1), key.Transpose(0, 1), value.Transpose(0, 1)
	}
	e := m.EmbedDim
	q := m.heads(m.project(query, 0, e))
	k := m.heads(m.project(key, e, 2*e))
	v := m.heads(m.project(value, 2*e, 3*e))
	drop := 0.0
	if m.IsTraining() {
		drop = m.DropoutP
	}
	args := append([]torch.Option{kw.DropoutP(drop)}, opts...)
	y := F.ScaledDotProductAttention(q, k, v, args...).Transpose(1, 2)
	y = m.OutProj.Forward(y.Reshape(y.Size(0), y.Size(1), e))
	if !m.BatchFirst {
		y = y.Transpose(0, 1)
	}
	return y
}

// project applies rows from..to of the common projection.
func (m *MultiheadAttention) project(x *torch.Tensor, from, to int) *torch.Tensor {
	w := m.InProjWeight.Narrow(0, from, to-from)
	if m.InProjBias == nil {
		return F.Linear(x, w)
	}
	return F.Linear(x, w, kw.Bias(m.InProjBias.Narrow(0, from, to-from)))
}

func (m *MultiheadAttention) heads(x *torch.Tensor) *torch.Tensor {
	return x.View(x.Size(0), x.Size(1), m.NumHeads, m.EmbedDim/m.NumHeads).Transpose(1, 2)
}

// TransformerEncoderLayer is self-attention and a feed-forward network, each
// with a residual connection and normalisation.
type TransformerEncoderLayer struct {
	SelfAttn           *MultiheadAttention
	Linear1, Linear2   *Linear
	Norm1, Norm2       *LayerNorm
	Drop, Drop1, Drop2 *Dropout
	NormFirst, Gelu    bool
}

// NewTransformerEncoderLayer makes a TransformerEncoderLayer. Options:
// kw.DimFeedforward(2048), kw.Dropout(0.1), kw.Activation("relu"),
// kw.LayerNormEps, kw.BatchFirst, kw.NormFirst.
func NewTransformerEncoderLayer(d, heads int, opts ...torch.Option) *TransformerEncoderLayer {
	known("TransformerEncoderLayer", opts, "dim_feedforward", "dropout", "activation", "layer_norm_eps", "batch_first", "norm_first")
	p, ff, eps := option(opts, "dropout", 0.1), option(opts, "dim_feedforward", 2048), option(opts, "layer_norm_eps", 1e-5)
	attn := NewMultiheadAttention(d, heads, kw.Dropout(p), kw.BatchFirst(option(opts, "batch_first", false)))
	return &TransformerEncoderLayer{
		SelfAttn: attn, Linear1: NewLinear(d, ff), Drop: NewDropout(p), Linear2: NewLinear(ff, d),
		Norm1: NewLayerNorm(d, kw.Eps(eps)), Norm2: NewLayerNorm(d, kw.Eps(eps)), Drop1: NewDropout(p), Drop2: NewDropout(p),
		NormFirst: option(opts, "norm_first", false), Gelu: option(opts, "activation", "relu") == "gelu",
	}
}

// Forward applies the layer.
func (l *TransformerEncoderLayer) Forward(x *torch.Tensor) *torch.Tensor {
	if l.NormFirst {
		x = x.Add(l.Drop1.Forward(l.SelfAttn.Forward(l.Norm1.Forward(x))))
		return x.Add(l.Drop2.Forward(l.feed(l.Norm2.Forward(x))))
	}
	x = l.Norm1.Forward(x.Add(l.Drop1.Forward(l.SelfAttn.Forward(x))))
	return l.Norm2.Forward(x.Add(l.Drop2.Forward(l.feed(x))))
}

func (l *TransformerEncoderLayer) feed(x *torch.Tensor) *torch.Tensor {
	h := l.Linear1.Forward(x)
	if l.Gelu {
		h = F.Gelu(h)
	} else {
		h = F.Relu(h)
	}
	return l.Linear2.Forward(l.Drop.Forward(h))
}

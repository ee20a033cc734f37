package models

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// LlamaConfig describes a LLaMA; DefaultLlamaConfig is LLaMA-7B.
type LlamaConfig struct {
	VocabSize, HiddenSize, IntermediateSize, NumHiddenLayers int
	// NumKeyValueHeads may be less than NumAttentionHeads: grouped queries; 0
	// stands for as many.
	NumAttentionHeads, NumKeyValueHeads int
	RmsNormEps, RopeTheta               float64
	InitializerRange                    float64
	HeadDim                             int // 0: HiddenSize/NumAttentionHeads
	AttentionBias, MlpBias              bool
	AttentionDropout                    float64
	HiddenAct                           string // "silu" where empty
	TieWordEmbeddings                   bool
	RopeScaling                         RopeScaling
	MaxPositionEmbeddings               int // from which on dynamic scaling scales; 2048 where 0
}

// DefaultLlamaConfig is LLaMA-7B.
func DefaultLlamaConfig() LlamaConfig {
	return LlamaConfig{
		VocabSize: 32000, HiddenSize: 4096, IntermediateSize: 11008, NumHiddenLayers: 32,
		NumAttentionHeads: 32, NumKeyValueHeads: 32, RmsNormEps: 1e-6, RopeTheta: 10000, InitializerRange: 0.02,
	}
}

func (c LlamaConfig) headDim() int {
	if c.HeadDim > 0 {
		return c.HeadDim
	}
	return c.HiddenSize / c.NumAttentionHeads
}

func (c LlamaConfig) kvHeads() int {
	if c.NumKeyValueHeads > 0 {
		return c.NumKeyValueHeads
	}
	return c.NumAttentionHeads
}

// LlamaForCausalLM predicts the next token.
type LlamaForCausalLM struct {
	Model  *LlamaModel
	LmHead *nn.Linear
}

// NewLlamaForCausalLM makes a LLaMA with freshly drawn weights. Options: kw.Dtype,
// kw.Device (on "meta" it takes no memory).
func NewLlamaForCausalLM(c LlamaConfig, opts ...torch.Option) *LlamaForCausalLM {
	c.RopeScaling.check()
	m := &LlamaForCausalLM{newLlamaModel(c, opts), linear(c.HiddenSize, c.VocabSize, opts)}
	initWeights(m, c.InitializerRange, nil)
	if c.TieWordEmbeddings {
		m.LmHead.Weight = m.Model.EmbedTokens.Weight
	}
	return m
}

// linear is a linear layer without bias.
func linear(in, out int, opts []torch.Option) *nn.Linear { return biased(in, out, false, opts) }

// biased is a linear layer that has a bias if bias is set.
func biased(in, out int, bias bool, opts []torch.Option) *nn.Linear {
	return nn.NewLinear(in, out, append([]torch.Option{kw.Bias(bias)}, opts...)...)
}

// Forward takes int64[batch, time] token ids to logits,
// float32[batch, time, vocabulary].
func (m *LlamaForCausalLM) Forward(ids *torch.Tensor) *torch.Tensor {
	return m.ForwardCached(ids, nil)
}

// ForwardCached is Forward for tokens that follow those in the cache, to which
// they are added.
func (m *LlamaForCausalLM) ForwardCached(ids *torch.Tensor, cache *KVCache) *torch.Tensor {
	return m.LmHead.Forward(m.Model.ForwardCached(ids, cache))
}

// LlamaModel is LLaMA without head.
type LlamaModel struct {
	EmbedTokens *nn.Embedding
	Layers      []*LlamaDecoderLayer
	Norm        *RMSNorm
	config      LlamaConfig
}

func newLlamaModel(c LlamaConfig, opts []torch.Option) *LlamaModel {
	m := &LlamaModel{
		EmbedTokens: nn.NewEmbedding(c.VocabSize, c.HiddenSize, opts...),
		Norm:        NewRMSNorm(c.HiddenSize, c.RmsNormEps, opts...), config: c,
	}
	for range c.NumHiddenLayers {
		m.Layers = append(m.Layers, newLlamaDecoderLayer(c, opts))
	}
	return m
}

// ForwardCached takes token ids that follow those in the cache (which may be
// nil) to the last hidden state.
func (m *LlamaModel) ForwardCached(ids *torch.Tensor, cache *KVCache) *torch.Tensor {
	past, time := cache.Len(), ids.Size(1)
	x := m.EmbedTokens.Forward(ids)
	r := newRotary(m.config, past, time, x)
	mask := causalMask(time, past+time).To(kw.Device(x.Device()))
	for i, l := range m.Layers {
		x = l.forward(x, r, mask, cache, i)
	}
	return m.Norm.Forward(x)
}

// LlamaDecoderLayer is self-attention and a gated feed-forward network, each
// after a normalisation and beside a residual.
type LlamaDecoderLayer struct {
	SelfAttn               *LlamaAttention
	Mlp                    *LlamaMLP
	InputLayernorm         *RMSNorm
	PostAttentionLayernorm *RMSNorm
}

func newLlamaDecoderLayer(c LlamaConfig, opts []torch.Option) *LlamaDecoderLayer {
	return &LlamaDecoderLayer{
		SelfAttn:               newLlamaAttention(c, opts),
		Mlp:                    newLlamaMLP(c, opts),
		InputLayernorm:         NewRMSNorm(c.HiddenSize, c.RmsNormEps, opts...),
		PostAttentionLayernorm: NewRMSNorm(c.HiddenSize, c.RmsNormEps, opts...),
	}
}

func (l *LlamaDecoderLayer) forward(x *torch.Tensor, r rotary, mask *torch.Tensor, cache *KVCache, layer int) *torch.Tensor {
	x = x.Add(l.SelfAttn.forward(l.InputLayernorm.Forward(x), r, mask, cache, layer))
	return x.Add(l.Mlp.Forward(l.PostAttentionLayernorm.Forward(x)))
}

// LlamaAttention is causal self-attention with rotary positions, in which
// groups of query heads share a head of keys and values.
type LlamaAttention struct {
	QProj, KProj, VProj, OProj *nn.Linear
	Dropout                    *nn.Dropout
	heads, kvHeads             int
	scale                      float64
}

func newLlamaAttention(c LlamaConfig, opts []torch.Option) *LlamaAttention {
	heads, kvHeads := c.NumAttentionHeads, c.kvHeads()
	if heads%kvHeads != 0 {
		refuse("LlamaModel", "ValueError", "%d attention heads cannot share %d heads of keys and values", heads, kvHeads)
	}
	q, kv := heads*c.headDim(), kvHeads*c.headDim()
	return &LlamaAttention{
		QProj: biased(c.HiddenSize, q, c.AttentionBias, opts), KProj: biased(c.HiddenSize, kv, c.AttentionBias, opts),
		VProj: biased(c.HiddenSize, kv, c.AttentionBias, opts), OProj: biased(q, c.HiddenSize, c.AttentionBias, opts),
		Dropout: nn.NewDropout(c.AttentionDropout), heads: heads, kvHeads: kvHeads, scale: 1 / math.Sqrt(float64(c.headDim())),
	}
}

func (a *LlamaAttention) forward(x *torch.Tensor, r rotary, mask *torch.Tensor, cache *KVCache, layer int) *torch.Tensor {
	q := r.turn(splitHeads(a.QProj.Forward(x), a.heads))
	k := r.turn(splitHeads(a.KProj.Forward(x), a.kvHeads))
	v := splitHeads(a.VProj.Forward(x), a.kvHeads)
	k, v = cache.update(layer, k, v)
	k, v = repeatHeads(k, a.heads/a.kvHeads), repeatHeads(v, a.heads/a.kvHeads)
	y := attend(q, k, v, mask, nil, a.scale, a.Dropout)
	return a.OProj.Forward(joinHeads(y))
}

// repeatHeads repeats each head n times.
func repeatHeads(x *torch.Tensor, n int) *torch.Tensor {
	if n == 1 {
		return x
	}
	batch, heads, time, dim := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	return x.Unsqueeze(2).Expand(batch, heads, n, time, dim).Reshape(batch, heads*n, time, dim)
}

// LlamaMLP is the gated feed-forward network.
type LlamaMLP struct {
	GateProj, UpProj, DownProj *nn.Linear
	act                        func(*torch.Tensor) *torch.Tensor
}

func newLlamaMLP(c LlamaConfig, opts []torch.Option) *LlamaMLP {
	return &LlamaMLP{
		biased(c.HiddenSize, c.IntermediateSize, c.MlpBias, opts), biased(c.HiddenSize, c.IntermediateSize, c.MlpBias, opts),
		biased(c.IntermediateSize, c.HiddenSize, c.MlpBias, opts), activation("LlamaModel", c.HiddenAct, "silu"),
	}
}

// Forward applies the network.
func (m *LlamaMLP) Forward(x *torch.Tensor) *torch.Tensor {
	return m.DownProj.Forward(m.act(m.GateProj.Forward(x)).Mul(m.UpProj.Forward(x)))
}

// RMSNorm divides by the root of the mean square; LLaMA and T5 use it.
type RMSNorm struct {
	Weight *torch.Tensor
	Eps    float64
}

// NewRMSNorm makes an RMSNorm over the last dimension.
func NewRMSNorm(size int, eps float64, opts ...torch.Option) *RMSNorm {
	args := []any{size}
	for _, o := range opts {
		args = append(args, o)
	}
	return &RMSNorm{torch.Ones(args...).RequiresGrad_(), eps}
}

// Forward applies the layer.
func (n *RMSNorm) Forward(x *torch.Tensor) *torch.Tensor {
	wide := x.To(torch.Float32)
	square := wide.Pow(2).Mean(kw.Dim(-1), kw.Keepdim(true))
	return n.Weight.Mul(wide.Mul(square.Add(n.Eps).Rsqrt()).To(x.DType()))
}

package models

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// GPT2Config describes a GPT-2; DefaultGPT2Config is the small one.
type GPT2Config struct {
	VocabSize, NPositions, NEmbd, NLayer, NHead int
	ResidPdrop, EmbdPdrop, AttnPdrop            float64
	LayerNormEpsilon, InitializerRange          float64
	NInner                                      int    // 0: four times NEmbd
	ActivationFunction                          string // "gelu_new" where empty
	ScaleAttnByInverseLayerIdx                  bool
}

// DefaultGPT2Config is GPT-2 small.
func DefaultGPT2Config() GPT2Config {
	return GPT2Config{
		VocabSize: 50257, NPositions: 1024, NEmbd: 768, NLayer: 12, NHead: 12,
		ResidPdrop: 0.1, EmbdPdrop: 0.1, AttnPdrop: 0.1, LayerNormEpsilon: 1e-5, InitializerRange: 0.02,
	}
}

// GPT2LMHeadModel predicts the next token; its head shares the weights of the
// token embedding.
type GPT2LMHeadModel struct {
	Transformer *GPT2Model
	LmHead      *nn.Linear
}

// NewGPT2LMHeadModel makes a GPT-2 with freshly drawn weights. Options: kw.Dtype, kw.Device; on the
// meta device nothing is drawn, and nn.Load with kw.Assign(true) gives the model its weights.
func NewGPT2LMHeadModel(c GPT2Config, opts ...torch.Option) *GPT2LMHeadModel {
	read("GPT2LMHeadModel", opts, "dtype", "device")
	m := &GPT2LMHeadModel{newGPT2Model(c, opts), linear(c.NEmbd, c.VocabSize, opts)}
	residual := c.InitializerRange / math.Sqrt(2*float64(c.NLayer)) // layers that add to the residual are scaled by the depth
	initWeights(m, c.InitializerRange, func(part any) {
		switch p := part.(type) {
		case *Conv1D:
			nn.Normal_(p.Weight, 0, c.InitializerRange)
			nn.Zeros_(p.Bias)
		case *GPT2Attention:
			nn.Normal_(p.CProj.Weight, 0, residual)
		case *GPT2MLP:
			nn.Normal_(p.CProj.Weight, 0, residual)
		}
	})
	m.LmHead.Weight = m.Transformer.Wte.Weight
	return m
}

// Forward takes int64[batch, time] token ids to logits,
// float32[batch, time, vocabulary].
func (m *GPT2LMHeadModel) Forward(ids *torch.Tensor) *torch.Tensor {
	return m.ForwardCached(ids, nil)
}

// ForwardCached is Forward for tokens that follow those in the cache, to which
// they are added.
func (m *GPT2LMHeadModel) ForwardCached(ids *torch.Tensor, cache *KVCache) *torch.Tensor {
	return m.LmHead.Forward(m.Transformer.ForwardCached(ids, cache))
}

// GPT2Model is GPT-2 without head.
type GPT2Model struct {
	Wte, Wpe *nn.Embedding
	Drop     *nn.Dropout
	H        []*GPT2Block
	LnF      *nn.LayerNorm
}

func newGPT2Model(c GPT2Config, opts []torch.Option) *GPT2Model {
	m := &GPT2Model{
		Wte: nn.NewEmbedding(c.VocabSize, c.NEmbd, opts...), Wpe: nn.NewEmbedding(c.NPositions, c.NEmbd, opts...),
		Drop: nn.NewDropout(c.EmbdPdrop), LnF: nn.NewLayerNorm(c.NEmbd, or(opts, kw.Eps(c.LayerNormEpsilon))...),
	}
	for i := range c.NLayer {
		m.H = append(m.H, newGPT2Block(c, i, opts))
	}
	return m
}

// ForwardCached takes token ids that follow those in the cache (which may be
// nil) to the last hidden state.
func (m *GPT2Model) ForwardCached(ids *torch.Tensor, cache *KVCache) *torch.Tensor {
	past, time := cache.Len(), ids.Size(1)
	positions := torch.Arange(past, past+time).Unsqueeze(0)
	x := m.Drop.Forward(m.Wte.Forward(ids).Add(m.Wpe.Forward(positions)))
	mask := causalMask(time, past+time)
	for i, b := range m.H {
		x = b.forward(x, mask, cache, i)
	}
	return m.LnF.Forward(x)
}

// GPT2Block is self-attention and a feed-forward network, each after a
// normalisation and beside a residual.
type GPT2Block struct {
	Ln1  *nn.LayerNorm `torch:"ln_1"`
	Attn *GPT2Attention
	Ln2  *nn.LayerNorm `torch:"ln_2"`
	Mlp  *GPT2MLP
}

func newGPT2Block(c GPT2Config, layer int, opts []torch.Option) *GPT2Block {
	return &GPT2Block{
		Ln1:  nn.NewLayerNorm(c.NEmbd, or(opts, kw.Eps(c.LayerNormEpsilon))...),
		Attn: newGPT2Attention(c, layer, opts),
		Ln2:  nn.NewLayerNorm(c.NEmbd, or(opts, kw.Eps(c.LayerNormEpsilon))...),
		Mlp:  newGPT2MLP(c, opts),
	}
}

func (b *GPT2Block) forward(x, mask *torch.Tensor, cache *KVCache, layer int) *torch.Tensor {
	x = x.Add(b.Attn.forward(b.Ln1.Forward(x), mask, cache, layer))
	return x.Add(b.Mlp.Forward(b.Ln2.Forward(x)))
}

// GPT2Attention is causal self-attention.
type GPT2Attention struct {
	CAttn, CProj              *Conv1D
	AttnDropout, ResidDropout *nn.Dropout
	heads                     int
	scale                     float64
}

func newGPT2Attention(c GPT2Config, layer int, opts []torch.Option) *GPT2Attention {
	if c.NEmbd%c.NHead != 0 {
		refuse(
			"GPT2Model", "ValueError",
			"`embed_dim` must be divisible by num_heads (got `embed_dim`: %d and `num_heads`: %d).", c.NEmbd, c.NHead,
		)
	}
	scale := 1 / math.Sqrt(float64(c.NEmbd/c.NHead))
	if c.ScaleAttnByInverseLayerIdx {
		scale /= float64(layer + 1)
	}
	return &GPT2Attention{
		CAttn: NewConv1D(3*c.NEmbd, c.NEmbd, opts...), CProj: NewConv1D(c.NEmbd, c.NEmbd, opts...),
		AttnDropout: nn.NewDropout(c.AttnPdrop), ResidDropout: nn.NewDropout(c.ResidPdrop), heads: c.NHead, scale: scale,
	}
}

func (a *GPT2Attention) forward(x, mask *torch.Tensor, cache *KVCache, layer int) *torch.Tensor {
	qkv, width := a.CAttn.Forward(x), x.Size(2)
	q := splitHeads(qkv.Narrow(2, 0, width), a.heads)
	k := splitHeads(qkv.Narrow(2, width, width), a.heads)
	v := splitHeads(qkv.Narrow(2, 2*width, width), a.heads)
	k, v = cache.update(layer, k, v)
	y := joinHeads(attend(q, k, v, mask, nil, a.scale, a.AttnDropout))
	return a.ResidDropout.Forward(a.CProj.Forward(y))
}

// GPT2MLP is the feed-forward network.
type GPT2MLP struct {
	CFc, CProj *Conv1D
	Dropout    *nn.Dropout
	act        func(*torch.Tensor) *torch.Tensor
}

func newGPT2MLP(c GPT2Config, opts []torch.Option) *GPT2MLP {
	inner := c.NInner
	if inner == 0 {
		inner = 4 * c.NEmbd
	}
	return &GPT2MLP{
		NewConv1D(inner, c.NEmbd, opts...), NewConv1D(c.NEmbd, inner, opts...), nn.NewDropout(c.ResidPdrop),
		activation("GPT2Model", c.ActivationFunction, "gelu_new"),
	}
}

// Forward applies the network.
func (m *GPT2MLP) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Dropout.Forward(m.CProj.Forward(m.act(m.CFc.Forward(x))))
}

// Conv1D is transformers' linear layer with a transposed weight: y = x W + b.
type Conv1D struct{ Weight, Bias *torch.Tensor }

// NewConv1D makes a Conv1D whose weights are normal numbers. Options: kw.Dtype, kw.Device.
func NewConv1D(out, in int, opts ...torch.Option) *Conv1D {
	read("Conv1D", opts, "dtype", "device")
	c := &Conv1D{
		torch.Empty(sized(opts, in, out)...).RequiresGrad_(), torch.Zeros(sized(opts, out)...).RequiresGrad_(),
	}
	nn.Normal_(c.Weight, 0, 0.02)
	return c
}

// Forward applies the layer along the last of three dimensions.
func (c *Conv1D) Forward(x *torch.Tensor) *torch.Tensor {
	batch, time, width := x.Size(0), x.Size(1), x.Size(2)
	return torch.Addmm(c.Bias, x.View(batch*time, width), c.Weight).View(batch, time, c.Bias.Size(0))
}

package models

import (
	"math"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// T5Config describes a T5; DefaultT5Config is T5-small.
type T5Config struct {
	VocabSize, DModel, DKv, DFf, NumLayers, NumHeads          int
	RelativeAttentionNumBuckets, RelativeAttentionMaxDistance int
	DropoutRate, LayerNormEpsilon, InitializerFactor          float64
	// FeedForwardProj is an activation ("relu" where empty), or one after
	// "gated-", whose network has two layers side by side.
	FeedForwardProj string
}

// DefaultT5Config is T5-small.
func DefaultT5Config() T5Config {
	return T5Config{
		VocabSize: 32128, DModel: 512, DKv: 64, DFf: 2048, NumLayers: 6, NumHeads: 8,
		RelativeAttentionNumBuckets: 32, RelativeAttentionMaxDistance: 128,
		DropoutRate: 0.1, LayerNormEpsilon: 1e-6, InitializerFactor: 1,
	}
}

// T5EncoderModel is the encoder of T5; its token embedding is in the state
// twice, as transformers has it.
type T5EncoderModel struct {
	Shared  *nn.Embedding
	Encoder *T5Stack
}

// NewT5EncoderModel makes an encoder with freshly drawn weights.
func NewT5EncoderModel(c T5Config) *T5EncoderModel {
	m := &T5EncoderModel{nn.NewEmbedding(c.VocabSize, c.DModel), newT5Stack(c)}
	initWeights(m, c.InitializerFactor, func(part any) {
		switch p := part.(type) {
		case *T5DenseActDense:
			p.init(c)
		case *T5Attention:
			p.init(c)
		case *T5EncoderModel:
			nn.Normal_(p.Shared.Weight, 0, c.InitializerFactor)
		}
	})
	m.Encoder.EmbedTokens = m.Shared
	return m
}

// Forward takes int64[batch, time] token ids to the last hidden state,
// float32[batch, time, d_model].
func (m *T5EncoderModel) Forward(ids *torch.Tensor) *torch.Tensor { return m.Encoder.Forward(ids) }

// T5Stack is the blocks between embedding and final normalisation.
type T5Stack struct {
	EmbedTokens    *nn.Embedding
	Block          []*T5Block
	FinalLayerNorm *RMSNorm
	Dropout        *nn.Dropout
}

func newT5Stack(c T5Config) *T5Stack {
	s := &T5Stack{
		EmbedTokens: nn.NewEmbedding(c.VocabSize, c.DModel), FinalLayerNorm: NewRMSNorm(c.DModel, c.LayerNormEpsilon),
		Dropout: nn.NewDropout(c.DropoutRate),
	}
	for i := range c.NumLayers {
		s.Block = append(s.Block, newT5Block(c, i == 0))
	}
	return s
}

// Forward applies the stack. The first block's table of relative positions
// serves all blocks.
func (s *T5Stack) Forward(ids *torch.Tensor) *torch.Tensor {
	x := s.Dropout.Forward(s.EmbedTokens.Forward(ids))
	bias := s.Block[0].Layer.Attention.SelfAttention.positionBias(ids.Size(1))
	for _, b := range s.Block {
		x = b.Layer.Attention.forward(x, bias)
		x = b.Layer.FeedForward.Forward(x)
	}
	return s.Dropout.Forward(s.FinalLayerNorm.Forward(x))
}

// T5Block is a pair of layers that transformers keeps as a list.
type T5Block struct{ Layer T5Layers }

// T5Layers is the list of a block's layers.
type T5Layers struct {
	Attention   *T5LayerSelfAttention `torch:"0"`
	FeedForward *T5LayerFF            `torch:"1"`
}

func newT5Block(c T5Config, first bool) *T5Block {
	return &T5Block{T5Layers{
		&T5LayerSelfAttention{newT5Attention(c, first), NewRMSNorm(c.DModel, c.LayerNormEpsilon), nn.NewDropout(c.DropoutRate)},
		&T5LayerFF{newT5DenseActDense(c), NewRMSNorm(c.DModel, c.LayerNormEpsilon), nn.NewDropout(c.DropoutRate)},
	}}
}

// T5LayerSelfAttention is self-attention with normalisation and residual.
type T5LayerSelfAttention struct {
	SelfAttention *T5Attention `torch:"SelfAttention"`
	LayerNorm     *RMSNorm
	Dropout       *nn.Dropout
}

func (l *T5LayerSelfAttention) forward(x, bias *torch.Tensor) *torch.Tensor {
	return x.Add(l.Dropout.Forward(l.SelfAttention.forward(l.LayerNorm.Forward(x), bias)))
}

// T5LayerFF is the feed-forward network with normalisation and residual.
type T5LayerFF struct {
	DenseReluDense *T5DenseActDense `torch:"DenseReluDense"`
	LayerNorm      *RMSNorm
	Dropout        *nn.Dropout
}

// Forward applies the layer.
func (l *T5LayerFF) Forward(x *torch.Tensor) *torch.Tensor {
	return x.Add(l.Dropout.Forward(l.DenseReluDense.Forward(l.LayerNorm.Forward(x))))
}

// T5DenseActDense is two linear layers with an activation between; where it is
// gated, another layer's output multiplies the activation.
type T5DenseActDense struct {
	Wi       *nn.Linear // nil where gated
	Wi0, Wi1 *nn.Linear
	Wo       *nn.Linear
	Dropout  *nn.Dropout
	act      func(*torch.Tensor) *torch.Tensor
}

func newT5DenseActDense(c T5Config) *T5DenseActDense {
	name, gated := strings.CutPrefix(c.FeedForwardProj, "gated-")
	if gated && name == "gelu" {
		name = "gelu_new"
	}
	d := &T5DenseActDense{act: activation("T5Stack", name, "relu")}
	if gated {
		d.Wi0, d.Wi1 = linear(c.DModel, c.DFf, nil), linear(c.DModel, c.DFf, nil)
	} else {
		d.Wi = linear(c.DModel, c.DFf, nil)
	}
	d.Wo, d.Dropout = linear(c.DFf, c.DModel, nil), nn.NewDropout(c.DropoutRate)
	return d
}

// Parts lists the layers under transformers' names.
func (d *T5DenseActDense) Parts() []torch.Field {
	var out []torch.Field
	if d.Wi != nil {
		out = append(out, torch.Field{Name: "wi", Value: d.Wi})
	} else {
		out = append(out, torch.Field{Name: "wi_0", Value: d.Wi0}, torch.Field{Name: "wi_1", Value: d.Wi1})
	}
	return append(out, torch.Field{Name: "wo", Value: d.Wo}, torch.Field{Name: "dropout", Value: d.Dropout})
}

func (d *T5DenseActDense) init(c T5Config) {
	for _, w := range []*nn.Linear{d.Wi, d.Wi0, d.Wi1} {
		if w != nil {
			nn.Normal_(w.Weight, 0, c.InitializerFactor/math.Sqrt(float64(c.DModel)))
		}
	}
	nn.Normal_(d.Wo.Weight, 0, c.InitializerFactor/math.Sqrt(float64(c.DFf)))
}

// Forward applies the network.
func (d *T5DenseActDense) Forward(x *torch.Tensor) *torch.Tensor {
	if d.Wi != nil {
		return d.Wo.Forward(d.Dropout.Forward(d.act(d.Wi.Forward(x))))
	}
	h := d.act(d.Wi0.Forward(x)).Mul(d.Wi1.Forward(x))
	return d.Wo.Forward(d.Dropout.Forward(h))
}

// T5Attention is attention without scaling, with a learned bias by relative
// position in the first block.
type T5Attention struct {
	Q, K, V, O            *nn.Linear
	RelativeAttentionBias *nn.Embedding // nil but in the first block
	Dropout               *nn.Dropout
	config                T5Config
}

func newT5Attention(c T5Config, first bool) *T5Attention {
	inner := c.NumHeads * c.DKv
	a := &T5Attention{
		Q: linear(c.DModel, inner, nil), K: linear(c.DModel, inner, nil), V: linear(c.DModel, inner, nil),
		O: linear(inner, c.DModel, nil), Dropout: nn.NewDropout(c.DropoutRate), config: c,
	}
	if first {
		a.RelativeAttentionBias = nn.NewEmbedding(c.RelativeAttentionNumBuckets, c.NumHeads)
	}
	return a
}

func (a *T5Attention) init(c T5Config) {
	std := c.InitializerFactor / math.Sqrt(float64(c.DModel))
	nn.Normal_(a.Q.Weight, 0, std/math.Sqrt(float64(c.DKv)))
	nn.Normal_(a.K.Weight, 0, std)
	nn.Normal_(a.V.Weight, 0, std)
	nn.Normal_(a.O.Weight, 0, c.InitializerFactor/math.Sqrt(float64(c.NumHeads*c.DKv)))
	if a.RelativeAttentionBias != nil {
		nn.Normal_(a.RelativeAttentionBias.Weight, 0, std)
	}
}

func (a *T5Attention) forward(x, bias *torch.Tensor) *torch.Tensor {
	heads := a.config.NumHeads
	q, k, v := splitHeads(a.Q.Forward(x), heads), splitHeads(a.K.Forward(x), heads), splitHeads(a.V.Forward(x), heads)
	return a.O.Forward(joinHeads(attend(q, k, v, nil, bias, 1, a.Dropout)))
}

// positionBias is [1, heads, time, time]: what each head adds for the distance
// between query and key.
func (a *T5Attention) positionBias(time int) *torch.Tensor {
	at := torch.Arange(time)
	distance := at.Unsqueeze(0).Sub(at.Unsqueeze(1))
	bias := a.RelativeAttentionBias.Forward(a.bucket(distance))
	return bias.Permute(2, 0, 1).Unsqueeze(0)
}

// bucket maps distances to rows of the table: half of the rows for each
// direction, of these half for the smallest distances, the others for
// logarithmically growing ones.
func (a *T5Attention) bucket(distance *torch.Tensor) *torch.Tensor {
	half := a.config.RelativeAttentionNumBuckets / 2
	exact := half / 2
	after := distance.Gt(0).To(torch.Int64).Mul(half)
	d := distance.Abs()
	growth := float64(half-exact) / math.Log(float64(a.config.RelativeAttentionMaxDistance)/float64(exact))
	far := d.To(torch.Float32).Div(exact).Log().Mul(growth).To(torch.Int64).Add(exact)
	far = far.Clamp(kw.Max(half - 1))
	return after.Add(torch.Where(d.Lt(exact), d, far))
}

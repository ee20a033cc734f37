package models

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// BertConfig describes a BERT; DefaultBertConfig is BERT-base.
type BertConfig struct {
	VocabSize, HiddenSize, NumHiddenLayers, NumAttentionHeads, IntermediateSize int
	MaxPositionEmbeddings, TypeVocabSize                                        int
	HiddenDropoutProb, AttentionProbsDropoutProb                                float64
	InitializerRange, LayerNormEps                                              float64
	HiddenAct                                                                   string // "gelu" where empty
	PadTokenID                                                                  int
}

// DefaultBertConfig is BERT-base, uncased.
func DefaultBertConfig() BertConfig {
	return BertConfig{
		VocabSize: 30522, HiddenSize: 768, NumHiddenLayers: 12, NumAttentionHeads: 12, IntermediateSize: 3072,
		MaxPositionEmbeddings: 512, TypeVocabSize: 2,
		HiddenDropoutProb: 0.1, AttentionProbsDropoutProb: 0.1,
		InitializerRange: 0.02, LayerNormEps: 1e-12,
	}
}

// BertModel is the encoder with its pooler.
type BertModel struct {
	Embeddings *BertEmbeddings
	Encoder    *BertEncoder
	Pooler     *BertPooler
}

// NewBertModel makes a BERT with freshly drawn weights. Options: kw.Dtype, kw.Device; on the meta
// device nothing is drawn, and nn.Load with kw.Assign(true) gives the model its weights.
func NewBertModel(c BertConfig, opts ...torch.Option) *BertModel {
	read("BertModel", opts, "dtype", "device")
	m := &BertModel{
		Embeddings: newBertEmbeddings(c, opts), Encoder: &BertEncoder{},
		Pooler: &BertPooler{nn.NewLinear(c.HiddenSize, c.HiddenSize, opts...)},
	}
	for range c.NumHiddenLayers {
		m.Encoder.Layer = append(m.Encoder.Layer, newBertLayer(c, opts))
	}
	initWeights(m, c.InitializerRange, nil)
	return m
}

// Forward takes int64[batch, time] token ids to the last hidden state,
// float32[batch, time, hidden].
func (m *BertModel) Forward(ids *torch.Tensor) *torch.Tensor { return m.ForwardMasked(ids) }

// ForwardMasked is Forward with options: kw.AttentionMask, int64[batch, time],
// zero for tokens that none may look at; kw.TokenTypeIds, int64[batch, time].
func (m *BertModel) ForwardMasked(ids *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	s := read("BertModel", opts, "attention_mask", "token_type_ids")
	types, _ := s.value("token_type_ids").(*torch.Tensor)
	mask, _ := s.value("attention_mask").(*torch.Tensor)
	if mask != nil {
		mask = mask.Ne(0).Unsqueeze(1).Unsqueeze(1)
	}
	x := m.Embeddings.Forward(ids, types)
	for _, l := range m.Encoder.Layer {
		x = l.Forward(x, mask)
	}
	return x
}

// Pooled is the pooler's view of a last hidden state: float32[batch, hidden].
func (m *BertModel) Pooled(hidden *torch.Tensor) *torch.Tensor {
	return m.Pooler.Dense.Forward(hidden.Select(1, 0)).Tanh()
}

// BertEmbeddings adds the embeddings of tokens, positions and token types.
type BertEmbeddings struct {
	WordEmbeddings, PositionEmbeddings, TokenTypeEmbeddings *nn.Embedding
	LayerNorm                                               *nn.LayerNorm `torch:"LayerNorm"`
	Dropout                                                 *nn.Dropout
}

func newBertEmbeddings(c BertConfig, opts []torch.Option) *BertEmbeddings {
	return &BertEmbeddings{
		WordEmbeddings:      nn.NewEmbedding(c.VocabSize, c.HiddenSize, or(opts, kw.PaddingIdx(c.PadTokenID))...),
		PositionEmbeddings:  nn.NewEmbedding(c.MaxPositionEmbeddings, c.HiddenSize, opts...),
		TokenTypeEmbeddings: nn.NewEmbedding(c.TypeVocabSize, c.HiddenSize, opts...),
		LayerNorm:           nn.NewLayerNorm(c.HiddenSize, or(opts, kw.Eps(c.LayerNormEps))...),
		Dropout:             nn.NewDropout(c.HiddenDropoutProb),
	}
}

// Forward embeds ids; without types all tokens are of type 0.
func (e *BertEmbeddings) Forward(ids, types *torch.Tensor) *torch.Tensor {
	if types == nil {
		types = torch.ZerosLike(ids)
	}
	positions := torch.Arange(ids.Size(1)).Unsqueeze(0)
	x := e.WordEmbeddings.Forward(ids)
	x = x.Add(e.TokenTypeEmbeddings.Forward(types))
	x = x.Add(e.PositionEmbeddings.Forward(positions))
	return e.Dropout.Forward(e.LayerNorm.Forward(x))
}

// BertEncoder is the list of layers.
type BertEncoder struct{ Layer []*BertLayer }

// BertPooler is a layer over the first token.
type BertPooler struct{ Dense *nn.Linear }

// BertLayer is self-attention and a feed-forward network.
type BertLayer struct {
	Attention    *BertAttention
	Intermediate *BertIntermediate
	Output       *BertOutput
}

func newBertLayer(c BertConfig, opts []torch.Option) *BertLayer {
	return &BertLayer{
		Attention: &BertAttention{newBertSelfAttention(c, opts), newBertOutput(c, c.HiddenSize, opts)},
		Intermediate: &BertIntermediate{
			nn.NewLinear(c.HiddenSize, c.IntermediateSize, opts...), activation("BertModel", c.HiddenAct, "gelu"),
		},
		Output: newBertOutput(c, c.IntermediateSize, opts),
	}
}

// Forward applies the layer; a mask, which may be nil, is true for what may be
// looked at.
func (l *BertLayer) Forward(x, mask *torch.Tensor) *torch.Tensor {
	x = l.Attention.Output.Forward(l.Attention.Self.Forward(x, mask), x)
	return l.Output.Forward(l.Intermediate.Forward(x), x)
}

// BertAttention is self-attention with its output layer.
type BertAttention struct {
	Self   *BertSelfAttention
	Output *BertOutput
}

// BertSelfAttention looks at all positions from each.
type BertSelfAttention struct {
	Query, Key, Value *nn.Linear
	Dropout           *nn.Dropout
	heads             int
}

func newBertSelfAttention(c BertConfig, opts []torch.Option) *BertSelfAttention {
	h := c.HiddenSize
	if h%c.NumAttentionHeads != 0 {
		refuse(
			"BertModel", "ValueError", "The hidden size (%d) is not a multiple of the number of attention heads (%d)",
			h, c.NumAttentionHeads,
		)
	}
	return &BertSelfAttention{
		Query: nn.NewLinear(h, h, opts...), Key: nn.NewLinear(h, h, opts...), Value: nn.NewLinear(h, h, opts...),
		Dropout: nn.NewDropout(c.AttentionProbsDropoutProb), heads: c.NumAttentionHeads,
	}
}

// Forward applies the attention.
func (a *BertSelfAttention) Forward(x, mask *torch.Tensor) *torch.Tensor {
	q := splitHeads(a.Query.Forward(x), a.heads)
	k := splitHeads(a.Key.Forward(x), a.heads)
	v := splitHeads(a.Value.Forward(x), a.heads)
	scale := 1 / math.Sqrt(float64(q.Size(3)))
	return joinHeads(attend(q, k, v, mask, nil, scale, a.Dropout))
}

// BertIntermediate widens and applies the activation.
type BertIntermediate struct {
	Dense *nn.Linear
	act   func(*torch.Tensor) *torch.Tensor
}

// Forward applies the layer.
func (i *BertIntermediate) Forward(x *torch.Tensor) *torch.Tensor {
	return i.act(i.Dense.Forward(x))
}

// BertOutput projects, adds the residual and normalises.
type BertOutput struct {
	Dense     *nn.Linear
	LayerNorm *nn.LayerNorm `torch:"LayerNorm"`
	Dropout   *nn.Dropout
}

func newBertOutput(c BertConfig, in int, opts []torch.Option) *BertOutput {
	return &BertOutput{
		nn.NewLinear(in, c.HiddenSize, opts...), nn.NewLayerNorm(c.HiddenSize, or(opts, kw.Eps(c.LayerNormEps))...),
		nn.NewDropout(c.HiddenDropoutProb),
	}
}

// Forward applies the layer to x; residual is what went into the block.
func (o *BertOutput) Forward(x, residual *torch.Tensor) *torch.Tensor {
	return o.LayerNorm.Forward(o.Dropout.Forward(o.Dense.Forward(x)).Add(residual))
}

package nn

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file is the transformer of "Attention is all you need": layers of its
// encoder and decoder, stacks of them, and the whole.

// layerOptions are the options that both kinds of layer have.
var layerOptions = []string{
	"dim_feedforward", "dropout", "activation", "layer_norm_eps", "batch_first", "norm_first", "bias", "dtype",
	"device",
}

// activation reads kw.Activation: "relu", "gelu" or a function of one tensor.
func activation(class string, opts []torch.Option) func(*torch.Tensor) *torch.Tensor {
	switch a := optionAny(opts, "activation").(type) {
	case nil:
		return F.Relu
	case func(*torch.Tensor) *torch.Tensor:
		return a
	case string:
		switch a {
		case "relu":
			return F.Relu
		case "gelu":
			return func(x *torch.Tensor) *torch.Tensor { return F.Gelu(x) }
		}
		panic(&torch.Error{Op: class, Kind: "RuntimeError", Msg: "activation should be relu/gelu, not " + a})
	default:
		panic(&torch.Error{
			Op: class, Kind: "TypeError",
			Msg: fmt.Sprintf("activation should be a string or a function of one tensor, not %T", a),
		})
	}
}

// layerParts are the pieces of which layers are built.
type layerParts struct {
	opts    []torch.Option // where parameters live, and bias
	d, ff   int
	dropout float64
	eps     float64
}

func newLayerParts(d int, opts []torch.Option) layerParts {
	return layerParts{
		opts: append(placed(opts), kw.Bias(option(opts, "bias", true))), d: d, ff: option(opts, "dim_feedforward", 2048),
		dropout: option(opts, "dropout", 0.1), eps: option(opts, "layer_norm_eps", 1e-5),
	}
}

func (p layerParts) attention(heads int, opts []torch.Option) *MultiheadAttention {
	return NewMultiheadAttention(p.d, heads, append([]torch.Option{
		kw.Dropout(p.dropout),
		kw.BatchFirst(option(opts, "batch_first", false)),
	}, p.opts...)...)
}

func (p layerParts) norm() *LayerNorm {
	return NewLayerNorm(p.d, append([]torch.Option{kw.Eps(p.eps)}, p.opts...)...)
}

// TransformerEncoderLayer is self-attention and a feed-forward network, each
// with a residual connection and normalisation.
type TransformerEncoderLayer struct {
	SelfAttn           *MultiheadAttention
	Linear1            *Linear
	Dropout            *Dropout
	Linear2            *Linear
	Norm1, Norm2       *LayerNorm
	Dropout1, Dropout2 *Dropout
	NormFirst          bool
	activation         func(*torch.Tensor) *torch.Tensor
}

// NewTransformerEncoderLayer makes a TransformerEncoderLayer. Options:
// kw.DimFeedforward(2048), kw.Dropout(0.1), kw.Activation("relu", "gelu" or a
// function), kw.LayerNormEps(1e-5), kw.BatchFirst(false), kw.NormFirst(false),
// kw.Bias(true), kw.Dtype, kw.Device.
func NewTransformerEncoderLayer(d, heads int, opts ...torch.Option) *TransformerEncoderLayer {
	known("TransformerEncoderLayer", opts, layerOptions...)
	p := newLayerParts(d, opts)
	return &TransformerEncoderLayer{
		SelfAttn: p.attention(heads, opts), Linear1: NewLinear(d, p.ff, p.opts...), Dropout: NewDropout(p.dropout),
		Linear2: NewLinear(p.ff, d, p.opts...),
		Norm1:   p.norm(), Norm2: p.norm(), Dropout1: NewDropout(p.dropout), Dropout2: NewDropout(p.dropout),
		NormFirst: option(opts, "norm_first", false), activation: activation("TransformerEncoderLayer", opts),
	}
}

// Forward applies the layer without mask.
func (l *TransformerEncoderLayer) Forward(x *torch.Tensor) *torch.Tensor { return l.ForwardMasked(x) }

// ForwardMasked applies the layer. Options: kw.SrcMask, kw.SrcKeyPaddingMask,
// kw.IsCausal; see MultiheadAttention.Attend.
func (l *TransformerEncoderLayer) ForwardMasked(x *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	known("TransformerEncoderLayer", opts, "src_mask", "src_key_padding_mask", "is_causal")
	masks := attendOptions(opts, "src_mask", "src_key_padding_mask", "is_causal")
	if l.NormFirst {
		x = x.Add(l.attend(l.Norm1.Forward(x), masks))
		return x.Add(l.feed(l.Norm2.Forward(x)))
	}
	x = l.Norm1.Forward(x.Add(l.attend(x, masks)))
	return l.Norm2.Forward(x.Add(l.feed(x)))
}

// attendOptions are the options of an attention for those of a layer.
func attendOptions(opts []torch.Option, mask, padding, causal string) []torch.Option {
	var out []torch.Option
	if v := option[*torch.Tensor](opts, mask, nil); v != nil {
		out = append(out, kw.AttnMask(v))
	}
	if v := option[*torch.Tensor](opts, padding, nil); v != nil {
		out = append(out, kw.KeyPaddingMask(v))
	}
	if option(opts, causal, false) {
		out = append(out, kw.IsCausal(true))
	}
	return out
}

func (l *TransformerEncoderLayer) attend(x *torch.Tensor, masks []torch.Option) *torch.Tensor {
	return l.Dropout1.Forward(l.SelfAttn.Attend(x, x, x, masks...))
}

func (l *TransformerEncoderLayer) feed(x *torch.Tensor) *torch.Tensor {
	h := l.Dropout.Forward(l.activation(l.Linear1.Forward(x)))
	return l.Dropout2.Forward(l.Linear2.Forward(h))
}

// TransformerDecoderLayer is self-attention, attention over an encoder's output
// and a feed-forward network, each with a residual connection and normalisation.
type TransformerDecoderLayer struct {
	SelfAttn, MultiheadAttn      *MultiheadAttention
	Linear1                      *Linear
	Dropout                      *Dropout
	Linear2                      *Linear
	Norm1, Norm2, Norm3          *LayerNorm
	Dropout1, Dropout2, Dropout3 *Dropout
	NormFirst                    bool
	activation                   func(*torch.Tensor) *torch.Tensor
}

// NewTransformerDecoderLayer makes a TransformerDecoderLayer; options as
// NewTransformerEncoderLayer's.
func NewTransformerDecoderLayer(d, heads int, opts ...torch.Option) *TransformerDecoderLayer {
	known("TransformerDecoderLayer", opts, layerOptions...)
	p := newLayerParts(d, opts)
	return &TransformerDecoderLayer{
		SelfAttn: p.attention(heads, opts), MultiheadAttn: p.attention(heads, opts),
		Linear1: NewLinear(d, p.ff, p.opts...), Dropout: NewDropout(p.dropout), Linear2: NewLinear(p.ff, d, p.opts...),
		Norm1: p.norm(), Norm2: p.norm(), Norm3: p.norm(),
		Dropout1: NewDropout(p.dropout), Dropout2: NewDropout(p.dropout), Dropout3: NewDropout(p.dropout),
		NormFirst: option(opts, "norm_first", false), activation: activation("TransformerDecoderLayer", opts),
	}
}

// Forward applies the layer to x, looking at an encoder's output. Options:
// kw.TgtMask, kw.TgtKeyPaddingMask, kw.TgtIsCausal for x; kw.MemoryMask,
// kw.MemoryKeyPaddingMask, kw.MemoryIsCausal for memory.
func (l *TransformerDecoderLayer) Forward(x, memory *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	known("TransformerDecoderLayer", opts, decoderMasks...)
	own := attendOptions(opts, "tgt_mask", "tgt_key_padding_mask", "tgt_is_causal")
	far := attendOptions(opts, "memory_mask", "memory_key_padding_mask", "memory_is_causal")
	if l.NormFirst {
		x = x.Add(l.attend(l.Norm1.Forward(x), own))
		x = x.Add(l.look(l.Norm2.Forward(x), memory, far))
		return x.Add(l.feed(l.Norm3.Forward(x)))
	}
	x = l.Norm1.Forward(x.Add(l.attend(x, own)))
	x = l.Norm2.Forward(x.Add(l.look(x, memory, far)))
	return l.Norm3.Forward(x.Add(l.feed(x)))
}

var decoderMasks = []string{
	"tgt_mask", "tgt_key_padding_mask", "tgt_is_causal", "memory_mask", "memory_key_padding_mask", "memory_is_causal",
}

func (l *TransformerDecoderLayer) attend(x *torch.Tensor, masks []torch.Option) *torch.Tensor {
	return l.Dropout1.Forward(l.SelfAttn.Attend(x, x, x, masks...))
}

func (l *TransformerDecoderLayer) look(x, memory *torch.Tensor, masks []torch.Option) *torch.Tensor {
	return l.Dropout2.Forward(l.MultiheadAttn.Attend(x, memory, memory, masks...))
}

func (l *TransformerDecoderLayer) feed(x *torch.Tensor) *torch.Tensor {
	h := l.Dropout.Forward(l.activation(l.Linear1.Forward(x)))
	return l.Dropout3.Forward(l.Linear2.Forward(h))
}

// TransformerEncoder is a stack of layers.
type TransformerEncoder struct {
	Layers []*TransformerEncoderLayer
	Norm   *LayerNorm // nil without
}

// NewTransformerEncoder stacks copies of layer, which all start with its
// weights. Option: kw.Norm(a *LayerNorm), applied at the end.
func NewTransformerEncoder(layer *TransformerEncoderLayer, n int, opts ...torch.Option) *TransformerEncoder {
	known("TransformerEncoder", opts, "norm")
	e := &TransformerEncoder{Norm: option[*LayerNorm](opts, "norm", nil)}
	for range n {
		e.Layers = append(e.Layers, layer.clone())
	}
	return e
}

// Forward applies the stack without mask.
func (e *TransformerEncoder) Forward(x *torch.Tensor) *torch.Tensor { return e.ForwardMasked(x) }

// ForwardMasked applies the stack. Options: kw.Mask, kw.SrcKeyPaddingMask,
// kw.IsCausal.
func (e *TransformerEncoder) ForwardMasked(x *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	known("TransformerEncoder", opts, "mask", "src_key_padding_mask", "is_causal")
	var each []torch.Option
	for _, o := range opts {
		if o.Name == "mask" {
			o.Name = "src_mask"
		}
		each = append(each, o)
	}
	for _, l := range e.Layers {
		x = l.ForwardMasked(x, each...)
	}
	if e.Norm != nil {
		x = e.Norm.Forward(x)
	}
	return x
}

// TransformerDecoder is a stack of layers.
type TransformerDecoder struct {
	Layers []*TransformerDecoderLayer
	Norm   *LayerNorm // nil without
}

// NewTransformerDecoder stacks copies of layer, which all start with its
// weights. Option: kw.Norm(a *LayerNorm), applied at the end.
func NewTransformerDecoder(layer *TransformerDecoderLayer, n int, opts ...torch.Option) *TransformerDecoder {
	known("TransformerDecoder", opts, "norm")
	d := &TransformerDecoder{Norm: option[*LayerNorm](opts, "norm", nil)}
	for range n {
		d.Layers = append(d.Layers, layer.clone())
	}
	return d
}

// Forward applies the stack; options as TransformerDecoderLayer's.
func (d *TransformerDecoder) Forward(x, memory *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	for _, l := range d.Layers {
		x = l.Forward(x, memory, opts...)
	}
	if d.Norm != nil {
		x = d.Norm.Forward(x)
	}
	return x
}

// Transformer is an encoder and a decoder.
type Transformer struct {
	Encoder *TransformerEncoder
	Decoder *TransformerDecoder
}

// NewTransformer makes a Transformer. Options: kw.DModel(512), kw.Nhead(8),
// kw.NumEncoderLayers(6), kw.NumDecoderLayers(6) and those of
// NewTransformerEncoderLayer.
func NewTransformer(opts ...torch.Option) *Transformer {
	known("Transformer", opts, append([]string{"d_model", "nhead", "num_encoder_layers", "num_decoder_layers"}, layerOptions...)...)
	d, heads := option(opts, "d_model", 512), option(opts, "nhead", 8)
	var each []torch.Option
	for _, o := range opts {
		for _, name := range layerOptions {
			if o.Name == name {
				each = append(each, o)
			}
		}
	}
	p := newLayerParts(d, each)
	t := &Transformer{
		NewTransformerEncoder(NewTransformerEncoderLayer(d, heads, each...), option(opts, "num_encoder_layers", 6), kw.Norm(p.norm())),
		NewTransformerDecoder(NewTransformerDecoderLayer(d, heads, each...), option(opts, "num_decoder_layers", 6), kw.Norm(p.norm())),
	}
	for _, w := range Parameters(t) {
		if w.Dim() > 1 {
			XavierUniform_(w, 1)
		}
	}
	return t
}

// Forward takes a source and a target sequence, [time, batch, d_model] (or
// [batch, time, d_model] with BatchFirst), to the decoder's output for the
// target. Options: kw.SrcMask, kw.SrcKeyPaddingMask, kw.SrcIsCausal and those of
// TransformerDecoderLayer.
func (t *Transformer) Forward(src, tgt *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	known("Transformer", opts, append([]string{"src_mask", "src_key_padding_mask", "src_is_causal"}, decoderMasks...)...)
	var encode, decode []torch.Option
	for _, o := range opts {
		switch o.Name {
		case "src_mask":
			encode = append(encode, torch.Option{Name: "mask", Value: o.Value})
		case "src_key_padding_mask":
			encode = append(encode, o)
		case "src_is_causal":
			encode = append(encode, torch.Option{Name: "is_causal", Value: o.Value})
		default:
			decode = append(decode, o)
		}
	}
	return t.Decoder.Forward(tgt, t.Encoder.ForwardMasked(src, encode...), decode...)
}

// GenerateSquareSubsequentMask is the causal mask for n positions: minus
// infinity above the diagonal, else zero.
func GenerateSquareSubsequentMask(n int) *torch.Tensor {
	return torch.Full([]int{n, n}, math.Inf(-1)).Triu(kw.Diagonal(1))
}

// Copies of layers, as copy.deepcopy makes them: no number is drawn.

func (l *TransformerEncoderLayer) clone() *TransformerEncoderLayer {
	c := *l
	c.SelfAttn = l.SelfAttn.clone()
	c.Linear1, c.Linear2 = l.Linear1.clone(), l.Linear2.clone()
	c.Norm1, c.Norm2 = l.Norm1.clone(), l.Norm2.clone()
	c.Dropout, c.Dropout1, c.Dropout2 = l.Dropout.clone(), l.Dropout1.clone(), l.Dropout2.clone()
	return &c
}

func (l *TransformerDecoderLayer) clone() *TransformerDecoderLayer {
	c := *l
	c.SelfAttn, c.MultiheadAttn = l.SelfAttn.clone(), l.MultiheadAttn.clone()
	c.Linear1, c.Linear2 = l.Linear1.clone(), l.Linear2.clone()
	c.Norm1, c.Norm2, c.Norm3 = l.Norm1.clone(), l.Norm2.clone(), l.Norm3.clone()
	c.Dropout, c.Dropout1, c.Dropout2, c.Dropout3 = l.Dropout.clone(), l.Dropout1.clone(), l.Dropout2.clone(), l.Dropout3.clone()
	return &c
}

func (m *MultiheadAttention) clone() *MultiheadAttention {
	c := *m
	for _, p := range []**torch.Tensor{&c.QProjWeight, &c.KProjWeight, &c.VProjWeight, &c.InProjWeight, &c.InProjBias, &c.BiasK, &c.BiasV} {
		*p = cloneParameter(*p)
	}
	c.OutProj = m.OutProj.clone()
	return &c
}

func (l *Linear) clone() *Linear {
	c := *l
	c.Weight, c.Bias = cloneParameter(l.Weight), cloneParameter(l.Bias)
	return &c
}

func (l *LayerNorm) clone() *LayerNorm {
	c := *l
	c.Weight, c.Bias = cloneParameter(l.Weight), cloneParameter(l.Bias)
	return &c
}

func (d *Dropout) clone() *Dropout {
	c := *d
	return &c
}

// cloneParameter copies a parameter; nil stays nil.
func cloneParameter(p *torch.Tensor) *torch.Tensor {
	if p == nil {
		return nil
	}
	return p.Detach().Clone().RequiresGrad_(p.RequiresGrad())
}

package models

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// VisionTransformer is a transformer over patches of an image.
type VisionTransformer struct {
	ClassToken *torch.Tensor
	ConvProj   *nn.Conv2d
	Encoder    *ViTEncoder
	Heads      *ViTHeads
	imageSize  int
}

// ViTHeads holds the classifier, after a layer with tanh if there is one.
type ViTHeads struct {
	PreLogits *nn.Linear // nil without representation size
	Head      *nn.Linear
}

// ViTB16 makes a ViT-B/16. Options: kw.ImageSize(224) and those of
// NewVisionTransformer.
func ViTB16(opts ...torch.Option) *VisionTransformer { return sizedViT(16, 12, 12, 768, 3072, opts) }

// ViTB32 makes a ViT-B/32; options as ViTB16's.
func ViTB32(opts ...torch.Option) *VisionTransformer { return sizedViT(32, 12, 12, 768, 3072, opts) }

// ViTL16 makes a ViT-L/16.
func ViTL16(opts ...torch.Option) *VisionTransformer { return sizedViT(16, 24, 16, 1024, 4096, opts) }

// ViTL32 makes a ViT-L/32.
func ViTL32(opts ...torch.Option) *VisionTransformer { return sizedViT(32, 24, 16, 1024, 4096, opts) }

// ViTH14 makes a ViT-H/14.
func ViTH14(opts ...torch.Option) *VisionTransformer { return sizedViT(14, 32, 16, 1280, 5120, opts) }

// sizedViT takes the image's size from the options.
func sizedViT(patch, layers, heads, hidden, mlp int, opts []torch.Option) *VisionTransformer {
	image := settings{"VisionTransformer", opts}.whole("image_size", 224)
	var rest []torch.Option
	for _, o := range opts {
		if o.Name != "image_size" {
			rest = append(rest, o)
		}
	}
	return NewVisionTransformer(image, patch, layers, heads, hidden, mlp, rest...)
}

// NewVisionTransformer makes a VisionTransformer for square images and patches
// of the given sides; hidden is the length of a token, mlp that inside the
// perceptrons. Options: kw.Dropout(0), kw.AttentionDropout(0),
// kw.NumClasses(1000), kw.RepresentationSize(n), a layer before the classifier.
func NewVisionTransformer(image, patch, layers, heads, hidden, mlp int, opts ...torch.Option) *VisionTransformer {
	s := read("VisionTransformer", opts, "dropout", "attention_dropout", "num_classes", "representation_size")
	if image%patch != 0 {
		refuse("VisionTransformer", "AssertionError", "Input shape indivisible by patch size!")
	}
	m := &VisionTransformer{ConvProj: nn.NewConv2d(3, hidden, patch, kw.Stride(patch)), imageSize: image}
	m.ClassToken = torch.Zeros(1, 1, hidden).RequiresGrad_()
	m.Encoder = newViTEncoder(
		image/patch*(image/patch)+1, layers,
		vitShape{heads, hidden, mlp, s.number("dropout", 0), s.number("attention_dropout", 0)},
	)
	m.Heads = newViTHeads(hidden, s.whole("representation_size", 0), s.whole("num_classes", 1000))
	truncatedNormal(m.ConvProj.Weight, math.Sqrt(1/float64(3*patch*patch)))
	nn.Zeros_(m.ConvProj.Bias)
	if p := m.Heads.PreLogits; p != nil {
		truncatedNormal(p.Weight, math.Sqrt(1/float64(hidden)))
		nn.Zeros_(p.Bias)
	}
	nn.Zeros_(m.Heads.Head.Weight)
	nn.Zeros_(m.Heads.Head.Bias)
	return m
}

func newViTHeads(hidden, representation, classes int) *ViTHeads {
	if representation == 0 {
		return &ViTHeads{Head: nn.NewLinear(hidden, classes)}
	}
	return &ViTHeads{nn.NewLinear(hidden, representation), nn.NewLinear(representation, classes)}
}

// Forward takes float32[batch, 3, image, image] to float32[batch, classes].
func (m *VisionTransformer) Forward(x *torch.Tensor) *torch.Tensor {
	if h, w := x.Size(2), x.Size(3); h != m.imageSize || w != m.imageSize {
		refuse("VisionTransformer", "AssertionError", "Wrong image size! Expected %dx%d but got %dx%d!", m.imageSize, m.imageSize, h, w)
	}
	x = m.ConvProj.Forward(x).Flatten(kw.StartDim(2)).Permute(0, 2, 1)
	token := m.ClassToken.Expand(x.Size(0), -1, -1)
	x = m.Encoder.Forward(torch.Cat([]*torch.Tensor{token, x}, kw.Dim(1)))
	return m.Heads.Forward(x.Select(1, 0))
}

// Forward classifies float32[batch, hidden].
func (h *ViTHeads) Forward(x *torch.Tensor) *torch.Tensor {
	if h.PreLogits != nil {
		x = h.PreLogits.Forward(x).Tanh()
	}
	return h.Head.Forward(x)
}

// vitShape is what all blocks of a ViT have in common.
type vitShape struct {
	heads, hidden, mlp        int
	dropout, attentionDropout float64
}

// ViTEncoder adds positions and applies the layers.
type ViTEncoder struct {
	PosEmbedding *torch.Tensor
	Dropout      *nn.Dropout
	Layers       *nn.NamedSequential
	Ln           *nn.LayerNorm
}

func newViTEncoder(length, layers int, s vitShape) *ViTEncoder {
	e := &ViTEncoder{
		PosEmbedding: torch.Empty(1, length, s.hidden).RequiresGrad_(), Dropout: nn.NewDropout(s.dropout),
		Layers: nn.NewNamedSequential(),
	}
	nn.Normal_(e.PosEmbedding, 0, 0.02)
	for i := range layers {
		e.Layers.AddModule(fmt.Sprintf("encoder_layer_%d", i), newViTBlock(s))
	}
	e.Ln = nn.NewLayerNorm(s.hidden, kw.Eps(1e-6))
	return e
}

// Forward applies the encoder.
func (e *ViTEncoder) Forward(x *torch.Tensor) *torch.Tensor {
	return e.Ln.Forward(e.Layers.Forward(e.Dropout.Forward(x.Add(e.PosEmbedding))))
}

// ViTBlock is self-attention and a perceptron, each after a normalisation and
// beside a residual.
type ViTBlock struct {
	Ln1           *nn.LayerNorm `torch:"ln_1"`
	SelfAttention *nn.MultiheadAttention
	Dropout       *nn.Dropout
	Ln2           *nn.LayerNorm `torch:"ln_2"`
	Mlp           *nn.Sequential
}

func newViTBlock(s vitShape) *ViTBlock {
	up, down := nn.NewLinear(s.hidden, s.mlp), nn.NewLinear(s.mlp, s.hidden)
	for _, l := range []*nn.Linear{up, down} {
		nn.XavierUniform_(l.Weight, 1)
		nn.Normal_(l.Bias, 0, 1e-6)
	}
	return &ViTBlock{
		Ln1:           nn.NewLayerNorm(s.hidden, kw.Eps(1e-6)),
		SelfAttention: nn.NewMultiheadAttention(s.hidden, s.heads, kw.Dropout(s.attentionDropout), kw.BatchFirst(true)),
		Dropout:       nn.NewDropout(s.dropout),
		Ln2:           nn.NewLayerNorm(s.hidden, kw.Eps(1e-6)),
		Mlp:           nn.NewSequential(up, nn.NewGELU(), nn.NewDropout(s.dropout), down, nn.NewDropout(s.dropout)),
	}
}

// Forward applies the block.
func (b *ViTBlock) Forward(x *torch.Tensor) *torch.Tensor {
	x = x.Add(b.Dropout.Forward(b.SelfAttention.Forward(b.Ln1.Forward(x))))
	return x.Add(b.Mlp.Forward(b.Ln2.Forward(x)))
}

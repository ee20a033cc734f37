package models

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// VisionTransformer is a transformer over patches of an image of 224x224.
type VisionTransformer struct {
	ClassToken *torch.Tensor
	ConvProj   *nn.Conv2d
	Encoder    *ViTEncoder
	Heads      *ViTHeads
}

// ViTHeads holds the classifier.
type ViTHeads struct{ Head *nn.Linear }

// ViTB16 makes a ViT-B/16.
func ViTB16() *VisionTransformer { return newViT(16, 12, 12, 768, 3072) }

// ViTL16 makes a ViT-L/16.
func ViTL16() *VisionTransformer { return newViT(16, 24, 16, 1024, 4096) }

func newViT(patch, layers, heads, hidden, mlp int) *VisionTransformer {
	const image = 224
	m := &VisionTransformer{ConvProj: nn.NewConv2d(3, hidden, patch, kw.Stride(patch))}
	m.ClassToken = torch.Zeros(1, 1, hidden).RequiresGrad_()
	m.Encoder = newViTEncoder(image/patch*(image/patch)+1, layers, heads, hidden, mlp)
	m.Heads = &ViTHeads{nn.NewLinear(hidden, 1000)}
	truncatedNormal(m.ConvProj.Weight, math.Sqrt(1/float64(3*patch*patch)))
	nn.Zeros_(m.ConvProj.Bias)
	nn.Zeros_(m.Heads.Head.Weight)
	nn.Zeros_(m.Heads.Head.Bias)
	return m
}

// Forward takes float32[batch, 3, 224, 224] to float32[batch, 1000].
func (m *VisionTransformer) Forward(x *torch.Tensor) *torch.Tensor {
	x = m.ConvProj.Forward(x).Flatten(kw.StartDim(2)).Permute(0, 2, 1)
	token := m.ClassToken.Expand(x.Size(0), -1, -1)
	x = m.Encoder.Forward(torch.Cat([]*torch.Tensor{token, x}, kw.Dim(1)))
	return m.Heads.Head.Forward(x.Select(1, 0))
}

// ViTEncoder adds positions and applies the layers.
type ViTEncoder struct {
	PosEmbedding *torch.Tensor
	Dropout      *nn.Dropout
	Layers       *nn.NamedSequential
	Ln           *nn.LayerNorm
}

func newViTEncoder(length, layers, heads, hidden, mlp int) *ViTEncoder {
	e := &ViTEncoder{PosEmbedding: torch.Empty(1, length, hidden).RequiresGrad_(), Dropout: nn.NewDropout(0), Layers: nn.NewNamedSequential()}
	nn.Normal_(e.PosEmbedding, 0, 0.02)
	for i := range layers {
		e.Layers.AddModule(fmt.Sprintf("encoder_layer_%d", i), newViTBlock(heads, hidden, mlp))
	}
	e.Ln = nn.NewLayerNorm(hidden, kw.Eps(1e-6))
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

func newViTBlock(heads, hidden, mlp int) *ViTBlock {
	up, down := nn.NewLinear(hidden, mlp), nn.NewLinear(mlp, hidden)
	for _, l := range []*nn.Linear{up, down} {
		nn.XavierUniform_(l.Weight, 1)
		nn.Normal_(l.Bias, 0, 1e-6)
	}
	return &ViTBlock{
		Ln1:           nn.NewLayerNorm(hidden, kw.Eps(1e-6)),
		SelfAttention: nn.NewMultiheadAttention(hidden, heads, kw.BatchFirst(true)),
		Dropout:       nn.NewDropout(0),
		Ln2:           nn.NewLayerNorm(hidden, kw.Eps(1e-6)),
		Mlp:           nn.NewSequential(up, nn.NewGELU(), nn.NewDropout(0), down, nn.NewDropout(0)),
	}
}

// Forward applies the block.
func (b *ViTBlock) Forward(x *torch.Tensor) *torch.Tensor {
	x = x.Add(b.Dropout.Forward(b.SelfAttention.Forward(b.Ln1.Forward(x))))
	return x.Add(b.Mlp.Forward(b.Ln2.Forward(x)))
}

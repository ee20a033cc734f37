package models

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// This file is a small captioner of images: a convolutional encoder whose
// pixels a transformer decoder looks at while it writes.

// CaptionConfig describes an ImageCaptioner; DefaultCaptionConfig is one for toy
// images.
type CaptionConfig struct {
	VocabSize, MaxLen                        int
	Channels                                 []int // of the encoder's convolutions, each of stride 2
	DModel, NHead, NumLayers, DimFeedforward int
	Dropout                                  float64
}

// DefaultCaptionConfig is for a vocabulary and captions of a few words.
func DefaultCaptionConfig() CaptionConfig {
	return CaptionConfig{VocabSize: 16, MaxLen: 8, Channels: []int{8, 16}, DModel: 32, NHead: 4, NumLayers: 2, DimFeedforward: 64}
}

// ImageCaptioner writes captions for images.
type ImageCaptioner struct {
	Encoder   *nn.Sequential
	Project   *nn.Linear
	Embedding *nn.Embedding
	Positions *nn.Embedding
	Decoder   *nn.TransformerDecoder
	Head      *nn.Linear
}

// NewImageCaptioner makes a captioner with freshly drawn weights.
func NewImageCaptioner(c CaptionConfig) *ImageCaptioner {
	m := &ImageCaptioner{Encoder: nn.NewSequential()}
	in := 3
	for _, out := range c.Channels {
		m.Encoder.Append(nn.NewConv2d(in, out, 3, kw.Stride(2), kw.Padding(1)))
		m.Encoder.Append(nn.NewBatchNorm2d(out))
		m.Encoder.Append(nn.NewReLU())
		in = out
	}
	m.Project = nn.NewLinear(in, c.DModel)
	m.Embedding, m.Positions = nn.NewEmbedding(c.VocabSize, c.DModel), nn.NewEmbedding(c.MaxLen, c.DModel)
	layer := nn.NewTransformerDecoderLayer(
		c.DModel, c.NHead, kw.DimFeedforward(c.DimFeedforward), kw.Dropout(c.Dropout), kw.BatchFirst(true),
		kw.NormFirst(true),
	)
	m.Decoder = nn.NewTransformerDecoder(layer, c.NumLayers, kw.Norm(nn.NewLayerNorm(c.DModel)))
	m.Head = nn.NewLinear(c.DModel, c.VocabSize)
	return m
}

// Encode takes float32[batch, 3, height, width] to what the decoder looks at,
// float32[batch, pixels, d_model].
func (m *ImageCaptioner) Encode(images *torch.Tensor) *torch.Tensor {
	return m.Project.Forward(m.Encoder.Forward(images).Flatten(kw.StartDim(2)).Transpose(1, 2))
}

// Decode takes the words so far, int64[batch, time], to logits of the next after
// each, float32[batch, time, vocabulary].
func (m *ImageCaptioner) Decode(words, memory *torch.Tensor) *torch.Tensor {
	time := words.Size(1)
	x := m.Embedding.Forward(words).Add(m.Positions.Forward(torch.Arange(time)))
	mask := nn.GenerateSquareSubsequentMask(time)
	return m.Head.Forward(m.Decoder.Forward(x, memory, kw.TgtMask(mask), kw.TgtIsCausal(true)))
}

// Forward is Decode of the words with an encoded image.
func (m *ImageCaptioner) Forward(images, words *torch.Tensor) *torch.Tensor {
	return m.Decode(words, m.Encode(images))
}

// Caption writes count words after the word start for each image, each the
// likeliest: int64[batch, count].
func (m *ImageCaptioner) Caption(images *torch.Tensor, start, count int) *torch.Tensor {
	var words *torch.Tensor
	torch.NoGrad(func() {
		memory := m.Encode(images)
		words = torch.Full([]int{images.Size(0), 1}, start)
		for range count {
			logits := m.Decode(words, memory)
			next := logits.Select(1, words.Size(1)-1).Argmax(kw.Dim(-1), kw.Keepdim(true))
			words = torch.Cat([]*torch.Tensor{words, next}, kw.Dim(1))
		}
	})
	return words.Narrow(1, 1, count)
}

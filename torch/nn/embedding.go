package nn

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// Embedding is a table of vectors that integers pick from.
type Embedding struct {
	Weight                      *torch.Tensor
	NumEmbeddings, EmbeddingDim int

	paddingIdx int
	padding    bool
}

// NewEmbedding makes an Embedding of normal numbers. Options:
// kw.PaddingIdx(i), whose row starts as zeros and gets no gradient, kw.Dtype,
// kw.Device.
func NewEmbedding(n, dim int, opts ...torch.Option) *Embedding {
	known("Embedding", opts, "padding_idx", "dtype", "device")
	e := &Embedding{Weight: parameter(opts, n, dim), NumEmbeddings: n, EmbeddingDim: dim}
	Normal_(e.Weight, 0, 1)
	for _, o := range opts {
		if o.Name == "padding_idx" && o.Value != nil {
			e.setPadding(o.Value.(int))
		}
	}
	return e
}

func (e *Embedding) setPadding(i int) {
	if i >= e.NumEmbeddings || i < -e.NumEmbeddings {
		panic(&torch.Error{Op: "Embedding", Kind: "AssertionError", Msg: fmt.Sprintf("Padding_idx must be within num_embeddings (%d), but got %d", e.NumEmbeddings, i)})
	}
	if i < 0 {
		i += e.NumEmbeddings
	}
	e.paddingIdx, e.padding = i, true
	e.ZeroPadding()
}

// ZeroPadding zeroes the row of the padding index, if there is one.
func (e *Embedding) ZeroPadding() {
	if e.padding {
		torch.NoGrad(func() { e.Weight.Select(0, e.paddingIdx).Zero_() })
	}
}

// Forward looks up integers of any shape.
func (e *Embedding) Forward(x *torch.Tensor) *torch.Tensor {
	if e.padding {
		return F.Embedding(x, e.Weight, kw.PaddingIdx(e.paddingIdx))
	}
	return F.Embedding(x, e.Weight)
}

package nn

import (
	"fmt"
	"slices"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// EmbeddingTable is what embeddings share: vectors that integers pick from.
type EmbeddingTable struct {
	Weight                      *torch.Tensor
	NumEmbeddings, EmbeddingDim int

	opts       []torch.Option // of the functional operator
	paddingIdx int
	padding    bool
}

// newTable makes a table of normal numbers, or of kw.Weight's.
func newTable(class string, n, dim int, opts []torch.Option) EmbeddingTable {
	t := EmbeddingTable{NumEmbeddings: n, EmbeddingDim: dim}
	if option(opts, "sparse", false) {
		panic(&torch.Error{Op: class, Kind: "NotImplementedError", Msg: class + ": sparse gradients are not supported"})
	}
	for _, o := range opts {
		switch o.Name {
		case "scale_grad_by_freq", "mode", "include_last_offset", "max_norm", "norm_type":
			t.opts = append(t.opts, o)
		}
	}
	if w, given := optionAny(opts, "weight").(*torch.Tensor); given {
		if !slices.Equal(w.Shape(), []int{n, dim}) {
			panic(&torch.Error{Op: class, Kind: "AssertionError", Msg: "Shape of weight does not match num_embeddings and embedding_dim"})
		}
		t.Weight = Parameter(w)
	} else {
		t.Weight = Normal_(parameter(opts, n, dim), 0, 1)
	}
	if i, ok := optionAny(opts, "padding_idx").(int); ok {
		t.setPadding(class, i)
		if optionAny(opts, "weight") == nil {
			t.ZeroPadding()
		}
	}
	return t
}

func (e *EmbeddingTable) setPadding(class string, i int) {
	if i >= e.NumEmbeddings || i < -e.NumEmbeddings {
		panic(&torch.Error{
			Op: class, Kind: "AssertionError",
			Msg: fmt.Sprintf("Padding_idx must be within num_embeddings (%d), but got %d", e.NumEmbeddings, i),
		})
	}
	if i < 0 {
		i += e.NumEmbeddings
	}
	e.paddingIdx, e.padding = i, true
	e.opts = append(e.opts, kw.PaddingIdx(i))
}

// ZeroPadding zeroes the row of the padding index, if there is one.
func (e *EmbeddingTable) ZeroPadding() {
	if e.padding {
		torch.NoGrad(func() { e.Weight.Select(0, e.paddingIdx).Zero_() })
	}
}

// Embedding is a table of vectors that integers pick from.
type Embedding struct{ EmbeddingTable }

// NewEmbedding makes an Embedding of normal numbers. Options:
// kw.PaddingIdx(i), whose row starts as zeros and gets no gradient;
// kw.MaxNorm(m), to which rows are shortened when they are looked up, by the
// kw.NormType(2) norm; kw.ScaleGradByFreq(false); kw.Weight(t), kw.Dtype,
// kw.Device.
func NewEmbedding(n, dim int, opts ...torch.Option) *Embedding {
	known("Embedding", opts, "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse", "weight", "dtype", "device")
	return &Embedding{newTable("Embedding", n, dim, opts)}
}

// NewEmbeddingFromPretrained makes an Embedding of the rows of a matrix, which
// do not learn if frozen; options as NewEmbedding's.
func NewEmbeddingFromPretrained(weight *torch.Tensor, freeze bool, opts ...torch.Option) *Embedding {
	known("Embedding.from_pretrained", opts, "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
	if weight.Dim() != 2 {
		panic(&torch.Error{Op: "Embedding", Kind: "AssertionError", Msg: "Embeddings parameter is expected to be 2-dimensional"})
	}
	e := NewEmbedding(weight.Size(0), weight.Size(1), append([]torch.Option{kw.Weight(weight)}, opts...)...)
	e.Weight.RequiresGrad_(!freeze)
	return e
}

// Forward looks up integers of any shape.
func (e *Embedding) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Embedding(x, e.Weight, e.opts...)
}

// EmbeddingBag sums, averages or takes the maximum of the rows that bags of
// integers pick.
type EmbeddingBag struct{ EmbeddingTable }

// NewEmbeddingBag makes an EmbeddingBag. Options: kw.Mode("mean", "sum" or
// "max"), kw.IncludeLastOffset(false), and those of NewEmbedding.
func NewEmbeddingBag(n, dim int, opts ...torch.Option) *EmbeddingBag {
	known(
		"EmbeddingBag", opts, "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse", "weight",
		"include_last_offset", "padding_idx", "dtype", "device",
	)
	return &EmbeddingBag{newTable("EmbeddingBag", n, dim, opts)}
}

// Forward takes bags as the rows of a matrix.
func (e *EmbeddingBag) Forward(x *torch.Tensor) *torch.Tensor {
	return F.EmbeddingBag(x, e.Weight, e.opts...)
}

// ForwardOffsets takes one list of integers, and where in it each bag begins (nil
// for a matrix of bags). Weights, which may be nil, scale each row before it is
// added.
func (e *EmbeddingBag) ForwardOffsets(x, offsets, weights *torch.Tensor) *torch.Tensor {
	opts := append([]torch.Option{}, e.opts...)
	if offsets != nil {
		opts = append(opts, kw.Offsets(offsets))
	}
	if weights != nil {
		opts = append(opts, kw.PerSampleWeights(weights))
	}
	return F.EmbeddingBag(x, e.Weight, opts...)
}

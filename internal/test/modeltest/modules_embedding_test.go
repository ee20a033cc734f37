package modeltest

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// This file is the cases of embeddings.

func embeddingCases() map[string]moduleCase {
	type bag = nn.EmbeddingBag
	look := func(m *nn.Embedding, in tensors) tensors { return tensors{m.Forward(in[0])} }
	ids := func(below int, shape ...int) func() tensors {
		return func() tensors { return tensors{integers(0, below, shape...)} }
	}
	bags := func(offsets ...int) func(m *bag, in tensors) tensors {
		return func(m *bag, in tensors) tensors {
			return tensors{m.ForwardOffsets(in[0], torch.NewTensor(offsets), nil)}
		}
	}
	return map[string]moduleCase{
		"embedding_max_norm": called(func() *nn.Embedding { return nn.NewEmbedding(10, 4, kw.MaxNorm(0.8), kw.NormType(1.0)) },
			look, ids(10, 3, 4)),
		"embedding_freq": called(func() *nn.Embedding {
			return nn.NewEmbedding(5, 4, kw.ScaleGradByFreq(true), kw.PaddingIdx(-1))
		}, look, ids(5, 3, 4)),
		"embedding_pretrained": called(func() *nn.Embedding { return nn.NewEmbeddingFromPretrained(torch.Eye(5), false) }, look,
			ids(5, 3, 4)),
		"embedding_bag": called(func() *bag { return nn.NewEmbeddingBag(10, 4) },
			func(m *bag, in tensors) tensors { return tensors{m.Forward(in[0])} }, ids(10, 3, 4)),
		"embedding_bag_offsets": called(func() *bag { return nn.NewEmbeddingBag(10, 4, kw.Mode("sum"), kw.PaddingIdx(2)) },
			bags(0, 3, 3, 7), ids(10, 12)),
		"embedding_bag_max": called(func() *bag { return nn.NewEmbeddingBag(10, 4, kw.Mode("max"), kw.IncludeLastOffset(true)) },
			bags(0, 5, 12), ids(10, 12)),
		"embedding_bag_weights": called(func() *bag { return nn.NewEmbeddingBag(10, 4, kw.Mode("sum"), kw.MaxNorm(0.9)) },
			func(m *bag, in tensors) tensors {
				return tensors{m.ForwardOffsets(in[0], nil, in[1])}
			}, func() tensors { return tensors{integers(0, 10, 3, 4), numbers(1, 3, 4)} }),
	}
}

package modeltest

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

// This file is the cases of functions that no module calls, and of older modules.

// ids are what embeddings look up.
func ids() *torch.Tensor { return torch.NewTensor([][]int{{1, 4}, {0, 1}}) }

// looksUp is a module that the ids go through.
func looksUp(make func() nn.Module, look func(m nn.Module) *torch.Tensor) moduleCase {
	return called(make, func(m nn.Module, _ tensors) tensors { return tensors{look(m)} }, of())
}

// function is a case without a module.
func function(call func(in tensors) tensors, inputs func() tensors) moduleCase {
	return called(nn.NewIdentity, func(_ *nn.Identity, in tensors) tensors { return call(in) }, inputs)
}

func functionalCases() map[string]moduleCase {
	return map[string]moduleCase{
		"cross_map_lrn":        plain(func() nn.Module { return nn.NewCrossMapLRN2d(5, kw.Alpha(0.5), kw.K(2)) }, 2, 7, 3, 4),
		"cross_map_lrn_even":   plain(func() nn.Module { return nn.NewCrossMapLRN2d(4, kw.Alpha(0.5), kw.Beta(0.5)) }, 2, 7, 3, 4),
		"cross_map_lrn_narrow": plain(func() nn.Module { return nn.NewCrossMapLRN2d(3, kw.Alpha(0.5), kw.Beta(0.5)) }, 2, 5, 3, 4),
		"sync_batch_norm":      plain(func() nn.Module { return nn.NewSyncBatchNorm(4) }, 3, 4, 5),
		"functional_embedding_max_norm": looksUp(func() nn.Module { return nn.NewEmbedding(6, 3) }, func(m nn.Module) *torch.Tensor {
			return F.Embedding(ids(), m.(*nn.Embedding).Weight, kw.MaxNorm(0.4), kw.NormType(1))
		}),
		"gumbel_softmax": function(func(in tensors) tensors {
			torch.ManualSeed(5)
			return tensors{F.GumbelSoftmax(in[0], kw.Tau(0.7))}
		}, of([]int{3, 7})),
		"gumbel_softmax_hard": function(func(in tensors) tensors {
			torch.ManualSeed(5)
			return tensors{in[1].Mul(F.GumbelSoftmax(in[0], kw.Hard(true), kw.Dim(0)))}
		}, of([]int{3, 7}, []int{3, 7})),
		"affine_grid": function(func(in tensors) tensors {
			return tensors{F.AffineGrid(in[0], []int{2, 3, 4, 5}, kw.AlignCorners(false))}
		}, of([]int{2, 2, 3})),
		"affine_grid_corners": function(func(in tensors) tensors {
			return tensors{F.AffineGrid(in[0], []int{2, 3, 4, 1}, kw.AlignCorners(true))}
		}, of([]int{2, 2, 3})),
		"affine_grid_volume": function(func(in tensors) tensors { return tensors{F.AffineGrid(in[0], []int{2, 1, 2, 3, 4})} },
			of([]int{2, 3, 4})),
		"conv_tbc": function(func(in tensors) tensors { return tensors{F.ConvTbc(in[0], in[1], in[2], 1)} },
			of([]int{6, 2, 3}, []int{3, 3, 4}, []int{4})),
		"upsample_names": function(func(in tensors) tensors {
			return tensors{
				F.Upsample(in[0], kw.Size([]int{5, 6})), F.UpsampleNearest(in[0], kw.ScaleFactor(2.0)),
				F.UpsampleBilinear(in[0], kw.Size([]int{4, 7})),
			}
		}, of([]int{1, 2, 3, 4})),
		"pack_sequence": called(func() *nn.GRU { return nn.NewGRU(3, 4) }, func(m *nn.GRU, in tensors) tensors {
			y, _ := m.ForwardPacked(nn.PackSequence(in, kw.EnforceSorted(false)))
			return nn.UnpackSequence(y)
		}, of([]int{2, 3}, []int{4, 3}, []int{1, 3})),
	}
}

package modeltest

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

// This file is the cases of weights that are computed, of older modules and of
// functions that no module calls.

// symmetric learns the upper half of a matrix.
type symmetric struct{}

func (symmetric) Forward(x *torch.Tensor) *torch.Tensor {
	return x.Triu().Add(x.Triu(kw.Diagonal(1)).Transpose(-1, -2))
}

func (symmetric) RightInverse(w *torch.Tensor) *torch.Tensor { return w.Triu() }

// scaled has a factor of its own.
type scaled struct{ Factor *torch.Tensor }

func newScaled() *scaled { return &scaled{nn.Parameter(torch.Full([]int{1, 1}, 2.0))} }

func (s *scaled) Forward(x *torch.Tensor) *torch.Tensor { return s.Factor.Mul(x) }

func parametrized(bias bool, rules ...nn.Module) nn.Module {
	var m nn.Module = nn.NewLinear(4, 4, kw.Bias(bias))
	for _, r := range rules {
		m = nn.RegisterParametrization(m, "weight", r)
	}
	return m
}

// settled calls a module until its singular vectors are those of the weight.
func settled(make func() nn.Module, shape ...int) moduleCase {
	return called(make, func(m nn.Module, in tensors) tensors {
		nn.Train(m)
		for range 40 {
			m.Forward(in[0])
		}
		nn.Eval(m)
		return tensors{m.Forward(in[0])}
	}, of(shape))
}

// ids are what embeddings look up.
func ids() *torch.Tensor { return torch.NewTensor([][]int{{1, 4}, {0, 1}}) }

// looksUp is a module that the ids go through.
func looksUp(make func() nn.Module, look func(m nn.Module) *torch.Tensor) moduleCase {
	return called(make, func(m nn.Module, _ tensors) tensors { return tensors{look(m)} }, of())
}

func parametrizedCases() map[string]moduleCase {
	return map[string]moduleCase{
		"weight_norm": plain(func() nn.Module { return nn.WeightNorm(nn.NewLinear(5, 4)) }, 3, 5),
		"weight_norm_dim": plain(func() nn.Module {
			return nn.WeightNorm(nn.NewConv2d(3, 4, 2, kw.Bias(false)), kw.Dim(1))
		}, 1, 3, 5, 5),
		"weight_norm_whole": plain(func() nn.Module { return nn.WeightNorm(nn.NewConvTranspose1d(3, 4, 2), kw.Dim(nil)) }, 2, 3, 5),
		"spectral_norm":     settled(func() nn.Module { return nn.SpectralNorm(nn.NewLinear(5, 4)) }, 3, 5),
		"spectral_norm_conv": settled(func() nn.Module {
			return nn.SpectralNorm(nn.NewConv1d(3, 4, 2), kw.NPowerIterations(3), kw.Eps(1e-3))
		}, 2, 3, 6),
		"spectral_norm_turned": settled(func() nn.Module { return nn.SpectralNorm(nn.NewConvTranspose2d(3, 4, 2)) }, 1, 3, 4, 5),
		"weight_norm_embedding": looksUp(func() nn.Module { return nn.WeightNorm(nn.NewEmbedding(6, 3)) },
			func(m nn.Module) *torch.Tensor { return m.Forward(ids()) }),
		"parametrized":         plain(func() nn.Module { return parametrized(true, symmetric{}) }, 2, 4),
		"parametrized_twice":   plain(func() nn.Module { return parametrized(true, symmetric{}, newScaled()) }, 2, 4),
		"parametrized_removed": plain(func() nn.Module { return nn.RemoveParametrizations(parametrized(false, newScaled()), true) }, 2, 4),
	}
}

// function is a case without a module.
func function(call func(in tensors) tensors, inputs func() tensors) moduleCase {
	return called(nn.NewIdentity, func(_ *nn.Identity, in tensors) tensors { return call(in) }, inputs)
}

func laterCases() map[string]moduleCase {
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

package modeltest

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// This file is the cases of weights that are computed.

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

package nn_test

import (
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// doubled is a rule that cannot say what to learn.
type doubled struct{}

func (doubled) Forward(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }

func TestParametrizedRefusals(t *testing.T) {
	for want, f := range map[string]func(){
		"the weight of *nn.LayerNorm cannot be parametrized": func() { nn.WeightNorm(nn.NewLayerNorm(3)) },
		"only a weight can be parametrized, not 'bias'": func() {
			nn.RegisterParametrization(nn.NewLinear(2, 2), "bias", doubled{})
		},
		"does not have a parametrization on weight": func() {
			nn.RemoveParametrizations(nn.NewLinear(2, 2), true)
		},
		"a tensor that is parametrized in terms of a sequence of tensors": func() {
			nn.RemoveParametrizations(nn.WeightNorm(nn.NewLinear(2, 2)), false)
		},
		"Expected n_power_iterations to be positive": func() {
			nn.SpectralNorm(nn.NewLinear(2, 2), kw.NPowerIterations(0))
		},
		"weight_norm() got an unexpected keyword argument 'eps'": func() { nn.WeightNorm(nn.NewLinear(2, 2), kw.Eps(1)) },
		"CrossMapLRN2d: Expected input to be 4D, got 3D instead.": func() {
			nn.NewCrossMapLRN2d(3).Forward(torch.Zeros(2, 3, 4))
		},
		"expected at least 2D input (got 1D input)":                            func() { nn.NewSyncBatchNorm(3).Forward(torch.Zeros(3)) },
		"Dropout.__init__() got an unexpected keyword argument 'training'":     func() { nn.NewDropout(0.5, kw.Training(true)) },
		"Dropout.__init__() takes a probability and options, not [0.5 0.25]":   func() { nn.NewDropout(0.5, 0.25) },
		"dropout probability has to be between 0 and 1, but got 2":             func() { nn.NewDropout(kw.P(2)) },
		"SyncBatchNorm.__init__() got an unexpected keyword argument 'stride'": func() { nn.NewSyncBatchNorm(3, kw.Stride(1)) },
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Error(), want) {
					t.Errorf("got %v, want %s", e, want)
				}
			}()
			f()
		}()
	}
}

// TestRemovedParametrization holds what stays of a weight.
func TestRemovedParametrization(t *testing.T) {
	m := nn.NewLinear(3, 2)
	was := m.Weight
	p := nn.RegisterParametrization(m, "weight", doubled{})
	if !nn.IsParametrized(p) || nn.IsParametrized(m) || m.Weight != was {
		t.Error("the module itself has changed")
	}
	kept := nn.RemoveParametrizations(p, true).(*nn.Linear)
	if !torch.Equal(kept.Weight, was.Mul(2)).Bool() || !kept.Weight.RequiresGrad() || !kept.Weight.IsLeaf() {
		t.Errorf("the weight is %v, was %v", kept.Weight, was)
	}
	if nn.RemoveParametrizations(p, false).(*nn.Linear).Weight != was {
		t.Error("what was learnt is not the weight")
	}
}

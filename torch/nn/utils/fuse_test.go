package utils_test

import (
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	"tcdbg/torch/nn/utils"
)

// trained is a batch normalisation with statistics and weights of its own.
func trained(bn nn.Module, shape ...int) nn.Module {
	for _, p := range nn.Parameters(bn) {
		nn.Uniform_(p, 0.5, 2)
	}
	bn.Forward(torch.Randn(shape).Mul(3).Add(1))
	nn.Eval(bn)
	return bn
}

func TestFuse(t *testing.T) {
	torch.ManualSeed(0)
	for name, c := range map[string]struct {
		layer, bn nn.Module
		x         *torch.Tensor
	}{
		"conv1d": {nn.NewConv1d(3, 4, 2, kw.Bias(false)), trained(nn.NewBatchNorm1d(4), 5, 4, 6), torch.Randn(2, 3, 7)},
		"conv2d": {
			nn.NewConv2d(4, 6, 3, kw.Groups(2), kw.Stride(2)),
			trained(nn.NewBatchNorm2d(6, kw.Affine(false)), 5, 6, 3, 3), torch.Randn(2, 4, 7, 7),
		},
		"conv3d":            {nn.NewConv3d(2, 3, 2), trained(nn.NewBatchNorm3d(3, kw.Eps(0.1)), 5, 3, 2, 3, 3), torch.Randn(2, 2, 4, 4, 4)},
		"conv_transpose2d":  {nn.NewConvTranspose2d(3, 5, 2), trained(nn.NewBatchNorm2d(5), 5, 5, 3, 3), torch.Randn(2, 3, 4, 4)},
		"conv_transpose1d":  {nn.NewConvTranspose1d(3, 5, 2), trained(nn.NewBatchNorm1d(5), 5, 5, 3), torch.Randn(2, 3, 4)},
		"conv_transpose_3d": {nn.NewConvTranspose3d(2, 3, 2), trained(nn.NewBatchNorm3d(3), 5, 3, 2, 2, 2), torch.Randn(1, 2, 3, 3, 3)},
		"linear":            {nn.NewLinear(3, 4), trained(nn.NewBatchNorm1d(4), 9, 4), torch.Randn(2, 3)},
		"linear_no_bias":    {nn.NewLinear(3, 4, kw.Bias(false)), trained(nn.NewBatchNorm1d(4), 9, 4), torch.Randn(2, 3)},
	} {
		var fused nn.Module
		if l, ok := c.layer.(*nn.Linear); ok {
			fused = utils.FuseLinearBnEval(l, c.bn)
		} else {
			fused = utils.FuseConvBnEval(c.layer, c.bn)
		}
		want, got := c.bn.Forward(c.layer.Forward(c.x)), fused.Forward(c.x)
		if !torch.Allclose(got, want, kw.Rtol(1e-4), kw.Atol(1e-5)).Bool() {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		for _, p := range nn.Parameters(fused) {
			if !p.RequiresGrad() || !p.IsLeaf() {
				t.Errorf("%s: %v is no parameter", name, p)
			}
		}
	}
}

func TestFuseRefusals(t *testing.T) {
	eval := func(m nn.Module) nn.Module {
		nn.Eval(m)
		return m
	}
	for want, f := range map[string]func(){
		"Fusion only for eval!": func() { utils.FuseConvBnEval(nn.NewConv1d(1, 1, 1), nn.NewBatchNorm1d(1)) },
		"is no convolution":     func() { utils.FuseConvBnEval(nn.NewLinear(1, 1), eval(nn.NewBatchNorm1d(1))) },
		"is no batch normali":   func() { utils.FuseConvBnEval(nn.NewConv1d(1, 1, 1), nn.NewLayerNorm(1)) },
		"tracking running stats": func() {
			utils.FuseConvBnEval(nn.NewConv1d(1, 1, 1), eval(nn.NewBatchNorm1d(1, kw.TrackRunningStats(false))))
		},
		"To fuse, linear.out_feat": func() { utils.FuseLinearBnEval(nn.NewLinear(2, 4), eval(nn.NewBatchNorm1d(3))) },
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Msg, want) {
					t.Errorf("got %v, want %s", e, want)
				}
			}()
			f()
		}()
	}
}

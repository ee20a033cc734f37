package utils_test

import (
	"math"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn/utils"
)

func params() []*torch.Tensor {
	a, b := torch.Zeros(2).RequiresGrad_(), torch.Zeros(1).RequiresGrad_()
	a.SetGrad(torch.NewTensor([]float64{3, -4}))
	b.SetGrad(torch.NewTensor([]float64{12}))
	return []*torch.Tensor{a, b, torch.Zeros(3)}
}

func TestClipGradNorm(t *testing.T) {
	for _, c := range []struct {
		order, max, norm, first float64
	}{
		{2, 6.5, 13, 1.5},
		{2, 100, 13, 3},
		{1, 1.9, 19, 0.3},
		{math.Inf(1), 6, 12, 1.5},
	} {
		p := params()
		norm := utils.ClipGradNorm_(p, c.max, kw.NormType(c.order)).Item()
		if math.Abs(norm-c.norm) > 1e-5 {
			t.Errorf("order %v: norm %v, want %v", c.order, norm, c.norm)
		}
		if got := p[0].Grad().Float64s()[0]; math.Abs(got-c.first) > 1e-5 {
			t.Errorf("order %v, max %v: first gradient %v, want %v", c.order, c.max, got, c.first)
		}
	}
}

func TestClipGradValue(t *testing.T) {
	p := params()
	utils.ClipGradValue_(p, 3.5)
	if got := p[0].Grad().Float64s(); got[0] != 3 || got[1] != -3.5 || p[1].Grad().Item() != 3.5 {
		t.Errorf("got %v and %v", got, p[1].Grad())
	}
}

func TestVectors(t *testing.T) {
	a, b := torch.Arange(6.0).Reshape(2, 3).RequiresGrad_(), torch.NewTensor([]float64{7, 8}).RequiresGrad_()
	p := []*torch.Tensor{a, b}
	v := utils.ParametersToVector(p)
	if got := v.Float64s(); len(got) != 8 || got[5] != 5 || got[6] != 7 {
		t.Errorf("the vector is %v", got)
	}
	utils.VectorToParameters(v.Detach().Mul(2), p)
	if a.At(1, 2).Item() != 10 || b.At(0).Item() != 14 || !a.IsLeaf() {
		t.Errorf("parameters are %v and %v", a, b)
	}
	if n := utils.GetTotalNorm(p, kw.NormType(1.0)).Item(); n != 60 {
		t.Errorf("the norm is %v", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("a vector that is too long was taken")
		}
	}()
	utils.VectorToParameters(torch.Zeros(9), p)
}

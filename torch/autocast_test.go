package torch_test

import (
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// TestAutocastTypes holds the types of results under autocast to those that PyTorch 2.15 gives.
func TestAutocastTypes(t *testing.T) {
	x, v := torch.Rand(4, 4), torch.Rand(4)
	h, b := x.To(torch.Bfloat16), x.Reshape(1, 4, 4)
	img, w, s := torch.Rand(1, 2, 6, 6), torch.Rand(2, 2, 3, 3), torch.Rand(1, 2, 4, 8)
	labels := torch.NewTensor([]int64{0, 1, 2, 3})
	bf, f32 := torch.Bfloat16, torch.Float32
	for name, c := range map[string]struct {
		f    func() *torch.Tensor
		want torch.DType
	}{
		"mm":            {func() *torch.Tensor { return torch.Mm(x, x) }, bf},
		"bmm":           {func() *torch.Tensor { return torch.Bmm(b, b) }, bf},
		"matmul":        {func() *torch.Tensor { return x.Matmul(x) }, bf},
		"linear":        {func() *torch.Tensor { return F.Linear(x, x, kw.Bias(v)) }, bf},
		"addmm":         {func() *torch.Tensor { return torch.Addmm(v, x, x) }, bf},
		"mm of float16": {func() *torch.Tensor { return torch.Mm(x.To(torch.Float16), x) }, bf},
		"mm of float64": {func() *torch.Tensor { return torch.Mm(x.To(torch.Float64), x.To(torch.Float64)) }, torch.Float64},
		"mm of int64":   {func() *torch.Tensor { return torch.Mm(x.To(torch.Int64), x.To(torch.Int64)) }, torch.Int64},
		"mv":            {func() *torch.Tensor { return torch.Mv(x, v) }, f32},
		"dot":           {func() *torch.Tensor { return torch.Dot(v, v) }, f32},
		"einsum":        {func() *torch.Tensor { return torch.Einsum("ij,jk->ik", x, x) }, bf},
		"conv2d":        {func() *torch.Tensor { return F.Conv2d(img, w) }, bf},
		"attention":     {func() *torch.Tensor { return F.ScaledDotProductAttention(s, s, s) }, bf},
		"softmax":       {func() *torch.Tensor { return h.Softmax(-1) }, bf},
		"layer_norm":    {func() *torch.Tensor { return F.LayerNorm(h, []int{4}) }, bf},
		"gelu":          {func() *torch.Tensor { return F.Gelu(h) }, bf},
		"sum":           {func() *torch.Tensor { return h.Sum() }, bf},
		"prod":          {func() *torch.Tensor { return h.Prod() }, f32},
		"mse_loss":      {func() *torch.Tensor { return F.MseLoss(h, h) }, f32},
		"cross_entropy": {func() *torch.Tensor { return F.CrossEntropy(h, labels) }, f32},
		"cdist":         {func() *torch.Tensor { return torch.Cdist(h, h) }, f32},
		"cat":           {func() *torch.Tensor { return torch.Cat([]*torch.Tensor{h, x}) }, f32},
		"cat of equals": {func() *torch.Tensor { return torch.Cat([]*torch.Tensor{h, h}) }, bf},
		"stack":         {func() *torch.Tensor { return torch.Stack([]*torch.Tensor{x, h}) }, f32},
		"add":           {func() *torch.Tensor { return x.Add(h) }, f32},
		"turned off":    {func() (y *torch.Tensor) { torch.Autocast(f32, func() { y = torch.Mm(x, x) }); return y }, f32},
	} {
		var got torch.DType
		torch.Autocast(torch.Bfloat16, func() { got = c.f().DType() })
		if got != c.want {
			t.Errorf("%s gives %s, not %s", name, got, c.want)
		}
	}
	if d, on := torch.AutocastType(); on {
		t.Errorf("autocast to %s is on after all", d)
	}
}

// TestAutocastGradients: gradients come back in the parameter's own type.
func TestAutocastGradients(t *testing.T) {
	x, w := torch.Rand(3, 4), torch.Rand(5, 4, kw.RequiresGrad(true))
	var loss *torch.Tensor
	torch.Autocast(torch.Bfloat16, func() { loss = F.MseLoss(F.Linear(x, w), torch.Zeros(3, 5)) })
	loss.Backward()
	got := w.Grad()
	w.SetGrad(nil)
	F.MseLoss(F.Linear(x, w), torch.Zeros(3, 5)).Backward()
	if off := got.Sub(w.Grad()).Abs().Max().Item(); got.DType() != torch.Float32 || off == 0 || off > 0.03 {
		t.Errorf("gradients are of %s and off by %v", got.DType(), off)
	}
}

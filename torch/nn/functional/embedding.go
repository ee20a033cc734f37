package functional

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// Embedding looks up rows of weight by integers of any shape. Options:
// kw.PaddingIdx(i), whose row gets no gradient; kw.MaxNorm(m), to which the rows
// that are looked up are shortened in weight itself, by the kw.NormType(2.0)
// norm; kw.ScaleGradByFreq(false).
func Embedding(input, weight *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	var rest []torch.Option
	limit, limited, p := 0.0, false, 2.0
	for _, o := range opts {
		switch {
		case o.Name == "norm_type":
			p = number("embedding", o)
		case o.Name != "max_norm":
			rest = append(rest, o)
		case o.Value != nil:
			limit, limited = number("embedding", o), true
		}
	}
	if limited {
		torch.NoGrad(func() { shorten(weight.Detach(), input, limit, p) })
	}
	return embedding(input, weight, rest...)
}

// shorten scales the rows that input picks to at most a norm, in the table itself.
func shorten(weight, input *torch.Tensor, limit, p float64) {
	norms := weight.Norm(kw.P(p), kw.Dim([]int{1}), kw.Keepdim(true))
	used := torch.Zeros(weight.Size(0), kw.Dtype(torch.Bool)).IndexFill(0, input.Reshape(-1), true).Unsqueeze(1)
	scaled := weight.Mul(norms.Add(1e-7).Reciprocal().Mul(limit))
	weight.Copy_(torch.Where(norms.Gt(limit).LogicalAnd(used), scaled, weight))
}

package utils

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is all parameters in one row.

// ParametersToVector joins the elements of parameters.
func ParametersToVector(params []*torch.Tensor) *torch.Tensor {
	parts := make([]*torch.Tensor, len(params))
	for i, p := range params {
		parts[i] = p.Reshape(-1)
	}
	return torch.Cat(parts)
}

// VectorToParameters copies a row of elements into parameters, in their order.
func VectorToParameters(vector *torch.Tensor, params []*torch.Tensor) {
	total := 0
	for _, p := range params {
		total += p.Numel()
	}
	if vector.Dim() != 1 || vector.Numel() != total {
		panic(&torch.Error{
			Op: "vector_to_parameters", Kind: "ValueError",
			Msg: fmt.Sprintf("%d elements in a row are wanted, the vector is %v", total, vector.Shape()),
		})
	}
	torch.NoGrad(func() {
		at := 0
		for _, p := range params {
			p.Copy_(vector.Narrow(0, at, p.Numel()).ViewAs(p))
			at += p.Numel()
		}
	})
}

// GetTotalNorm is the norm of the norms of tensors. Option: kw.NormType(2).
func GetTotalNorm(tensors []*torch.Tensor, opts ...torch.Option) *torch.Tensor {
	order := 2.0
	for _, o := range opts {
		if o.Name != "norm_type" {
			panic(&torch.Error{
				Op: "get_total_norm", Kind: "TypeError",
				Msg: fmt.Sprintf("get_total_norm() got an unexpected keyword argument '%s'", o.Name),
			})
		}
		order = o.Value.(float64)
	}
	if len(tensors) == 0 {
		return torch.NewTensor(0.0)
	}
	norms := make([]*torch.Tensor, len(tensors))
	for i, t := range tensors {
		norms[i] = norm(t, order)
	}
	return norm(torch.Stack(norms), order)
}

// ClipGradsWithNorm_ scales gradients, whose total norm is known, to at most
// maxNorm.
func ClipGradsWithNorm_(params []*torch.Tensor, maxNorm float64, total *torch.Tensor) {
	torch.NoGrad(func() {
		factor := torch.Div(maxNorm, total.Add(1e-6)).Clamp(kw.Max(1.0))
		for _, p := range params {
			if g := p.Grad(); g != nil {
				g.Mul_(factor)
			}
		}
	})
}

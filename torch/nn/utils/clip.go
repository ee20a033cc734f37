// Package utils is torch.nn.utils: what training loops do to gradients.
//
// It is a source package: the interpreter runs it from source. It imports
// torch, torch/kw and torch/nn only.
package utils

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// ClipGradNorm_ scales the gradients of params so that their total norm is at
// most maxNorm, and returns the norm that they had. Options: kw.NormType(2),
// kw.ErrorIfNonfinite(false).
func ClipGradNorm_(params []*torch.Tensor, maxNorm float64, opts ...torch.Option) *torch.Tensor {
	order, strict := 2.0, false
	for _, o := range opts {
		switch o.Name {
		case "norm_type":
			order = o.Value.(float64)
		case "error_if_nonfinite":
			strict = o.Value.(bool)
		default:
			panic(&torch.Error{
				Op: "clip_grad_norm_", Kind: "TypeError",
				Msg: fmt.Sprintf("clip_grad_norm_() got an unexpected keyword argument '%s'", o.Name),
			})
		}
	}
	var total *torch.Tensor
	torch.NoGrad(func() {
		total = totalNorm(params, order)
		if strict && !total.Isfinite().Bool() {
			panic(&torch.Error{
				Op: "clip_grad_norm_", Kind: "RuntimeError",
				Msg: fmt.Sprintf(
					"The total norm of order %v for gradients from `parameters` is non-finite, so it cannot be clipped.",
					order,
				),
			})
		}
		ClipGradsWithNorm_(params, maxNorm, total)
	})
	return total
}

// totalNorm is the norm of the norms of all gradients.
func totalNorm(params []*torch.Tensor, order float64) *torch.Tensor {
	var grads []*torch.Tensor
	for _, p := range params {
		if g := p.Grad(); g != nil {
			grads = append(grads, g)
		}
	}
	return GetTotalNorm(grads, kw.NormType(order))
}

func norm(x *torch.Tensor, order float64) *torch.Tensor {
	if math.IsInf(order, 1) {
		return x.Abs().Max()
	}
	if order == 2 {
		return x.Square().Sum().Sqrt()
	}
	return x.Abs().Pow(order).Sum().Pow(1 / order)
}

// ClipGradValue_ clips each element of the gradients to [-clip, clip].
func ClipGradValue_(params []*torch.Tensor, clip float64) {
	torch.NoGrad(func() {
		for _, p := range params {
			if g := p.Grad(); g != nil {
				g.Clamp_(kw.Min(-clip), kw.Max(clip))
			}
		}
	})
}

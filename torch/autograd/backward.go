package autograd

import "tcdbg/torch"

// This file has torch.autograd's own entries to the backward pass.

// Backward adds the gradients of the sum of tensors, weighted by kw.GradTensors, to
// the leaves that they depend on, or to kw.Inputs alone. Other options:
// kw.RetainGraph, kw.CreateGraph.
func Backward(tensors []*torch.Tensor, opts ...torch.Option) { torch.Backward(tensors, opts...) }

// Grad returns the gradients of the sum of outputs, weighted by kw.GradOutputs, with
// respect to inputs. Other options: kw.RetainGraph, kw.CreateGraph,
// kw.AllowUnused, kw.MaterializeGrads.
func Grad(outputs, inputs []*torch.Tensor, opts ...torch.Option) []*torch.Tensor {
	return torch.Grad(outputs, inputs, opts...)
}

package nn

import "tcdbg/torch"

// This file converts the parameters and buffers of modules, in place.

// To converts the floating-point parameters and buffers of a module, and their
// gradients, to a dtype. Optimizers and tied weights see the same tensors as
// before; integers stay.
func To(module any, dtype torch.DType) {
	seen := map[*torch.Tensor]bool{}
	torch.NoGrad(func() {
		for _, n := range tensors("", module, nil) {
			if t := n.Tensor; !seen[t] && t.DType().IsFloat() {
				seen[t] = true
				convert(t, dtype)
			}
		}
	})
}

func convert(t *torch.Tensor, dtype torch.DType) {
	grad := t.Grad()
	t.SetData(t.Detach().To(dtype))
	if grad != nil {
		t.SetGrad(grad.To(dtype))
	}
}

// Half converts a module to float16.
func Half(module any) { To(module, torch.Float16) }

// Double converts a module to float64.
func Double(module any) { To(module, torch.Float64) }

// Float converts a module to float32.
func Float(module any) { To(module, torch.Float32) }

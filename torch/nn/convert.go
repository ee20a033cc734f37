package nn

import (
	"fmt"

	"tcdbg/torch"
)

// This file converts the parameters and buffers of modules, in place.

// To is Module.to: of a dtype, which the floating-point parameters and buffers of a
// module and their gradients take, of a device (a torch.Device or its name), to which
// all of them go, or of both; kw.Dtype and kw.Device say the same. Optimizers and tied
// weights see the same tensors as before.
func To(module any, to ...any) {
	dtype, args := destination(to)
	seen := map[*torch.Tensor]bool{}
	torch.NoGrad(func() {
		for _, n := range tensors("", module, nil) {
			t := n.Tensor
			if seen[t] {
				continue
			}
			seen[t] = true
			if dtype != nil && (t.DType().IsFloat() || t.DType().IsComplex()) {
				convert(t, append(args, *dtype))
			} else if len(args) > 0 {
				convert(t, args)
			}
		}
	})
}

// destination reads where a module goes: the dtype, and the device as the argument of
// Tensor.To, at most one.
func destination(to []any) (dtype *torch.DType, device []any) {
	for _, a := range to {
		if o, ok := a.(torch.Option); ok && (o.Name == "dtype" || o.Name == "device") {
			a = o.Value
		}
		switch a := a.(type) {
		case torch.DType:
			if !a.IsFloat() && !a.IsComplex() {
				panic(&torch.Error{
					Op: "to", Kind: "TypeError",
					Msg: fmt.Sprintf("nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=%v", a),
				})
			}
			dtype = &a
		case torch.Device, string:
			device = []any{a}
			torch.Empty(0).To(a) // refused even where the module has nothing to move
		default:
			panic(&torch.Error{Op: "to", Kind: "TypeError", Msg: fmt.Sprintf("to() received an invalid argument of type %T", a)})
		}
	}
	return dtype, device
}

func convert(t *torch.Tensor, to []any) {
	grad := t.Grad()
	t.SetData(t.Detach().To(to...))
	if grad != nil {
		t.SetGrad(grad.To(to...))
	}
}

// Cpu moves a module to the CPU.
func Cpu(module any) { To(module, torch.Device("cpu")) }

// Cuda moves a module to a GPU, as Tensor.Cuda does a tensor.
func Cuda(module any, index ...int) { To(module, torch.CudaDevice(index...)) }

// Half converts a module to float16.
func Half(module any) { To(module, torch.Float16) }

// Double converts a module to float64.
func Double(module any) { To(module, torch.Float64) }

// Float converts a module to float32.
func Float(module any) { To(module, torch.Float32) }

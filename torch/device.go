package torch

import (
	"strconv"

	"tcdbg/ops"
	"tcdbg/torch/internal/refusal"
)

// This file moves tensors between devices by the devices' names, and says on which
// devices generators and loaded tensors can be.

// Cpu is Tensor.cpu(): the tensor itself where it is on the CPU.
func (t *Tensor) Cpu() *Tensor { return t.To(ops.CPU) }

// Cuda is Tensor.cuda(), or of the device with an index; there is none, and it is
// refused as by a PyTorch that was built without CUDA.
func (t *Tensor) Cuda(index ...int) *Tensor { return t.To(CudaDevice(index...)) }

// CudaDevice is the name of the current GPU, or of the one with an index.
func CudaDevice(index ...int) Device {
	switch len(index) {
	case 0:
		return "cuda"
	case 1:
		return Device("cuda:" + strconv.Itoa(index[0]))
	}
	refusal.Fail("cuda", "TypeError", "cuda() takes at most 1 positional argument, not %d", len(index))
	return ""
}

// Device is where the generator draws: the CPU.
func (g *Generator) Device() Device { return ops.CPU }

// checkGenerator refuses options of a generator that is not on the CPU.
func checkGenerator(opts []Option) {
	for _, o := range opts {
		if o.Name != "device" {
			refusal.Fail("Generator", "TypeError", "Generator() got an unexpected keyword argument '%s'", o.Name)
		}
		text, isText := o.Value.(string)
		if d, ok := o.Value.(Device); ok {
			text, isText = string(d), true
		}
		kind, err := ops.DeviceType(text)
		switch {
		case !isText || err != nil:
			deviceNamed("Generator", o.Value)
		case kind == "cuda":
			refusal.Fail("Generator", "RuntimeError", "Cannot get CUDA generator without ATen_cuda library.")
		case kind == "xpu":
			refusal.Fail("Generator", "RuntimeError", "Cannot get XPU generator without ATen_xpu library.")
		case kind == "meta":
			refusal.Fail("Generator", "RuntimeError", "META device type not an accelerator.")
		default:
			deviceNamed("Generator", o.Value)
		}
	}
}

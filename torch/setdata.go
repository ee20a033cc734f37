package torch

import "tcdbg/torch/internal/refusal"

// This file is `t.data = x`: other memory for a tensor that others hold.

// SetData gives t the memory, dtype, device and shape of src, which both share
// from then on. The tensor stays the same one to optimizers and modules, and
// stays a parameter. A tensor that autograd computed is refused: its derivative
// is of what it was.
func (t *Tensor) SetData(src *Tensor) {
	if t.fn != nil || t.fake != nil || src.fake != nil {
		refusal.Fail("set_data", "RuntimeError", "the data of a tensor that has a history, or is being traced, cannot be replaced")
	}
	if t.requiresGrad && !src.array.DType.IsFloat() && !src.array.DType.IsComplex() {
		refusal.Fail("set_data", "RuntimeError", "data set to a tensor that requires gradients must be floating point or complex dtype")
	}
	t.array.Storage, t.array.DType, t.array.Device = src.array.Storage, src.array.DType, src.array.Device
	t.array.Shape, t.array.Stride, t.array.Offset = append([]int{}, src.array.Shape...), append([]int{},
		src.array.Stride...), src.array.Offset
	t.base = nil
	t.meta.Store(nil)
	t.array.Storage.Bump()
}

package torch

// This file is `t.data = x`: another memory behind a tensor that others hold.

// SetData gives t the memory, dtype, device and shape of src, which both share
// from then on. The tensor stays the same one to optimizers and modules, and
// stays a parameter. A tensor that autograd computed is refused: its derivative
// is of what it was.
func (t *Tensor) SetData(src *Tensor) {
	if t.fn != nil || t.fake != nil || src.fake != nil {
		fail("set_data", "RuntimeError", "the data of a tensor that has a history, or is being traced, cannot be replaced")
	}
	if t.requiresGrad && !src.dtype.IsFloat() && !src.dtype.IsComplex() {
		fail("set_data", "RuntimeError", "data set to a tensor that requires gradients must be floating point or complex dtype")
	}
	t.storage, t.dtype, t.device = src.storage, src.dtype, src.device
	t.shape, t.stride, t.offset = append([]int{}, src.shape...), append([]int{}, src.stride...), src.offset
	t.base = nil
	t.meta.Store(nil)
	t.storage.Bump()
}

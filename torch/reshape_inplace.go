package torch

import (
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file gives a tensor itself another shape: squeeze_, t_ and their kin,
// detach_ and resize_. No number moves; other views of the memory stay as
// they are.

// reshapeInPlace makes self the view that f takes of it.
func reshapeInPlace(f *ops.Op, self *Tensor, args []ops.Arg, tape bool) *Tensor {
	tape = tape && self.RequiresGrad()
	if tape {
		checkInPlaceGrad(self)
	}
	before := FromStorage((*Storage)(self.array.Storage), self.array.DType, self.array.Shape, self.array.Stride, self.array.Offset)
	before.array.Device, before.base, before.seen, before.viewMeta = self.array.Device, self.base, self.seen, self.viewMeta
	v := call(f, append([]ops.Arg{alias(self, before)}, args[1:]...), tape)[0].(*Tensor)
	self.array.Shape, self.array.Stride, self.array.Offset = v.array.Shape, v.array.Stride, v.array.Offset
	if tape {
		self.fn, self.outIndex = v.fn, v.outIndex
	}
	self.meta.Store(nil)
	return self
}

// Detach_ cuts t off from what computed it: it becomes a leaf that wants no
// gradient.
func (t *Tensor) Detach_() *Tensor {
	if t.base != nil && t.RequiresGrad() {
		refusal.Fail("detach_", "RuntimeError", "Can't detach views in-place. Use detach() instead.")
	}
	t.fn, t.outIndex, t.requiresGrad = nil, 0, false
	t.meta.Store(nil)
	return t
}

// Resize_ gives t a shape of any number of elements, dense in its memory, which
// grows where it is too small. What was there stays, in the order of memory; new
// elements are undefined in PyTorch and zero here.
func (t *Tensor) Resize_(size ...int) *Tensor {
	if t.RequiresGrad() {
		refusal.Fail("resize_", "RuntimeError", "cannot resize variables that require grad")
	}
	if t.fake != nil {
		refusal.Fail("resize_", "RuntimeError", "a tensor that is being traced cannot be resized")
	}
	for _, n := range size {
		if n < 0 {
			refusal.Fail(
				"resize_", "RuntimeError", "Trying to create tensor with negative dimension %d: %s", n,
				ops.ShapeText(sym.Consts(size)),
			)
		}
	}
	if slices.Equal(size, t.array.Shape) {
		return t
	}
	if need := (t.array.Offset + strided.Product(size)) * t.array.DType.Size(); need > len(t.array.Storage.Bytes()) &&
		t.array.Device != ops.Meta {
		t.array.Storage.Grow(need)
	}
	t.array.Shape, t.array.Stride = append([]int{}, size...), strided.ContiguousStrides(size)
	t.meta.Store(nil)
	return t
}

// ResizeAs_ is Resize_ to the shape of another tensor.
func (t *Tensor) ResizeAs_(like *Tensor) *Tensor { return t.Resize_(like.array.Shape...) }

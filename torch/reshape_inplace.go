package torch

import (
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
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
	before := FromStorage(self.storage, self.dtype, self.shape, self.stride, self.offset)
	before.device, before.base, before.seen, before.born = self.device, self.base, self.seen, self.born
	v := call(f, append([]ops.Arg{alias(self, before)}, args[1:]...), tape)[0].(*Tensor)
	self.shape, self.stride, self.offset = v.shape, v.stride, v.offset
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
		fail("detach_", "RuntimeError", "Can't detach views in-place. Use detach() instead.")
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
		fail("resize_", "RuntimeError", "cannot resize variables that require grad")
	}
	if t.fake != nil {
		fail("resize_", "RuntimeError", "a tensor that is being traced cannot be resized")
	}
	for _, n := range size {
		if n < 0 {
			fail("resize_", "RuntimeError", "Trying to create tensor with negative dimension %d: %s", n, ops.ShapeText(sym.Consts(size)))
		}
	}
	if slices.Equal(size, t.shape) {
		return t
	}
	if need := (t.offset + product(size)) * t.dtype.Size(); need > len(t.storage.Bytes()) && t.device != ops.Meta {
		t.storage.Grow(need)
	}
	t.shape, t.stride = append([]int{}, size...), contiguousStrides(size)
	t.meta.Store(nil)
	return t
}

// ResizeAs_ is Resize_ to the shape of another tensor.
func (t *Tensor) ResizeAs_(like *Tensor) *Tensor { return t.Resize_(like.shape...) }

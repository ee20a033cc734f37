package torch

import (
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file is the tape of views and of changes in place.

// edgeFn is the node that computed t. A view whose storage was changed in
// place through another tensor gets a new node that reads the base, if it may.
func (t *Tensor) edgeFn() *gradFn {
	if t.stale() {
		if why := viewRefusal(t, "its base or another view of its base has been modified inplace"); why != "" {
			refusal.Fail("", "RuntimeError", "%s", why)
		}
		t.rebase()
	}
	return t.fn
}

// stale reports whether the memory of a view was changed, on the tape, after its
// node was recorded.
func (t *Tensor) stale() bool {
	return t.base != nil && t.array.Storage != nil && t.seen != t.array.Storage.Version() && t.base.fn != nil && t.base.fn.seq > fnSeq(t)
}

// computed reports whether t has a node, or gets one.
func (t *Tensor) computed() bool { return t.fn != nil || t.stale() }

func fnSeq(t *Tensor) uint64 {
	if t.fn == nil {
		return 0
	}
	return t.fn.seq
}

// rebase records t as an as_strided view of its base as it is now.
func (t *Tensor) rebase() {
	base := t.base
	if base.array.DType != t.array.DType {
		refusal.Fail(
			"", "NotImplementedError",
			"%s view of a %s tensor that was changed in place: its gradient is not supported", t.array.DType,
			base.array.DType,
		)
	}
	c := stridedCall(base, t)
	t.seen = t.array.Storage.Version()
	d := derivativeOf(c, saveArgs(c.Args), []Value{t})
	t.fn, t.outIndex = d.node([]edge{{fn: base.fn, index: base.outIndex}}), 0
}

func stridedCall(base, view *Tensor) *ops.Call {
	return &ops.Call{
		Op:   ops.Get(ops.AsStrided),
		Args: []ops.Arg{base, sym.Consts(view.array.Shape), sym.Consts(view.array.Stride), sym.C(view.array.Offset)},
	}
}

// checkInPlaceGrad refuses to change what may not be changed where gradients are
// wanted.
func checkInPlaceGrad(t *Tensor) {
	if why := inPlaceRefusal(t); why != "" {
		refusal.Fail("", "RuntimeError", "%s", why)
	}
}

// recordInPlace makes self the result of the call. Where self is a view, the
// change is recorded on its base, and self reads it from there.
func recordInPlace(c *ops.Call, saved []ops.Arg, self *Tensor, edges []edge) {
	d := derivativeOf(c, saved, []Value{self})
	if self.base == nil {
		self.fn, self.outIndex = d.node(edges), 0
		self.meta.Store(nil)
		return
	}
	base := self.base
	if base.array.DType != self.array.DType {
		refusal.Fail(
			c.Op.Name, "NotImplementedError",
			"a %s view of a %s tensor cannot be changed in place where gradients are wanted", self.array.DType,
			base.array.DType,
		)
	}
	shape, stride, offset := self.array.Shape, self.array.Stride, self.array.Offset
	geometry := base.TensorMeta()
	edges = append([]edge{edgeTo(base)}, edges[1:]...)
	base.fn, base.outIndex = newNode("CopySlices", 1, edges, func(grads []*Tensor, tape bool) []*Tensor {
		return copySlices(grads[0], geometry, shape, stride, offset, tape, d.run)
	}), 0
	base.meta.Store(nil)
	self.rebase()
	self.meta.Store(nil)
}

// copySlices is the gradient of a base of which a part was changed: the part's
// gradient goes through the change's derivative.
func copySlices(
	g *Tensor, base *ops.TensorMeta, shape, stride []int, offset int, tape bool, run func([]*Tensor, bool) []*Tensor,
) []*Tensor {
	e := eager{tape}
	whole := fromMeta(&ops.TensorMeta{DType: g.array.DType, Device: base.Device, Shape: base.Shape, Stride: base.Stride})
	strided.Copy(&whole.array, &g.array)
	at := offset - int(base.Offset.Hint())
	part := FromStorage((*Storage)(whole.array.Storage), g.array.DType, shape, stride, at)
	inner := run([]*Tensor{e.Emit(ops.Clone, part).(*Tensor)}, tape)
	if inner[0] == nil {
		inner[0] = e.Emit(ops.ZerosLike, part).(*Tensor)
	}
	strided.Copy(&part.array, &inner[0].array)
	inner[0] = whole
	return inner
}

package guard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/value"
)

// This file is guards on one tensor: its type, layout and history, and the gradient mode.

// StorageOffset fixes where the tensor at s begins in its storage.
func (gs *Set) StorageOffset(s *value.Source, offset int) {
	gs.Check(EqualsMatch, s, fmt.Sprintf("%s.storage_offset() == %d", s.Name, offset), strconv.Itoa(offset),
		at(s, func(p unsafe.Pointer) bool {
			_, _, o := (*(**torch.Tensor)(p)).Layout()
			return o == offset
		}),
		found(s, func(p unsafe.Pointer) Failure {
			_, _, o := (*(**torch.Tensor)(p)).Layout()
			return plain(strconv.Itoa(o))
		}))
}

// Tensor fixes dtype, device, requires_grad and layout of the tensor t at s;
// sizes that are symbols of m are left to the shape guards, and strides that
// follow from them have to follow from other sizes likewise.
func (gs *Set) Tensor(s *value.Source, t *torch.Tensor, m *ops.TensorMeta) {
	sizes, strides := make([]int, len(m.Shape)), make([]int, len(m.Shape))
	inner, _ := InnerDims(t)
	for i := range sizes {
		sizes[i], strides[i] = fixedSize(m.Shape[i]), fixedSize(m.Stride[i])
	}
	want := func(shape, stride []int) []int { // strides of a tensor with these sizes
		out := slices.Clone(strides)
		for i, w := range strides {
			if w < 0 {
				out[i] = max(shape[inner[i]], 1) * stride[inner[i]] // as torch lays out what has no elements
			}
		}
		return out
	}
	open := slices.Contains(strides, -1)
	d, dev, grad := m.DType, m.Device, m.RequiresGrad
	text := fmt.Sprintf("check_tensor(%s, Tensor, %s, device=%s, requires_grad=%s, size=%s, stride=%s)",
		s.Name, d, dev, pyBool(grad), sizesText(sizes), sizesText(strides))
	g := gs.Check(TensorMatch, s, text, tensorText(d, sizes),
		at(s, func(p unsafe.Pointer) bool {
			t := *(**torch.Tensor)(p)
			if t == nil || t.DType() != d || t.Device() != dev || t.RequiresGrad() != grad {
				return false
			}
			shape, stride, _ := t.Layout()
			return fits(shape, sizes) && fits(stride, strides) && (!open || fits(stride, want(shape, stride)))
		}),
		found(s, func(p unsafe.Pointer) Failure {
			return tensorMismatch(s.Argument(), *(**torch.Tensor)(p), d, dev, grad, sizes, want)
		}))
	if !open {
		g.form = form{op: opTensor, tensor: &tensorForm{d, grad, dev, sizes, strides}}
	}
	g.tellsAt(s, "shape but "+openDims(sizes), func(p unsafe.Pointer) uint64 {
		t := *(**torch.Tensor)(p)
		if t == nil {
			return 0
		}
		shape, _, _ := t.Layout()
		return shapeWord(shape, sizes)
	}, shapeWord(sizes, sizes))
}

// fixedSize is the constant of a size, -1 when it is dynamic.
func fixedSize(x sym.Int) int {
	if v, ok := x.IsConst(); ok {
		return int(v)
	}
	return -1
}

func fits(have, want []int) bool {
	if len(have) != len(want) {
		return false
	}
	for i, w := range want {
		if w >= 0 && have[i] != w {
			return false
		}
	}
	return true
}

// tensorMismatch says in PyTorch's words what differs first.
func tensorMismatch(
	name string, t *torch.Tensor, d ops.DType, dev ops.Device, grad bool, sizes []int,
	strides func(shape, stride []int) []int,
) Failure {
	if t == nil {
		return Failure{actual: "nil", dim: -1, message: fmt.Sprintf("tensor '%s' is nil", name)}
	}
	shape, stride, _ := t.Layout()
	f := Failure{actual: tensorText(t.DType(), shape), dim: -1}
	say := func(format string, args ...any) Failure {
		f.message = "tensor '" + name + "' " + fmt.Sprintf(format, args...)
		return f
	}
	switch {
	case t.DType() != d:
		return say("dtype mismatch. expected %s, actual %s", d.ScalarType(), t.DType().ScalarType())
	case t.Device() != dev:
		return say("device mismatch. expected %s, actual %s", dev, t.Device())
	case t.RequiresGrad() != grad:
		return say("requires_grad mismatch. expected requires_grad=%d", map[bool]int{true: 1}[grad])
	case len(shape) != len(sizes):
		return say("rank mismatch. expected %d, actual %d", len(sizes), len(shape))
	}
	for i, w := range sizes {
		if w >= 0 && shape[i] != w {
			f.dim = i
			return say("size mismatch at index %d. expected %d, actual %d", i, w, shape[i])
		}
	}
	for i, w := range strides(shape, stride) {
		if stride[i] != w {
			return say("stride mismatch at index %d. expected %d, actual %d", i, w, stride[i])
		}
	}
	return f
}

func tensorText(d ops.DType, sizes []int) string { return d.Name() + sizesText(sizes) }

func sizesText(sizes []int) string {
	parts := make([]string, len(sizes))
	for i, s := range sizes {
		if parts[i] = strconv.Itoa(s); s < 0 {
			parts[i] = "None"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// GradMode guards, once a trace, whether gradients are recorded.
func (gs *Set) GradMode() {
	if gs.grad {
		return
	}
	gs.grad = true
	on := torch.GradEnabled()
	gs.Check(GradMode, nil, "grad_mode == "+pyBool(on), pyBool(on),
		func(*Addresses) bool { return torch.GradEnabled() == on },
		func(*Addresses) Failure {
			return Failure{actual: pyBool(!on), dim: -1, message: "GLOBAL_STATE changed: grad_mode "}
		})
}

// Leaf fixes whether the tensor at s, and what it is a view of, are leaves.
func (gs *Set) Leaf(s *value.Source, t *torch.Tensor) {
	want := leafOf(t)
	gs.Check(EqualsMatch, s, s.Name+".is_leaf == "+pyBool(want.self), pyBool(want.self),
		at(s, func(p unsafe.Pointer) bool { return leafOf(*(**torch.Tensor)(p)) == want }),
		found(s, func(p unsafe.Pointer) Failure { return plain(pyBool(leafOf(*(**torch.Tensor)(p)).self)) }))
}

// Hooks fixes whether a hook is registered on the tensor at s, a leaf.
func (gs *Set) Hooks(s *value.Source, any bool) {
	gs.Check(EqualsMatch, s, fmt.Sprintf("bool(%s._backward_hooks) == %s", s.Name, pyBool(any)), pyBool(any),
		at(s, func(p unsafe.Pointer) bool { return torch.Hooked(*(**torch.Tensor)(p)) == any }),
		found(s, func(unsafe.Pointer) Failure { return plain(pyBool(!any)) }))
}

// leafness tells whether a tensor is a leaf, whether the one that it is a view of is,
// and whether it is a view that may not be written where gradients are wanted.
type leafness struct{ self, root, refused bool }

func leafOf(t *torch.Tensor) leafness {
	if t == nil {
		return leafness{}
	}
	return leafness{t.IsLeaf(), t.ViewRoot().IsLeaf(), t.ViewRefused()}
}

// InnerDims says of each dimension which other one lies just inside it, so that its
// stride is that one's size times its stride; -1 for none. The order is from the
// innermost dimension to the outermost. Of sizes that are marked as unbacked it is that of
// a contiguous tensor, where t is one, as 0 and 1 do not tell.
func InnerDims(t *torch.Tensor) (inner, order []int) {
	shape, stride, _ := t.Layout()
	if unbacked(t, len(shape)) && rowMajor(shape, stride) {
		for i := range shape {
			inner, order = append(inner, i+1), append(order, len(shape)-1-i)
		}
		inner[len(shape)-1] = -1
		return inner, order
	}
	for i := len(shape) - 1; i >= 0; i-- {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int { return stride[i] - stride[j] })
	inner = make([]int, len(shape))
	ends := map[int]int{} // the dimension that ends at an address
	for _, i := range order {
		inner[i] = -1
		if j, ok := ends[stride[i]]; ok {
			inner[i] = j
		}
		if _, ok := ends[shape[i]*stride[i]]; !ok {
			ends[shape[i]*stride[i]] = i
		}
	}
	return inner, order
}

// unbacked reports whether a size of t is marked as that.
func unbacked(t *torch.Tensor, dims int) bool {
	for d := range dims {
		if t.DimMark(d) == torch.DimUnbacked {
			return true
		}
	}
	return false
}

// rowMajor reports whether strides are those of a new tensor.
func rowMajor(shape, stride []int) bool {
	next := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if stride[i] != next {
			return false
		}
		next *= max(shape[i], 1)
	}
	return true
}

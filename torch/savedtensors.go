package torch

import "tcdbg/ops"

// This file keeps tensors for the backward pass.

// saved is a tensor kept for the backward pass. It must not have been changed
// in place when a derivative uses its data.
type saved struct {
	t       *Tensor
	version uint64
	meta    *ops.TensorMeta
	fn      *gradFn // of which it is result number index
	index   int
}

// TensorMeta implements ops.Value.
func (s *saved) TensorMeta() *ops.TensorMeta { return s.meta }

func save(t *Tensor) ops.Value {
	s := &saved{t: t, meta: t.TensorMeta(), fn: t.fn, index: t.outIndex}
	if t.array.Storage != nil {
		s.version = t.array.Storage.Version()
	}
	return s
}

func saveArgs(args []ops.Arg) []ops.Arg {
	out := make([]ops.Arg, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case *Tensor:
			if a != nil {
				out[i] = save(a)
			}
		case []ops.Value:
			list := make([]ops.Value, len(a))
			for j, v := range a {
				if t, ok := v.(*Tensor); ok && t != nil {
					list[j] = save(t)
				}
			}
			out[i] = list
		default:
			out[i] = a
		}
	}
	return out
}

// unpack replaces saved tensors by the tensors, checking their versions.
func unpack(a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case *saved:
		return a.open()
	case []ops.Value:
		var out []ops.Value
		for i, v := range a {
			if s, ok := v.(*saved); ok {
				if out == nil {
					out = append([]ops.Value(nil), a...)
				}
				out[i] = s.open()
			}
		}
		if out != nil {
			return out
		}
	}
	return a
}

// open returns the tensor, if it is as it was and no pass has freed it.
func (s *saved) open() *Tensor {
	if s.t == nil {
		panic(freedError())
	}
	if s.t.array.Storage != nil && s.t.array.Storage.Version() != s.version {
		panic(overwritten(s.t, s.fn, s.index, s.t.array.Storage.Version(), s.version))
	}
	return s.t
}

// freedError is the refusal of a second pass.
func freedError() *Error {
	return &Error{
		Op: "backward", Kind: "RuntimeError",
		Msg: "Trying to backward through the graph a second time (or directly access saved tensors after they have already been " +
			"freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify " +
			"retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after " +
			"calling backward.",
	}
}

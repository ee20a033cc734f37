package oracle

import (
	"fmt"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file holds adapters of functions whose Python form needs more than a
// renaming.

// embeddingBag has its table first in PyTorch's database.
func embeddingBag(r *runner, args []any, kw map[string]any) ([]any, error) {
	if t, ok := args[0].(*torch.Tensor); ok && t.DType().IsFloat() && len(args) > 1 {
		args[0], args[1] = args[1], args[0]
	}
	return r.op("embedding_bag", args, kw)
}

// gradientCall sorts spacing by what it is: a number, one number for each
// dimension, or coordinates.
func gradientCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	if list, ok := kw["spacing"].([]any); ok && len(list) > 0 {
		delete(kw, "spacing")
		if _, tensors := list[0].(*torch.Tensor); tensors {
			kw["coordinates"] = list
		} else {
			kw["spacings"] = list
		}
	}
	return r.op("gradient", args, kw)
}

// ctcCall gives the lengths as tensors.
func ctcCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	for i, a := range args {
		if list, ok := a.([]any); ok {
			t, err := intTensor(list)
			if err != nil {
				return nil, err
			}
			args[i] = t
		}
	}
	return r.op("ctc_loss", args, kw)
}

// lstsqCall: the variant that is differentiated returns the first two results.
func lstsqCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	out, err := r.op("linalg.lstsq", args, kw)
	if err == nil && r.c.Variant == "grad_oriented" {
		out = out[:2]
	}
	return out, err
}

// pinvCall: the singular variant is given as two factors.
func pinvCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	if r.c.Variant != "singular" {
		return r.op("linalg.pinv", args, kw)
	}
	t, err := r.op("transpose", []any{args[1], -2, -1}, nil)
	if err != nil {
		return nil, err
	}
	p, err := r.op("matmul", []any{args[0], t[0]}, nil)
	if err != nil {
		return nil, err
	}
	return r.op("linalg.pinv", p, kw)
}

// poolBackward is the gradient of a pooling for a gradient of ones.
func poolBackward(r *runner, args []any, kw map[string]any) ([]any, error) {
	delete(kw, "return_indices")
	x := args[0].(*torch.Tensor)
	pooled, err := r.op("max_pool2d_with_indices", []any{x}, kw)
	if err != nil {
		return nil, err
	}
	ones, err := r.op("ones_like", pooled[:1], nil)
	if err != nil {
		return nil, err
	}
	return r.op(
		"max_pool2d_with_indices_backward",
		[]any{ones[0], x, kw["kernel_size"], kw["stride"], kw["padding"], kw["dilation"], kw["ceil_mode"], pooled[1]},
		nil,
	)
}

// broadcastShapes works on shapes alone.
func broadcastShapes(_ *runner, args []any, _ map[string]any) ([]any, error) {
	var shapes [][]sym.Int
	for _, a := range args {
		switch a := a.(type) {
		case int:
			shapes = append(shapes, []sym.Int{sym.C(a)})
		case []any:
			var s []sym.Int
			for _, n := range a {
				s = append(s, sym.C(n.(int)))
			}
			shapes = append(shapes, s)
		default:
			return nil, fmt.Errorf("broadcast_shapes of %T", a)
		}
	}
	shape, err := ops.Broadcast(shapes...)
	out := make([]any, len(shape))
	for i, n := range shape {
		out[i] = sym.Force(n)
	}
	return out, err
}

// normCall is torch.norm, which knows norms of matrices by name.
func normCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	nuclear := kw["p"] == "nuc"
	for i, a := range args {
		if a == "nuc" {
			nuclear = true
			args = append(args[:i:i], args[i+1:]...)
			break
		}
	}
	if !nuclear {
		return vectorNorm(r, args, kw)
	}
	delete(kw, "p")
	kw["ord"] = "nuc"
	if len(args) > 1 {
		kw["dim"] = args[1]
	}
	return r.op("linalg.matrix_norm", args[:1], kw)
}

// resizeCall gives a copy of the first tensor another number of elements.
func resizeCall(_ *runner, args []any, _ map[string]any) ([]any, error) {
	x := args[0].(*torch.Tensor).Detach().Clone()
	var size []int
	switch to := args[1].(type) {
	case *torch.Tensor:
		return []any{x.ResizeAs_(to)}, nil
	case []any:
		for _, n := range to {
			size = append(size, n.(int))
		}
	case int:
		size = []int{to}
	}
	return []any{x.Resize_(size...)}, nil
}

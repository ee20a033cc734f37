package oracle

import (
	"fmt"
	"sync"

	"tcdbg/torch"
)

// This file is the table of Python functions that are no single operator.

var adapters = sync.OnceValue(func() map[string]adapter {
	return map[string]adapter{
		"max":         extremum("max", "maximum"),
		"min":         extremum("min", "minimum"),
		"sort":        sortCall,
		"tri":         triangle,
		"slice":       subscript,
		"getitem":     subscript,
		"__getitem__": subscript,
		"index":       indexCall,
		"index_put":   indexPut,
		"unfold_dim":  renamed("unfold"),
		"unfold":      unfold,
		"meshgrid":    variadic("meshgrid", 0),
		"einsum":      variadic("einsum", 1),
		"embedding":   embedding,
		"batch_norm.train": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			return r.op("batch_norm", []any{args[0], nil, nil, args[1], args[2], true}, kw)
		},
	}
})

func renamed(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) { return r.op(name, args, kw) }
}

// extremum is max(x), max(x, dim) and max(x, y).
func extremum(reduce, pair string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		if len(args) > 1 {
			if _, ok := args[1].(*torch.Tensor); ok {
				return r.op(pair, args, kw)
			}
			return r.op(reduce+".dim", args, kw)
		}
		if _, ok := kw["dim"]; ok {
			return r.op(reduce+".dim", args, kw)
		}
		if _, ok := kw["other"]; ok {
			return r.op(pair, args, kw)
		}
		return r.op(reduce, args, kw)
	}
}

// unfold is Tensor.unfold(dimension, size, step) or the windows of an image.
func unfold(r *runner, args []any, kw map[string]any) ([]any, error) {
	_, windows := kw["kernel_size"]
	if x := args[0].(*torch.Tensor); windows || len(args) > 1 && len(args) < 4 && x.Dim() >= 3 && len(kw) > 0 {
		return r.op("im2col", args, kw)
	}
	return r.op("unfold", args, kw)
}

func sortCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	if len(args) == 2 {
		if d, ok := args[1].(bool); ok {
			return r.op("sort", []any{args[0], -1, d}, kw)
		}
	}
	return r.op("sort", args, kw)
}

func triangle(r *runner, args []any, _ map[string]any) ([]any, error) {
	n := args[0].(int)
	return r.op("tril", []any{torch.Ones(n, n)}, nil)
}

// variadic gathers the arguments from position at in one list.
func variadic(name string, at int) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		var list []any
		for _, a := range args[at:] {
			if l, ok := a.([]any); ok {
				list = append(list, l...)
			} else {
				list = append(list, a)
			}
		}
		return r.op(name, append(append([]any{}, args[:at]...), list), kw)
	}
}

// embedding: the second case hides padding_idx=0 from its arguments; it shows
// in the gradient, whose row 0 is zero though index 0 occurs.
func embedding(r *runner, args []any, kw map[string]any) ([]any, error) {
	order := []any{args[0], args[1]}
	if ids, ok := args[0].(*torch.Tensor); ok && ids.DType().IsFloat() {
		order[0], order[1] = args[0], args[1]
	}
	if len(r.c.Grads) == 2 && r.c.Grads[1] != nil && len(args) == 2 && len(kw) == 0 {
		if g, err := r.suite.data.tensor(*r.c.Grads[1]); err == nil && g.Dim() == 2 && g.Select(0, 0).Abs().Sum().Item() == 0 && hasZero(args[0].(*torch.Tensor)) {
			return r.op("embedding", append(order, 0), kw)
		}
	}
	return r.op("embedding", append(order, args[2:]...), kw)
}

func hasZero(t *torch.Tensor) bool {
	for _, v := range t.Int64s() {
		if v == 0 {
			return true
		}
	}
	return false
}

// subscript is x[i] with ints, slices, None, ... and tensors.
func subscript(r *runner, args []any, _ map[string]any) ([]any, error) {
	x, ok := args[0].(*torch.Tensor)
	if !ok {
		return nil, fmt.Errorf("subscript of %T", args[0])
	}
	items, ok := args[1].([]any)
	if !ok {
		items = []any{args[1]}
	}
	sub := make([]any, len(items))
	for i, v := range items {
		switch v := v.(type) {
		case pySlice:
			sub[i] = torch.Slice_{Start: v.start, Stop: v.stop, Step: v.step}
		case ellipsis:
			sub[i] = torch.Ellipsis
		case []any:
			t, err := intTensor(v)
			if err != nil {
				return nil, err
			}
			sub[i] = t
		default:
			sub[i] = v
		}
	}
	return []any{x.At(sub...)}, nil
}

func intTensor(v []any) (*torch.Tensor, error) {
	var out []int
	for _, e := range v {
		n, ok := e.(int)
		if !ok {
			return nil, fmt.Errorf("subscript list of %T", e)
		}
		out = append(out, n)
	}
	return torch.NewTensor(out), nil
}

// indexCall is x[i, j, ...] with tensors alone.
func indexCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	if l, ok := args[1].([]any); ok {
		return r.op("index", []any{args[0], l}, kw)
	}
	return r.op("index", []any{args[0], args[1:]}, kw)
}

func indexPut(r *runner, args []any, kw map[string]any) ([]any, error) {
	if _, ok := args[1].(*torch.Tensor); ok {
		args[1] = []any{args[1]}
	}
	return r.op("index_put", args, kw)
}

package oracle

import (
	"fmt"
	"strings"

	"tcdbg/ops"
	"tcdbg/torch"
)

// This file turns the call of a case into operators of the table. Most cases
// name an operator and give its arguments as PyTorch's Python signature has
// them; where Python's function has several signatures, or no operator of its
// own, an adapter says what is called.

type adapter func(r *runner, args []any, kw map[string]any) ([]any, error)

// call runs the case's operator.
func (r *runner) call(args []any, kw map[string]any) ([]any, error) {
	if a := adapters()[r.c.Op]; a != nil {
		return a(r, args, kw)
	}
	if x, ok := args0(args); ok && strings.HasSuffix(r.c.Op, "_") { // in place: on a copy, since leaves may not be written
		args = append([]any{x.Clone()}, args[1:]...)
		if a := adapters()[strings.TrimSuffix(r.c.Op, "_")]; a != nil {
			r.inPlace = true
			return a(r, args, kw)
		}
	}
	return r.op(r.c.Op, args, kw)
}

// args0 is the first argument where it is a tensor.
func args0(args []any) (*torch.Tensor, bool) {
	if len(args) == 0 {
		return nil, false
	}
	x, ok := args[0].(*torch.Tensor)
	return x, ok
}

// op calls one operator by name.
func (r *runner) op(name string, args []any, kw map[string]any) ([]any, error) {
	row, ok := ops.Lookup(name)
	if ok && r.inPlace {
		if ops.InPlace(row.ID) == ops.None {
			return nil, fmt.Errorf("%s has no in-place form", name)
		}
		row = ops.Get(ops.InPlace(row.ID))
	}
	if !ok {
		return nil, fmt.Errorf("no operator %s", name)
	}
	r.row = row
	pos := make([]ops.Arg, len(args))
	for i, a := range args {
		pos[i] = argument(a)
	}
	named := map[string]ops.Arg{}
	for k, v := range kw {
		named[r.keyword(row, k)] = argument(v)
	}
	bound, err := ops.Bind(row, pos, named)
	if err != nil {
		return nil, err
	}
	return r.backend.Call(row, bound), nil
}

// keyword maps names that Python's functions use beside the schema's.
func (r *runner) keyword(row *ops.Op, k string) string {
	has := func(n string) bool {
		for _, p := range row.Params() {
			if p.Name == n {
				return true
			}
		}
		return false
	}
	if has(k) {
		return k
	}
	for _, alt := range [][2]string{
		{"input", "self"},
		{"self", "input"},
		{"dim", "axis"},
		{"axis", "dim"},
		{"keepdims", "keepdim"},
		{"other", "tensor"},
		{"exponent", "other"},
		{"N", "n"},
		{"y", "self"},
	} {
		if k == alt[0] && has(alt[1]) {
			return alt[1]
		}
	}
	return k
}

// argument converts decoded JSON to what ops.Bind takes.
func argument(a any) ops.Arg {
	list, ok := a.([]any)
	if !ok {
		return a
	}
	if len(list) == 0 {
		return []int{}
	}
	switch list[0].(type) {
	case int:
		out := make([]int, 0, len(list))
		for _, v := range list {
			switch v := v.(type) {
			case int:
				out = append(out, v)
			case float64:
				return floatList(list)
			case nil: // keep this size
				out = append(out, ops.NoSize)
			}
		}
		return out
	case float64:
		return floatList(list)
	case nil:
		if n, ok := list[len(list)-1].(int); ok || len(list) < 4 && list[len(list)-1] == nil {
			_ = n
			out := make([]int, len(list))
			for i, v := range list {
				out[i] = ops.NoSize
				if n, ok := v.(int); ok {
					out[i] = n
				}
			}
			return out
		}
	case bool:
		out := make([]bool, len(list))
		for i, v := range list {
			out[i], _ = v.(bool)
		}
		return out
	}
	return tensorList(list)
}

func floatList(list []any) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case int:
			out[i] = float64(v)
		case float64:
			out[i] = v
		}
	}
	return out
}

func tensorList(list []any) ops.Arg {
	out := make([]ops.Value, len(list))
	for i, v := range list {
		if t, ok := v.(*torch.Tensor); ok {
			out[i] = t
		}
	}
	return out
}

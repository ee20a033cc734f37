package oracle

import (
	"fmt"
	"sync"

	"tcdbg/ops"
	"tcdbg/torch"
)

// This file is the table of Python functions that are no single operator.

var adapters = sync.OnceValue(func() map[string]adapter {
	return map[string]adapter{
		"max":         extremum("max", "maximum"),
		"min":         extremum("min", "minimum"),
		"sort":        sortCall,
		"tri":         triangle,
		"slice":       sliceCall,
		"getitem":     subscript,
		"__getitem__": subscript,
		"index":       indexCall,
		"index_put":   indexPut,
		"unfold_dim":  renamed("unfold"),
		"unfold":      unfold,
		"H":           conjugated("t"), "T": renamed("t"), "mT": renamed("mT"), "mH": conjugated("mT"),
		"trapz": renamed("trapezoid"), "special.polygamma": polygamma, "linalg.vector_norm": vectorNorm,
		"__radd__": method("add"), "__rmul__": method("mul"), "__rsub__": swapped("sub"), "__rmod__": swapped("remainder"),
		"__rdiv__": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			if err := isMethod("__rdiv__", args); err != nil {
				return nil, err
			}
			inv, err := r.op("reciprocal", args[:1], nil)
			if err != nil {
				return nil, err
			}
			return r.op("mul", []any{inv[0], args[1]}, nil)
		},
		"__rand__": method("bitwise_and"), "__ror__": method("bitwise_or"), "__rxor__": method("bitwise_xor"),
		"__rmatmul__": swapped("matmul"),
		"double":      cast(ops.Float64), "float": cast(ops.Float32), "half": cast(ops.Float16), "bfloat16": cast(ops.BFloat16),
		"long": cast(ops.Int64), "int": cast(ops.Int32),
		"short": cast(ops.Int16), "char": cast(ops.Int8), "byte": cast(ops.Uint8), "bool": cast(ops.Bool), "cfloat": cast(ops.Complex64),
		"resize_": resizeCall, "resize_as_": resizeCall,
		"atleast_1d": overList("atleast_1d"), "atleast_2d": overList("atleast_2d"), "atleast_3d": overList("atleast_3d"),
		"median": extremum("median", "median"), "nanmedian": extremum("nanmedian", "nanmedian"), "linalg.diagonal": diagonalCall,
		"linalg.vander": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			kw["increasing"] = true
			return r.op("vander", args, kw)
		},
		"alias_copy": copied("alias"), "expand_copy": copied("expand"), "permute_copy": copied("permute"),
		"view_copy": copied("reshape"), "t_copy": copied("t"),
		"transpose_copy": copied("transpose"), "unsqueeze_copy": copied("unsqueeze"), "squeeze_copy": copied("squeeze"),
		"narrow_copy":     copied("narrow"),
		"as_strided_copy": copied("as_strided"), "diagonal_copy": copied("diagonal"), "unfold_copy": copied("unfold"),
		"split_with_sizes_copy": copied("split_with_sizes"),
		"unbind_copy":           copied("unbind"), "unsafe_chunk": renamed("chunk"), "unsafe_split": renamed("split"),
		"upsample_nearest": resized("nearest", nil), "upsample_bilinear": resized("bilinear", true),
		"meshgrid": variadic("meshgrid", 0),
		"einsum": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			if list, ok := args[0].([]any); ok {
				args = append([]any{args[1]}, list...)
			}
			return variadic("einsum", 1)(r, args, kw)
		},
		"broadcast_tensors":   variadic("broadcast_tensors", 0),
		"cartesian_prod":      variadic("cartesian_prod", 0),
		"block_diag":          variadic("block_diag", 0),
		"sum_to_size":         sizes("sum_to_size"),
		"clamp":               clampCall,
		"var":                 unbiased("var"),
		"std":                 unbiased("std"),
		"var_mean":            unbiased("var_mean"),
		"std_mean":            unbiased("std_mean"),
		"linspace":            scalars("linspace"),
		"logspace":            scalars("logspace"),
		"max_pool1d":          withIndices("max_pool1d", 6),
		"max_pool2d":          withIndices("max_pool2d", 6),
		"max_pool3d":          withIndices("max_pool3d", 6),
		"adaptive_max_pool1d": withIndices("adaptive_max_pool1d", 2),
		"adaptive_max_pool2d": withIndices("adaptive_max_pool2d", 2),
		"adaptive_max_pool3d": withIndices("adaptive_max_pool3d", 2),
		"allclose":            truth("allclose"), "equal": truth("equal"),
		"nextafter": withoutGrad("nextafter"),
		"polygamma": polygamma,
		"scatter": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			if _, by := kw["reduce"]; by {
				return r.op("scatter.reduce", args, kw)
			}
			return r.op("scatter", args, kw)
		},
		"scaled_dot_product_attention": seeded("scaled_dot_product_attention"),
		"multi_head_attention_forward": seeded("multi_head_attention_forward"),
		"one_hot": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			if _, given := kw["num_classes"]; !given && len(args) == 1 {
				kw["num_classes"] = -1
			}
			return r.op("one_hot", args, kw)
		},
		"triplet_margin_with_distance_loss": renamed("triplet_margin_loss"), "embedding_bag": embeddingBag,
		"gradient": gradientCall, "ctc_loss": ctcCall, "_segment_reduce": renamed("segment_reduce"),
		"linalg.lstsq": lstsqCall, "linalg.pinv": pinvCall, "max_pool2d_with_indices_backward": poolBackward,
		"broadcast_shapes": broadcastShapes,
		"norm":             normCall,
		"where": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			if c, ok := args[1].(*torch.Tensor); ok && r.c.DType != "" && c.DType() == ops.Bool {
				args[0], args[1] = args[1], args[0]
			}
			return r.op("where", args, kw)
		},
		"narrow": scalarAt("narrow", 2),
		"nonzero": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			tuple, _ := kw["as_tuple"].(bool)
			delete(kw, "as_tuple")
			if x, ok := args[0].(*torch.Tensor); ok && tuple && x.Dim() == 0 {
				args[0] = x.Unsqueeze(0)
			}
			out, err := r.op("nonzero", args, kw)
			if err != nil || !tuple {
				return out, err
			}
			return r.op("unbind", []any{out[0], 1}, nil)
		},
		"tensordot": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			x, y := args[0].(*torch.Tensor), args[1].(*torch.Tensor)
			if list, ok := kw["dims"].([]any); ok {
				return r.op("tensordot", []any{x, y, list[0], list[1]}, nil)
			}
			n, _ := kw["dims"].(int)
			var dx, dy []any
			for i := range n {
				dx, dy = append(dx, x.Dim()-n+i), append(dy, i)
			}
			return r.op("tensordot", []any{x, y, dx, dy}, nil)
		},
		"zero_": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			return r.op("zero_", []any{args[0].(*torch.Tensor).Clone()}, kw)
		},
		"tensor_split": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			for i, a := range args[1:] {
				if t, ok := a.(*torch.Tensor); ok {
					var list []any
					for _, v := range t.Ints() {
						list = append(list, v)
					}
					args[i+1] = list
				}
			}
			return r.op("tensor_split", args, kw)
		},
		"embedding": embedding,
		"batch_norm.train": func(r *runner, args []any, kw map[string]any) ([]any, error) {
			return r.op("batch_norm", []any{args[0], nil, nil, args[1], args[2], true}, kw)
		},
	}
})

func renamed(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) { return r.op(name, args, kw) }
}

// conjugated is an operator followed by conj.
func conjugated(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		out, err := r.op(name, args, kw)
		if err != nil {
			return nil, err
		}
		return r.op("conj", out, nil)
	}
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
	if len(args) > 1 {
		_, sizes := args[1].([]any)
		windows = windows || sizes
	}
	if windows || len(args) == 5 {
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
		order[0], order[1] = args[1], args[0]
	}
	if len(r.c.Grads) == 2 && r.c.Grads[1] != nil && len(args) == 2 && len(kw) == 0 {
		if g, err := r.suite.data.tensor(*r.c.Grads[1]); err == nil && g.Dim() == 2 && g.Select(0, 0).Abs().Sum().Item() == 0 &&
			hasZero(args[0].(*torch.Tensor)) {
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
	if !ok || r.asList(x, items) {
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

// asList reports whether ints are a list of positions: the cases write tuples and
// lists alike, and only the result tells a list, which takes no dimension away.
func (r *runner) asList(x *torch.Tensor, items []any) bool {
	for _, v := range items {
		if _, ok := v.(int); !ok {
			return false
		}
	}
	if len(r.c.Outs) == 0 || len(items) == 0 {
		return false
	}
	out, _ := r.c.Outs[0].(map[string]any)
	shape, _ := out["shape"].([]any)
	return len(shape) == x.Dim()
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

// sizes gathers ints given one by one.
func sizes(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		if len(args) > 1 {
			if _, ok := args[1].(int); ok {
				args = []any{args[0], args[1:]}
			}
		}
		return r.op(name, args, kw)
	}
}

// clampCall is clamp with numbers or with tensors.
func clampCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	for _, a := range args[1:] {
		if _, ok := a.(*torch.Tensor); ok {
			return r.op("clamp.Tensor", args, kw)
		}
	}
	for _, a := range kw {
		if _, ok := a.(*torch.Tensor); ok {
			return r.op("clamp.Tensor", args, kw)
		}
	}
	return r.op("clamp", args, kw)
}

// unbiased turns the old flag of variances into a correction.
func unbiased(name string) adapter {
	set := func(kw map[string]any, on any) {
		kw["correction"] = 0
		if b, _ := on.(bool); b {
			kw["correction"] = 1
		}
	}
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		for i := 1; i < len(args); i++ {
			b, ok := args[i].(bool)
			if !ok {
				continue
			}
			set(kw, b)
			if i+1 < len(args) {
				kw["keepdim"] = args[i+1]
			}
			args = args[:i]
		}
		if u, ok := kw["unbiased"]; ok {
			delete(kw, "unbiased")
			set(kw, u)
		}
		return r.op(name, args, kw)
	}
}

// scalars replaces 0-dim tensors by their values.
func scalars(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		plain := func(a any) any {
			t, ok := a.(*torch.Tensor)
			switch {
			case !ok || t.Dim() != 0:
				return a
			case t.DType().IsFloat():
				return t.Item()
			}
			return t.ItemInt()
		}
		for i := range args {
			args[i] = plain(args[i])
		}
		for k := range kw {
			kw[k] = plain(kw[k])
		}
		return r.op(name, args, kw)
	}
}

// withIndices is a pooling that may return where its results come from.
func withIndices(name string, flag int) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		on, _ := kw["return_indices"].(bool)
		delete(kw, "return_indices")
		if len(args) > flag {
			on, _ = args[flag].(bool)
			args = args[:flag]
		}
		if on {
			return r.op(name+"_with_indices", args, kw)
		}
		return r.op(name, args, kw)
	}
}

// swapped calls a binary operator with its operands exchanged.
func swapped(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		if err := isMethod(r.c.Op, args); err != nil {
			return nil, err
		}
		return r.op(name, []any{args[1], args[0]}, kw)
	}
}

// method is the reflected form of an operator whose operands may change places:
// PyTorch leaves them where they are.
func method(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		if err := isMethod(r.c.Op, args); err != nil {
			return nil, err
		}
		return r.op(name, args, kw)
	}
}

// isMethod refuses a method called on what is no tensor.
func isMethod(name string, args []any) error {
	if _, ok := args[0].(*torch.Tensor); !ok {
		return fmt.Errorf("%s is a method of tensors, not of %T", name, args[0])
	}
	return nil
}

// sliceCall is a subscript, or aten's slice(x, dim, start, end, step).
func sliceCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	if len(args) > 1 {
		if _, dim := args[1].(int); !dim {
			return subscript(r, args, kw)
		}
	}
	return r.op("slice", args, kw)
}

// cast is a method that converts: double, long, ...
func cast(d ops.DType) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		named := map[string]any{"dtype": d}
		if f, ok := kw["memory_format"]; ok {
			named["memory_format"] = f
		}
		return r.op("to", args[:1], named)
	}
}

// overList maps an operator over a list of tensors, or calls it for one.
func overList(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		list, ok := args[0].([]any)
		if !ok && len(args) == 1 {
			return r.op(name, args, kw)
		}
		if !ok {
			list = args
		}
		var out []any
		for _, x := range list {
			v, err := r.op(name, []any{x}, kw)
			if err != nil {
				return nil, err
			}
			out = append(out, v...)
		}
		return out, nil
	}
}

// copied is a view operator followed by a copy.
func copied(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		views, err := renamedList(name)(r, args, kw)
		if err != nil {
			return nil, err
		}
		r.row = nil
		out := make([]any, len(views))
		for i, v := range views {
			out[i] = r.backend.Call(mustLookup("clone"), []ops.Arg{v, nil})[0]
		}
		return out, nil
	}
}

func mustLookup(name string) *ops.Op {
	row, ok := ops.Lookup(name)
	if !ok {
		panic("oracle: no operator " + name)
	}
	return row
}

// renamedList is renamed for functions that take their ints one by one.
func renamedList(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) { return r.op(name, args, kw) }
}

func diagonalCall(r *runner, args []any, kw map[string]any) ([]any, error) {
	for k, v := range map[string]any{"dim1": -2, "dim2": -1} {
		if _, ok := kw[k]; !ok {
			kw[k] = v
		}
	}
	return r.op("diagonal", args, kw)
}

// resized is interpolate under its older names.
func resized(mode string, corners any) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		kw["mode"] = mode
		if corners != nil {
			kw["align_corners"] = corners
		}
		return r.op("interpolate", args, kw)
	}
}

// truth is an operator whose Python function answers a bool.
func truth(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		out, err := r.op(name, args, kw)
		if err != nil {
			return nil, err
		}
		return []any{out[0].(*torch.Tensor).Bool()}, nil
	}
}

// withoutGrad runs an operator whose result PyTorch marks as differentiable
// though it is not: gradients are not asked for.
func withoutGrad(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		r.c.Grads = nil
		return r.op(name, args, kw)
	}
}

// seeded sets the generator as PyTorch's database does before functions with
// dropout.
func seeded(name string) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		torch.ManualSeed(42)
		return r.op(name, args, kw)
	}
}

// scalarAt replaces a 0-dim tensor at one position by its value.
func scalarAt(name string, i int) adapter {
	return func(r *runner, args []any, kw map[string]any) ([]any, error) {
		if len(args) > i {
			if t, ok := args[i].(*torch.Tensor); ok {
				args[i] = t.ItemInt()
			}
		}
		return r.op(name, args, kw)
	}
}

// polygamma takes its order first or second.
func polygamma(r *runner, args []any, kw map[string]any) ([]any, error) {
	if r.inPlace {
		return r.op("polygamma", args, kw)
	}
	if _, first := args[0].(*torch.Tensor); first && len(args) > 1 {
		args[0], args[1] = args[1], args[0]
	} else if first { // the order has a keyword
		args = []any{kw["n"], args[0]}
		delete(kw, "n")
	}
	return r.op("polygamma", args, kw)
}

// vectorNorm knows the order under two names, and fro for 2.
func vectorNorm(r *runner, args []any, kw map[string]any) ([]any, error) {
	if o, ok := kw["ord"]; ok {
		delete(kw, "ord")
		kw["p"] = o
	}
	for i, a := range args {
		if a == "fro" {
			args[i] = 2
		}
	}
	if kw["p"] == "fro" {
		kw["p"] = 2
	}
	return r.op("norm", args, kw)
}

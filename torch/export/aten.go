package export

import (
	"fmt"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file finds our operator for an overload of aten: by name and schema, and where
// those differ by a row of a table. Nothing is guessed: an argument that our operator lacks
// must have the value that means nothing, and what comes out is held against what the file says.

// Unsupported is the error of a call that no operator of ours makes.
type Unsupported struct{ Op, Why string }

func (e *Unsupported) Error() string {
	if e.Why == "" {
		return e.Op
	}
	return e.Op + ": " + e.Why
}

// rule says how an operator of aten differs from ours.
type rule struct {
	op     string            // ours
	rename map[string]string // arguments: theirs to ours
	only   map[string]any    // arguments that ours lacks, and the one value that they may have
	add    map[string]any    // what ours takes besides
	edit   func(args map[string]ops.Arg)
}

// rules are by the name of aten's operator with its overload, or without.
func rules() map[string]rule {
	ends := map[string]string{"end": "start"}
	sections := map[string]string{"split_size": "split_size_or_sections", "split_sizes": "split_size_or_sections"}
	axes := map[string]string{"axis0": "dim0", "axis1": "dim1"}
	pieces := map[string]string{"sections": "indices_or_sections", "indices": "indices_or_sections"}
	padding := map[string]string{"padding": "pad"}
	wide := map[string]any{"half_to_float": false}
	planes, spaces := map[string]any{"dims": sym.C(2)}, map[string]any{"dims": sym.C(3)}
	one := map[string]any{"scale": int64(1), "input_scale": int64(1)}
	return map[string]rule{
		"__and__": {op: "bitwise_and"}, "__or__": {op: "bitwise_or"}, "__xor__": {op: "bitwise_xor"},
		"__lshift__": {op: "bitwise_left_shift"}, "__rshift__": {op: "bitwise_right_shift"},
		"max.other": {op: "maximum"}, "min.other": {op: "minimum"},
		"arange.default": {rename: ends}, "split": {rename: sections}, "swapaxes": {rename: axes},
		"tensor_split": {rename: pieces}, "hsplit": {rename: pieces}, "vsplit": {rename: pieces}, "dsplit": {rename: pieces},
		"dropout": {rename: map[string]string{"train": "training"}}, "dropout_": {rename: map[string]string{"train": "training"}},
		"embedding":          {rename: map[string]string{"indices": "input"}, edit: noPadding},
		"scatter.value":      {rename: map[string]string{"value": "src"}},
		"heaviside":          {rename: map[string]string{"values": "other"}},
		"std":                {rename: map[string]string{"unbiased": "correction"}, edit: unbiased},
		"var":                {rename: map[string]string{"unbiased": "correction"}, edit: unbiased},
		"std_mean":           {rename: map[string]string{"unbiased": "correction"}, edit: unbiased},
		"var_mean":           {rename: map[string]string{"unbiased": "correction"}, edit: unbiased},
		"linalg_vector_norm": {rename: map[string]string{"self": "x"}},
		"elu":                {only: one},
		"elu_":               {only: one},
		"_softmax":           {op: "softmax", only: wide},
		"_log_softmax":       {op: "log_softmax", only: wide},
		"log_sigmoid":        {op: "logsigmoid"}, "numpy_T": {op: "t"}, "einsum": {rename: map[string]string{"tensors": "operands"}},
		"_unsafe_index":                        {op: "index"},
		"_unsafe_view":                         {op: "view"},
		"lift_fresh":                           {op: "alias"},
		"lift_fresh_copy":                      {op: "clone"},
		"detach_":                              {op: "detach"},
		"cross_entropy_loss":                   {op: "cross_entropy"},
		"nll_loss_nd":                          {op: "nll_loss"},
		"constant_pad_nd":                      {op: "pad"},
		"reflection_pad1d":                     {op: "pad", rename: padding, add: map[string]any{"mode": "reflect"}},
		"reflection_pad2d":                     {op: "pad", rename: padding, add: map[string]any{"mode": "reflect"}},
		"replication_pad2d":                    {op: "pad", rename: padding, add: map[string]any{"mode": "replicate"}},
		"adaptive_max_pool1d":                  {op: "adaptive_max_pool1d_with_indices"},
		"adaptive_max_pool2d":                  {op: "adaptive_max_pool2d_with_indices"},
		"adaptive_max_pool3d":                  {op: "adaptive_max_pool3d_with_indices"},
		"native_group_norm":                    {rename: map[string]string{"N": "n", "C": "c", "HxW": "hxw"}},
		"_native_batch_norm_legit_no_training": {op: "native_batch_norm", add: map[string]any{"training": false}},
		"avg_pool2d_backward":                  {op: "_avg_pool_backward", rename: gradient, edit: strideOfKernel},
		"avg_pool3d_backward":                  {op: "_avg_pool_backward", rename: gradient, edit: strideOfKernel},
		"_adaptive_avg_pool2d_backward":        {op: "_adaptive_avg_pool_backward", rename: gradient, add: planes},
		"_adaptive_avg_pool3d_backward":        {op: "_adaptive_avg_pool_backward", rename: gradient, add: spaces},
		"upsample_nearest1d.vec":               {op: "interpolate", rename: resized, add: map[string]any{"mode": "nearest"}},
		"upsample_nearest2d.vec":               {op: "interpolate", rename: resized, add: map[string]any{"mode": "nearest"}},
		"upsample_bilinear2d.vec":              {op: "interpolate", rename: resized, add: map[string]any{"mode": "bilinear"}},
		"upsample_bicubic2d.vec":               {op: "interpolate", rename: resized, add: map[string]any{"mode": "bicubic"}},
		"upsample_nearest3d.vec":               {op: "interpolate", rename: resized, add: map[string]any{"mode": "nearest"}},
		"upsample_linear1d.vec":                {op: "interpolate", rename: resized, add: map[string]any{"mode": "linear"}},
		"upsample_trilinear3d.vec":             {op: "interpolate", rename: resized, add: map[string]any{"mode": "trilinear"}},
		"_upsample_nearest_exact1d.vec":        {op: "interpolate", rename: resized, add: map[string]any{"mode": "nearest-exact"}},
		"_upsample_nearest_exact2d.vec":        {op: "interpolate", rename: resized, add: map[string]any{"mode": "nearest-exact"}},
		"_upsample_nearest_exact3d.vec":        {op: "interpolate", rename: resized, add: map[string]any{"mode": "nearest-exact"}},
	}
}

// gradient is what the derivatives call the gradient of a result.
var gradient = map[string]string{"grad_output": "grad"}

// strideOfKernel gives the stride of a pooling that has none the sizes of its kernel.
func strideOfKernel(args map[string]ops.Arg) {
	if s, ok := args["stride"].([]sym.Int); ok && len(s) == 0 {
		args["stride"] = args["kernel_size"]
	}
}

var resized = map[string]string{"output_size": "size", "scale_factors": "scale_factor"}

// noPadding takes away a padding_idx that means none.
func noPadding(args map[string]ops.Arg) {
	if i, ok := args["padding_idx"].(sym.Int); ok {
		if c, isConst := i.IsConst(); isConst && c < 0 {
			delete(args, "padding_idx")
		}
	}
}

// unbiased makes the flag of Bessel's correction its number.
func unbiased(args map[string]ops.Arg) {
	if b, ok := args["correction"].(bool); ok {
		args["correction"] = sym.C(0)
		if b {
			args["correction"] = sym.C(1)
		}
	}
}

// meaningless are arguments that ours lack because they change no result, with the
// values that they may have; nil: any.
var meaningless = map[string][]any{
	"pin_memory": {nil, false}, "layout": {nil, stridedLayout}, "non_blocking": nil, "cudnn_enabled": nil, "cudnn_enable": nil,
	"generator": {nil},
	"inplace":   {false}, "size_average": {nil}, "reduce": {nil}, "_stacklevel": nil, "requires_grad": {nil, false},
	"path": {nil}, "implicit": nil, "copy": {nil, false}, "memory_format": {nil, "contiguous_format", "preserve_format"},
	"device": {nil, ops.CPU}, "dtype": {nil},
}

// atenRow finds our operator for torch.ops.aten.NAME.OVERLOAD, and how it differs.
func atenRow(target string, table map[string]rule) (*ops.Op, rule, error) {
	full, ok := cutAten(target)
	if !ok {
		return nil, rule{}, &Unsupported{Op: shortTarget(target)}
	}
	name, overload, _ := strings.Cut(full, ".")
	r, ok := table[full]
	if !ok {
		r = table[name]
	}
	if r.op != "" {
		name = r.op
	}
	if family, rest, ok := strings.Cut(name, "_"); ok && (family == "linalg" || family == "fft" || family == "special") {
		if _, ours := ops.Lookup(family + "." + rest); ours {
			name = family + "." + rest
		}
	}
	row, ok := ops.Lookup(name + "." + overload)
	if !ok {
		row, ok = ops.Lookup(name)
	}
	if !ok || row.Tags.Has(ops.TagDataDependent) {
		return nil, r, &Unsupported{Op: shortTarget(target)}
	}
	return row, r, nil
}

// cutAten is the name of an operator of aten with its overload.
func cutAten(target string) (string, bool) { return strings.CutPrefix(target, "torch.ops.aten.") }

// shortTarget is a target as PyTorch prints it: aten.add.Tensor.
func shortTarget(target string) string { return strings.TrimPrefix(target, "torch.ops.") }

// bindCall binds a node's arguments to our operator.
func bindCall(n *Node, row *ops.Op, r rule, args map[string]ops.Arg) ([]ops.Arg, error) {
	params := map[string]*ops.Param{}
	list := row.Params()
	for i := range list {
		params[list[i].Name] = &list[i]
	}
	kw := map[string]ops.Arg{}
	for theirs, a := range args {
		ours := theirs
		if to, ok := r.rename[theirs]; ok {
			ours = to
		}
		if other := secondNames[ours]; params[ours] == nil && params[other] != nil {
			ours = other
		}
		p := params[ours]
		if p == nil {
			if err := lacks(theirs, a, r); err != nil {
				return nil, &Unsupported{Op: shortTarget(n.Target), Why: err.Error()}
			}
			continue
		}
		kw[ours] = fit(p, a)
	}
	for name, a := range r.add {
		kw[name] = a
	}
	if r.edit != nil {
		r.edit(kw)
	}
	if d, ok := kw["device"].(ops.Device); ok && d != ops.CPU {
		return nil, fmt.Errorf("%s is on the device %s: export the model on the CPU", shortTarget(n.Target), d)
	}
	bound, err := ops.Bind(row, nil, kw)
	if err != nil {
		return nil, &Unsupported{Op: shortTarget(n.Target), Why: err.Error()}
	}
	return bound, nil
}

// secondNames are what ours call arguments of aten: the first is self or input, and linalg writes letters.
var secondNames = map[string]string{"self": "input", "input": "self", "A": "self", "B": "other"}

// lacks says whether an argument that our operator does not have can be left out.
func lacks(name string, a ops.Arg, r rule) error {
	if want, ok := r.only[name]; ok {
		if number(a) == number(want) {
			return nil
		}
		return fmt.Errorf("%s=%v is not supported", name, a)
	}
	allowed, known := meaningless[name]
	if !known {
		return fmt.Errorf("it has no argument %s", clip(name))
	}
	if allowed == nil {
		return nil
	}
	for _, v := range allowed {
		if a == v {
			return nil
		}
	}
	return fmt.Errorf("%s=%v is not supported", name, a)
}

// number makes numbers comparable: 1 and 1.0 are equal.
func number(a any) any {
	switch x := a.(type) {
	case int64:
		return float64(x)
	case sym.Int:
		if c, ok := x.IsConst(); ok {
			return float64(c)
		}
		return nil
	}
	return a
}

// reductions are PyTorch's by their numbers.
var reductions = []string{"none", "mean", "sum"}

// fit brings an argument into the form that a parameter of ours wants.
func fit(p *ops.Param, a ops.Arg) ops.Arg {
	if p.Name == "reduction" && p.Base() == "str" {
		if i, ok := a.(sym.Int); ok {
			if c, isConst := i.IsConst(); isConst && c >= 0 && int(c) < len(reductions) {
				return reductions[c]
			}
		}
	}
	return a
}

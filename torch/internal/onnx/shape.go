package onnx

import (
	"math"
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/export"
)

// This file is rules of what moves and makes tensors.

func sizeOf(s export.Size) sym.Int {
	if s.Expr == "" {
		return sym.Const(s.Value)
	}
	return sym.Const(2)
}

// asIs gives what it reads.
func asIs(k *call) string { return k.x() }

// reshape has sizes that the call says, of which -1 is computed.
func reshape(arg string) rule {
	return one(func(k *call) string {
		list, ok := k.args[arg].([]export.Arg)
		if !ok {
			refuse("%s is no list", arg)
		}
		return k.emit("Reshape", attrs{"allowzero": 1}, k.t("self"), k.vector(list))
	})
}

// flattened merges dimensions; sizes of the others are read off the input.
func flattened(k *call) string {
	t := k.in("self")
	rank := len(t.Shape)
	if rank == 0 {
		return k.emit("Reshape", nil, k.t("self"), k.intVector(1))
	}
	from, to := dim(k.int("start_dim"), rank), dim(k.int("end_dim"), rank)
	var list []string
	x := k.t("self")
	if from > 0 {
		list = append(list, k.emit("Shape", attrs{"start": 0, "end": from}, x))
	}
	list = append(list, k.intVector(-1))
	if to < rank-1 {
		list = append(list, k.emit("Shape", attrs{"start": to + 1}, x))
	}
	if len(list) == 1 {
		return k.emit("Reshape", nil, x, list[0])
	}
	return k.emit("Reshape", attrs{"allowzero": 1}, x, k.emit("Concat", attrs{"axis": 0}, list...))
}

func unflatten(k *call) string {
	t := k.in("self")
	d := dim(k.int("dim"), len(t.Shape))
	sizes, _ := k.args["sizes"].([]export.Arg)
	x := k.t("self")
	list := []string{k.vector(sizes)}
	if d > 0 {
		list = append([]string{k.emit("Shape", attrs{"start": 0, "end": d}, x)}, list...)
	}
	if d < len(t.Shape)-1 {
		list = append(list, k.emit("Shape", attrs{"start": d + 1}, x))
	}
	return k.emit("Reshape", attrs{"allowzero": 1}, x, k.emit("Concat", attrs{"axis": 0}, list...))
}

func swapped(rank, a, b int) []int {
	perm := all(rank)
	perm[a], perm[b] = perm[b], perm[a]
	return perm
}

func transpose(first, second string) rule {
	return one(func(k *call) string {
		rank := len(k.in("self").Shape)
		if rank < 2 {
			return k.t("self")
		}
		return k.emit("Transpose", attrs{"perm": swapped(rank, dim(k.int(first), rank), dim(k.int(second), rank))}, k.t("self"))
	})
}

func expand(k *call) string {
	list, _ := k.args["size"].([]export.Arg)
	list = slices.Clone(list)
	for i, a := range list {
		if a == export.Arg(int64(-1)) {
			list[i] = int64(1) // Expand keeps the size of the input where 1 is asked for
		}
	}
	return k.emit("Expand", nil, k.t("self"), k.vector(list))
}

// cut is a range of one dimension.
func (k *call) cut(from, to export.Arg, d, step int) string {
	return k.emit("Slice", nil, k.t("self"), k.size(from), k.size(to), k.intVector(d), k.intVector(step))
}

func slice(k *call) string {
	from, to := k.args["start"], k.args["end"]
	if from == nil {
		from = int64(0)
	}
	if to == nil {
		to = int64(math.MaxInt64)
	}
	return k.cut(from, to, dim(k.int("dim"), len(k.in("self").Shape)), k.int("step"))
}

func narrow(k *call) string {
	from := k.args["start"]
	a, ok1 := from.(int64)
	n, ok2 := k.args["length"].(int64)
	if ok1 && a < 0 {
		refuse("a start from the end")
	}
	d := dim(k.int("dim"), len(k.in("self").Shape))
	if ok1 && ok2 {
		return k.cut(from, a+n, d, 1)
	}
	end := k.emit("Add", nil, k.size(from), k.size(k.args["length"]))
	return k.emit("Slice", nil, k.t("self"), k.size(from), end, k.intVector(d), k.intVector(1))
}

func selected(k *call) string {
	d := dim(k.int("dim"), len(k.in("self").Shape))
	i, ok := k.args["index"].(int64)
	if !ok {
		refuse("index is no constant")
	}
	return k.emit("Gather", attrs{"axis": d}, k.t("self"), k.constant(ops.Int64, nil, float64(i)))
}

func squeeze(k *call) string {
	t := k.in("self")
	axes := all(len(t.Shape))
	if k.args["dim"] != nil {
		axes = dims(k.ints("dim", 1), len(t.Shape))
	}
	axes = slices.DeleteFunc(axes, func(a int) bool { return a >= len(t.Shape) || t.Shape[a].Expr != "" || t.Shape[a].Value != 1 })
	if len(axes) == 0 {
		return k.t("self")
	}
	return k.emit("Squeeze", nil, k.t("self"), k.intVector(axes...))
}

// pieces cuts a dimension into pieces of known lengths, those of the results.
func pieces(k *call) []string {
	d := 0
	if k.args["dim"] != nil {
		d = dim(k.int("dim"), len(k.in("self").Shape))
	}
	names := resultsOf(k.n)
	var lengths []int
	for _, name := range names {
		s := k.p.Value(name).Shape[d]
		if s.Expr != "" {
			refuse("pieces of a dynamic size")
		}
		lengths = append(lengths, int(s.Value))
	}
	outs := make([]string, len(names))
	for i := range outs {
		outs[i] = k.name("piece")
	}
	k.emitTo("Split", attrs{"axis": d}, []string{k.t("self"), k.intVector(lengths...)}, outs...)
	return outs
}

func unbind(k *call) []string {
	d := dim(k.int("dim"), len(k.in("self").Shape))
	var outs []string
	for i := range resultsOf(k.n) {
		outs = append(outs, k.emit("Gather", attrs{"axis": d}, k.t("self"), k.constant(ops.Int64, nil, float64(i))))
	}
	return outs
}

// same dtypes: cat and stack promote what they join.
func (k *call) promotedList(arg string) []string {
	d := k.out().DType
	names := k.list(arg)
	list, _ := k.args[arg].([]export.Arg)
	for i := range names {
		ref, _ := list[i].(export.Ref)
		names[i] = k.cast(names[i], k.p.Value(string(ref)).DType, d)
	}
	return names
}

func stack(k *call) string {
	axis := dim(k.int("dim"), len(k.out().Shape))
	names := k.promotedList("tensors")
	for i := range names {
		names[i] = k.emit("Unsqueeze", nil, names[i], k.intVector(axis))
	}
	return k.emit("Concat", attrs{"axis": axis}, names...)
}

// filled is a tensor of one number, of the shape that a vector says.
func (k *call) filled(shape string, v float64) string {
	return k.emit("Expand", nil, k.scalar(k.out().DType, v), shape)
}

func fill(v float64) rule {
	return one(func(k *call) string {
		value := v
		if k.args["fill_value"] != nil {
			value = k.number("fill_value")
		}
		if k.args["self"] != nil {
			return k.filled(k.emit("Shape", nil, k.t("self")), value)
		}
		list, _ := k.args["size"].([]export.Arg)
		return k.filled(k.vector(list), value)
	})
}

func arange(k *call) string {
	d := k.out().DType
	at := func(arg string, def float64) string {
		if k.args[arg] == nil {
			return k.scalar(d, def)
		}
		return k.operand(arg, d)
	}
	if d != ops.Float32 && d != ops.Float64 && d != ops.Int64 && d != ops.Int32 && d != ops.Int16 {
		refuse("of %s", d)
	}
	return k.emit("Range", nil, at("start", 0), at("end", 0), at("step", 1))
}

// triangle is tril and triu.
func triangle(upper int) rule {
	return one(func(k *call) string {
		return k.emit("Trilu", attrs{"upper": upper}, k.t("self"), k.constant(ops.Int64, nil, float64(k.int("diagonal"))))
	})
}

// index takes rows by one tensor of places; more of them have no form that fits all cases.
func index(k *call) string {
	list, _ := k.args["indices"].([]export.Arg)
	at := -1
	for i, a := range list {
		if a == nil {
			continue
		}
		ref, _ := a.(export.Ref)
		if t := k.p.Value(string(ref)); t == nil || t.DType == ops.Bool || at >= 0 {
			refuse("of several places or of truth values")
		}
		at = i
	}
	if at < 0 {
		return k.t("self")
	}
	return k.emit("Gather", attrs{"axis": at}, k.t("self"), k.ref(list[at]))
}

// shapeRules are those of this file.
func shapeRules() map[string]rule {
	return map[string]rule{
		"view.default": reshape("size"), "reshape": reshape("shape"), "_unsafe_view": reshape("size"),
		"flatten.using_ints": one(flattened), "unflatten.int": one(unflatten),
		"view_as": one(func(k *call) string { return k.emit("Reshape", nil, k.t("self"), k.emit("Shape", nil, k.t("other"))) }),
		"expand_as": one(func(k *call) string {
			return k.emit("Expand", nil, k.t("self"), k.emit("Shape", nil, k.t("other")))
		}),
		"transpose.int": transpose("dim0", "dim1"), "swapaxes": transpose("axis0", "axis1"), "swapdims": transpose("dim0", "dim1"),
		"t": one(func(k *call) string {
			if len(k.in("self").Shape) < 2 {
				return k.t("self")
			}
			return k.emit("Transpose", attrs{"perm": []int{1, 0}}, k.t("self"))
		}),
		"permute": one(func(k *call) string {
			return k.emit("Transpose", attrs{"perm": dims(k.ints("dims", 1), len(k.in("self").Shape))}, k.t("self"))
		}),
		"expand": one(expand), "slice.Tensor": one(slice), "narrow.default": one(narrow), "select.int": one(selected),
		"unsqueeze": one(func(k *call) string {
			return k.emit("Unsqueeze", nil, k.t("self"), k.intVector(dim(k.int("dim"), len(k.in("self").Shape)+1)))
		}),
		"squeeze": one(squeeze), "chunk": pieces, "split": pieces, "split_with_sizes": pieces, "unbind.int": unbind,
		"cat": one(func(k *call) string {
			return k.emit("Concat", attrs{"axis": dim(k.int("dim"), len(k.out().Shape))}, k.promotedList("tensors")...)
		}),
		"stack": one(stack),
		"repeat": one(func(k *call) string {
			t, list := k.in("self"), k.args["repeats"].([]export.Arg)
			x := k.t("self")
			for range len(list) - len(t.Shape) {
				x = k.emit("Unsqueeze", nil, x, k.intVector(0))
			}
			return k.emit("Tile", nil, x, k.vector(list))
		}),
		"contiguous": one(asIs), "clone": one(asIs), "detach": one(asIs), "alias": one(asIs), "lift_fresh_copy": one(asIs),
		"lift_fresh": one(asIs),
		"to":         one(asIs), "positive": one(asIs),
		"zeros": fill(0), "ones": fill(1), "full": fill(0), "zeros_like": fill(0), "ones_like": fill(1), "full_like": fill(0),
		"new_zeros": fill(0), "new_ones": fill(1), "new_full": fill(0), "arange": one(arange),
		"scalar_tensor": one(func(k *call) string { return k.scalar(k.out().DType, k.number("s")) }),
		"tril":          triangle(0), "triu": triangle(1), "index.Tensor": one(index),
		"index_select": one(func(k *call) string {
			return k.emit("Gather", attrs{"axis": dim(k.int("dim"), len(k.in("self").Shape))}, k.t("self"), k.t("index"))
		}),
		"gather": one(func(k *call) string {
			return k.emit("GatherElements", attrs{"axis": dim(k.int("dim"), len(k.in("self").Shape))}, k.t("self"), k.t("index"))
		}),
		"embedding": one(func(k *call) string { return k.emit("Gather", attrs{"axis": 0}, k.t("weight"), k.t("indices")) }),
	}
}

package onnx

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/export"
)

// This file is rules of what layers compute: products, convolutions, normalisations, pooling, attention.

func linear(k *call) string {
	if len(k.in("weight").Shape) != 2 {
		refuse("a weight that is no matrix")
	}
	x, w := k.t("input"), k.t("weight")
	bias := k.t("bias")
	if len(k.in("input").Shape) == 2 && bias != "" {
		return k.emit("Gemm", attrs{"transB": 1}, x, w, bias)
	}
	y := k.emit("MatMul", nil, x, k.emit("Transpose", attrs{"perm": []int{1, 0}}, w))
	if bias != "" {
		y = k.emit("Add", nil, y, bias)
	}
	return y
}

func product(first, second string) rule {
	return one(func(k *call) string { return k.emit("MatMul", nil, k.t(first), k.t(second)) })
}

func addmm(k *call) string {
	a := attrs{"alpha": float32(k.number("alpha")), "beta": float32(k.number("beta"))}
	return k.emit("Gemm", a, k.t("mat1"), k.t("mat2"), k.t("self"))
}

func baddbmm(k *call) string {
	d := k.out().DType
	y := k.emit("Mul", nil, k.emit("MatMul", nil, k.t("batch1"), k.t("batch2")), k.scalar(d, k.number("alpha")))
	return k.emit("Add", nil, y, k.emit("Mul", nil, k.t("self"), k.scalar(d, k.number("beta"))))
}

func outer(k *call) string {
	d := k.out().DType
	a := k.emit("Unsqueeze", nil, k.operand("self", d), k.intVector(1))
	return k.emit("Mul", nil, a, k.emit("Unsqueeze", nil, k.operand("vec2", d), k.intVector(0)))
}

// batched gives images a batch of one where they have none, and takes it away again.
func (k *call) batched(arg string, space int, f func(x string) string) string {
	x := k.t(arg)
	if len(k.in(arg).Shape) == space+2 {
		return f(x)
	}
	return k.emit("Squeeze", nil, f(k.emit("Unsqueeze", nil, x, k.intVector(0))), k.intVector(0))
}

func conv(space int) rule {
	return one(func(k *call) string {
		a := attrs{"strides": k.ints("stride", space), "dilations": k.ints("dilation", space), "group": k.int("groups")}
		switch pad := k.args["padding"].(type) {
		case string:
			if pad == "valid" {
				break
			}
			kernel, pads := k.in("weight").Shape[2:], make([]int, 2*space)
			for i, s := range kernel {
				total := k.ints("dilation", space)[i] * (int(s.Value) - 1)
				pads[i], pads[space+i] = total/2, total-total/2
			}
			a["pads"] = pads
		default:
			p := k.ints("padding", space)
			a["pads"] = append(p[:space:space], p...)
		}
		inputs := []string{k.t("weight")}
		if b := k.t("bias"); b != "" {
			inputs = append(inputs, b)
		}
		return k.batched("input", space, func(x string) string { return k.emit("Conv", a, append([]string{x}, inputs...)...) })
	})
}

// convolution is that of core aten, which says whether it is transposed.
func convolution(k *call) []string {
	space := len(k.in("weight").Shape) - 2
	if k.bool("transposed") {
		return convTranspose(space)(k)
	}
	return conv(space)(k)
}

func convTranspose(space int) rule {
	return one(func(k *call) string {
		p := k.ints("padding", space)
		a := attrs{
			"strides": k.ints("stride", space), "dilations": k.ints("dilation", space), "group": k.int("groups"),
			"pads": append(p[:space:space], p...), "output_padding": k.ints("output_padding", space),
		}
		inputs := []string{k.t("weight")}
		if b := k.t("bias"); b != "" {
			inputs = append(inputs, b)
		}
		return k.batched("input", space, func(x string) string { return k.emit("ConvTranspose", a, append([]string{x}, inputs...)...) })
	})
}

// orConst is the tensor of an argument, or numbers of the shape where there is none.
func (k *call) orConst(arg string, d ops.DType, n int64, v float64) string {
	if x := k.t(arg); x != "" {
		return x
	}
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return k.constant(d, []int64{n}, list...)
}

func batchNorm(k *call) []string {
	if k.bool("training") || k.t("running_mean") == "" {
		refuse("training: call nn.Eval before the export")
	}
	t := k.in("input")
	channels := t.Shape[1].Value
	y := k.emit("BatchNormalization", attrs{"epsilon": float32(k.number("eps"))}, k.t("input"), k.orConst("weight", t.DType, channels, 1),
		k.orConst("bias", t.DType, channels, 0), k.t("running_mean"), k.t("running_var"))
	if len(resultsOf(k.n)) == 1 {
		return []string{y}
	}
	none := k.constant(t.DType, []int64{0})
	return []string{y, none, none}
}

func layerNorm(k *call) string {
	t := k.in("input")
	shape := k.ints("normalized_shape", 1)
	if len(shape) != 1 && k.t("weight") == "" {
		refuse("of several dimensions without a weight")
	}
	in := []string{k.t("input"), k.orConst("weight", t.DType, int64(shape[0]), 1)}
	if b := k.t("bias"); b != "" {
		in = append(in, b)
	}
	return k.emit("LayerNormalization", attrs{"axis": len(t.Shape) - len(shape), "epsilon": float32(k.number("eps"))}, in...)
}

// rmsNorm scales by the root of the mean square.
func rmsNorm(k *call) string {
	t := k.in("input")
	x, n := k.t("input"), len(k.ints("normalized_shape", 1))
	axes := all(len(t.Shape))[len(t.Shape)-n:]
	eps := 1.1920928955078125e-07
	if k.args["eps"] != nil {
		eps = k.number("eps")
	}
	mean := k.emit("ReduceMean", attrs{"keepdims": 1}, k.emit("Mul", nil, x, x), k.intVector(axes...))
	y := k.emit("Div", nil, x, k.emit("Sqrt", nil, k.emit("Add", nil, mean, k.scalar(t.DType, eps))))
	if w := k.t("weight"); w != "" {
		y = k.emit("Mul", nil, y, w)
	}
	return y
}

// groupNorm normalises groups as instances, and scales channels.
func groupNorm(k *call) string {
	t := k.in("input")
	groups, d := k.int("num_groups"), t.DType
	grouped := k.emit("Reshape", nil, k.t("input"), k.intVector(0, groups, -1))
	y := k.emit("InstanceNormalization", attrs{"epsilon": float32(k.number("eps"))}, grouped,
		k.orConst("none", d, int64(groups), 1), k.orConst("none", d, int64(groups), 0))
	y = k.emit("Reshape", attrs{"allowzero": 1}, y, k.emit("Shape", nil, k.t("input")))
	wide := func(x string) string {
		shape := []int{-1}
		for range len(t.Shape) - 2 {
			shape = append(shape, 1)
		}
		return k.emit("Reshape", nil, x, k.intVector(shape...))
	}
	if w := k.t("weight"); w != "" {
		y = k.emit("Mul", nil, y, wide(w))
	}
	if b := k.t("bias"); b != "" {
		y = k.emit("Add", nil, y, wide(b))
	}
	return y
}

// window are the attributes of a pooling.
func (k *call) window(space int) attrs {
	kernel := k.ints("kernel_size", space)
	stride := kernel
	if l, ok := k.args["stride"].([]export.Arg); !ok || len(l) > 0 {
		stride = k.ints("stride", space)
	}
	p := k.ints("padding", space)
	a := attrs{"kernel_shape": kernel, "strides": stride, "pads": append(p[:space:space], p...)}
	if k.bool("ceil_mode") {
		a["ceil_mode"] = 1
	}
	return a
}

func maxPool(space int) rule {
	return one(func(k *call) string {
		a := k.window(space)
		a["dilations"] = k.ints("dilation", space)
		return k.batched("self", space, func(x string) string { return k.emit("MaxPool", a, x) })
	})
}

// placedPool is max_pool2d_with_indices where nobody reads the places.
func placedPool(k *call) []string {
	places := resultsOf(k.n)[1]
	if k.read(places) {
		refuse("whose places are read")
	}
	none := k.constant(ops.Int64, []int64{0})
	return append(maxPool(2)(k), none)
}

func avgPool(space int) rule {
	return one(func(k *call) string {
		a := k.window(space)
		if k.args["divisor_override"] != nil {
			refuse("divisor_override")
		}
		if k.bool("ceil_mode") {
			refuse("ceil_mode")
		}
		if k.bool("count_include_pad") {
			a["count_include_pad"] = 1
		}
		return k.batched("self", space, func(x string) string { return k.emit("AveragePool", a, x) })
	})
}

// adaptive averages windows, which overlap where the sizes do not divide: a product with a matrix for each dimension.
func adaptive(space int) rule {
	return one(func(k *call) string {
		to, t := k.ints("output_size", space), k.in("self")
		from := t.Shape[len(t.Shape)-space:]
		return k.batched("self", space, func(x string) string {
			if same(to, 1) {
				return k.emit("GlobalAveragePool", nil, x)
			}
			for i, s := range from {
				if s.Expr != "" {
					refuse("of a dynamic size")
				}
				if i == space-1 { // the last dimension: from the right
					x = k.emit("MatMul", nil, x, k.averages(t.DType, int(s.Value), to[i], true))
				} else {
					x = k.emit("MatMul", nil, k.averages(t.DType, int(s.Value), to[i], false), x)
				}
			}
			return x
		})
	})
}

// averages is the matrix that averages windows of n values to m values; right: to be multiplied from the right.
func (k *call) averages(d ops.DType, n, m int, right bool) string {
	v := make([]float64, n*m)
	for i := range m {
		begin, end := i*n/m, ((i+1)*n+m-1)/m
		for j := begin; j < end; j++ {
			at := i*n + j
			if right {
				at = j*m + i
			}
			v[at] = 1 / float64(end-begin)
		}
	}
	if right {
		return k.constant(d, []int64{int64(n), int64(m)}, v...)
	}
	return k.constant(d, []int64{int64(m), int64(n)}, v...)
}

func pad(k *call) string {
	t := k.in("self")
	list := k.ints("pad", 1)
	pads := make([]int, 2*len(t.Shape))
	for i := range len(list) / 2 {
		d := len(t.Shape) - 1 - i
		pads[d], pads[len(t.Shape)+d] = list[2*i], list[2*i+1]
	}
	mode, _ := k.args["mode"].(string)
	as := map[string]string{"": "constant", "constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
	if as == "" || as == "wrap" {
		refuse("mode=%s", mode)
	}
	in := []string{k.t("self"), k.intVector(pads...)}
	if as == "constant" {
		v := 0.0
		if k.args["value"] != nil {
			v = k.number("value")
		}
		in = append(in, k.scalar(t.DType, v))
	}
	return k.emit("Pad", attrs{"mode": as}, in...)
}

// attention is scaled_dot_product_attention, of its parts.
func attention(k *call) string {
	t := k.in("query")
	rank, d := len(t.Shape), t.DType
	if k.number("dropout_p") != 0 || k.bool("enable_gqa") {
		refuse("dropout_p or enable_gqa")
	}
	width := t.Shape[rank-1]
	if width.Expr != "" {
		refuse("a dynamic head size")
	}
	scale := 1 / math.Sqrt(float64(width.Value))
	if k.args["scale"] != nil {
		scale = k.number("scale")
	}
	q := k.emit("Mul", nil, k.t("query"), k.scalar(d, scale))
	scores := k.emit("MatMul", nil, q, k.emit("Transpose", attrs{"perm": swapped(rank, rank-1, rank-2)}, k.t("key")))
	low := func() string { return k.scalar(d, math.Inf(-1)) }
	if k.bool("is_causal") {
		one := k.constant(ops.Bool, nil, 1)
		shape := k.emit("Shape", attrs{"start": rank - 2}, scores)
		lower := k.emit("Trilu", attrs{"upper": 0}, k.cast(k.emit("Expand", nil, one, shape), ops.Bool, ops.Int64))
		scores = k.emit("Where", nil, k.cast(lower, ops.Int64, ops.Bool), scores, low())
	}
	if m := k.meta("attn_mask"); m != nil && m.DType == ops.Bool {
		scores = k.emit("Where", nil, k.t("attn_mask"), scores, low())
	} else if m != nil {
		scores = k.emit("Add", nil, scores, k.operand("attn_mask", d))
	}
	return k.emit("MatMul", nil, k.emit("Softmax", attrs{"axis": rank - 1}, scores), k.t("value"))
}

func dropout(k *call) string {
	if k.bool("train") && k.number("p") > 0 {
		refuse("training: call nn.Eval before the export")
	}
	return k.t("input")
}

func resize(mode string) rule {
	return one(func(k *call) string {
		a := attrs{"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
		if mode == "linear" {
			a = attrs{"mode": mode, "coordinate_transformation_mode": "half_pixel"}
			if k.bool("align_corners") {
				a["coordinate_transformation_mode"] = "align_corners"
			}
		}
		t := k.out()
		shape := k.in("input").Shape
		to := k.emit("Shape", attrs{"start": 0, "end": 2}, k.t("input"))
		var list []int
		for _, s := range t.Shape[2:] {
			if s.Expr != "" {
				refuse("to a dynamic size")
			}
			list = append(list, int(s.Value))
		}
		if l, ok := k.args["scale_factors"].([]export.Arg); ok && len(l) > 0 {
			for i, s := range shape[2:] {
				f, _ := l[i].(float64)
				if s.Expr != "" || float64(s.Value)*f != float64(list[i]) {
					refuse("scale factors that give no whole sizes")
				}
			}
		}
		return k.emit("Resize", a, k.t("input"), "", "", k.emit("Concat", attrs{"axis": 0}, to, k.intVector(list...)))
	})
}

// layerRules are those of this file.
func layerRules() map[string]rule {
	return map[string]rule{
		"linear": one(linear), "matmul": product("self", "other"), "mm": product("self", "mat2"), "bmm": product("self", "mat2"),
		"mv": product("self", "vec"), "dot": product("self", "tensor"), "addmm": one(addmm), "baddbmm": one(baddbmm), "outer": one(outer),
		"conv1d": conv(1), "conv2d": conv(2), "conv3d": conv(3),
		"conv_transpose1d": convTranspose(1), "conv_transpose2d.input": convTranspose(2),
		"batch_norm": batchNorm, "_native_batch_norm_legit_no_training": noTraining,
		"layer_norm": one(layerNorm), "rms_norm": one(rmsNorm), "group_norm": one(groupNorm),
		"convolution": convolution, "max_pool2d_with_indices": placedPool, "_adaptive_avg_pool2d": adaptive(2),
		"max_pool1d": maxPool(1), "max_pool2d": maxPool(2), "avg_pool1d": avgPool(1), "avg_pool2d": avgPool(2),
		"adaptive_avg_pool1d": adaptive(1),
		"adaptive_avg_pool2d": adaptive(2),
		"pad":                 one(pad), "constant_pad_nd": one(pad),
		"scaled_dot_product_attention": one(attention), "dropout": one(dropout),
		"upsample_nearest2d.vec": resize("nearest"), "upsample_bilinear2d.vec": resize("linear"),
		"pixel_shuffle": one(func(k *call) string {
			return k.emit("DepthToSpace", attrs{"blocksize": k.int("upscale_factor"), "mode": "CRD"}, k.t("self"))
		}),
	}
}

func noTraining(k *call) []string {
	k.args["training"] = false
	return batchNorm(k)
}

package onnx

import (
	"math"
	"slices"

	"tcdbg/ops"
)

// This file is rules of pointwise operators, comparisons and reductions.

// one makes a rule that gives one result.
func one(f func(k *call) string) rule { return func(k *call) []string { return []string{f(k)} } }

// unary is an operator of ONNX with the same meaning, computed in the dtype of the result.
func unary(op string) rule {
	return one(func(k *call) string { return k.emit(op, nil, k.x()) })
}

// x is the tensor that a pointwise call reads, in the dtype of its result.
func (k *call) x() string {
	arg := "self"
	if k.args[arg] == nil {
		arg = "input"
	}
	return k.operand(arg, k.out().DType)
}

// pair is an operator of two operands, in the dtype of the result.
func pair(op string) rule {
	return one(func(k *call) string {
		d := k.out().DType
		return k.emit(op, nil, k.operand("self", d), k.scaled("other", d))
	})
}

// scaled is an operand times alpha.
func (k *call) scaled(arg string, d ops.DType) string {
	x := k.operand(arg, d)
	if k.args["alpha"] == nil || k.number("alpha") == 1 {
		return x
	}
	return k.emit("Mul", nil, x, k.scalar(d, k.number("alpha")))
}

// typed is a tensor of which rules ask the dtype.
type typed struct{ meta *ops.TensorMeta }

// TensorMeta implements ops.Value.
func (t typed) TensorMeta() *ops.TensorMeta { return t.meta }

// promoted is the dtype in which two operands are compared.
func (k *call) promoted(args ...string) ops.DType {
	var list []ops.Arg
	for _, arg := range args {
		t := k.meta(arg)
		if t == nil {
			list = append(list, k.args[arg])
			continue
		}
		m := &ops.TensorMeta{DType: t.DType}
		for _, s := range t.Shape {
			m.Shape = append(m.Shape, sizeOf(s))
		}
		list = append(list, typed{m})
	}
	return ops.ResultType(list...)
}

// comparison is an operator whose result is a truth value.
func comparison(op string, not bool) rule {
	return one(func(k *call) string {
		d := k.promoted("self", "other")
		if d == ops.Bool && op != "Equal" {
			d = ops.Int32
		}
		y := k.emit(op, nil, k.operand("self", d), k.operand("other", d))
		if not {
			y = k.emit("Not", nil, y)
		}
		return y
	})
}

// logical is an operator of truth values.
func logical(op string) rule {
	return one(func(k *call) string {
		return k.emit(op, nil, k.operand("self", ops.Bool), k.operand("other", ops.Bool))
	})
}

// bitwise is logical on truth values; whole numbers have an operator of their own.
func bitwise(op, whole string) rule {
	return one(func(k *call) string {
		if d := k.out().DType; d != ops.Bool {
			return k.emit(whole, nil, k.operand("self", d), k.operand("other", d))
		}
		return k.emit(op, nil, k.operand("self", ops.Bool), k.operand("other", ops.Bool))
	})
}

// chain computes one result of the operand and numbers.
func chain(f func(k *call, x string, number func(float64) string) string) rule {
	return one(func(k *call) string {
		d := k.out().DType
		return f(k, k.x(), func(v float64) string { return k.scalar(d, v) })
	})
}

func div(k *call) string {
	d := k.out().DType
	mode, _ := k.args["rounding_mode"].(string)
	y := k.emit("Div", nil, k.operand("self", d), k.operand("other", d))
	switch {
	case mode == "":
		return y
	case d.IsFloat() && mode == "floor":
		return k.emit("Floor", nil, y)
	}
	refuse("rounding_mode=%s of %s", mode, d)
	return ""
}

func clamp(k *call) string {
	d := k.out().DType
	y := k.x()
	if k.args["min"] != nil {
		y = k.emit("Max", nil, y, k.operand("min", d))
	}
	if k.args["max"] != nil {
		y = k.emit("Min", nil, y, k.operand("max", d))
	}
	return y
}

func gelu(k *call, x string, v func(float64) string) string {
	var inner string
	if k.args["approximate"] == "tanh" {
		cube := k.emit("Mul", nil, k.emit("Mul", nil, x, x), x)
		sum := k.emit("Add", nil, x, k.emit("Mul", nil, cube, v(0.044715)))
		inner = k.emit("Tanh", nil, k.emit("Mul", nil, sum, v(math.Sqrt(2/math.Pi))))
	} else {
		inner = k.emit("Erf", nil, k.emit("Mul", nil, x, v(math.Sqrt2/2)))
	}
	return k.emit("Mul", nil, k.emit("Mul", nil, x, v(0.5)), k.emit("Add", nil, inner, v(1)))
}

func softplus(k *call, x string, v func(float64) string) string {
	scaled := k.emit("Mul", nil, x, v(k.number("beta")))
	soft := k.emit("Div", nil, k.emit("Softplus", nil, scaled), v(k.number("beta")))
	return k.emit("Where", nil, k.emit("Greater", nil, scaled, v(k.number("threshold"))), x, soft)
}

// power is self to the exponent.
func power(k *call) string {
	d := k.out().DType
	return k.emit("Pow", nil, k.operand("self", d), k.operand("exponent", d))
}

// reduce folds dimensions away by an operator that takes them as an input, or as an attribute.
func reduce(op string, asInput bool) rule {
	return one(func(k *call) string {
		axes := k.axes()
		x := k.operand("self", k.out().DType)
		a := attrs{"keepdims": 0}
		if k.bool("keepdim") {
			a["keepdims"] = 1
		}
		if len(axes) == 0 {
			return k.emit("Identity", nil, x)
		}
		if asInput {
			return k.emit(op, a, x, k.intVector(axes...))
		}
		a["axes"] = axes
		return k.emit(op, a, x)
	})
}

// axes are the dimensions that a reduction folds.
func (k *call) axes() []int {
	rank := len(k.in("self").Shape)
	if k.args["dim"] == nil {
		return all(rank)
	}
	axes := dims(k.ints("dim", 1), rank)
	if len(axes) == 0 || rank == 0 {
		return all(rank)
	}
	return axes
}

// extremum is max.dim: the values and where they are.
func extremum(op, arg string) rule {
	return func(k *call) []string {
		axis, keep := dim(k.int("dim"), len(k.in("self").Shape)), 0
		if k.bool("keepdim") {
			keep = 1
		}
		x := k.t("self")
		return []string{
			k.emit(op, attrs{"keepdims": keep}, x, k.intVector(axis)), k.emit(arg, attrs{"axis": axis, "keepdims": keep}, x),
		}
	}
}

// place is argmax.
func place(op string) rule {
	return one(func(k *call) string {
		x := k.t("self")
		if k.args["dim"] == nil {
			return k.emit(op, attrs{"axis": 0, "keepdims": 0}, k.emit("Reshape", nil, x, k.intVector(-1)))
		}
		keep := 0
		if k.bool("keepdim") {
			keep = 1
		}
		return k.emit(op, attrs{"axis": dim(k.int("dim"), len(k.in("self").Shape)), "keepdims": keep}, x)
	})
}

// norm is the p-norm of dimensions, for 1 and 2.
func norm(arg string) rule {
	return func(k *call) []string {
		op := "ReduceL2"
		if k.args[arg] != nil {
			op = map[float64]string{1: "ReduceL1", 2: "ReduceL2"}[k.number(arg)]
		}
		if op == "" {
			refuse("%s=%v", arg, k.args[arg])
		}
		return reduce(op, true)(k)
	}
}

func variance(k *call, root bool) string {
	d := k.out().DType
	correction := 1.0
	switch v := k.args["unbiased"].(type) {
	case bool:
		if !v {
			correction = 0
		}
	default:
		if k.args["correction"] != nil {
			correction = k.number("correction")
		}
	}
	axes, keep := k.axes(), 0
	if k.bool("keepdim") {
		keep = 1
	}
	n := 1.0
	for _, a := range axes {
		s := k.in("self").Shape[a]
		if s.Expr != "" {
			refuse("over a dynamic size")
		}
		n *= float64(s.Value)
	}
	x := k.operand("self", d)
	off := k.emit("Sub", nil, x, k.emit("ReduceMean", attrs{"keepdims": 1}, x, k.intVector(axes...)))
	sum := k.emit("ReduceSum", attrs{"keepdims": keep}, k.emit("Mul", nil, off, off), k.intVector(axes...))
	y := k.emit("Div", nil, sum, k.scalar(d, max(n-correction, 0)))
	if root {
		y = k.emit("Sqrt", nil, y)
	}
	return y
}

func softmax(op string) rule {
	return one(func(k *call) string {
		t := k.in("self")
		d := t.DType
		if to, ok := k.args["dtype"].(ops.DType); ok {
			d = to
		}
		return k.emit(op, attrs{"axis": dim(k.int("dim"), len(t.Shape))}, k.operand("self", d))
	})
}

// where chooses; a number goes with the dtype of the result.
func where(k *call) string {
	d := k.out().DType
	return k.emit("Where", nil, k.operand("condition", ops.Bool), k.operand("self", d), k.operand("other", d))
}

func maskedFill(k *call) string {
	return k.emit("Where", nil, k.t("mask"), k.operand("value", k.out().DType), k.t("self"))
}

// number is a call that computes a size.
func number(op string) rule {
	return one(func(k *call) string { return k.emit(op, nil, k.size(k.args["a"]), k.size(k.args["b"])) })
}

func symSize(k *call) string {
	d := dim(k.int("dim"), len(k.in("self").Shape))
	return k.emit("Shape", attrs{"start": d, "end": d + 1}, k.t("self"))
}

func sorted(k *call) []string {
	t := k.in("self")
	if len(t.Shape) == 0 {
		refuse("of a tensor without dimensions")
	}
	axis, largest := dim(k.int("dim"), len(t.Shape)), 0
	var count string
	if v, isTop := k.args["k"]; isTop {
		count = k.size(v)
		if k.bool("largest") {
			largest = 1
		}
	} else {
		count = k.emit("Shape", attrs{"start": axis, "end": axis + 1}, k.t("self"))
		if k.bool("descending") {
			largest = 1
		}
	}
	values, places := k.name("values"), k.name("indices")
	k.emitTo("TopK", attrs{"axis": axis, "largest": largest, "sorted": 1}, []string{k.t("self"), count}, values, places)
	return []string{values, places}
}

// mathRules are those of this file.
func mathRules() map[string]rule {
	return map[string]rule{
		"add": pair("Add"), "sub": pair("Sub"), "mul": pair("Mul"), "div": one(div), "maximum": pair("Max"),
		"minimum": pair("Min"), "max.other": pair("Max"), "min.other": pair("Min"),
		"rsub": one(func(k *call) string {
			d := k.out().DType
			return k.emit("Sub", nil, k.operand("other", d), k.scaled("self", d))
		}),
		"pow": one(power), "neg": unary("Neg"), "abs": unary("Abs"), "exp": unary("Exp"), "log": unary("Log"), "sqrt": unary("Sqrt"),
		"reciprocal": unary("Reciprocal"), "sin": unary("Sin"), "cos": unary("Cos"), "tan": unary("Tan"), "tanh": unary("Tanh"),
		"sigmoid": unary("Sigmoid"), "erf": unary("Erf"), "floor": unary("Floor"), "ceil": unary("Ceil"), "sign": unary("Sign"),
		"relu": unary("Relu"), "mish": unary("Mish"), "round.default": unary("Round"),
		"asin": unary("Asin"), "acos": unary("Acos"), "atan": unary("Atan"), "sinh": unary("Sinh"), "cosh": unary("Cosh"),
		"rsqrt": chain(func(k *call, x string, _ func(float64) string) string {
			return k.emit("Reciprocal", nil, k.emit("Sqrt", nil, x))
		}),
		"square": chain(func(k *call, x string, _ func(float64) string) string { return k.emit("Mul", nil, x, x) }),
		"silu": chain(func(k *call, x string, _ func(float64) string) string {
			return k.emit("Mul", nil, x, k.emit("Sigmoid", nil, x))
		}),
		"expm1": chain(func(k *call, x string, v func(float64) string) string {
			return k.emit("Sub", nil, k.emit("Exp", nil, x), v(1))
		}),
		"log1p": chain(func(k *call, x string, v func(float64) string) string {
			return k.emit("Log", nil, k.emit("Add", nil, x, v(1)))
		}),
		"log2": chain(func(k *call, x string, v func(float64) string) string {
			return k.emit("Div", nil, k.emit("Log", nil, x), v(math.Ln2))
		}),
		"gelu": chain(gelu), "softplus": chain(softplus),
		"log_sigmoid": chain(func(k *call, x string, _ func(float64) string) string {
			return k.emit("Neg", nil, k.emit("Softplus", nil, k.emit("Neg", nil, x)))
		}),
		"relu6": chain(func(k *call, x string, v func(float64) string) string { return k.emit("Clip", nil, x, v(0), v(6)) }),
		"hardtanh": chain(func(k *call, x string, v func(float64) string) string {
			return k.emit("Clip", nil, x, v(k.number("min_val")), v(k.number("max_val")))
		}),
		"hardsigmoid": chain(func(k *call, x string, v func(float64) string) string {
			return k.emit("Div", nil, k.emit("Clip", nil, k.emit("Add", nil, x, v(3)), v(0), v(6)), v(6))
		}),
		"hardswish": chain(func(k *call, x string, v func(float64) string) string {
			return k.emit("Div", nil, k.emit("Mul", nil, x, k.emit("Clip", nil, k.emit("Add", nil, x, v(3)), v(0), v(6))), v(6))
		}),
		"leaky_relu": chain(func(k *call, x string, _ func(float64) string) string {
			return k.emit("LeakyRelu", attrs{"alpha": float32(k.number("negative_slope"))}, x)
		}),
		"elu": chain(func(k *call, x string, _ func(float64) string) string {
			return k.emit("Elu", attrs{"alpha": float32(k.number("alpha"))}, x)
		}),
		"celu": chain(func(k *call, x string, _ func(float64) string) string {
			return k.emit("Celu", attrs{"alpha": float32(k.number("alpha"))}, x)
		}),
		"selu": unary("Selu"), "clamp": one(clamp), "clamp_min": one(clamp), "clamp_max": one(clamp),
		"eq": comparison("Equal", false), "ne": comparison("Equal", true), "lt": comparison("Less", false),
		"le": comparison("LessOrEqual", false), "gt": comparison("Greater", false), "ge": comparison("GreaterOrEqual", false),
		"logical_and": logical("And"), "logical_or": logical("Or"), "logical_xor": logical("Xor"),
		"logical_not": one(func(k *call) string { return k.emit("Not", nil, k.operand("self", ops.Bool)) }),
		"bitwise_and": bitwise("And", "BitwiseAnd"), "bitwise_or": bitwise("Or", "BitwiseOr"), "bitwise_xor": bitwise("Xor", "BitwiseXor"),
		"bitwise_not": one(func(k *call) string {
			if k.out().DType != ops.Bool {
				return k.emit("BitwiseNot", nil, k.t("self"))
			}
			return k.emit("Not", nil, k.t("self"))
		}),
		"isnan": one(func(k *call) string { return k.emit("IsNaN", nil, k.t("self")) }),
		"where": one(where), "masked_fill": one(maskedFill),
		"mean": reduce("ReduceMean", true), "sum": reduce("ReduceSum", true), "amax": reduce("ReduceMax", true),
		"amin": reduce("ReduceMin", true), "prod": reduce("ReduceProd", true), "max.default": reduce("ReduceMax", true),
		"min.default": reduce("ReduceMin", true), "logsumexp": reduce("ReduceLogSumExp", true),
		"max.dim": extremum("ReduceMax", "ArgMax"), "min.dim": extremum("ReduceMin", "ArgMin"),
		"norm": norm("p"), "linalg_vector_norm": norm("ord"), "argmax": place("ArgMax"),
		"argmin": place("ArgMin"), "topk": sorted, "sort": sorted,
		"var": one(func(k *call) string { return variance(k, false) }), "std": one(func(k *call) string { return variance(k, true) }),
		"softmax": softmax("Softmax"), "_softmax": softmax("Softmax"), "log_softmax": softmax("LogSoftmax"),
		"_log_softmax": softmax("LogSoftmax"),
		"cumsum": one(func(k *call) string {
			return k.emit("CumSum", nil, k.x(), k.constant(ops.Int64, nil, float64(dim(k.int("dim"), len(k.in("self").Shape)))))
		}),
		"_operator.add": number("Add"), "_operator.sub": number("Sub"), "_operator.mul": number("Mul"), "_operator.floordiv": number("Div"),
		"_operator.mod": number("Mod"), "torch.sym_max": number("Max"), "torch.sym_min": number("Min"), "sym_size.int": one(symSize),
	}
}

// rules are all.
var rules = func() map[string]rule {
	out := mathRules()
	for _, more := range []map[string]rule{shapeRules(), layerRules()} {
		for name, r := range more {
			out[name] = r
		}
	}
	return out
}()

// same reports whether all numbers are v.
func same(list []int, v int) bool {
	return !slices.ContainsFunc(list, func(n int) bool { return n != v })
}

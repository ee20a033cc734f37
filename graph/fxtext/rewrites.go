package fxtext

import (
	"fmt"
	"slices"

	"tcdbg/logs/fx"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/export"
)

// This file writes calls of aten's operators for those that only Inductor's graphs have.

// rewrite adds what computes the same as a call.
type rewrite func(t *reader, n *fx.Node, c *export.Node, args []argument) error

// rewrites are by the name of the target.
func rewrites(target string) (rewrite, bool) {
	switch target {
	case "prims.convert_element_type.default":
		return converted, true
	case "prims.view_of.default":
		return func(t *reader, _ *fx.Node, c *export.Node, args []argument) error {
			return t.aten(c, "alias.default", args...)
		}, true
	case "prims.iota.default":
		return iota, true
	case "prims.inductor_seeds.default", "prims.inductor_lookup_seed.default", "torch._C._set_grad_enabled",
		"torch._C._log_api_usage_once", "torch._assert_async", "aten._assert_async.default", "aten._assert_async.msg":
		// Random numbers come from our own stream, gradients are in the graph, and what is lowered to look at asserts nothing.
		return func(*reader, *fx.Node, *export.Node, []argument) error { return nil }, true
	case "prims.inductor_random.default":
		return random, true
	case "prims.prepare_softmax_online.default":
		return onlineSoftmax, true
	case "aten.threshold_backward.default":
		return thresholdBackward, true
	case "Tensor.to":
		return moved, true
	case "aten._scaled_dot_product_flash_attention_for_cpu_backward.default":
		return attentionBackward, true
	case "aten.convolution_backward.default":
		return convolutionBackward, true
	case "prims.fma.default":
		return fma, true
	case "prims._low_memory_max_pool_with_offsets.default":
		return maxPool, true
	case "prims._low_memory_max_pool_offsets_to_indices.default":
		return poolIndices, true
	case "aten.native_layer_norm_backward.default":
		return layerNormBackward, true
	case "torch.tensor", "torch._refs.tensor":
		return literal, true
	case "operator.getitem":
		return getitem, true
	}
	if d, ok := casts[target]; ok {
		return func(t *reader, _ *fx.Node, c *export.Node, args []argument) error {
			c.Target = "Tensor.to"
			return t.add(c, append(args[:len(args):len(args)], argument{"dtype", d}))
		}, true
	}
	return nil, false
}

// casts are methods that make another dtype.
var casts = map[string]ops.DType{
	"Tensor.float": ops.Float32, "Tensor.double": ops.Float64, "Tensor.half": ops.Float16, "Tensor.bfloat16": ops.BFloat16,
	"Tensor.int": ops.Int32, "Tensor.long": ops.Int64, "Tensor.bool": ops.Bool,
}

// moved is x.to without the device: the graph is on one.
func moved(t *reader, _ *fx.Node, c *export.Node, args []argument) error {
	return t.add(c, slices.DeleteFunc(slices.Clone(args), func(a argument) bool {
		_, isDevice := a.value.(ops.Device)
		return isDevice && a.name == ""
	}))
}

// thresholdBackward lets the gradient through where the input was above the threshold.
func thresholdBackward(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	if len(args) != 3 {
		return t.add(c, args)
	}
	x := *c
	x.Name = n.Name + partOf + "le"
	if err := t.aten(&x, "le.Scalar", args[1], args[2]); err != nil {
		return err
	}
	return t.aten(c, "where.ScalarSelf", argument{value: export.Ref(x.Name)}, argument{value: int64(0)}, args[0])
}

// aten adds a call of one of aten's operators in a call's place.
func (t *reader) aten(c *export.Node, op string, args ...argument) error {
	c.Target = "torch.ops.aten." + op
	return t.add(c, args)
}

func converted(t *reader, _ *fx.Node, c *export.Node, args []argument) error {
	if len(args) != 2 {
		return fmt.Errorf("%s has %d arguments", c.Target, len(args))
	}
	return t.aten(c, "_to_copy.default", args[0], argument{"dtype", args[1].value})
}

// iota is arange from a start with a step; the length is a number of the graph, so that an end is known
// where start and step are 0 and 1, or all are constants.
func iota(t *reader, _ *fx.Node, c *export.Node, args []argument) error {
	by := map[string]export.Arg{"start": int64(0), "step": int64(1)}
	for _, a := range args {
		if a.name == "" {
			a.name = "length"
		}
		by[a.name] = a.value
	}
	dtype := argument{"dtype", by["dtype"]}
	if by["start"] == int64(0) && by["step"] == int64(1) {
		return t.aten(c, "arange.default", argument{"", by["length"]}, dtype)
	}
	length, okLength := by["length"].(int64)
	start, okStart := by["start"].(int64)
	step, okStep := by["step"].(int64)
	if !okLength || !okStart || !okStep {
		return t.add(c, args)
	}
	end := sym.Add(sym.Const(start), sym.Mul(sym.Const(length), sym.Const(step)))
	return t.aten(c, "arange.start_step", argument{"", start}, argument{"", end.Hint()}, argument{"", step}, dtype)
}

// random draws from our own stream: the seed is left out.
func random(t *reader, _ *fx.Node, c *export.Node, args []argument) error {
	if len(args) == 3 {
		if mode := args[2].value; mode == "rand" || mode == "randn" {
			return t.aten(c, fmt.Sprint(mode)+".default", args[0])
		}
	}
	return t.add(c, args)
}

// partOf is in the names of values on the way to a node's.
const partOf = "__of_"

// onlineSoftmax is the largest value and the sum of exponentials, which PyTorch computes in one pass.
func onlineSoftmax(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	if len(args) != 2 {
		return t.add(c, args)
	}
	part := func(what, op string, args ...argument) (argument, error) {
		x := *c
		x.Name, x.Args = n.Name+partOf+what, nil
		err := t.aten(&x, op, args...)
		return argument{value: export.Ref(x.Name)}, err
	}
	dims := argument{value: []export.Arg{args[1].value}}
	keep := argument{value: true}
	most, err := part("max", "amax.default", args[0], dims, keep)
	if err != nil {
		return err
	}
	less, err := part("sub", "sub.Tensor", args[0], most)
	if err != nil {
		return err
	}
	power, err := part("exp", "exp.default", less)
	if err != nil {
		return err
	}
	sum, err := part("sum", "sum.dim_IntList", power, dims, keep)
	t.pieces[n.Name] = []string{string(most.value.(export.Ref)), string(sum.value.(export.Ref))}
	return err
}

// fma is a product and a sum; C and Triton make one step of them where the machine has it.
func fma(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	if len(args) != 3 {
		return t.add(c, args)
	}
	x := *c
	x.Name = n.Name + partOf + "mul"
	if err := t.aten(&x, "mul.Tensor", args[0], args[1]); err != nil {
		return err
	}
	return t.aten(c, "add.Tensor", argument{value: export.Ref(x.Name)}, args[2])
}

package fxtext

import (
	"tcdbg/logs/fx"
	"tcdbg/ops"
	"tcdbg/torch/export"
)

// This file writes the derivative of a layer norm as products and sums: Inductor decomposes it, and graphs of other backends keep it.

// layerNormBackward is native_layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight, bias, output_mask).
func layerNormBackward(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	const wanted = 8
	if len(args) != wanted {
		return t.add(c, args)
	}
	name, _ := args[1].value.(export.Ref)
	x := t.tensors[string(name)]
	inner, _ := args[2].value.([]export.Arg)
	mask, _ := args[wanted-1].value.([]export.Arg)
	if x == nil || x.DType != ops.Float32 || len(inner) == 0 || len(inner) > len(x.Shape) || len(mask) != 3 {
		return t.add(c, args)
	}
	grad, in, mean, rstd, weight := args[0], args[1], args[3], args[4], args[5]
	outer := len(x.Shape) - len(inner)
	within, across := argument{value: numbersFrom(outer, len(x.Shape))}, argument{value: numbersFrom(0, outer)}
	keep := argument{value: true}
	p := &parts{t: t, n: n, c: c}
	normal := p.mul("normal", p.call("centred", "sub.Tensor", in, mean), rstd)
	scaled := grad
	if weight.value != nil {
		scaled = p.mul("scaled", grad, weight)
	}
	all := p.call("all", "mean.dim", scaled, within, keep)
	along := p.mul("along", normal, p.call("part", "mean.dim", p.mul("product", scaled, normal), within, keep))
	rest := p.call("rest", "sub.Tensor", p.call("less", "sub.Tensor", scaled, all), along)
	out := []argument{p.mul("input", rest, rstd)}
	summed := func(what string, v argument) argument {
		if outer == 0 {
			return v
		}
		return p.call(what, "sum.dim_IntList", v, across)
	}
	out = append(out, summed("weight", p.mul("terms", grad, normal)), summed("bias", grad))
	for _, v := range out {
		t.pieces[n.Name] = append(t.pieces[n.Name], string(v.ref()))
	}
	return p.err
}

func numbersFrom(from, end int) []export.Arg {
	var out []export.Arg
	for d := range end - from {
		out = append(out, int64(from+d))
	}
	return out
}

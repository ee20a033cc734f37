package fxtext

import (
	"math"

	"tcdbg/logs/fx"
	"tcdbg/ops"
	"tcdbg/torch/export"
)

// This file writes the derivative of attention as products: PyTorch's kernel for the CPU computes it in one pass.

// parts makes calls on the way to a node's values; a failed one makes all others nothing.
type parts struct {
	t   *reader
	n   *fx.Node
	c   *export.Node
	err error
}

// call adds one call.
func (p *parts) call(what, op string, args ...argument) argument {
	if p.err != nil {
		return argument{}
	}
	x := *p.c
	x.Name, x.Args = p.n.Name+partOf+what, nil
	p.err = p.t.aten(&x, op, args...)
	return argument{value: export.Ref(x.Name)}
}

func (p *parts) matmul(what string, a, b argument) argument {
	return p.call(what, "matmul.default", a, b)
}

func (p *parts) mul(what string, a, b argument) argument { return p.call(what, "mul.Tensor", a, b) }

func (p *parts) transposed(what string, a argument) argument {
	return p.call(what, "transpose.int", a, argument{value: int64(-2)}, argument{value: int64(-1)})
}

// attentionBackward is the derivative by query, key and value: of the gradient, those three, the output and the logarithm of
// the sum of exponentials. With dropout or a causal mask it is named as missing.
func attentionBackward(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	extra := map[string]export.Arg{}
	for _, a := range args {
		extra[a.name] = a.value
	}
	var q *export.Tensor
	if len(args) >= 8 {
		name, _ := args[1].value.(export.Ref)
		q = t.tensors[string(name)]
	}
	if q == nil || len(q.Shape) != 4 || q.Shape[3].Value < 1 || q.DType != ops.Float32 ||
		args[6].value != float64(0) || args[7].value != false {
		return t.add(c, args)
	}
	scale := argument{value: 1 / math.Sqrt(float64(q.Shape[3].Value))}
	if extra["scale"] != nil {
		scale.value = extra["scale"]
	}
	p := &parts{t: t, n: n, c: c}
	grad, query, key, value, out, logsum := args[0], args[1], args[2], args[3], args[4], args[5]
	last, keep := argument{value: int64(-1)}, argument{value: true}
	scores := p.mul("scores", p.matmul("product", query, p.transposed("key", key)), scale)
	if mask := extra["attn_mask"]; mask != nil {
		scores = p.call("masked", "add.Tensor", scores, argument{value: mask})
	}
	weights := p.call("weights", "exp.default", p.call("less", "sub.Tensor", scores, p.call("sum", "unsqueeze.default", logsum, last)))
	byValue := p.matmul("value", p.transposed("turned", weights), grad)
	inner := p.call("inner", "sum.dim_IntList", p.mul("each", grad, out), argument{value: []export.Arg{int64(-1)}}, keep)
	byWeights := p.call("differs", "sub.Tensor", p.matmul("weighed", grad, p.transposed("values", value)), inner)
	byScores := p.mul("scaled", p.mul("by", weights, byWeights), scale)
	byQuery := p.matmul("query", byScores, key)
	byKey := p.matmul("keys", p.transposed("back", byScores), query)
	if p.err != nil {
		return p.err
	}
	for _, a := range []argument{byQuery, byKey, byValue} {
		t.pieces[n.Name] = append(t.pieces[n.Name], string(a.value.(export.Ref)))
	}
	return nil
}

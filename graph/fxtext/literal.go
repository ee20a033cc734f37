package fxtext

import (
	"fmt"

	"tcdbg/logs/fx"
	"tcdbg/torch/export"
)

// This file writes tensors that a program makes of numbers.

// maxLiteral bounds the numbers of one tensor.
const maxLiteral = 1024

// literal is torch.tensor of a number, or of a list of numbers. Its dtype is what the text says.
func literal(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	m := t.tensors[n.Name]
	if m == nil || len(args) == 0 || args[0].name != "" && args[0].name != "data" {
		return t.add(c, args)
	}
	dtype := argument{"dtype", m.DType}
	list, isList := args[0].value.([]export.Arg)
	if !isList && t.isNumber(args[0].value) {
		return t.aten(c, "scalar_tensor.default", argument{value: args[0].value}, dtype)
	}
	if !isList || len(list) == 0 || len(list) > maxLiteral {
		return t.add(c, args)
	}
	p := &parts{t: t, n: n, c: c}
	var each []export.Arg
	for i, v := range list {
		if !t.isNumber(v) {
			return t.add(c, args)
		}
		each = append(each, p.call(fmt.Sprint("number", i), "scalar_tensor.default", argument{value: v}, dtype).value)
	}
	if p.err != nil {
		return p.err
	}
	return t.aten(c, "stack.default", argument{value: each})
}

// isNumber reports whether an argument is one, or a value of the graph that is one.
func (t *reader) isNumber(a export.Arg) bool {
	switch a := a.(type) {
	case int64, float64, bool:
		return true
	case export.Ref:
		return t.tensors[string(a)] == nil
	}
	return false
}

package fxtext

import (
	"tcdbg/logs/fx"
	"tcdbg/torch/export"
)

// This file writes the derivative of a convolution: by input and weight as our operator has it, by bias as a sum.

// convolutionBackward is convolution_backward(grad, input, weight, bias_sizes, ..., output_mask).
func convolutionBackward(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	const wanted, sizes = 11, 3 // arguments, and of these bias_sizes
	if len(args) != wanted {
		return t.add(c, args)
	}
	mask, _ := args[wanted-1].value.([]export.Arg)
	name, _ := args[0].value.(export.Ref)
	grad := t.tensors[string(name)]
	if len(mask) != 3 || grad == nil || len(grad.Shape) < 3 {
		return t.add(c, args)
	}
	both := *c
	both.Name, both.Args, both.Results = n.Name+partOf+"both", nil, export.AnyResult
	sig, _ := export.SignatureOf(c.Target)
	for i, a := range args {
		switch {
		case i == sizes:
			continue
		case i == wanted-1:
			a.value = mask[:2]
		}
		both.Args = append(both.Args, export.NamedArg{Name: sig.Names[i], Value: a.value})
	}
	t.p.Nodes = append(t.p.Nodes, both)
	for i, what := range []string{"input", "weight"} {
		one := *c
		one.Name, one.Target, one.Results = n.Name+partOf+what, "operator.getitem", export.AnyResult
		one.Args = []export.NamedArg{
			{Name: export.Position(0), Value: export.Ref(both.Name)}, {Name: export.Position(1), Value: int64(i)},
		}
		t.p.Nodes = append(t.p.Nodes, one)
		t.pieces[n.Name] = append(t.pieces[n.Name], one.Name)
	}
	if mask[2] != true {
		return nil
	}
	dims := []export.Arg{int64(0)}
	for d := 2; d < len(grad.Shape); d++ {
		dims = append(dims, int64(d))
	}
	p := &parts{t: t, n: n, c: c}
	bias := p.call("bias", "sum.dim_IntList", args[0], argument{value: dims})
	if p.err == nil {
		t.pieces[n.Name] = append(t.pieces[n.Name], string(bias.value.(export.Ref)))
	}
	return p.err
}

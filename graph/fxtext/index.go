package fxtext

import (
	"errors"
	"fmt"

	"tcdbg/logs/fx"
	"tcdbg/torch/export"
)

// This file reads the indexing of Python, x[:, 0, None, 2:4], as calls of select, slice and unsqueeze.

// span is slice(start, stop, step), and rest is Ellipsis.
type (
	span struct{ start, stop, step export.Arg }
	rest struct{}
)

// span reads the arguments of slice(.
func (p *parser) span(depth int) (export.Arg, error) {
	v, err := p.list(")", depth)
	list, _ := v.([]export.Arg)
	if err != nil || len(list) != 3 {
		return nil, errors.New("a slice cannot be read")
	}
	return span{list[0], list[1], list[2]}, nil
}

// getitem takes one of several results, or a part of a tensor.
func getitem(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	if len(args) != 2 {
		return t.add(c, args)
	}
	base, _ := args[0].value.(export.Ref)
	i, isInt := args[1].value.(int64)
	if list := t.pieces[string(base)]; isInt && i >= 0 && int(i) < len(list) {
		t.as[n.Name] = list[i]
		return nil
	}
	of, isTensor := t.tensors[string(base)]
	if !isTensor {
		return t.add(c, args)
	}
	items, isList := args[1].value.([]export.Arg)
	if !isList {
		items = []export.Arg{args[1].value}
	}
	x := &indexing{t: t, n: n, c: c, at: args[0], rank: len(of.Shape)}
	for _, it := range items {
		if err := x.item(it, items); err != nil {
			c.Target = "torch.ops.operator.getitem"
			return t.add(c, nil) // with what no rule is for: it is named
		}
	}
	return x.end()
}

// indexing is one such expression while it is taken apart.
type indexing struct {
	t    *reader
	n    *fx.Node
	c    *export.Node
	at   argument // what there is of it so far
	dim  int
	rank int
	made int
	list []export.Arg // tensors among the indices, by dimension; nil where there is none
}

func (x *indexing) item(it export.Arg, all []export.Arg) error {
	dim := argument{value: int64(x.dim)}
	switch it := it.(type) {
	case nil:
		x.dim++
		return x.step("unsqueeze.default", dim)
	case rest:
		x.dim += x.rank
		for _, other := range all {
			switch other.(type) {
			case nil, rest:
			default:
				x.dim--
			}
		}
		return nil
	case int64:
		return x.step("select.int", dim, argument{value: it})
	case export.Ref:
		if _, isTensor := x.t.tensors[string(it)]; isTensor {
			x.list = append(append(x.list, make([]export.Arg, x.dim-len(x.list))...), it)
			x.dim++
			return nil
		}
		return x.step("select.int", dim, argument{value: it})
	case span:
		x.dim++
		if it == (span{}) {
			return nil
		}
		step := it.step
		if step == nil {
			step = int64(1)
		}
		return x.step("slice.Tensor", dim, argument{value: it.start}, argument{value: it.stop}, argument{value: step})
	}
	return fmt.Errorf("an index of another kind")
}

// step adds one call, under a name on the way to the node's.
func (x *indexing) step(op string, args ...argument) error {
	y := *x.c
	x.made++
	y.Name = fmt.Sprintf("%s%s%d", x.n.Name, partOf, x.made)
	if err := x.t.aten(&y, op, append([]argument{x.at}, args...)...); err != nil {
		return err
	}
	x.at = argument{value: export.Ref(y.Name)}
	return nil
}

// end gives the last value the node's name. Tensors come last, as PyTorch takes them: after slices, numbers and new dimensions.
func (x *indexing) end() error {
	if x.list != nil {
		return x.t.aten(x.c, "index.Tensor", x.at, argument{value: x.list})
	}
	return x.t.aten(x.c, "alias.default", x.at)
}

package export

import (
	"fmt"
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file makes operators of aten for which there is no single one of ours: each is several calls.

// expansion makes the calls of one operator, whose arguments have their names, and gives its results.
type expansion func(b builder, args map[string]ops.Arg) []ops.Value

// expansions are by the name of aten's operator with its overload.
func expansions() map[string]expansion {
	return map[string]expansion{
		"type_as.default": typeAs, "_weight_norm.default": weightNorm,
		"embedding_bag.default": embeddingBag, "embedding_bag.padding_idx": embeddingBag,
		"new_empty_strided.default": newEmptyStrided,
		"lstm.input":                recurrent(4, lstmStep), "gru.input": recurrent(3, gruStep),
		"rnn_tanh.input": recurrent(1, plainStep(ops.Tanh)), "rnn_relu.input": recurrent(1, plainStep(ops.Relu)),
	}
}

// builder makes calls in a node's place.
type builder struct {
	w *walker
	n *Node
}

// notMade is what builder panics with; expand gives its error.
type notMade struct{ err error }

func (b builder) refuse(format string, args ...any) {
	panic(notMade{&Unsupported{Op: shortTarget(b.n.Target), Why: fmt.Sprintf(format, args...)}})
}

// list calls op with arguments by position and gives its results.
func (b builder) list(op ops.ID, args ...ops.Arg) []ops.Value {
	row := ops.Get(op)
	bound, err := ops.Bind(row, args, nil)
	if err == nil {
		var outs []ops.Value
		if outs, err = b.w.m.Call(&Node{Target: b.n.Target, Stack: b.n.Stack}, row, bound); err == nil {
			return outs
		}
	}
	panic(notMade{fmt.Errorf("%s: %w", shortTarget(b.n.Target), err)})
}

// call is list for an operator of one result.
func (b builder) call(op ops.ID, args ...ops.Arg) ops.Value { return b.list(op, args...)[0] }

// tensor is an argument that must be one; nil where it may be left out and is.
func (b builder) tensor(args map[string]ops.Arg, name string) ops.Value {
	v, _ := args[name].(ops.Value)
	return v
}

// meta describes a tensor that must be there.
func (b builder) meta(v ops.Arg, name string) *ops.TensorMeta {
	m := ops.MetaOf(v)
	if m == nil {
		b.refuse("%s is no tensor", name)
	}
	return m
}

// number is an argument that must be a constant whole number.
func (b builder) number(args map[string]ops.Arg, name string) int64 {
	i, _ := args[name].(sym.Int)
	c, ok := i.IsConst()
	if !ok {
		b.refuse("%s is no constant", name)
	}
	return c
}

// expand makes the calls of a node that has an expansion; done is not set for another.
func (w *walker) expand(n *Node, args map[string]ops.Arg) (outs []ops.Value, done bool, err error) {
	full, _ := cutAten(n.Target)
	x, ok := w.expands[full]
	if !ok {
		return nil, false, nil
	}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case notMade:
			done, err = true, v.err
		default:
			panic(v)
		}
	}()
	named := map[string]ops.Arg{}
	if o := overloadOf(n.Target); o != nil {
		for _, p := range o.params {
			if i, is := p.def.(int64); is {
				named[p.name] = sym.Const(i)
			} else {
				named[p.name] = p.def
			}
		}
	}
	for name, a := range args {
		named[name] = a
	}
	return x(builder{w, n}, named), true, nil
}

// reads reports whether the program reads result i of a node.
func (b builder) reads(i int) bool {
	if b.n.Results != 0 || i >= len(b.n.Outs) {
		return true
	}
	name, found := b.n.Outs[i].Name, false
	seen := func(r Ref) { found = found || string(r) == name }
	for j := range b.w.p.Nodes {
		for _, a := range b.w.p.Nodes[j].Args {
			eachRef(a.Value, seen)
		}
	}
	for _, o := range b.w.p.Outputs {
		eachRef(o.Value, seen)
	}
	return found
}

// typeAs is a tensor in the dtype of another.
func typeAs(b builder, args map[string]ops.Arg) []ops.Value {
	return b.list(ops.To, args["self"], b.meta(args["other"], "other").DType)
}

// newEmptyStrided is a tensor whose content means nothing: zeros here. Other orders of memory than row by row are refused.
func newEmptyStrided(b builder, args map[string]ops.Arg) []ops.Value {
	m := b.meta(args["self"], "self")
	size, _ := args["size"].([]sym.Int)
	stride, _ := args["stride"].([]sym.Int)
	if !slices.Equal(sym.Hints(stride), sym.Hints(ops.ContiguousStrides(size))) {
		b.refuse("stride=%s", ops.ShapeText(stride))
	}
	dtype := m.DType
	if d, ok := args["dtype"].(ops.DType); ok {
		dtype = d
	}
	return b.list(ops.Full, size, 0.0, dtype)
}

// weightNorm is v in the lengths g: each slice of v along dim has a length, or all of v where dim is -1.
func weightNorm(b builder, args map[string]ops.Arg) []ops.Value {
	v, dim := args["v"], b.number(args, "dim")
	rank := int64(len(b.meta(v, "v").Shape))
	var dims []sym.Int
	for d := range rank {
		if d != dim {
			dims = append(dims, sym.Const(d))
		}
	}
	if dim < -1 || dim >= rank {
		b.refuse("dim=%d of a tensor of %d dimensions", dim, rank)
	}
	length := b.call(ops.Abs, v)
	if len(dims) > 0 {
		length = b.call(ops.LinalgVectorNorm, v, 2.0, dims, dim >= 0)
	}
	return b.list(ops.Mul, v, b.call(ops.Div, args["g"], length))
}

// embeddingBag is the sums, means or largest values of bags of rows; what else PyTorch's operator gives is for its derivative.
func embeddingBag(b builder, args map[string]ops.Arg) []ops.Value {
	modes := []string{"sum", "mean", "max"}
	mode := b.number(args, "mode")
	if mode < 0 || int(mode) >= len(modes) {
		b.refuse("mode=%d", mode)
	}
	for i := 1; i < 4; i++ {
		if b.reads(i) {
			b.refuse("the program reads more than its first result")
		}
	}
	var padding ops.Arg
	if i, ok := args["padding_idx"].(sym.Int); ok {
		padding = i
	}
	out := b.call(
		ops.EmbeddingBag, args["indices"], args["weight"], args["offsets"], nil, 2.0, args["scale_grad_by_freq"], modes[mode],
		args["sparse"], args["per_sample_weights"], args["include_last_offset"], padding,
	)
	return slices.Concat([]ops.Value{out}, make([]ops.Value, 3))
}

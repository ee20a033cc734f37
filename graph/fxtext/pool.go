package fxtext

import (
	"fmt"
	"slices"

	"tcdbg/logs/fx"
	"tcdbg/ops"
	"tcdbg/torch/export"
)

// This file writes max pooling as PyTorch 2.15's Inductor has it: for the derivative it keeps which element of its window
// each result is, in a byte, where aten's operator and ours keep the place in the image.

// window is the geometry of a pooling, a number for each of the last dimensions.
type window struct{ kernel, stride, padding, dilation, input, output []int64 }

// maxPool is _low_memory_max_pool_with_offsets: the pooling, and the offsets where the graph reads them.
func maxPool(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	byName := t.named(c.Target, args)
	w, ok := windowOf(byName)
	if ok && !t.readsOffsets(n) {
		return t.aten(c, poolings[len(w.kernel)], args...)
	}
	x, _ := byName["self"].(export.Ref)
	in, out := t.tensors[string(x)], t.itemOf(n.Name, 0)
	if !ok || in == nil || out == nil || !w.images(in.Shape, out.Shape) {
		return t.add(c, args)
	}
	p := &parts{t: t, n: n, c: c}
	both := p.call("both", poolings[len(w.kernel)], args...)
	values := p.item("values", both, 0)
	offsets := p.offsets(w, p.item("indices", both, 1))
	t.pieces[n.Name] = []string{string(values.ref()), string(offsets.ref())}
	for i, name := range t.pieces[n.Name] {
		t.tensors[name] = t.itemOf(n.Name, i)
	}
	return p.err
}

// poolings are aten's operators by the number of dimensions.
var poolings = map[int]string{2: "max_pool2d_with_indices.default", 3: "max_pool3d_with_indices.default"}

// readsOffsets reports whether anything takes more of a pooling than its values.
func (t *reader) readsOffsets(n *fx.Node) bool {
	for i := range t.g.Nodes {
		u := &t.g.Nodes[i]
		if slices.Contains(u.Args, n.Name) && (u.Op == "output" || u.Text != n.Name+"[0]") && (t.used[u.Name] || u.Op == "output") {
			return true
		}
	}
	return false
}

// itemOf is what the text says of result i of a node.
func (t *reader) itemOf(name string, i int) *export.Tensor {
	for j := range t.g.Nodes {
		u := &t.g.Nodes[j]
		if u.Op != "output" && u.Text == fmt.Sprintf("%s[%d]", name, i) {
			m, err := t.tensor(u.Type)
			if err != nil {
				return nil
			}
			return m
		}
	}
	return nil
}

// named are arguments by the names that PyTorch's signature has for their positions.
func (t *reader) named(target string, args []argument) map[string]export.Arg {
	sig, _ := export.SignatureOf(target)
	out := map[string]export.Arg{}
	for i, a := range args {
		if a.name == "" && i < len(sig.Names) {
			a.name = sig.Names[i]
		}
		out[a.name] = a.value
	}
	return out
}

// windowOf reads a window; false where something of it is no constant.
func windowOf(args map[string]export.Arg) (w window, ok bool) {
	var okKernel, okStride, okPadding, okDilation bool
	w.kernel, okKernel = numbersOf(args["kernel_size"], 0, nil)
	w.stride, okStride = numbersOf(args["stride"], len(w.kernel), w.kernel)
	w.padding, okPadding = numbersOf(args["padding"], len(w.kernel), nil)
	w.dilation, okDilation = numbersOf(args["dilation"], len(w.kernel), nil)
	ok = okKernel && okStride && okPadding && okDilation && poolings[len(w.kernel)] != ""
	for i := 0; ok && i < len(w.kernel); i++ {
		ok = w.kernel[i] > 0 && w.stride[i] > 0 && w.dilation[i] > 0
	}
	return w, ok
}

// numbersOf reads a list of n numbers, or of any where n is 0; a list of one number means n of it, an empty one empty.
func numbersOf(a export.Arg, n int, empty []int64) ([]int64, bool) {
	if i, is := a.(int64); is {
		a = []export.Arg{i}
	}
	list, ok := a.([]export.Arg)
	if ok && len(list) == 0 && empty != nil {
		return empty, true
	}
	var out []int64
	for _, e := range list {
		i, is := e.(int64)
		if !is {
			return nil, false
		}
		out = append(out, i)
	}
	if len(out) == 1 && n > 1 {
		out = slices.Repeat(out, n)
	}
	return out, ok && len(out) > 0 && (n == 0 || len(out) == n)
}

// images notes the sizes of what is pooled and what comes out; false where they vary.
func (w *window) images(in, out []export.Size) bool {
	n := len(w.kernel)
	for _, to := range []struct {
		shape []export.Size
		sizes *[]int64
	}{{in, &w.input}, {out, &w.output}} {
		if len(to.shape) < n {
			return false
		}
		for _, s := range to.shape[len(to.shape)-n:] {
			if s.Expr != "" || s.Value < 1 {
				return false
			}
			*to.sizes = append(*to.sizes, s.Value)
		}
	}
	return true
}

// offsets are places in the image as places in the window: for each dimension (place - start of the window) / dilation.
func (p *parts) offsets(w window, indices argument) argument {
	at := p.places("place", indices, w.input)
	var all argument
	for d := range w.kernel {
		from := p.call(fmt.Sprint("from", d), "sub.Tensor", at[d], p.starts(w, d))
		in := p.floor(fmt.Sprint("in", d), from, w.dilation[d])
		all = p.joined(fmt.Sprint("offset", d), all, in, w.kernel[d])
	}
	return p.call("offsets", "_to_copy.default", all, argument{"dtype", ops.Int8})
}

// poolIndices is _low_memory_max_pool_offsets_to_indices: places in the window as places in the image.
func poolIndices(t *reader, n *fx.Node, c *export.Node, args []argument) error {
	byName := t.named(c.Target, args)
	offsets, _ := byName["self"].(export.Ref)
	m := t.tensors[string(offsets)]
	w, ok := windowOf(byName)
	input, okInput := numbersOf(byName["input_size"], len(w.kernel), nil)
	if !ok || !okInput || m == nil || !w.images(sizesOf(input), m.Shape) {
		return t.add(c, args)
	}
	p := &parts{t: t, n: n, c: c}
	wide := p.call("wide", "_to_copy.default", argument{value: offsets}, argument{"dtype", ops.Int64})
	at := p.places("offset", wide, w.kernel)
	var all argument
	for d := range w.kernel {
		step := p.call(fmt.Sprint("step", d), "mul.Tensor", at[d], argument{value: w.dilation[d]})
		place := p.call(fmt.Sprint("place", d), "add.Tensor", step, p.starts(w, d))
		all = p.joined(fmt.Sprint("index", d), all, place, w.input[d])
	}
	if p.err != nil {
		return p.err
	}
	return t.aten(c, "alias.default", all)
}

func sizesOf(list []int64) []export.Size {
	out := make([]export.Size, len(list))
	for i, v := range list {
		out[i] = export.Size{Value: v}
	}
	return out
}

// places takes numbers of elements in row-major order apart into their places in each dimension.
func (p *parts) places(what string, flat argument, sizes []int64) []argument {
	out := make([]argument, len(sizes))
	for d := len(sizes) - 1; d > 0; d-- {
		out[d] = p.call(fmt.Sprint(what, d), "remainder.Scalar", flat, argument{value: sizes[d]})
		flat = p.floor(fmt.Sprint(what, "rest", d), flat, sizes[d])
	}
	out[0] = flat
	return out
}

// joined is the other way: all * size + part.
func (p *parts) joined(what string, all, part argument, size int64) argument {
	if all.value == nil {
		return part
	}
	return p.call(what, "add.Tensor", p.call(what+"row", "mul.Tensor", all, argument{value: size}), part)
}

// starts are the places at which the windows begin along dimension d, in a shape that goes with the results.
func (p *parts) starts(w window, d int) argument {
	first := -w.padding[d]
	end := first + w.output[d]*w.stride[d]
	all := p.call(
		fmt.Sprint("starts", d), "arange.start_step", argument{value: first}, argument{value: end}, argument{value: w.stride[d]},
		argument{"dtype", ops.Int64},
	)
	shape := []export.Arg{w.output[d]}
	for range len(w.kernel) - 1 - d {
		shape = append(shape, int64(1))
	}
	return p.call(fmt.Sprint("windows", d), "view.default", all, argument{value: shape})
}

func (p *parts) floor(what string, a argument, by int64) argument {
	if by == 1 {
		return a
	}
	return p.call(what, "div.Tensor_mode", a, argument{value: by}, argument{"rounding_mode", "floor"})
}

// item takes one of several results.
func (p *parts) item(what string, of argument, i int) argument {
	if p.err != nil {
		return argument{}
	}
	x := *p.c
	x.Name, x.Target, x.Results = p.n.Name+partOf+what, "operator.getitem", export.AnyResult
	x.Args = []export.NamedArg{{Name: export.Position(0), Value: of.value}, {Name: export.Position(1), Value: int64(i)}}
	p.t.p.Nodes = append(p.t.p.Nodes, x)
	return argument{value: export.Ref(x.Name)}
}

// ref is the name of a value.
func (a argument) ref() export.Ref {
	r, _ := a.value.(export.Ref)
	return r
}

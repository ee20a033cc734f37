package eval

import (
	"go/types"
	"math"
	"slices"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file captures tensors that a program writes down: torch.NewTensor of
// numbers and of slices of them, and such slices where a subscript or a store
// takes a tensor. They become operators that fill, so that every run has a tensor
// of its own, as it has in eager mode.

// maxLiteral is how many stretches of equal numbers a tensor may be written in.
const maxLiteral = 64

// literal is a nest of slices of numbers, flat.
type literal struct {
	shape  []int
	leaf   types.Type // nil: no elements
	values []ops.Arg  // sym.Int, float64 or bool
}

// newTensor evaluates torch.NewTensor; anything but real numbers breaks.
func newTensor(tr *Trace, in *ssa.Call) {
	data := in.Call.Args[0]
	l, ok := arguments{tr}.literalAt(data.Type(), tr.addr(data), tr.tracked(data))
	if !ok {
		natives{tr}.refuseNative(in, torchPath+"NewTensor")
	}
	kw := map[string]ops.Arg{}
	arguments{tr}.options(in.Call.Args[1], kw)
	dtype, typed := kw["dtype"].(ops.DType)
	if !typed {
		dtype = l.dtype()
	}
	device, ok := deviceOf(kw["device"])
	if !ok {
		natives{tr}.refuseNative(in, torchPath+"NewTensor") // eagerly it says why
	}
	for key, v := range kw {
		if key != "dtype" && key != "device" && (key != "requires_grad" || v != false) {
			natives{tr}.refuseNative(in, torchPath+"NewTensor")
		}
	}
	build := &graph.Builder{G: tr.Graph, Stack: tr.stack(), NoGrad: tr.underNoGrad()}
	node := tr.fill(build, l, dtype, device)
	t := tr.fake(node)
	tr.In.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&t))
	tr.skip()
	tr.set(in, nil)
	tr.nameAfter(in, node)
}

// options reads the torch.Options of a ...parameter.
func (as arguments) options(rest ssa.Value, kw map[string]ops.Arg) {
	e := value.ElemType(rest.Type())
	h := *(*value.SliceHeader)(as.addr(rest))
	if n := as.tracked(rest); n != nil && n.Src != nil {
		as.Guards.Len(n.Src, h.Len)
	}
	places, tracked := as.elemValues(e, h, as.tracked(rest))
	for i := range places {
		as.keyword(e, places[i], tracked[i], kw)
	}
}

// literalAt reads numbers, and slices of them, that are at p; ok is false for
// anything else, and for slices of unequal length.
func (as arguments) literalAt(t types.Type, p unsafe.Pointer, n *value.Tracked) (l *literal, ok bool) {
	if types.IsInterface(t) {
		if t, p, n = as.unwrap(t, p, n); t == nil {
			return nil, false
		}
	}
	if value.KindOf(t).Class != value.NotScalar {
		return &literal{shape: []int{}, leaf: t, values: []ops.Arg{as.argument(t, p, n)}}, true
	}
	s, isSlice := t.Underlying().(*types.Slice)
	if !isSlice {
		return nil, false
	}
	h := *(*value.SliceHeader)(p)
	if n != nil && n.Src != nil {
		as.Guards.Len(n.Src, h.Len)
	}
	l = &literal{shape: []int{h.Len}}
	if value.KindOf(s.Elem()).Class != value.NotScalar {
		l.leaf = s.Elem()
	}
	places, tracked := as.elemValues(s.Elem(), h, n)
	for i := range places {
		part, ok := as.literalAt(s.Elem(), places[i], tracked[i])
		if !ok || i > 0 && !slices.Equal(part.shape, l.shape[1:]) {
			return nil, false
		}
		if i == 0 {
			l.shape, l.leaf = append(l.shape, part.shape...), part.leaf
		}
		l.values = append(l.values, part.values...)
	}
	return l, true
}

// dtype is what NewTensor makes of the numbers where nothing else is asked for.
func (l *literal) dtype() ops.DType {
	if l.leaf == nil {
		return ops.Float32
	}
	switch k := value.KindOf(l.leaf); {
	case k.Class == value.Boolean:
		return ops.Bool
	case k.Class == value.Floating:
		return ops.Float32
	case k == value.ScalarKind{Class: value.UnsignedInt, Bits: 8} && len(l.values) > 0:
		return ops.Uint8
	}
	return ops.Int64
}

// deviceOf is the device that an option names; false where there is none of the name.
func deviceOf(a ops.Arg) (ops.Device, bool) {
	switch a := a.(type) {
	case nil:
		return ops.CPU, true
	case ops.Device:
		d, err := ops.ParseDevice(string(a))
		return d, err == nil
	case string:
		d, err := ops.ParseDevice(a)
		return d, err == nil
	}
	return "", false
}

// fill appends the operators that make a literal: one fill for each stretch of
// equal numbers.
func (c *capture) fill(build *graph.Builder, l *literal, dtype ops.DType, device ops.Device) *graph.Node {
	shape := make([]sym.Int, len(l.shape))
	for i, d := range l.shape {
		shape[i] = sym.C(d)
	}
	runs := l.runs()
	switch {
	case len(runs) > maxLiteral:
		breakAt(breaks.UnknownNativeCall, "torch.NewTensor of %d numbers: make it once, outside of the compiled function", len(l.values))
	case len(runs) == 0:
		return c.emit(build, ops.Full, shape, sym.C(0), dtype, device)
	case len(runs) == 1:
		return c.emit(build, ops.Full, shape, l.values[0], dtype, device)
	}
	parts := make([]ops.Value, len(runs))
	for i, from := range runs {
		to := len(l.values)
		if i+1 < len(runs) {
			to = runs[i+1]
		}
		parts[i] = c.emit(build, ops.Full, []sym.Int{sym.C(to - from)}, l.values[from], dtype, device)
	}
	node := c.emit(build, ops.Cat, parts)
	if len(shape) == 1 {
		return node
	}
	return c.emit(build, ops.View, node, shape)
}

// runs are where stretches of equal numbers begin.
func (l *literal) runs() []int {
	var out []int
	for i, v := range l.values {
		if i == 0 || !sameArg(v, l.values[i-1]) {
			out = append(out, i)
		}
	}
	return out
}

// sameArg reports whether two elements are surely the same; numbers that are
// computed from sizes are not compared.
func sameArg(a, b ops.Arg) bool {
	switch x := a.(type) {
	case sym.Int:
		v, fixed := x.IsConst()
		w, fixedToo := b.(sym.Int).IsConst()
		return fixed && fixedToo && v == w
	case float64: // zeros have signs
		return math.Float64bits(x) == math.Float64bits(b.(float64))
	}
	return a == b
}

// emit appends a call of an operator and returns its node.
func (c *capture) emit(build *graph.Builder, op ops.ID, args ...ops.Arg) *graph.Node {
	row := ops.Get(op)
	bound, err := ops.Bind(row, args, nil)
	if err != nil {
		breakAt(breaks.FakeTensorFailure, "%s: %v", row.Name, err)
	}
	n, err := build.Call(row, bound, graph.CallFunction)
	if err != nil {
		c.refuseOperator(row, err)
	}
	return n
}

// sliceRange evaluates torch.Range, whose bounds may be computed from sizes.
func sliceRange(tr *Trace, in *ssa.Call) {
	bounds := make([]*value.Tracked, 3)
	for i, a := range in.Call.Args {
		if *(*int)(tr.addr(a)) == torch.End { // the bound that Range leaves out
			tr.constant(a)
		} else if n := tr.tracked(a); n != nil {
			bounds[i] = &value.Tracked{Inner: n}
		}
	}
	tr.exec()
	tr.set(in, value.WithParts(bounds))
}

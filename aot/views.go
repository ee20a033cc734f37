package aot

import (
	"fmt"
	"slices"
	"sort"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file takes views: in the pure graph, where a view is a value of its own,
// back from a view that was written to what it is a view of, and at run time.

// viewStep is one view operator with its arguments; the viewed tensor is left
// out.
type viewStep struct {
	op    ops.ID
	at    int // which argument is the viewed tensor
	args  []ops.Arg
	stack []graph.Frame
	// noGrad: no gradient flows through (taken under torch.NoGrad).
	noGrad bool
	// origin is the storage index of element 0 of the flat tensor that an
	// as_strided step reads.
	origin sym.Int
}

// cutsGrad reports whether gradients end at the view.
func (s viewStep) cutsGrad() bool { return s.noGrad || s.op == ops.Detach }

// call is the step's arguments with the viewed tensor.
func (s viewStep) call(v ops.Arg) []ops.Arg {
	args := append([]ops.Arg(nil), s.args...)
	args[s.at] = v
	return args
}

// bound is the step as rules read it.
func (s viewStep) bound() *ops.Call { return &ops.Call{Op: ops.Get(s.op), Args: s.args} }

// stepOf describes the view that node n takes of its first tensor argument.
func stepOf(n *graph.Node) viewStep {
	src, at := viewed(n)
	if n.Op == ops.None {
		return pieceStep(n, src)
	}
	args := append([]ops.Arg(nil), n.Args...)
	args[at] = nil
	return viewStep{op: n.Op, at: at, args: args, stack: n.Stack, noGrad: n.NoGrad}
}

// pieceStep is the view that a getitem takes of what split and its kin cut.
func pieceStep(n, src *graph.Node) viewStep {
	row := src.OpRow()
	list := src.Meta.([]ops.Result)
	_, i := n.Item()
	whole, _ := viewed(src)
	rank := len(whole.TensorMeta().Shape)
	cut := &ops.Call{Op: row, Args: src.Args}
	var along ops.IntArg
	if row.ID == ops.Unbind {
		along = ops.In[ops.UnbindArgs](cut).Dim
	} else {
		along = ops.In[ops.SelfAnyDimArgs](cut).Dim
	}
	dim, err := ops.WrapDim(along.Int(), rank)
	if err != nil {
		panic("aot: " + row.Name + ": " + err.Error())
	}
	s := viewStep{stack: n.Stack, noGrad: n.NoGrad}
	if row.ID == ops.Unbind {
		s.op, s.args = ops.Select, []ops.Arg{nil, sym.C(dim), sym.C(i)}
		return s
	}
	start := sym.C(0)
	for _, r := range list[:i] {
		start = sym.Add(start, r.(*ops.TensorMeta).Shape[dim])
	}
	end := sym.Add(start, n.TensorMeta().Shape[dim])
	s.op, s.args = ops.Slice, []ops.Arg{nil, sym.C(dim), start, end, sym.C(1)}
	return s
}

// viewed returns the tensor argument that a view operator views.
func viewed(n *graph.Node) (*graph.Node, int) {
	for i, a := range n.Args {
		if m, ok := a.(*graph.Node); ok {
			return m, i
		}
	}
	return nil, -1
}

// plainView are the views whose inverse is known; others go by storage index.
var plainView = map[ops.ID]bool{
	ops.View: true, ops.Unsqueeze: true, ops.Squeeze: true, ops.Transpose: true, ops.T: true, ops.Permute: true,
	ops.Detach: true, ops.Alias: true, ops.Slice: true, ops.Select: true, ops.Diagonal: true, ops.Expand: true,
	ops.ViewAsReal: true, ops.ViewAsComplex: true,
}

// stridedSteps lead from a root to the view n by storage index: the root in the
// order of its memory, flat, then as_strided.
func stridedSteps(root *ops.TensorMeta, n *graph.Node) ([]viewStep, error) {
	m := n.TensorMeta()
	if m.DType != root.DType {
		return nil, fmt.Errorf("%s sees %s as %s", n.Name, root.DType, m.DType)
	}
	order, ok := memoryOrder(root)
	if !ok {
		return nil, fmt.Errorf("%s views memory that its base does not cover without gaps", n.Name)
	}
	var steps []viewStep
	step := func(op ops.ID, args ...ops.Arg) {
		steps = append(steps, viewStep{op: op, args: append([]ops.Arg{nil}, args...), stack: n.Stack, noGrad: n.NoGrad})
	}
	if !sort.IntsAreSorted(order) {
		step(ops.Permute, sym.Consts(order))
	}
	if len(order) != 1 {
		step(ops.View, []sym.Int{sym.Product(root.Shape)})
	}
	step(ops.AsStrided, m.Shape, m.Stride, m.Offset)
	steps[len(steps)-1].origin = root.Offset
	return steps, nil
}

// memoryOrder lists the dimensions from the slowest to the fastest; ok is false
// for a tensor that skips or repeats memory.
func memoryOrder(m *ops.TensorMeta) (order []int, ok bool) {
	for i := range m.Shape {
		order = append(order, i)
	}
	sort.SliceStable(order, func(i, j int) bool { return m.Stride[order[i]].Hint() > m.Stride[order[j]].Hint() })
	want := sym.C(1)
	for k := len(order) - 1; k >= 0; k-- {
		d := order[k]
		if !sym.Is(m.Shape[d], 1) && !sym.Same(m.Stride[d], want) {
			return nil, false
		}
		want = sym.Mul(want, m.Shape[d])
	}
	return order, true
}

// overlaps reports whether the layout shows one place twice.
func (l strided) overlaps() bool {
	var dims []int
	for i := range l.size {
		if l.size[i].Hint() > 1 {
			dims = append(dims, i)
		}
	}
	sort.Slice(dims, func(i, j int) bool { return l.stride[dims[i]].Hint() < l.stride[dims[j]].Hint() })
	reach := int64(0) // of the faster dimensions
	for _, d := range dims {
		if l.stride[d].Hint() <= reach {
			return true
		}
		reach += (l.size[d].Hint() - 1) * l.stride[d].Hint()
	}
	return false
}

// take is the view of v in the pure graph.
func take(b *graph.Builder, s viewStep, v *graph.Node) *graph.Node {
	c := *b
	c.Stack, c.NoGrad = s.stack, s.noGrad
	switch s.op {
	case ops.View: // the value may be laid out otherwise than the memory that it stands for
		return c.Emit(ops.Reshape, v, ops.In[ops.ViewArgs](s.bound()).Size.Arg).(*graph.Node)
	case ops.AsStrided:
		return gather(&c, s, v)
	case ops.ViewAsComplex:
		return asComplex(&c, v)
	}
	out, err := c.Call(ops.Get(s.op), s.call(v), graph.CallFunction)
	if err != nil {
		panic(fmt.Sprintf("aot: %s of a changed tensor: %v", ops.Get(s.op).Name, err))
	}
	return out
}

// put gives the content of base after val was written through one view of it.
func put(b *graph.Builder, s viewStep, base, val *graph.Node) (*graph.Node, error) {
	switch s.op {
	case ops.View, ops.Unsqueeze, ops.Squeeze:
		return b.Emit(ops.Reshape, val, base.TensorMeta().Shape).(*graph.Node), nil
	case ops.Transpose, ops.T:
		return b.Call(ops.Get(s.op), s.call(val), graph.CallFunction)
	case ops.Permute:
		return b.Emit(ops.Permute, val, inverse(ops.In[ops.PermuteArgs](s.bound()).Dims.Ints())).(*graph.Node), nil
	case ops.Detach, ops.Alias:
		return val, nil
	case ops.Expand:
		if !sym.Same(sym.Product(base.TensorMeta().Shape), sym.Product(val.TensorMeta().Shape)) {
			return nil, fmt.Errorf(
				"an in-place operator cannot write to a tensor with several elements at one memory location: clone it first",
			)
		}
		return b.Emit(ops.Reshape, val, base.TensorMeta().Shape).(*graph.Node), nil
	case ops.AsStrided:
		return scatter(b, s, base, val), nil
	case ops.ViewAsReal:
		return asComplex(b, val), nil
	case ops.ViewAsComplex:
		return b.Emit(ops.ViewAsReal, val).(*graph.Node), nil
	}
	into := map[ops.ID]ops.ID{ops.Slice: ops.SliceScatter, ops.Select: ops.SelectScatter, ops.Diagonal: ops.DiagonalScatter}[s.op]
	return b.Call(ops.Get(into), slices.Insert(s.call(base), s.at+1, ops.Arg(val)), graph.CallFunction)
}

// asComplex sees pairs of numbers as complex ones, which must lie side by side for that.
func asComplex(b *graph.Builder, v *graph.Node) *graph.Node {
	return b.Emit(ops.ViewAsComplex, b.Emit(ops.Contiguous, v)).(*graph.Node)
}

func inverse(perm []sym.Int) []sym.Int {
	out := make([]sym.Int, len(perm))
	for i, p := range perm {
		v, _ := p.IsConst()
		if v < 0 {
			v += int64(len(perm))
		}
		out[v] = sym.C(i)
	}
	return out
}

// strided is a layout in a flat tensor.
type strided struct {
	size, stride []sym.Int
	at           sym.Int // index of the first element
}

func layoutOf(s viewStep) strided {
	a := ops.In[ops.AsStridedArgs](s.bound())
	return strided{a.Size.Ints(), a.Stride.Ints(), sym.Sub(a.StorageOffset.Int(), s.origin)}
}

// run reports whether the elements are one run of the flat tensor, in the given
// order of dimensions.
func (l strided) run() (order []int, ok bool) {
	return memoryOrder(&ops.TensorMeta{Shape: l.size, Stride: l.stride})
}

// gather reads a layout from a flat tensor.
func gather(b *graph.Builder, s viewStep, flat *graph.Node) *graph.Node {
	l := layoutOf(s)
	n := sym.Product(l.size)
	if order, ok := l.run(); ok {
		sizes := make([]sym.Int, len(order))
		for i, d := range order {
			sizes[i] = l.size[d]
		}
		v := b.Emit(ops.Reshape, b.Emit(ops.Slice, flat, sym.C(0), l.at, sym.Add(l.at, n), sym.C(1)), sizes)
		return b.Emit(ops.Permute, v, inverse(sym.Consts(order))).(*graph.Node)
	}
	return b.Emit(ops.Reshape, b.Emit(ops.IndexSelect, flat, sym.C(0), l.positions(b, flat)), l.size).(*graph.Node)
}

// scatter is the flat tensor with the elements of a layout replaced by val.
func scatter(b *graph.Builder, s viewStep, flat, val *graph.Node) *graph.Node {
	l := layoutOf(s)
	n := sym.Product(l.size)
	if order, ok := l.run(); ok {
		v := b.Emit(ops.Reshape, b.Emit(ops.Permute, val, sym.Consts(order)), []sym.Int{n})
		return b.Emit(ops.SliceScatter, flat, v, sym.C(0), l.at, sym.Add(l.at, n), sym.C(1)).(*graph.Node)
	}
	v := b.Emit(ops.Reshape, val, []sym.Int{n})
	return b.Emit(ops.Scatter, flat, sym.C(0), l.positions(b, flat), v).(*graph.Node)
}

// positions lists the flat index of every element, in order.
func (l strided) positions(b *graph.Builder, like *graph.Node) ops.Value {
	dev := like.TensorMeta().Device
	at := b.Emit(ops.Full, []sym.Int{}, l.at, ops.Int64, dev)
	for i, n := range l.size {
		index := b.Emit(ops.Arange, sym.C(0), n, sym.C(1), ops.Int64, dev)
		at = b.Emit(ops.Add, b.Emit(ops.Unsqueeze, at, sym.C(i)), b.Emit(ops.Mul, index, l.stride[i]))
	}
	return b.Emit(ops.Reshape, at, []sym.Int{sym.Product(l.size)})
}

// runView takes a captured view of a real tensor; sizes, where it is not nil,
// evaluates the sizes among its arguments.
func runView(s viewStep, t torch.Value, sizes func(sym.Int) sym.Int) torch.Value {
	args := s.call(t)
	for i, a := range args {
		switch a := a.(type) {
		case sym.Int:
			if sizes != nil {
				args[i] = sizes(a)
			}
		case []sym.Int:
			if sizes != nil {
				out := make([]sym.Int, len(a))
				for k, x := range a {
					out[k] = sizes(x)
				}
				args[i] = out
			}
		}
	}
	if s.noGrad {
		return torch.CallUntaped(s.op, args)[0]
	}
	return torch.Call(s.op, args)[0]
}

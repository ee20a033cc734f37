// Package lower turns a graph of operators into loop nodes (package ir): a table
// keyed by operator holds one lowering each. Views become other addresses into
// the buffer of their base, constants and ranges become values without memory,
// pointwise operators and reductions become loops, matrix products templates.
// Operators without a lowering are decomposed; what remains is an extern call
// with its reason.
//
// It imports ir, graph, ops and sym; never sched or codegen. Open lower.go
// first, then table.go.
package lower

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Options steer a lowering.
type Options struct {
	// Params[i] tells that placeholder i changes rarely: a module's parameter.
	Params []bool
	// Training tells that parameters which want gradients change after every call.
	Training bool
	// Externs leaves convolutions whose results lie in another order than PyTorch's contiguous one to the eager operator.
	Externs bool
}

// Lower turns g into loops. The error names the operator that it refuses:
// mutations, which aot must have functionalized, and values that are no tensor.
func Lower(g *graph.Graph, opt Options) (*ir.Program, error) {
	g = Decomposed(g)
	l := &lowering{
		prog:    &ir.Program{Name: g.Name},
		vals:    map[*graph.Node]*tensor{},
		multi:   map[*graph.Node][]*tensor{},
		checked: map[string]bool{},
		opt:     opt,
	}
	if err := l.graph(g); err != nil {
		return nil, err
	}
	l.prog.Nodes = pruned(l.prog)
	return l.prog, nil
}

// tensor is a value of the graph as lowerings see it: a layout over a buffer, or
// over a virtual line of numbers start + step*address that has no memory.
type tensor struct {
	buf    *ir.Buffer
	line   *line
	dtype  ops.DType
	shape  []sym.Int
	stride []sym.Int
	off    sym.Int
}

// line is the content of a tensor without memory.
type line struct {
	f           float64 // a constant of floating-point type; step is 0 then
	start, step sym.Int
}

type lowering struct {
	prog   *ir.Program
	vals   map[*graph.Node]*tensor
	multi  map[*graph.Node][]*tensor
	opt    Options
	cur    *graph.Node // being lowered; origin of the nodes made now
	count  int
	inputs int // placeholders that are tensors
	// checked are the positions that are checked already; see checkedBefore.
	checked map[string]bool
}

// refusal is an error inside a lowering.
type refusal struct{ err error }

func (l *lowering) graph(g *graph.Graph) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			err = r.err
		default:
			panic(r)
		}
	}()
	return l.nodes(g)
}

func (l *lowering) nodes(g *graph.Graph) error {
	inputs := 0
	for n := g.First(); n != nil; n = n.Next() {
		l.cur = n
		switch n.Kind {
		case graph.Placeholder:
			l.input(n, inputs)
			inputs++
		case graph.Output:
			return l.outputs(n)
		default:
			if err := l.call(n); err != nil {
				return fmt.Errorf("inductor: %s: %w", n.Name, err)
			}
		}
	}
	return fmt.Errorf("inductor: graph %s has no output", g.Name)
}

func (l *lowering) input(n *graph.Node, i int) {
	m, ok := n.Meta.(*ops.TensorMeta)
	if !ok {
		l.prog.Inputs = append(l.prog.Inputs, nil)
		return
	}
	b := &ir.Buffer{Name: n.Name, DType: m.DType, Shape: m.Shape, Stride: m.Stride, Kind: ir.Input, Node: n.Name}
	b.Param = i < len(l.opt.Params) && l.opt.Params[i]
	b.Trained = b.Param && l.opt.Training && m.RequiresGrad
	l.prog.Inputs = append(l.prog.Inputs, b)
	l.prog.Buffers = append(l.prog.Buffers, b)
	l.inputs++
	l.vals[n] = &tensor{buf: b, dtype: m.DType, shape: m.Shape, stride: m.Stride}
}

// call lowers one operator call.
func (l *lowering) call(n *graph.Node) error {
	if n.Flow != nil {
		return l.flow(n)
	}
	if n.Op == ops.None {
		return l.getitem(n)
	}
	row := n.OpRow()
	if row.Tags.Has(ops.TagInPlace) {
		return fmt.Errorf("%s mutates its argument: the graph must be functionalized first", row.Name)
	}
	c := &call{l: l, n: n, row: row, bound: ops.Call{Op: row, Args: n.Args}}
	if row.Tags.Has(ops.TagRandom) {
		return c.extern(ir.ReasonRandom)
	}
	if c.touchesComplex() {
		return c.complex()
	}
	if row.Tags.Has(ops.TagView) {
		return c.view()
	}
	f := lowerings()[n.Op]
	if f == nil {
		return c.extern(externReason(n.Op))
	}
	if _, bad := c.unsupportedDType(); bad {
		return c.extern(ir.ReasonDType)
	}
	return f(c)
}

func (l *lowering) getitem(n *graph.Node) error {
	src, i := n.Item()
	list := l.multi[src]
	if i >= len(list) {
		return fmt.Errorf("getitem of a value that is not a list")
	}
	l.vals[n] = list[i]
	return nil
}

func (l *lowering) outputs(n *graph.Node) error {
	for _, a := range n.Args {
		o, err := l.output(a)
		if err != nil {
			return err
		}
		l.prog.Outputs = append(l.prog.Outputs, o)
	}
	return nil
}

func (l *lowering) output(a ops.Arg) (ir.Output, error) {
	out := ir.Output{Scalar: ir.ScalarRef{Input: -1}}
	n, ok := a.(*graph.Node)
	if !ok {
		out.Value = a
		return out, nil
	}
	t := l.vals[n]
	if t == nil {
		if x, ok := n.Meta.(sym.Int); ok {
			out.Value = x
			return out, nil
		}
		return out, fmt.Errorf("inductor: output %s is not a tensor", n.Name)
	}
	if t.line != nil {
		t = l.materialize(t, n)
		l.vals[n] = t
	}
	if t.buf.Kind == ir.Temp {
		t.buf.Kind = ir.Result
	}
	out.Buf, out.Shape, out.Stride, out.Off = t.buf, t.shape, t.stride, t.off
	return out, nil
}

// newBuffer adds a buffer that a node made now will fill.
func (l *lowering) newBuffer(d ops.DType, shape, stride []sym.Int) *ir.Buffer {
	b := &ir.Buffer{
		Name: fmt.Sprintf("buf%d", len(l.prog.Buffers)-l.inputs), DType: d,
		Shape: shape, Stride: stride, Kind: ir.Temp, Node: l.cur.Name,
	}
	l.prog.Buffers = append(l.prog.Buffers, b)
	return b
}

// newNode appends a node whose origin is the operator being lowered.
func (l *lowering) newNode(kind ir.NodeKind, outer, inner []sym.Int) *ir.Node {
	n := &ir.Node{Name: fmt.Sprintf("op%d", l.count), Kind: kind, Outer: outer, Inner: inner}
	l.count++
	n.Origins = []ir.Origin{{Node: l.cur.Name, Op: opName(l.cur), Stack: l.cur.Stack}}
	l.prog.Nodes = append(l.prog.Nodes, n)
	return n
}

func opName(n *graph.Node) string {
	if row := n.OpRow(); row != nil {
		return row.Name
	}
	return n.Target
}

// materialize gives a tensor without memory a buffer.
func (l *lowering) materialize(t *tensor, n *graph.Node) *tensor {
	l.cur = n
	stride := t.stride
	buf := l.newBuffer(t.dtype, t.shape, stride)
	b := l.pointwiseNode(t.shape)
	b.store(buf, stride, b.load(t))
	return &tensor{buf: buf, dtype: t.dtype, shape: t.shape, stride: stride}
}

// pruned drops the nodes whose results nobody reads.
func pruned(p *ir.Program) []*ir.Node {
	live := map[*ir.Buffer]bool{}
	for _, o := range p.Outputs {
		if o.Buf != nil {
			live[o.Buf] = true
		}
	}
	keep := make([]bool, len(p.Nodes))
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := p.Nodes[i]
		// An effect may hide in an extern call, the generator's state; and later nodes rely on checks.
		keep[i] = n.Kind == ir.Extern || n.Checks()
		n.Writes(func(b *ir.Buffer, _ *ir.Index) { keep[i] = keep[i] || live[b] })
		if keep[i] {
			n.Reads(func(b *ir.Buffer, _ *ir.Index) { live[b] = true })
		}
	}
	var out []*ir.Node
	for i, n := range p.Nodes {
		if keep[i] {
			out = append(out, n)
		}
	}
	return out
}

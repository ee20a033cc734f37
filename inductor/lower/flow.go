package lower

import (
	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file lowers control flow: a call, between kernels, of programs of its own.

const (
	reasonFlow   ir.Reason = "the data decides which of its graphs runs, and how often"
	reasonSlices ir.Reason = "its graph runs for one slice after the other"
)

// flow lowers a node of control flow.
func (l *lowering) flow(n *graph.Node) error {
	c := &call{l: l, n: n}
	x := &ir.ExternInfo{Reason: reasonFlow, Flow: &ir.FlowInfo{
		Op: n.Flow.Op, Names: n.BodyNames(), Bodies: n.Flow.Bodies, Carried: n.Carried(), Sliced: n.Sliced(),
	}}
	if x.Flow.Sliced > 0 {
		x.Flow.Length, x.Reason = n.Length(), reasonSlices
	}
	read := n.Operands()
	if p := n.Predicate(); p != nil {
		x.Flow.Chooses = true
		read = append([]*graph.Node{p}, read...)
	}
	for _, v := range read {
		a, err := c.externNode(v)
		if err != nil {
			return err
		}
		x.Args = append(x.Args, a)
	}
	l.newNode(ir.Extern, nil, nil).Ext = x
	for _, r := range n.Meta.([]ops.Result) {
		m := r.(*ops.TensorMeta)
		buf := l.newBuffer(m.DType, m.Shape, m.Stride)
		x.Outs = append(x.Outs, buf)
		l.multi[n] = append(l.multi[n], &tensor{buf: buf, dtype: m.DType, shape: m.Shape, stride: m.Stride})
	}
	return nil
}

package eval

import (
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

// This file captures compiler.WhileLoop: its condition and its body are traced with
// stand-ins for what is carried and become the bodies of one node, while_loop.

// loopWords are what the functions of a loop are called in names.
var loopWords = []string{"cond_fn", "body_fn"}

// enterLoop begins a call of compiler.WhileLoop with its condition.
func enterLoop(tr *Trace, in *ssa.Call) bool {
	c := beginFlow(tr, in, graph.WhileTarget, breaks.DataDependentLoop)
	list := in.Call.Args[2]
	n := tr.tracked(list)
	if n != nil && n.Src != nil {
		tr.Guards.Len(n.Src, (*value.SliceHeader)(tr.addr(list)).Len)
	}
	places, tracked := tr.elemValues(value.ElemType(list.Type()), *(*value.SliceHeader)(tr.addr(list)), n)
	for i, p := range places {
		c.operands = append(c.operands, tr.nodeOf(*(**torch.Tensor)(p), tracked[i]))
	}
	if len(c.operands) == 0 {
		c.refuse("it carries nothing")
	}
	tr.refuseLoopGradient(c, c.operands)
	tr.begun(c)
	tr.traceLoopBody(c)
	return true
}

// refuseLoopGradient breaks where gradients would flow through a loop: how many rounds the
// backward pass has to go back only the data tells.
func (tr *Trace) refuseLoopGradient(c *controlFlow, nodes []*graph.Node) {
	if !tr.underNoGrad() && slices.ContainsFunc(nodes, tr.wantsGrad) {
		c.refuse("it reads a tensor that requires gradients, which no graph takes through a loop")
	}
}

// traceLoopBody begins to trace the next function of a loop.
func (tr *Trace) traceLoopBody(c *controlFlow) {
	before := tr.Graph.Last()
	c.params = nil
	list := make([]*torch.Tensor, len(c.operands))
	for i, x := range c.operands {
		m := *x.TensorMeta()
		m.RequiresGrad, m.Offset = false, sym.C(0)
		p := tr.Graph.Append(&graph.Node{Name: "child", Kind: graph.Placeholder, Target: "child", Meta: &m})
		c.params = append(c.params, p)
		list[i] = tr.fake(p)
	}
	v := c.call.Call.Args[len(c.bodies)]
	tr.traceFlowBody(c, v, nil, unsafe.Pointer(&list))
	c.before = before
	param := tr.top().frame.Code.Fn.Params[0]
	tr.backing(param.Type(), tr.shadowAddr(param))
}

// endLoopBody takes what the condition or the body of a loop returns.
func (tr *Trace) endLoopBody(c *controlFlow, in *ssa.Return) {
	v := in.Results[0]
	if len(c.bodies) == 0 {
		t := *(**torch.Tensor)(tr.addr(v))
		if t == nil {
			c.refuse("its condition returns nil")
		}
		node := tr.nodeOf(t, tr.tracked(v))
		c.oneElement(node, "what its condition returns")
		tr.takeBody(c, loopWords[0], []*graph.Node{node})
		tr.leaveFlowBody()
		tr.traceLoopBody(c)
		return
	}
	tr.takeBody(c, loopWords[1], tr.roundResults(c, v))
	tr.leaveFlowBody()
	read := c.completeBodies()
	tr.refuseLoopGradient(c, read)
	out := tr.endFlow(c, values(c.operands), values(read))
	tr.In.Copy(c.call.Type(), tr.addr(c.call), unsafe.Pointer(&out))
	tr.backing(c.call.Type(), tr.addr(c.call))
	tr.set(c.call, nil)
}

// roundResults are the tensors that one round gives for the next: like what it got.
func (tr *Trace) roundResults(c *controlFlow, v ssa.Value) []*graph.Node {
	places, tracked := tr.elemValues(value.ElemType(v.Type()), *(*value.SliceHeader)(tr.addr(v)), tr.tracked(v))
	if len(places) != len(c.operands) {
		c.refuse("its body returns %d tensors where it carries %d", len(places), len(c.operands))
	}
	var out []*graph.Node
	bases := map[*torch.Tensor]bool{}
	for i, p := range places {
		t := *(**torch.Tensor)(p)
		node := tr.ownResult(c, t, tracked[i], "its body")
		if bases[tr.baseOf(t)] {
			c.refuse("two tensors that its body returns share memory")
		}
		bases[tr.baseOf(t)] = true
		if what, x, y := like(c.params[i].Meta.(*ops.TensorMeta), node.TensorMeta()); what != "" {
			c.refuse("its body gets a tensor of %s %v and returns one of %v", what, x, y)
		}
		out = append(out, node)
	}
	return out
}

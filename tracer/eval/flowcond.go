package eval

import (
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file captures compiler.Cond: both branches are traced and become the bodies of one
// node, cond. A predicate that is written down takes its branch.

// branchWords are what the branches are called in names, and in breaks.
var branchWords, branchNames = []string{"true_branch", "false_branch"}, []string{"the true branch", "the false branch"}

// enterCond begins a call of compiler.Cond with its true branch.
func enterCond(tr *Trace, in *ssa.Call) bool {
	c := beginFlow(tr, in, graph.CondTarget, breaks.DataDependentBranching)
	pred := tr.tensorNode(in.Call.Args[0])
	c.oneElement(pred, "the predicate")
	if yes, known := tr.writtenDown(in.Call.Args[0], pred); known {
		branch := in.Call.Args[2]
		if yes {
			branch = in.Call.Args[1]
		}
		list := in.Call.Args[3]
		of, at := tr.tracked(list), tr.addr(list)
		tr.begun(c)
		tr.enterFlowBody(c, branch, of, at, in)
		tr.flowing = c.outer
		return true
	}
	list := in.Call.Args[3]
	n := tr.tracked(list)
	if n != nil && n.Src != nil {
		tr.Guards.Len(n.Src, (*value.SliceHeader)(tr.addr(list)).Len)
	}
	places, tracked := tr.elemValues(value.ElemType(list.Type()), *(*value.SliceHeader)(tr.addr(list)), n)
	for i, p := range places {
		tr.nodeOf(*(**torch.Tensor)(p), tracked[i])
	}
	tr.begun(c)
	tr.traceFlowBody(c, in.Call.Args[1], n, tr.addr(list))
	return true
}

// writtenDown reports what a predicate is that is a number of the program's text.
func (tr *Trace) writtenDown(v ssa.Value, n *graph.Node) (yes, known bool) {
	if n.Op != ops.Full || tr.mutated[tr.baseOf(tr.tensorAt(v))] {
		return false, false
	}
	fill := ops.In[ops.FullArgs](&ops.Call{Op: n.OpRow(), Args: n.Args}).FillValue.Arg
	if _, open := fill.(*graph.Node); open {
		return false, false
	}
	return ops.NumberOf(fill) != 0, true
}

// endBranch takes what a branch returns, and goes on with the other one or ends the call.
func (tr *Trace) endBranch(c *controlFlow, in *ssa.Return) {
	v, k := in.Results[0], len(c.bodies)
	node := tr.ownResult(c, *(**torch.Tensor)(tr.addr(v)), tr.tracked(v), branchNames[k])
	tr.takeBody(c, branchWords[k], []*graph.Node{node})
	tr.leaveFlowBody()
	args := c.call.Call.Args
	if k == 0 {
		tr.traceFlowBody(c, args[2], tr.tracked(args[3]), tr.addr(args[3]))
		return
	}
	yes, no := c.bodies[0].Outputs()[0].(*graph.Node), c.bodies[1].Outputs()[0].(*graph.Node)
	if what, x, y := like(yes.TensorMeta(), no.TensorMeta()); what != "" {
		c.refuse("the output of the true branch has %s %v, that of the false branch %v", what, x, y)
	}
	t := tr.endFlow(c, tr.tensorNode(args[0]), values(c.completeBodies()))[0]
	tr.In.Copy(c.call.Type(), tr.addr(c.call), unsafe.Pointer(&t))
	tr.set(c.call, nil)
	tr.nameAfter(c.call, tr.Nodes[t])
}

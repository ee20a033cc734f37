package eval

import (
	"fmt"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file traces choices: compiler.Cond and compiler.Switch.

// enterCond begins a call of compiler.Cond with its true branch.
func enterCond(t *Trace, in *ssa.Call) bool {
	tr, c := flows{t}, beginFlow(t, in, graph.CondTarget, breaks.DataDependentBranching)
	args := in.Call.Args
	c.pick = tr.tensorNode(args[0])
	c.oneElement(c.pick, "the predicate")
	c.branches = []place{tr.placeOf(args[1]), tr.placeOf(args[2])}
	only := -1
	if x, known := tr.writtenDown(args[0], c.pick); known {
		only = 1
		if x != 0 {
			only = 0
		}
	}
	tr.enterChoice(c, only, args[3])
	return true
}

// enterSwitch begins a call of compiler.Switch with its first branch.
func enterSwitch(t *Trace, in *ssa.Call) bool {
	tr, c := flows{t}, beginFlow(t, in, graph.SwitchTarget, breaks.DataDependentBranching)
	args := in.Call.Args
	c.branches = tr.elements(args[1])
	last := len(c.branches) - 1
	if last < 0 {
		c.refuse("it has no branch")
	}
	index := tr.tensorNode(args[0])
	c.oneElement(index, "the index")
	if d := index.TensorMeta().DType; d.IsFloat() || d.IsComplex() {
		c.refuse("the index is of %s, which is no whole number", d)
	}
	only := -1
	if x, known := tr.writtenDown(args[0], index); known || last == 0 {
		only = min(max(int(x), 0), last)
	} else {
		_, c.pick = tr.emit(c, ops.Clamp, graph.CallMethod, tr.tensorAt(args[0]), index, sym.C(0), sym.C(last))
	}
	tr.enterChoice(c, only, args[2])
	return true
}

// emit appends the call of an operator on t, which eager mode makes for the call, and
// returns what it gives.
func (tr flows) emit(
	c *controlFlow, id ops.ID, kind graph.Kind, t *torch.Tensor, n *graph.Node, args ...ops.Arg,
) (*torch.Tensor, *graph.Node) {
	row := ops.Get(id)
	bound, err := ops.Bind(row, append([]ops.Arg{n}, args...), nil)
	if err != nil {
		c.refuse("%s: %v", row.Name, err)
	}
	b := &graph.Builder{G: tr.Graph, Stack: c.stack, NoGrad: tr.underNoGrad()}
	node, err := b.Call(row, bound, kind)
	if err != nil {
		c.refuse("%s: %v", row.Name, err)
	}
	y := tr.fake(node)
	if row.Tags.Has(ops.TagView) {
		tr.bases[y] = tr.baseOf(t)
		tr.recordView(y, t, row)
	}
	return y, node
}

// enterChoice begins with the first branch, or enters the only one that there is.
func (tr flows) enterChoice(c *controlFlow, only int, list ssa.Value) {
	given := tr.placeOf(list)
	if only >= 0 {
		tr.begun(c)
		tr.enterFlowBody(c, c.branches[only], c.branch(only), c.call, given)
		tr.flowing = c.outer
		return
	}
	tr.tensorsOf(list)
	tr.begun(c)
	tr.traceFlowBody(c, c.branches[0], c.branch(0), given)
}

// branch is what branch k is called in breaks.
func (c *controlFlow) branch(k int) string {
	if c.flow.Op == graph.SwitchTarget {
		return fmt.Sprintf("branch %d", k)
	}
	return []string{"the true branch", "the false branch"}[k]
}

// branchWord is what branch k is called in names.
func (c *controlFlow) branchWord(k int) string {
	if c.flow.Op == graph.SwitchTarget {
		return fmt.Sprintf("branch%d", k)
	}
	return []string{"true_branch", "false_branch"}[k]
}

// writtenDown reports what a tensor holds that is a number of the program's text.
func (tr flows) writtenDown(v ssa.Value, n *graph.Node) (x float64, known bool) {
	if n.Op != ops.Full || tr.mutated[tr.baseOf(tr.tensorAt(v))] {
		return 0, false
	}
	fill := ops.In[ops.FullArgs](&ops.Call{Op: n.OpRow(), Args: n.Args}).FillValue.Arg
	if _, open := fill.(*graph.Node); open {
		return 0, false
	}
	return ops.NumberOf(fill), true
}

// endBranch takes what a branch returns, and goes on with the next one or ends the call.
func (tr flows) endBranch(c *controlFlow, in *ssa.Return) {
	v, k := in.Results[0], len(c.bodies)
	node := tr.ownResult(c, *(**torch.Tensor)(tr.addr(v)), tr.tracked(v), c.branch(k))
	tr.takeBody(c, c.branchWord(k), []*graph.Node{node})
	tr.leaveFlowBody()
	args := c.call.Call.Args
	if k++; k < len(c.branches) {
		tr.traceFlowBody(c, c.branches[k], c.branch(k), tr.placeOf(args[len(args)-1]))
		return
	}
	first := c.bodies[0].Outputs()[0].(*graph.Node).TensorMeta()
	for i, b := range c.bodies {
		if what, x, y := like(first, b.Outputs()[0].(*graph.Node).TensorMeta()); what != "" {
			c.refuse("the output of %s has %s %v, that of %s %v", c.branch(0), what, x, c.branch(i), y)
		}
	}
	t := tr.endFlow(c, c.pick, values(c.completeBodies()))[0]
	tr.In.Copy(c.call.Type(), tr.addr(c.call), unsafe.Pointer(&t))
	tr.set(c.call, nil)
	tr.nameAfter(c.call, tr.Nodes[t])
}

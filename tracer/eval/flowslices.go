package eval

import (
	"go/types"
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

// This file traces what calls a function for one slice of its operands after the other:
// compiler.Map, compiler.Scan and compiler.AssociativeScan.

// along is how a scan goes through its operands.
type along struct {
	dim     int
	reverse bool
	always  bool // it moves the dimension to the front wherever that is
}

// enterMap begins a call of compiler.Map.
func enterMap(t *Trace, in *ssa.Call) bool {
	tr, c := flows{t}, beginFlow(t, in, graph.MapTarget, breaks.BodyNotCaptured)
	_, c.operands = tr.tensorsOf(in.Call.Args[1])
	rest, always := tr.tensorsOf(in.Call.Args[2])
	c.always = always
	c.sameLength(c.operands)
	tr.begun(c)
	tr.traceSlices(c, rest)
	return true
}

// enterScan begins a call of compiler.Scan.
func enterScan(t *Trace, in *ssa.Call) bool {
	tr, c := flows{t}, beginFlow(t, in, graph.ScanTarget, breaks.BodyNotCaptured)
	_, init := tr.tensorsOf(in.Call.Args[1])
	if c.carried = len(init); c.carried == 0 {
		c.refuse("it carries nothing")
	}
	c.along = tr.alongOf(c, in.Call.Args[3])
	c.operands = append(init, tr.turned(c, in.Call.Args[2])...)
	tr.begun(c)
	tr.traceSlices(c, nil)
	return true
}

// enterAssociative begins a call of compiler.AssociativeScan.
func enterAssociative(t *Trace, in *ssa.Call) bool {
	tr, c := flows{t}, beginFlow(t, in, graph.AssocTarget, breaks.BodyNotCaptured)
	c.along = tr.alongOf(c, in.Call.Args[2])
	c.along.always = true
	c.operands = tr.turned(c, in.Call.Args[1])
	tr.begun(c)
	tr.traceSlices(c, nil)
	return true
}

// alongOf reads the options of a scan.
func (tr flows) alongOf(c *controlFlow, opts ssa.Value) along {
	kw, a := map[string]ops.Arg{}, along{}
	arguments(tr).options(opts, kw)
	for name, v := range kw {
		switch x := v.(type) {
		case sym.Int:
			k, known := x.IsConst()
			if name != "dim" || !known {
				c.refuse("%s is %v", name, v)
			}
			a.dim = int(k)
		case bool:
			if name != "reverse" {
				c.refuse("%s is %v", name, v)
			}
			a.reverse = x
		default:
			c.refuse("%s is %v", name, v)
		}
	}
	return a
}

// turned are the tensors of a list with the dimension that is gone through in front, from
// where it is gone through.
func (tr flows) turned(c *controlFlow, list ssa.Value) []*graph.Node {
	ts, nodes := tr.tensorsOf(list)
	c.sameLength(nodes)
	for i, t := range ts {
		if c.along.dim != 0 || c.along.always {
			t, nodes[i] = tr.emit(c, ops.Movedim, graph.CallFunction, t, nodes[i], []sym.Int{sym.C(c.along.dim)}, []sym.Int{sym.C(0)})
		}
		if c.along.reverse {
			_, nodes[i] = tr.emit(c, ops.Flip, graph.CallFunction, t, nodes[i], []sym.Int{sym.C(0)})
		}
	}
	return nodes
}

// turnedBack are results of a scan as turned has its operands.
func (tr flows) turnedBack(c *controlFlow, ts []*torch.Tensor) []*torch.Tensor {
	for i, t := range ts {
		n := tr.Nodes[t]
		if c.along.reverse {
			t, n = tr.emit(c, ops.Flip, graph.CallMethod, t, n, []sym.Int{sym.C(0)})
		}
		if (c.along.dim != 0 || c.along.always) && c.along.dim < len(n.TensorMeta().Shape) {
			t, _ = tr.emit(c, ops.Movedim, graph.CallFunction, t, n, []sym.Int{sym.C(0)}, []sym.Int{sym.C(c.along.dim)})
		}
		ts[i] = t
	}
	return ts
}

// sameLength breaks where not all tensors that are taken apart have the same number of
// slices, or none.
func (c *controlFlow) sameLength(list []*graph.Node) {
	if len(list) == 0 {
		c.refuse("it takes no tensor apart")
	}
	if first := len(list[0].TensorMeta().Shape); c.along.dim < 0 {
		c.along.dim += first
	}
	var length sym.Int
	for i, x := range list {
		shape := x.TensorMeta().Shape
		if c.along.dim < 0 || c.along.dim >= len(shape) {
			c.refuse("it takes a tensor of %d dimensions apart along dimension %d", len(shape), c.along.dim)
		}
		n := shape[c.along.dim]
		if i == 0 {
			length = n
		}
		if !sym.AllSame([]sym.Int{n}, []sym.Int{length}) {
			c.refuse("it takes tensors of %s and of %s slices apart", length, n)
		}
	}
	if k, known := length.IsConst(); known && k == 0 {
		c.refuse("it takes a tensor of no slice apart")
	}
}

// traceSlices begins to trace the function, on what it carries, one slice of everything that
// is taken apart, and rest.
func (tr flows) traceSlices(c *controlFlow, rest []*torch.Tensor) {
	before := tr.Graph.Last()
	param := func(m *ops.TensorMeta, of *graph.Node) *torch.Tensor {
		p := *m
		p.RequiresGrad, p.Offset = tr.reachesGrad(of), sym.C(0)
		n := tr.Graph.Append(&graph.Node{Name: "child", Kind: graph.Placeholder, Target: "child", Meta: &p})
		c.params = append(c.params, n)
		return tr.fake(n)
	}
	var carry, one []*torch.Tensor
	for _, x := range c.operands[:c.carried] {
		carry = append(carry, param(x.TensorMeta(), x))
	}
	slice := func(x *graph.Node) *torch.Tensor { return param(c.flow.Slice(x.TensorMeta()), x) }
	if c.flow.Op == graph.AssocTarget {
		for _, x := range c.operands {
			carry = append(carry, slice(x))
		}
	}
	for _, x := range c.operands[c.carried:] {
		one = append(one, slice(x))
	}
	lists := [][]*torch.Tensor{carry, one}
	if c.flow.Op == graph.MapTarget {
		lists = [][]*torch.Tensor{append(one, rest...)}
	}
	given := make([]place, len(lists))
	for i := range lists {
		given[i] = place{unsafe.Pointer(&lists[i]), nil}
	}
	f := c.call.Call.Args[0]
	tr.traceFlowBody(c, tr.placeOf(f), value.LocalName(f), given...)
	c.before = before
	for _, p := range tr.top().frame.Code.Fn.Params {
		tr.backing(p.Type(), tr.shadowAddr(p))
	}
}

// endSlices takes what the function returns, and ends the call.
func (tr flows) endSlices(c *controlFlow, in *ssa.Return) {
	const which = "its function"
	out := tr.ownResults(c, which, in.Results...)
	k := c.carried
	switch c.flow.Op {
	case graph.ScanTarget:
		if n := (*value.SliceHeader)(tr.addr(in.Results[0])).Len; n != k {
			c.refuse("its function returns %d tensors to carry where it is given %d", n, k)
		}
		c.likeParams(which, out[:k])
	case graph.AssocTarget:
		if len(out) != len(c.operands) {
			c.refuse("its function returns %d tensors for two lists of %d", len(out), len(c.operands))
		}
		c.likeParams(which, out)
	}
	tr.takeBody(c, "body_fn", out)
	tr.leaveFlowBody()
	lists := []ops.Arg{values(c.operands[k:]), values(c.completeBodies())}
	if c.flow.Op == graph.ScanTarget {
		lists = slices.Insert(lists, 0, ops.Arg(values(c.operands[:k])))
	}
	ts := tr.endFlow(c, lists...)
	ys := tr.turnedBack(c, ts[k:])
	tuple, several := c.call.Type().(*types.Tuple)
	if !several {
		tr.giveList(c.call.Type(), tr.addr(c.call), ys)
	} else {
		offsets := tr.In.TupleOffsets(tuple)
		tr.giveList(tuple.At(0).Type(), tr.addr(c.call), ts[:k:k])
		tr.giveList(tuple.At(1).Type(), unsafe.Add(tr.addr(c.call), offsets[1]), ys)
	}
	tr.set(c.call, nil)
}

// giveList stores a slice of tensors of the trace.
func (tr flows) giveList(t types.Type, at unsafe.Pointer, list []*torch.Tensor) {
	tr.In.Copy(t, at, unsafe.Pointer(&list))
	if len(list) > 0 {
		tr.backing(t, at)
	}
}

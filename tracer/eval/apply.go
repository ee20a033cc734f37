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

// This file captures autograd.Apply of a function with a derivative of its own. Where
// no gradient is wanted its Forward is inlined like any function. Where one is wanted
// its Forward is traced, then, with stand-ins for the gradients of the results, its
// Backward; what each computed becomes a body of one node, autograd_function_apply
// (applybody.go). Backward runs later than it is traced: it may neither change the
// program's memory nor read what could change in the meantime (applyrules.go).
//
// Where Forward or Backward breaks the graph the trace is made again with a break in
// front of the whole call, which then runs eagerly.

// application is a call of autograd.Apply that is being traced.
type application struct {
	call     ssa.Instruction
	before   *graph.Node // the last node before Forward's
	forward  *graph.Node // the last node of Forward; nil as long as that is traced
	name     string
	inputs   []*graph.Node // nil for no tensor
	results  []*torch.Tensor
	constant []bool
	grads    []*graph.Node // stand-ins for the gradients of the results, nil for none
	spans    int           // objects of the trace when Backward began
	unfilled bool          // SetMaterializeGrads(false)
}

// backward reports whether Backward is being traced.
func (a *application) backward() bool { return a != nil && a.forward != nil }

// beforeApply breaks before a call of autograd.Apply in which an earlier
// attempt broke.
func (fn *functions) beforeApply(in *ssa.Call) {
	if why, ok := fn.avoid[in]; ok {
		breakAt(breaks.AutogradFunction, "%s: %s", fn.frames.codeOf(in), why)
	}
}

// applyCall is the outermost call of autograd.Apply that the trace is in.
func (fs *frames) applyCall() ssa.Instruction {
	for _, sh := range fs.shadows {
		if sh.apply != nil {
			return sh.apply
		}
	}
	return nil
}

// avoidApply breaks, and lets the trace be made again with a break before an
// earlier call of autograd.Apply.
func (fn *functions) avoidApply(call ssa.Instruction, format string, args ...any) {
	fn.retry = call
	breakAt(breaks.AutogradFunction, format, args...)
}

// enterApply lets a call of autograd.Apply be inlined, unless an earlier attempt broke in it.
func enterApply(tr *Trace, in *ssa.Call) bool {
	tr.beforeApply(in)
	return false
}

// beginForward evaluates autograd.recorded: gradients are wanted.
func beginForward(tr *Trace, _ *ssa.Call) bool {
	tr.inFlow("calls a function with a derivative of its own")
	tr.applying = &application{call: tr.applyCall(), before: tr.Graph.Last()}
	return false
}

// setMaterializeGrads sees Context.SetMaterializeGrads.
func setMaterializeGrads(tr *Trace, in *ssa.Call) bool {
	if a := tr.applying; a != nil {
		a.unfilled = !*(*bool)(tr.addr(in.Call.Args[1]))
	}
	return false
}

// versionOf evaluates autograd.version: within a trace nothing else writes.
func versionOf(tr *Trace, in *ssa.Call) {
	*(*uint64)(tr.addr(in)) = 0
	tr.skip()
	tr.set(in, nil)
}

// enterBackward evaluates autograd.record.
func enterBackward(tr *Trace, in *ssa.Call) {
	if tr.applying == nil { // a cache entry that begins inside of Apply
		breakAt(breaks.AutogradFunction, "Forward is not part of this graph")
	}
	tr.beginBackward(in)
}

// nameOfFunction evaluates autograd.nameOf.
func nameOfFunction(tr *Trace, in *ssa.Call) {
	arg := in.Call.Args[0]
	dyn, _ := tr.In.Dynamic(arg.Type(), tr.addr(arg))
	if n := tr.tracked(arg); n != nil && n.Src != nil {
		tr.Guards.Type(n.Src, dyn)
	}
	if p, ok := dyn.(*types.Pointer); ok {
		dyn = p.Elem()
	}
	name := value.TypeName(dyn)
	if n, ok := types.Unalias(dyn).(*types.Named); ok {
		name = n.Obj().Name()
	}
	*(*string)(tr.addr(in)) = name + "Backward"
	tr.skip()
	tr.set(in, nil)
}

// beginBackward replaces autograd.record: it enters the function that calls Backward.
func (tr *Trace) beginBackward(in *ssa.Call) {
	a, args := tr.applying, in.Call.Args // name, inputs, results, constant, run
	a.name = *(*string)(tr.addr(args[0]))
	a.readInputs(tr, args[1])
	a.results = *(*[]*torch.Tensor)(tr.addr(args[2]))
	a.constant = *(*[]bool)(tr.addr(args[3]))
	tr.checkResults(a)
	cl := tr.In.ClosureOf(tr.addr(args[4]))
	tracked := tr.freeTracked(&ssa.CallCommon{Value: args[4]}, cl.Fn, cl.Free)
	a.forward, a.spans = tr.Graph.Last(), len(tr.mem.spans)
	grads := tr.standIns(a)
	tr.skip()
	f, param := tr.th.Push(cl.Fn, cl.Free, nil), cl.Fn.Params[0]
	tr.In.Copy(param.Type(), f.Addr(param), unsafe.Pointer(&grads))
	tr.backing(param.Type(), f.Addr(param))
	sh := tr.newShadow(f, -1)
	sh.backward = true
	sh.set(param, nil)
	sh.bind(tracked)
	tr.shadows = append(tr.shadows, sh)
}

// readInputs reads what the function was given.
func (a *application) readInputs(tr *Trace, v ssa.Value) {
	e := value.ElemType(v.Type())
	places, tracked := tr.elemValues(e, *(*value.SliceHeader)(tr.addr(v)), tr.tracked(v))
	for i, p := range places {
		var n *graph.Node
		if t := *(**torch.Tensor)(p); t != nil {
			n = tr.nodeOf(t, tracked[i])
		}
		a.inputs = append(a.inputs, n)
	}
}

// checkResults breaks where the results are no tensors of their own: eager mode makes
// the tape's node out of the very tensors that Forward returns.
func (fn *functions) checkResults(a *application) {
	own := map[*graph.Node]bool{}
	for _, n := range between(a.before, nil) {
		own[n] = true
	}
	bases := map[*torch.Tensor]bool{}
	open := 0
	for i, t := range a.results {
		switch {
		case !own[fn.capture.Nodes[t]]:
			breakAt(breaks.AutogradFunction, "result %d of Forward was not made by it", i)
		case bases[fn.history.baseOf(t)]:
			breakAt(breaks.AutogradFunction, "two results of Forward share memory")
		case t.DType().IsComplex():
			breakAt(breaks.AutogradFunction, "result %d of Forward is complex", i)
		}
		bases[fn.history.baseOf(t)] = true
		if !a.constant[i] && t.DType().IsFloat() {
			open++
		}
	}
	if open == 0 {
		breakAt(breaks.AutogradFunction, "no gradient flows through a result of Forward")
	}
	if a.unfilled && open > 1 {
		breakAt(breaks.AutogradFunction, "SetMaterializeGrads(false): which results get no gradient shows only when Backward runs")
	}
}

// standIns are the gradients that Backward is traced with.
func (fn *functions) standIns(a *application) []*torch.Tensor {
	out := make([]*torch.Tensor, len(a.results))
	a.grads = make([]*graph.Node, len(a.results))
	for i, t := range a.results {
		if a.constant[i] || !t.DType().IsFloat() {
			continue
		}
		a.grads[i] = fn.capture.Graph.Append(gradPlaceholder(fn.capture.Nodes[t].TensorMeta()))
		out[i] = fn.capture.fake(a.grads[i])
	}
	return out
}

// gradPlaceholder takes the gradient of a result with meta m.
func gradPlaceholder(m *ops.TensorMeta) *graph.Node {
	g := &ops.TensorMeta{DType: m.DType, Device: m.Device, Shape: m.Shape, Stride: slices.Clone(m.Shape), Offset: sym.C(0)}
	step := sym.C(1)
	for d := len(m.Shape) - 1; d >= 0; d-- {
		g.Stride[d] = step
		step = sym.Mul(step, m.Shape[d])
	}
	return &graph.Node{Name: "grad_0", Kind: graph.Placeholder, Target: "grad_0", Meta: g}
}

// endBackward takes the gradients that Backward returns and makes the node.
func (tr *Trace) endBackward(in *ssa.Return) {
	a, v := tr.applying, in.Results[0]
	places, tracked := tr.elemValues(value.ElemType(v.Type()), *(*value.SliceHeader)(tr.addr(v)), tr.tracked(v))
	grads := make([]*graph.Node, len(places))
	for i, p := range places {
		t := *(**torch.Tensor)(p)
		if t == nil || a.inputs[i] == nil {
			continue
		}
		grads[i] = tr.nodeOf(t, tracked[i])
		x, g := a.inputs[i].TensorMeta(), grads[i].TensorMeta()
		if !x.DType.IsFloat() {
			grads[i] = nil // nobody asks for it
		} else if g.DType != x.DType || g.Device != x.Device || !sym.AllSame(g.Shape, x.Shape) {
			breakAt(
				breaks.AutogradFunction,
				"the gradient that Backward gives for input %d does not have the shape and type of the input", i,
			)
		}
	}
	tr.th.Pop()
	tr.shadows = tr.shadows[:len(tr.shadows)-1]
	tr.bodies(a, grads)
	tr.applying = nil
}

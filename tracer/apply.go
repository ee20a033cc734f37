package tracer

import (
	"go/types"
	"slices"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file captures autograd.Apply of a function with a derivative of its own. Where
// no gradient is wanted its Forward is inlined like any function. Where one is wanted
// its Forward is traced, then, with stand-ins for the gradients of the results, its
// Backward; what each computed becomes a body of one node, autograd_function_apply
// (applybody.go). Backward runs later than it is traced: it may neither change the
// program's memory nor read what could change in the meantime (applyread.go).
//
// Where Forward or Backward breaks the graph the trace is made again with a break in
// front of the whole call, which then runs eagerly.

// application is a call of autograd.Apply that is being traced.
type application struct {
	call     ssa.Instruction
	before   *graph.Node // the last node in front of Forward's
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

// beforeApply breaks in front of a call of autograd.Apply in which an earlier
// attempt broke.
func (tr *trace) beforeApply(in *ssa.Call) {
	if why, ok := tr.avoid[in]; ok {
		tr.breakAt(breaks.AutogradFunction, "%s: %s", tr.codeOf(in), why)
	}
}

// applyCall is the outermost call of autograd.Apply that the trace is in.
func (tr *trace) applyCall() ssa.Instruction {
	for _, sh := range tr.shadows {
		if sh.apply != nil {
			return sh.apply
		}
	}
	return nil
}

// avoidApply breaks, and lets the trace be made again with a break in front of an
// earlier call of autograd.Apply.
func (tr *trace) avoidApply(call ssa.Instruction, format string, args ...any) {
	tr.retry = call
	tr.breakAt(breaks.AutogradFunction, format, args...)
}

// autogradCall evaluates calls of package autograd's own functions that a trace does
// otherwise than their bodies say; it reports whether it has.
func (tr *trace) autogradCall(in *ssa.Call, name string) bool {
	switch name {
	case "tcdbg/torch/autograd.Apply":
		tr.beforeApply(in)
	case "tcdbg/torch/autograd.recorded":
		tr.applying = &application{call: tr.applyCall(), before: tr.graph.Last()}
	case "(*tcdbg/torch/autograd.Context).SetMaterializeGrads":
		if a := tr.applying; a != nil {
			a.unfilled = !*(*bool)(tr.addr(in.Call.Args[1]))
		}
	case "tcdbg/torch/autograd.version":
		*(*uint64)(tr.addr(in)) = 0
		tr.skip()
		tr.set(in, nil)
		return true
	case "tcdbg/torch/autograd.nameOf":
		tr.nameOfFunction(in)
		return true
	case "tcdbg/torch/autograd.record":
		if tr.applying == nil { // a segment that begins inside of Apply
			tr.breakAt(breaks.AutogradFunction, "Forward is not part of this graph")
		}
		tr.beginBackward(in)
		return true
	}
	return false
}

// nameOfFunction evaluates autograd.nameOf.
func (tr *trace) nameOfFunction(in *ssa.Call) {
	arg := in.Call.Args[0]
	dyn, _ := tr.in.Dynamic(arg.Type(), tr.addr(arg))
	if n := tr.noteOf(arg); n != nil && n.src != nil {
		tr.guardType(n.src, dyn)
	}
	if p, ok := dyn.(*types.Pointer); ok {
		dyn = p.Elem()
	}
	name := typeName(dyn)
	if n, ok := types.Unalias(dyn).(*types.Named); ok {
		name = n.Obj().Name()
	}
	*(*string)(tr.addr(in)) = name + "Backward"
	tr.skip()
	tr.set(in, nil)
}

// beginBackward replaces autograd.record: it enters the function that calls Backward.
func (tr *trace) beginBackward(in *ssa.Call) {
	a, args := tr.applying, in.Call.Args // name, inputs, results, constant, run
	a.name = *(*string)(tr.addr(args[0]))
	a.readInputs(tr, args[1])
	a.results = *(*[]*torch.Tensor)(tr.addr(args[2]))
	a.constant = *(*[]bool)(tr.addr(args[3]))
	tr.checkResults(a)
	cl := tr.in.ClosureOf(tr.addr(args[4]))
	notes := tr.freeNotes(&ssa.CallCommon{Value: args[4]}, cl.Fn, cl.Free)
	a.forward, a.spans = tr.graph.Last(), len(tr.mem.spans)
	grads := tr.standIns(a)
	tr.skip()
	f, param := tr.th.Push(cl.Fn, cl.Free, nil), cl.Fn.Params[0]
	tr.in.Copy(param.Type(), f.Addr(param), unsafe.Pointer(&grads))
	tr.backing(param.Type(), f.Addr(param))
	sh := &shadow{frame: f, initial: -1, notes: map[ssa.Value]*note{param: nil}, assigned: map[ssa.Value]bool{param: true}, free: notes, backward: true}
	for i, fv := range cl.Fn.FreeVars {
		sh.notes[fv] = notes[i]
	}
	tr.shadows = append(tr.shadows, sh)
}

// readInputs reads what the function was given.
func (a *application) readInputs(tr *trace, v ssa.Value) {
	e := elemType(v.Type())
	places, notes := tr.elemValues(e, *(*sliceHeader)(tr.addr(v)), tr.noteOf(v))
	for i, p := range places {
		var n *graph.Node
		if t := *(**torch.Tensor)(p); t != nil {
			n = tr.nodeOf(t, notes[i])
		}
		a.inputs = append(a.inputs, n)
	}
}

// checkResults breaks where the results are no tensors of their own: eager mode makes
// the tape's node out of the very tensors that Forward returns.
func (tr *trace) checkResults(a *application) {
	own := map[*graph.Node]bool{}
	for _, n := range between(a.before, nil) {
		own[n] = true
	}
	bases := map[*torch.Tensor]bool{}
	open := 0
	for i, t := range a.results {
		switch {
		case !own[tr.nodes[t]]:
			tr.breakAt(breaks.AutogradFunction, "result %d of Forward was not made by it", i)
		case bases[tr.baseOf(t)]:
			tr.breakAt(breaks.AutogradFunction, "two results of Forward share memory")
		case t.DType().IsComplex():
			tr.breakAt(breaks.AutogradFunction, "result %d of Forward is complex", i)
		}
		bases[tr.baseOf(t)] = true
		if !a.constant[i] && t.DType().IsFloat() {
			open++
		}
	}
	if open == 0 {
		tr.breakAt(breaks.AutogradFunction, "no gradient flows through a result of Forward")
	}
	if a.unfilled && open > 1 {
		tr.breakAt(breaks.AutogradFunction, "SetMaterializeGrads(false): which results get no gradient shows only when Backward runs")
	}
}

// standIns are the gradients that Backward is traced with.
func (tr *trace) standIns(a *application) []*torch.Tensor {
	out := make([]*torch.Tensor, len(a.results))
	a.grads = make([]*graph.Node, len(a.results))
	for i, t := range a.results {
		if a.constant[i] || !t.DType().IsFloat() {
			continue
		}
		a.grads[i] = tr.graph.Append(gradPlaceholder(tr.nodes[t].TensorMeta()))
		out[i] = tr.fake(a.grads[i])
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
func (tr *trace) endBackward(in *ssa.Return) {
	a, v := tr.applying, in.Results[0]
	places, notes := tr.elemValues(elemType(v.Type()), *(*sliceHeader)(tr.addr(v)), tr.noteOf(v))
	grads := make([]*graph.Node, len(places))
	for i, p := range places {
		t := *(**torch.Tensor)(p)
		if t == nil || a.inputs[i] == nil {
			continue
		}
		grads[i] = tr.nodeOf(t, notes[i])
		x, g := a.inputs[i].TensorMeta(), grads[i].TensorMeta()
		if !x.DType.IsFloat() {
			grads[i] = nil // nobody asks for it
		} else if g.DType != x.DType || g.Device != x.Device || !sym.AllSame(g.Shape, x.Shape) {
			tr.breakAt(breaks.AutogradFunction, "the gradient that Backward gives for input %d has not the shape and type of the input", i)
		}
	}
	tr.th.Pop()
	tr.shadows = tr.shadows[:len(tr.shadows)-1]
	tr.bodies(a, grads)
	tr.applying = nil
}

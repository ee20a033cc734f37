package torch

import (
	"cmp"
	"container/heap"
	"slices"
	"sync/atomic"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file runs the tape backward.

// nodeHeap orders nodes from the latest call to the earliest.
type nodeHeap []*gradFn

func (h nodeHeap) Len() int { return len(h) }

func (h nodeHeap) Less(i, j int) bool { return h[i].seq > h[j].seq }

func (h nodeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *nodeHeap) Push(x any) { *h = append(*h, x.(*gradFn)) }

func (h *nodeHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	*h = old[:len(old)-1]
	return n
}

// pass is one run of the backward engine.
type pass struct {
	queue  nodeHeap
	grads  map[*gradFn][]*Tensor
	retain bool
	tape   bool
	// want restricts the pass to gradients of certain tensors (Grad); nil
	// accumulates into the leaves (Backward).
	want map[edge]*Tensor
	need map[*gradFn]bool
	// told are the tensors whose gradient grew, while OnBackward asks for them.
	told []*Tensor
}

// Backward computes the gradients of all leaves that t depends on and adds
// them to their Grad. Options: kw.Gradient, kw.RetainGraph, kw.CreateGraph, and
// kw.Inputs, which names the only tensors that get gradients.
func (t *Tensor) Backward(opts ...Option) {
	p := &pass{grads: map[*gradFn][]*Tensor{}}
	var seed *Tensor
	var inputs []*Tensor
	for _, o := range p.options(opts) {
		switch o.Name {
		case "gradient":
			seed = o.Value.(*Tensor)
		case "inputs":
			inputs = wantedInputs(o)
		default:
			refusal.Fail("backward", "TypeError", "backward() got an unexpected keyword argument '%s'", o.Name)
		}
	}
	p.accumulate([]*Tensor{t}, []*Tensor{seed}, inputs)
}

// Backward is torch.autograd.backward: Tensor.Backward from several tensors at
// once. Options: kw.GradTensors, kw.RetainGraph, kw.CreateGraph, kw.Inputs.
func Backward(tensors []*Tensor, opts ...Option) {
	p := &pass{grads: map[*gradFn][]*Tensor{}}
	seeds := make([]*Tensor, len(tensors))
	var inputs []*Tensor
	for _, o := range p.options(opts) {
		switch o.Name {
		case "grad_tensors":
			if seeds = o.Value.([]*Tensor); len(seeds) != len(tensors) {
				refusal.Fail("backward", "RuntimeError", "got %d tensors and %d gradients", len(tensors), len(seeds))
			}
		case "inputs":
			inputs = wantedInputs(o)
		default:
			refusal.Fail("backward", "TypeError", "backward() got an unexpected keyword argument '%s'", o.Name)
		}
	}
	p.accumulate(tensors, seeds, inputs)
}

// options takes those that every pass has and returns the others.
func (p *pass) options(opts []Option) (rest []Option) {
	retainSet := false
	for _, o := range opts {
		switch o.Name {
		case "retain_graph":
			p.retain, retainSet = o.Value.(bool), true
		case "create_graph":
			p.tape = o.Value.(bool)
		default:
			rest = append(rest, o)
		}
	}
	if !retainSet {
		p.retain = p.tape
	}
	return rest
}

func wantedInputs(o Option) []*Tensor {
	inputs := o.Value.([]*Tensor)
	if len(inputs) == 0 {
		refusal.Fail("backward", "RuntimeError", "`inputs` argument to `backward()` cannot be empty.")
	}
	return inputs
}

// accumulate runs the pass from tensors and adds the gradients to the leaves, or
// to inputs alone where there are any.
func (p *pass) accumulate(tensors, seeds, inputs []*Tensor) {
	for i, t := range tensors {
		if !t.RequiresGrad() {
			refusal.Fail("backward", "RuntimeError", "element %d of tensors does not require grad and does not have a grad_fn", i)
		}
	}
	for _, in := range inputs {
		in.RetainGrad() // of what is no leaf
	}
	if inputs != nil {
		p.restrict(inputs, tensors)
	}
	p.from(tensors, seeds)
	for e, g := range p.want {
		if e.leaf != nil && g != nil {
			p.addTo(e.leaf, g)
		}
	}
	if f := afterBackward.Load(); f != nil {
		(*f)(BackwardPass{Leaves: p.told})
	}
}

// BackwardPass is a pass that added to the gradients of leaves. One that was captured has ended
// with its graph: by then a gradient may have been clipped, added to or forgotten.
type BackwardPass struct {
	Leaves   []*Tensor
	Captured bool
}

var afterBackward atomic.Pointer[func(BackwardPass)]

// OnBackward has f called after each pass that adds to gradients; nil ends it.
func OnBackward(f func(BackwardPass)) {
	if f == nil {
		afterBackward.Store(nil)
		return
	}
	afterBackward.Store(&f)
}

// TellBackward tells who asked by OnBackward of a pass that was captured.
func TellBackward(leaves func() []*Tensor) {
	if f := afterBackward.Load(); f != nil {
		(*f)(BackwardPass{leaves(), true})
	}
}

// restrict makes the pass find the gradients of inputs alone.
func (p *pass) restrict(inputs, outputs []*Tensor) {
	p.want, p.need = map[edge]*Tensor{}, map[*gradFn]bool{}
	for _, in := range inputs {
		p.want[edgeTo(in)] = nil
	}
	p.mark(outputs)
}

// from starts the pass at tensors and runs it. What it calls of the program's, hooks
// and the Backward of autograd functions, records where the pass itself does.
func (p *pass) from(tensors, seeds []*Tensor) {
	withGrad(p.tape, func() {
		for i, t := range tensors {
			p.start(t, seedOf(t, seeds[i]))
		}
		p.run()
	})
}

// seedOf is the gradient with which a pass starts.
func seedOf(t, seed *Tensor) *Tensor {
	if seed != nil {
		if !slices.Equal(seed.array.Shape, t.array.Shape) {
			refusal.Fail(
				"backward", "RuntimeError",
				"Mismatch in shape: grad_output[0] has a shape of torch.Size(%s) and output[0] has a shape of torch.Size(%s).",
				refusal.Ints(seed.array.Shape), refusal.Ints(t.array.Shape),
			)
		}
		if seed.array.DType.IsComplex() != t.array.DType.IsComplex() {
			refusal.Fail(
				"backward", "RuntimeError",
				"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "+
					"grad_output[0] has a dtype of %s and output[0] has a dtype of %s.",
				seed.array.DType, t.array.DType,
			)
		}
		return seed
	}
	if t.array.DType.IsComplex() {
		refusal.Fail("backward", "RuntimeError", "grad can be implicitly created only for real scalar outputs but got %s", t.array.DType)
	}
	if t.Numel() != 1 {
		refusal.Fail("backward", "RuntimeError", "grad can be implicitly created only for scalar outputs")
	}
	return eager{}.Emit(ops.OnesLike, t).(*Tensor)
}

// Grad is torch.autograd.grad: the gradients of the sum of outputs' elements,
// weighted by kw.GradOutputs, with respect to inputs. An input that outputs do
// not depend on panics; its gradient is nil with kw.AllowUnused(true), and zeros
// with kw.MaterializeGrads(true). The other options are kw.RetainGraph and
// kw.CreateGraph.
func Grad(outputs, inputs []*Tensor, opts ...Option) []*Tensor {
	p := &pass{grads: map[*gradFn][]*Tensor{}}
	seeds := make([]*Tensor, len(outputs))
	var allowUnused, zeros bool
	for _, o := range p.options(opts) {
		switch o.Name {
		case "grad_outputs":
			if seeds = o.Value.([]*Tensor); len(seeds) != len(outputs) {
				refusal.Fail("grad", "RuntimeError", "got %d tensors and %d gradients", len(outputs), len(seeds))
			}
		case "allow_unused":
			allowUnused = o.Value.(bool)
		case "materialize_grads":
			zeros = o.Value.(bool)
		default:
			refusal.Fail("grad", "TypeError", "grad() got an unexpected keyword argument '%s'", o.Name)
		}
	}
	for _, in := range inputs {
		if !in.RequiresGrad() {
			refusal.Fail("grad", "RuntimeError", "One of the differentiated Tensors does not require grad")
		}
	}
	p.restrict(inputs, outputs)
	p.from(outputs, seeds)
	grads := make([]*Tensor, len(inputs))
	for i, in := range inputs {
		if grads[i] = p.want[edgeTo(in)]; grads[i] != nil {
			continue
		}
		switch {
		case zeros:
			grads[i] = eager{}.Emit(ops.ZerosLike, in).(*Tensor)
		case !allowUnused:
			refusal.Fail(
				"grad", "RuntimeError",
				"One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the "+
					"desired behavior.",
			)
		}
	}
	return grads
}

// mark finds the nodes on the way from outputs to wanted tensors, without recursion.
func (p *pass) mark(outputs []*Tensor) {
	var order, stack []*gradFn
	seen := map[*gradFn]bool{nil: true}
	visit := func(fn *gradFn) {
		if !seen[fn] {
			seen[fn] = true
			stack = append(stack, fn)
		}
	}
	for _, out := range outputs {
		visit(out.edgeFn())
	}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, n)
		for _, e := range n.edges {
			visit(e.fn)
		}
	}
	// a node's inputs were computed before it
	slices.SortFunc(order, func(a, b *gradFn) int { return cmp.Compare(a.seq, b.seq) })
	for _, n := range order {
		for _, e := range n.edges {
			if _, ok := p.want[e]; ok && e != (edge{}) || e.fn != nil && p.need[e.fn] {
				p.need[n] = true
			}
		}
	}
}

// start gives t the gradient g.
func (p *pass) start(t, g *Tensor) { p.send(edgeTo(t), g) }

// send delivers a gradient to the end of an edge.
func (p *pass) send(e edge, g *Tensor) {
	if g == nil {
		return
	}
	if e.leaf != nil {
		p.leaf(e, g)
		return
	}
	if e.fn == nil {
		return
	}
	if p.want != nil {
		if _, ok := p.want[e]; !ok && !p.need[e.fn] {
			return
		}
	}
	slots, ok := p.grads[e.fn]
	if !ok {
		slots = make([]*Tensor, e.fn.nouts)
		p.grads[e.fn] = slots
		heap.Push(&p.queue, e.fn)
	}
	slots[e.index] = p.sum(slots[e.index], g)
}

// sum adds gradients; the first is taken as it is.
func (p *pass) sum(a, b *Tensor) *Tensor {
	if a == nil {
		return b
	}
	return eager{p.tape}.Emit(ops.Add, a, b).(*Tensor)
}

func (p *pass) leaf(e edge, g *Tensor) {
	if p.want != nil {
		if old, ok := p.want[e]; ok {
			p.want[e] = p.sum(old, runHooks(e.leaf.hooks, g))
		}
		return
	}
	p.addTo(e.leaf, runHooks(e.leaf.hooks, g))
}

// addTo adds g to the gradient of a leaf.
func (p *pass) addTo(t, g *Tensor) {
	p.tell(t)
	switch {
	case t.grad == nil && p.tape:
		t.grad = g
	case t.grad == nil:
		t.grad = ownGrad(t, g)
	case p.tape:
		t.grad = p.sum(t.grad, g)
	default:
		eager{}.Emit(ops.InPlace(ops.Add), t.grad, g)
	}
}

// ownGrad is a gradient that no one else sees, in the layout of its tensor.
func ownGrad(t, g *Tensor) *Tensor {
	out := fromMeta(&ops.TensorMeta{
		DType: t.array.DType, Device: t.array.Device, Shape: sym.Consts(t.array.Shape),
		Stride: ops.LikeStrides(t.TensorMeta()),
	})
	strided.Copy(&out.array, &g.array)
	return out
}

// run processes the nodes from the last call to the first.
func (p *pass) run() {
	for p.queue.Len() > 0 {
		fn := heap.Pop(&p.queue).(*gradFn)
		grads := p.grads[fn]
		delete(p.grads, fn)
		for i, g := range grads {
			if g != nil {
				grads[i] = p.arrive(fn, i, g)
			}
		}
		if p.want != nil && !p.need[fn] {
			continue
		}
		var watched func([]*Tensor)
		if w := gradWatch.Load(); w != nil {
			watched = (*w)(fn.name, grads)
		}
		made := fn.done != nil && watched == nil // by compiled code, and nobody looks on
		ins := fn.run(grads, p.tape)
		if watched != nil {
			watched(ins)
		}
		if !p.retain {
			fn.free()
		}
		for i, g := range ins {
			if i < len(fn.edges) {
				if made && p.keep(fn.edges[i], g) {
					continue
				}
				p.send(fn.edges[i], g)
			}
			if g != nil {
				g.fresh = false // from now on others may know it
			}
		}
	}
}

// keep makes g, which the node that ran last has computed, the gradient of a leaf as it is, where
// nobody else can have it: a copy would be a pass over memory for each parameter.
func (p *pass) keep(e edge, g *Tensor) bool {
	if g == nil || !g.fresh || g.kept || e.leaf == nil || e.leaf.grad != nil || p.tape || p.want != nil || len(e.leaf.hooks) > 0 {
		return false
	}
	t, m := e.leaf, e.leaf.TensorMeta()
	if g.array.DType != t.array.DType || g.array.Device != t.array.Device || g.array.Offset != 0 ||
		!slices.Equal(g.array.Shape, t.array.Shape) || !sym.AllSame(sym.Consts(g.array.Stride), ops.LikeStrides(m)) {
		return false
	}
	p.tell(t)
	t.grad = g
	OwnGrad(g)
	return true
}

// tell notes that a leaf got a gradient, for who asked by OnBackward.
func (p *pass) tell(t *Tensor) {
	if afterBackward.Load() != nil && !slices.Contains(p.told, t) {
		p.told = append(p.told, t)
	}
}

// gradWatch is what WatchGrads was given.
var gradWatch atomic.Pointer[func(name string, got []*Tensor) func(gave []*Tensor)]

// arrive runs the hooks of result i and stores its gradient where it is kept.
func (p *pass) arrive(fn *gradFn, i int, g *Tensor) *Tensor {
	g = runHooks(fn.hooks[i], g)
	for _, t := range fn.kept[i] {
		t.grad = p.sum(t.grad, g)
	}
	if p.want != nil {
		if e := (edge{fn: fn, index: i}); p.wanted(e) {
			p.want[e] = g
		}
	}
	return g
}

func (p *pass) wanted(e edge) bool {
	_, ok := p.want[e]
	return ok
}

package torch

import (
	"container/heap"
	"fmt"
	"strings"
	"sync/atomic"

	"tcdbg/internal/ops"
	"tcdbg/internal/sym"
)

// This file is the autograd tape.

var (
	gradOff   atomic.Bool
	nodeCount atomic.Uint64
)

// GradEnabled reports whether operators record the tape (process-wide).
func GradEnabled() bool { return !gradOff.Load() }

// SetGradEnabled turns the tape on or off and returns what it was.
func SetGradEnabled(on bool) bool { return !gradOff.Swap(!on) }

// NoGrad runs f without recording the tape.
func NoGrad(f func()) {
	was := SetGradEnabled(false)
	defer SetGradEnabled(was)
	f()
}

// EnableGrad runs f with the tape on, inside NoGrad too.
func EnableGrad(f func()) {
	was := SetGradEnabled(true)
	defer SetGradEnabled(was)
	f()
}

// edge leads from a node to what computed one of its inputs.
type edge struct {
	fn    *gradFn // nil for leaves
	index int
	leaf  *Tensor
}

// gradFn is a node of the autograd tape: one operator call.
type gradFn struct {
	name  string
	seq   uint64 // later calls have higher numbers
	edges []edge // one for each tensor slot of the call
	nouts int
	// run returns the gradients of the slots.
	run  func(grads []*Tensor, tape bool) []*Tensor
	dead bool // its saved tensors were freed by a backward pass

	hooks map[int][]*hook   // by result
	kept  map[int][]*Tensor // results that keep their gradient
}

type hook struct{ f func(*Tensor) *Tensor }

// RequiresGrad reports whether gradients reach t.
func (t *Tensor) RequiresGrad() bool {
	if t.fake != nil {
		return t.fake.RequiresGrad
	}
	return t.requiresGrad || t.computed()
}

// RequiresGrad_ sets whether a leaf collects gradients: RequiresGrad_() or
// RequiresGrad_(false).
func (t *Tensor) RequiresGrad_(on ...bool) *Tensor {
	want := len(on) == 0 || on[0]
	if !t.IsLeaf() && !want {
		fail("requires_grad_", "RuntimeError", "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().")
	}
	if want && !t.dtype.IsFloat() && !t.dtype.IsComplex() {
		fail("requires_grad_", "RuntimeError", "only Tensors of floating point dtype can require gradients")
	}
	if t.IsLeaf() {
		t.requiresGrad = want
	}
	t.meta.Store(nil)
	return t
}

// Grad is the gradient that Backward has accumulated; nil before.
func (t *Tensor) Grad() *Tensor { return t.grad }

// SetGrad replaces the accumulated gradient; nil clears it.
func (t *Tensor) SetGrad(g *Tensor) { t.grad = g }

// GradFn is the name of the operator that computed t, as PyTorch prints it;
// empty for leaves.
func (t *Tensor) GradFn() string {
	if fn := t.edgeFn(); fn != nil {
		return fn.name
	}
	return ""
}

// RetainGrad asks Backward to store the gradient of a tensor that is no leaf.
func (t *Tensor) RetainGrad() {
	fn := t.edgeFn()
	if fn == nil || t.keepGrad {
		return
	}
	t.keepGrad = true
	if fn.kept == nil {
		fn.kept = map[int][]*Tensor{}
	}
	fn.kept[t.outIndex] = append(fn.kept[t.outIndex], t)
}

// RegisterHook calls f with the gradient of t when Backward computes it; what
// f returns, unless nil, takes its place. The result removes the hook.
func (t *Tensor) RegisterHook(f func(*Tensor) *Tensor) (remove func()) {
	if !t.RequiresGrad() {
		fail("register_hook", "RuntimeError", "cannot register a hook on a tensor that doesn't require gradient")
	}
	h := &hook{f}
	if fn := t.edgeFn(); fn != nil {
		if fn.hooks == nil {
			fn.hooks = map[int][]*hook{}
		}
		fn.hooks[t.outIndex] = append(fn.hooks[t.outIndex], h)
	} else {
		t.hooks = append(t.hooks, h)
	}
	return func() { h.f = nil }
}

func runHooks(hooks []*hook, g *Tensor) *Tensor {
	for _, h := range hooks {
		if h.f == nil {
			continue
		}
		if r := h.f(g); r != nil {
			g = r
		}
	}
	return g
}

// edgeFn is the node that computed t. A view whose storage was changed in
// place through another tensor gets a new node that reads the base, if it may.
func (t *Tensor) edgeFn() *gradFn {
	if t.stale() {
		if why := t.viewRefusal("its base or another view of its base has been modified inplace"); why != "" {
			fail("", "RuntimeError", "%s", why)
		}
		t.rebase()
	}
	return t.fn
}

// stale reports whether the memory of a view was changed, on the tape, behind the
// back of its node.
func (t *Tensor) stale() bool {
	return t.base != nil && t.storage != nil && t.seen != t.storage.Version() && t.base.fn != nil && t.base.fn.seq > t.fnSeq()
}

// computed reports whether t has a node, or gets one.
func (t *Tensor) computed() bool { return t.fn != nil || t.stale() }

func (t *Tensor) fnSeq() uint64 {
	if t.fn == nil {
		return 0
	}
	return t.fn.seq
}

// rebase records t as an as_strided view of its base as it is now.
func (t *Tensor) rebase() {
	base := t.base
	if base.dtype != t.dtype {
		fail("", "NotImplementedError", "%s view of a %s tensor that was changed in place: its gradient is not supported", t.dtype, base.dtype)
	}
	c := stridedCall(base, t)
	t.seen = t.storage.Version()
	t.fn, t.outIndex = newNode("AsStridedBackward0", 1, []edge{{fn: base.fn, index: base.outIndex}}, backwardOf(c, []Value{t})), 0
}

func stridedCall(base, view *Tensor) *ops.Call {
	return &ops.Call{Op: ops.Get(ops.AsStrided), Args: []ops.Arg{base, sym.Consts(view.shape), sym.Consts(view.stride), sym.C(view.offset)}}
}

// wantsGrad reports whether a tensor argument requires a gradient.
func wantsGrad(row *ops.Op, args []ops.Arg) bool {
	for _, a := range args {
		switch a := a.(type) {
		case *Tensor:
			if a != nil && a.RequiresGrad() {
				return true
			}
		case []ops.Value:
			for _, v := range a {
				if t, ok := v.(*Tensor); ok && t != nil && t.RequiresGrad() {
					return true
				}
			}
		}
	}
	return false
}

func newNode(name string, nouts int, edges []edge, run func([]*Tensor, bool) []*Tensor) *gradFn {
	return &gradFn{name: name, seq: nodeCount.Add(1), edges: edges, nouts: nouts, run: run}
}

// edgesOf lists where the gradients of a call's tensors go.
func edgesOf(row *ops.Op, args []ops.Arg) []edge {
	slots := ops.TensorArgs(row, args)
	out := make([]edge, len(slots))
	for i, v := range slots {
		if t, ok := v.(*Tensor); ok && t != nil {
			out[i] = edgeTo(t)
		}
	}
	return out
}

func edgeTo(t *Tensor) edge {
	if fn := t.edgeFn(); fn != nil {
		return edge{fn: fn, index: t.outIndex}
	}
	if t.requiresGrad {
		return edge{leaf: t}
	}
	return edge{}
}

// record puts a call on the tape.
func record(c *ops.Call, outs []Value) {
	ownMemory(c, outs)
	if c.Op.Backward == nil {
		if c.Op.ID == ops.Detach {
			return
		}
		fn := newNode(c.Op.Name, len(outs), edgesOf(c.Op, c.Args), func([]*Tensor, bool) []*Tensor {
			panic(&Error{Op: c.Op.Name, Kind: "RuntimeError", Msg: fmt.Sprintf("derivative for aten::%s is not implemented", c.Op.Name)})
		})
		attach(fn, outs)
		return
	}
	attach(newNode(gradName(c.Op), len(outs), edgesOf(c.Op, c.Args), backwardOf(c, outs)), outs)
}

// ownMemory makes results whose memory no argument has views of nothing: a kernel
// may have reshaped a value of its own, which the tape does not know.
func ownMemory(c *ops.Call, outs []Value) {
	for _, o := range outs {
		t, ok := o.(*Tensor)
		if !ok || t == nil || t.base == nil {
			continue
		}
		shared := false
		for _, v := range ops.TensorArgs(c.Op, c.Args) {
			a, ok := v.(*Tensor)
			shared = shared || ok && a != nil && a.storage == t.storage
		}
		if !shared {
			t.base = nil
		}
	}
}

func attach(fn *gradFn, outs []Value) {
	for i, o := range outs {
		if t, ok := o.(*Tensor); ok && (t.dtype.IsFloat() || t.dtype.IsComplex()) {
			t.fn, t.outIndex = fn, i
			t.meta.Store(nil)
		}
	}
}

// gradName is the name of an operator's node: add -> AddBackward0.
func gradName(op *ops.Op) string {
	if op.GradName != "" {
		return op.GradName
	}
	var sb strings.Builder
	for _, w := range strings.Split(op.Name, "_") {
		if w != "" {
			sb.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	sb.WriteString("Backward0")
	return sb.String()
}

// backwardOf wraps the derivative rule of a call.
func backwardOf(c *ops.Call, outs []Value) func([]*Tensor, bool) []*Tensor {
	return backwardWith(c, saveArgs(c.Args), outs)
}

// backwardWith is backwardOf for arguments that were saved before the call
// wrote one of them.
func backwardWith(c *ops.Call, args []ops.Arg, outs []Value) func([]*Tensor, bool) []*Tensor {
	bc := &ops.BackwardCall{Call: &ops.Call{Op: c.Op, Args: args}, Outs: make([]ops.Value, len(outs)), Needs: needsOf(c)}
	for i, o := range outs {
		bc.Outs[i] = save(o.(*Tensor))
	}
	return func(grads []*Tensor, tape bool) []*Tensor {
		call := *bc
		call.Grads = make([]ops.Value, len(grads))
		for i, g := range grads {
			if g != nil {
				call.Grads[i] = g
			}
		}
		if c.Op.Backward == nil { // a comparison in place: the old numbers do not show
			none := make([]*Tensor, len(ops.TensorArgs(c.Op, args)))
			for i, a := range ops.TensorArgs(c.Op, args) {
				if t, ok := unpack(a).(*Tensor); ok && t != nil {
					none[i] = eager{tape}.Emit(ops.ZerosLike, t).(*Tensor)
				}
			}
			return none
		}
		vals := c.Op.Backward(eager{tape}, &call)
		out := make([]*Tensor, len(vals))
		for i, v := range vals {
			out[i], _ = unpack(v).(*Tensor)
		}
		return out
	}
}

// needsOf tells for each parameter whether its gradient is wanted.
func needsOf(c *ops.Call) []bool {
	needs := make([]bool, len(c.Args))
	for i, a := range c.Args {
		switch a := a.(type) {
		case *Tensor:
			needs[i] = a != nil && a.RequiresGrad()
		case []ops.Value:
			for _, v := range a {
				t, ok := v.(*Tensor)
				needs[i] = needs[i] || ok && t != nil && t.RequiresGrad()
			}
		}
	}
	return needs
}

// saved is a tensor kept for the backward pass. It must not have been changed
// in place when a derivative uses its data.
type saved struct {
	t       *Tensor
	version uint64
	meta    *ops.TensorMeta
}

// TensorMeta implements ops.Value.
func (s *saved) TensorMeta() *ops.TensorMeta { return s.meta }

func save(t *Tensor) ops.Value {
	s := &saved{t: t, meta: t.TensorMeta()}
	if t.storage != nil {
		s.version = t.storage.Version()
	}
	return s
}

func saveArgs(args []ops.Arg) []ops.Arg {
	out := make([]ops.Arg, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case *Tensor:
			if a != nil {
				out[i] = save(a)
			}
		case []ops.Value:
			list := make([]ops.Value, len(a))
			for j, v := range a {
				if t, ok := v.(*Tensor); ok && t != nil {
					list[j] = save(t)
				}
			}
			out[i] = list
		default:
			out[i] = a
		}
	}
	return out
}

// unpack replaces saved tensors by the tensors, checking their versions.
func unpack(a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case *saved:
		return a.open()
	case []ops.Value:
		var out []ops.Value
		for i, v := range a {
			if s, ok := v.(*saved); ok {
				if out == nil {
					out = append([]ops.Value(nil), a...)
				}
				out[i] = s.open()
			}
		}
		if out != nil {
			return out
		}
	}
	return a
}

func (s *saved) open() *Tensor {
	if s.t.storage != nil && s.t.storage.Version() != s.version {
		panic(Overwritten(s.t, s.t.storage.Version(), s.version))
	}
	return s.t
}

// checkInPlaceGrad refuses to change what may not be changed where gradients are
// wanted.
func checkInPlaceGrad(t *Tensor) {
	if why := t.inPlaceRefusal(); why != "" {
		fail("", "RuntimeError", "%s", why)
	}
}

// recordInPlace makes self the result of the call. Where self is a view, the
// change is recorded on its base, and self reads it from there.
func recordInPlace(c *ops.Call, saved []ops.Arg, self *Tensor, edges []edge) {
	run := backwardWith(c, saved, []Value{self})
	name := gradName(c.Op)
	if self.base == nil {
		self.fn, self.outIndex = newNode(name, 1, edges, run), 0
		self.meta.Store(nil)
		return
	}
	base := self.base
	if base.dtype != self.dtype {
		fail(c.Op.Name, "NotImplementedError", "a %s view of a %s tensor cannot be changed in place where gradients are wanted", self.dtype, base.dtype)
	}
	shape, stride, offset := self.shape, self.stride, self.offset
	geometry := base.TensorMeta()
	edges = append([]edge{edgeTo(base)}, edges[1:]...)
	base.fn, base.outIndex = newNode("CopySlices", 1, edges, func(grads []*Tensor, tape bool) []*Tensor {
		return copySlices(grads[0], geometry, shape, stride, offset, tape, run)
	}), 0
	base.meta.Store(nil)
	self.rebase()
	self.meta.Store(nil)
}

// copySlices is the gradient of a base of which a part was changed: the part's
// gradient goes through the change's derivative.
func copySlices(g *Tensor, base *ops.TensorMeta, shape, stride []int, offset int, tape bool, run func([]*Tensor, bool) []*Tensor) []*Tensor {
	e := eager{tape}
	whole := fromMeta(&ops.TensorMeta{DType: g.dtype, Device: base.Device, Shape: base.Shape, Stride: base.Stride})
	copyInto(whole, g)
	at := offset - int(base.Offset.Hint())
	part := FromStorage(whole.storage, g.dtype, shape, stride, at)
	inner := run([]*Tensor{e.Emit(ops.Clone, part).(*Tensor)}, tape)
	if inner[0] == nil {
		inner[0] = e.Emit(ops.ZerosLike, part).(*Tensor)
	}
	copyInto(part, inner[0])
	inner[0] = whole
	return inner
}

// WithBackward makes outs results of one tape node: when a gradient is wanted,
// backward gets those of outs (nil where unused) and returns those of inputs.
func WithBackward(name string, inputs, outs []*Tensor, backward func(grads []*Tensor) []*Tensor) {
	withBackward(name, inputs, outs, func(grads []*Tensor, _ bool) []*Tensor { return backward(grads) })
}

// WithCompiledBackward is WithBackward for a backward pass that cannot be
// differentiated again: who tries that is refused.
func WithCompiledBackward(name string, inputs, outs []*Tensor, backward func(grads []*Tensor) []*Tensor) {
	withBackward(name, inputs, outs, func(grads []*Tensor, tape bool) []*Tensor {
		ds := backward(grads)
		if tape {
			WithBackward(name+"Backward", append(append([]*Tensor(nil), inputs...), grads...), ds, func([]*Tensor) []*Tensor {
				panic(&Error{Op: "backward", Kind: "RuntimeError", Msg: "torch.compile with aot_autograd does not currently support double backward"})
			})
		}
		return ds
	})
}

func withBackward(name string, inputs, outs []*Tensor, backward func(grads []*Tensor, tape bool) []*Tensor) {
	edges := make([]edge, len(inputs))
	any := false
	for i, t := range inputs {
		if t != nil {
			edges[i] = edgeTo(t)
			any = any || edges[i] != edge{}
		}
	}
	if !any || !GradEnabled() {
		return
	}
	fn := newNode(name, len(outs), edges, func(grads []*Tensor, tape bool) []*Tensor {
		out := backward(grads, tape)
		for i, g := range out {
			if g != nil && !tape && g.RequiresGrad() { // it was computed with the tape on
				out[i] = g.Detach()
			}
		}
		return out
	})
	for i, o := range outs {
		if o != nil && (o.dtype.IsFloat() || o.dtype.IsComplex()) {
			o.fn, o.outIndex = fn, i
			o.meta.Store(nil)
		}
	}
}

// Detach returns t without its history, sharing its memory.
func (t *Tensor) Detach() *Tensor { return Call(ops.Detach, []ops.Arg{t})[0].(*Tensor) }

// nodeHeap orders nodes from the latest call to the earliest.
type nodeHeap []*gradFn

func (h nodeHeap) Len() int           { return len(h) }
func (h nodeHeap) Less(i, j int) bool { return h[i].seq > h[j].seq }
func (h nodeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nodeHeap) Push(x any)        { *h = append(*h, x.(*gradFn)) }
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
}

// Backward computes the gradients of all leaves that t depends on and adds
// them to their Grad. Options: kw.Gradient, kw.RetainGraph, kw.CreateGraph.
func (t *Tensor) Backward(opts ...Option) {
	p := &pass{grads: map[*gradFn][]*Tensor{}}
	var seed *Tensor
	retainSet := false
	for _, o := range opts {
		switch o.Name {
		case "gradient":
			seed = o.Value.(*Tensor)
		case "retain_graph":
			p.retain, retainSet = o.Value.(bool), true
		case "create_graph":
			p.tape = o.Value.(bool)
		default:
			fail("backward", "TypeError", "backward() got an unexpected keyword argument '%s'", o.Name)
		}
	}
	if !retainSet {
		p.retain = p.tape
	}
	if !t.RequiresGrad() {
		fail("backward", "RuntimeError", "element 0 of tensors does not require grad and does not have a grad_fn")
	}
	p.start(t, seedOf(t, seed))
	p.run()
}

// seedOf is the gradient with which a pass starts.
func seedOf(t, seed *Tensor) *Tensor {
	if seed != nil {
		if !equalInts(seed.shape, t.shape) {
			fail("backward", "RuntimeError", "Mismatch in shape: grad_output[0] has a shape of torch.Size(%s) and output[0] has a shape of torch.Size(%s).", intsText(seed.shape), intsText(t.shape))
		}
		if seed.dtype.IsComplex() != t.dtype.IsComplex() {
			fail("backward", "RuntimeError", "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: grad_output[0] has a dtype of %s and output[0] has a dtype of %s.", seed.dtype, t.dtype)
		}
		return seed
	}
	if t.dtype.IsComplex() {
		fail("backward", "RuntimeError", "grad can be implicitly created only for real scalar outputs but got %s", t.dtype)
	}
	if t.Numel() != 1 {
		fail("backward", "RuntimeError", "grad can be implicitly created only for scalar outputs")
	}
	return eager{}.Emit(ops.OnesLike, t).(*Tensor)
}

// Grad returns the gradients of the sum of outputs' elements, weighted by
// kw.GradOutputs, with respect to inputs. An input that outputs do not depend
// on panics unless kw.AllowUnused(true), then its gradient is nil.
func Grad(outputs, inputs []*Tensor, opts ...Option) []*Tensor {
	p := &pass{grads: map[*gradFn][]*Tensor{}, want: map[edge]*Tensor{}, need: map[*gradFn]bool{}}
	var seeds []*Tensor
	allowUnused, retainSet := false, false
	for _, o := range opts {
		switch o.Name {
		case "grad_outputs":
			seeds = o.Value.([]*Tensor)
		case "retain_graph":
			p.retain, retainSet = o.Value.(bool), true
		case "create_graph":
			p.tape = o.Value.(bool)
		case "allow_unused":
			allowUnused = o.Value.(bool)
		default:
			fail("grad", "TypeError", "grad() got an unexpected keyword argument '%s'", o.Name)
		}
	}
	if !retainSet {
		p.retain = p.tape
	}
	for _, in := range inputs {
		if !in.RequiresGrad() {
			fail("grad", "RuntimeError", "One of the differentiated Tensors does not require grad")
		}
		p.want[edgeTo(in)] = nil
	}
	for _, out := range outputs {
		p.mark(out.edgeFn())
	}
	for i, out := range outputs {
		var seed *Tensor
		if seeds != nil {
			seed = seeds[i]
		}
		p.start(out, seedOf(out, seed))
	}
	p.run()
	grads := make([]*Tensor, len(inputs))
	for i, in := range inputs {
		grads[i] = p.want[edgeTo(in)]
		if grads[i] == nil && !allowUnused {
			fail("grad", "RuntimeError", "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.")
		}
	}
	return grads
}

// mark finds the nodes on the way to wanted tensors, without recursion.
func (p *pass) mark(fn *gradFn) {
	if fn == nil {
		return
	}
	var order []*gradFn
	seen := map[*gradFn]bool{fn: true}
	stack := []*gradFn{fn}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, n)
		for _, e := range n.edges {
			if e.fn != nil && !seen[e.fn] {
				seen[e.fn] = true
				stack = append(stack, e.fn)
			}
		}
	}
	// A node's inputs were computed before it: visit in that order.
	h := nodeHeap(order)
	heap.Init(&h)
	asc := make([]*gradFn, len(order))
	for i := range asc {
		asc[len(asc)-1-i] = heap.Pop(&h).(*gradFn)
	}
	for _, n := range asc {
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
	t := e.leaf
	g = runHooks(t.hooks, g)
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
	out := fromMeta(&ops.TensorMeta{DType: t.dtype, Device: t.device, Shape: sym.Consts(t.shape), Stride: ops.LikeStrides(t.TensorMeta())})
	copyInto(out, g)
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
		if fn.dead {
			fail("backward", "RuntimeError", "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.")
		}
		ins := fn.run(grads, p.tape)
		if !p.retain {
			fn.dead, fn.run = true, nil
		}
		for i, g := range ins {
			if i < len(fn.edges) {
				p.send(fn.edges[i], g)
			}
		}
	}
}

// arrive runs the hooks of result i and stores its gradient where it is kept.
func (p *pass) arrive(fn *gradFn, i int, g *Tensor) *Tensor {
	g = runHooks(fn.hooks[i], g)
	for _, t := range fn.kept[i] {
		t.grad = g
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

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

package aot

import (
	"tcdbg/graph"
	"tcdbg/ops"
)

// This file keeps what memory holds, and where its gradients go. A tensor and what
// detach made of it show one memory and change together, but each has gradients
// of its own: a write through one changes the data of the others behind their
// gradients' back.

// root is a tensor that its views share gradients with, with what it holds at
// the point that functionalization has reached.
type root struct {
	meta  *ops.TensorMeta
	mem   *memory
	now   *graph.Node // in the pure graph, nil where a detached root was not read yet
	seen  int         // the version of the memory that now shows
	grad  bool        // a change that gradients flow through
	arg   int         // the argument that it is, -1 for values of the graph
	fixed bool        // nothing ever writes it, and it lies as it was captured
	// detached: it shows the memory of another root, in that one's shape. It has
	// gradients only once grad is set.
	detached bool
}

// memory is what several roots show.
type memory struct {
	owner   *root // the tensor that detached ones come from
	latest  *root // the one that was written last
	version int   // changes so far
}

// newRoot is a tensor with memory of its own.
func newRoot(meta *ops.TensorMeta, now *graph.Node, arg int) *root {
	r := &root{meta: meta, now: now, arg: arg}
	r.mem = &memory{owner: r, latest: r}
	return r
}

// detach is a root for what detach makes of r.
func (r *root) detach() *root {
	return &root{meta: r.meta, mem: r.mem, arg: r.arg, detached: true}
}

// write gives r new content; grad: gradients flow through the change.
func (r *root) write(now *graph.Node, grad bool) {
	r.mem.version++
	r.mem.latest = r
	r.now, r.seen, r.grad = now, r.mem.version, r.grad || grad
}

// content is what r holds now, with its own gradients.
func (f *functionalizer) content(r *root) *graph.Node {
	if r.now != nil && r.seen == r.mem.version {
		return r.now
	}
	b, data := &graph.Builder{G: f.g}, r.mem.latest.now
	if r.detached && !r.grad {
		r.now = b.Emit(ops.Detach, data).(*graph.Node)
	} else {
		r.now = b.Emit(ops.WithData, r.now, data).(*graph.Node)
	}
	r.seen = r.mem.version
	return r.now
}

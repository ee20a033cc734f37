package torch

import (
	"fmt"
	"strings"
	"sync/atomic"

	"tcdbg/ops"
)

// This file is the autograd tape: a node for every call whose gradient is wanted.

var nodeCount atomic.Uint64

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
	run func(grads []*Tensor, tape bool) []*Tensor
	// release frees the tensors that run saved; where it is nil, run as a whole
	// is freed.
	release func()
	done    func() // called when run has been freed; nil for nothing

	hooks map[int][]*hook   // by result
	kept  map[int][]*Tensor // results that keep their gradient
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
	attach(derivativeOf(c, saveArgs(c.Args), outs).node(edgesOf(c.Op, c.Args)), outs)
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
			shared = shared || ok && a != nil && a.array.Storage == t.array.Storage
		}
		if !shared {
			t.base = nil
		}
	}
}

func attach(fn *gradFn, outs []Value) {
	for i, o := range outs {
		if t, ok := o.(*Tensor); ok && (t.array.DType.IsFloat() || t.array.DType.IsComplex()) {
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

// free forgets what a pass needed, which makes another pass fail where it reads
// a saved tensor, and only there.
func (fn *gradFn) free() {
	if fn.release != nil {
		fn.release()
		return
	}
	fn.run = func([]*Tensor, bool) []*Tensor { panic(freedError()) }
	if fn.done != nil {
		fn.done()
		fn.done = nil
	}
}

// derivative is the derivative rule of one call with what it reads.
type derivative struct{ call *ops.BackwardCall }

// derivativeOf takes the call's arguments as saved before it wrote one of them.
func derivativeOf(c *ops.Call, args []ops.Arg, outs []Value) derivative {
	d := derivative{&ops.BackwardCall{Call: &ops.Call{Op: c.Op, Args: args}, Outs: make([]ops.Value, len(outs)), Needs: needsOf(c)}}
	for i, o := range outs {
		d.call.Outs[i] = save(o.(*Tensor))
	}
	return d
}

// node is the tape's node of the call.
func (d derivative) node(edges []edge) *gradFn {
	fn := newNode(gradName(d.call.Op), len(d.call.Outs), edges, d.run)
	for i, o := range d.call.Outs {
		if s, ok := o.(*saved); ok {
			s.fn, s.index = fn, i
		}
	}
	if !d.keepsNumber() {
		fn.release = d.release
	}
	return fn
}

// keepsNumber reports whether the call is a product or quotient with a number:
// PyTorch makes that a tensor, saves it and frees it.
func (d derivative) keepsNumber() bool {
	switch ops.Functional(d.call.Op.ID) {
	case ops.Mul, ops.Div:
		_, tensor := ops.In[ops.SelfOtherArgs](d.call.Call).Other.Arg.(ops.Value)
		return !tensor
	}
	return false
}

func (d derivative) run(grads []*Tensor, tape bool) []*Tensor {
	op, args := d.call.Op, d.call.Args
	if op.Backward == nil { // a comparison in place: the old numbers do not show
		none := make([]*Tensor, len(ops.TensorArgs(op, args)))
		for i, a := range ops.TensorArgs(op, args) {
			if t, ok := unpack(a).(*Tensor); ok && t != nil {
				none[i] = eager{tape}.Emit(ops.ZerosLike, t).(*Tensor)
			}
		}
		return none
	}
	call := *d.call
	call.Grads = make([]ops.Value, len(grads))
	for i, g := range grads {
		if g != nil {
			call.Grads[i] = g
		}
	}
	vals := op.Backward(eager{tape}, &call)
	out := make([]*Tensor, len(vals))
	for i, v := range vals {
		out[i], _ = unpack(v).(*Tensor)
	}
	return out
}

// release frees the saved tensors; their shapes stay.
func (d derivative) release() {
	for _, list := range [][]ops.Value{ops.TensorArgs(d.call.Op, d.call.Args), d.call.Outs} {
		for _, v := range list {
			if s, ok := v.(*saved); ok {
				s.t = nil
			}
		}
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

// WithBackward makes outs results of one tape node: when a gradient is wanted,
// backward gets those of outs (nil where unused) and returns those of inputs.
func WithBackward(name string, inputs, outs []*Tensor, backward func(grads []*Tensor) []*Tensor) {
	withBackward(name, inputs, outs, func(grads []*Tensor, _ bool) []*Tensor { return backward(grads) })
}

// WithCompiledBackward is WithBackward for a backward pass that leaves nothing on
// the tape. Where it is to be differentiated again the gradients come from again,
// which computes them with operators; it returns nil where it cannot, and then who
// differentiates them is refused. done is called when the pass that ran has freed what backward
// needs: it will not run again.
func WithCompiledBackward(name string, inputs, outs []*Tensor, backward, again func(grads []*Tensor) []*Tensor, done func()) {
	fn := withBackward(name, inputs, outs, func(grads []*Tensor, tape bool) []*Tensor {
		if !tape {
			return backward(grads)
		}
		if ds := again(grads); ds != nil {
			return ds
		}
		ds := backward(grads)
		WithBackward(name+"Backward", append(append([]*Tensor(nil), inputs...), grads...), ds, func([]*Tensor) []*Tensor {
			panic(&Error{
				Op: "backward", Kind: "RuntimeError",
				Msg: "torch.compile with aot_autograd does not currently support double backward",
			})
		})
		return ds
	})
	if fn != nil {
		fn.done = done
	}
}

// withBackward returns the node, nil where no gradient is wanted.
func withBackward(name string, inputs, outs []*Tensor, backward func(grads []*Tensor, tape bool) []*Tensor) *gradFn {
	edges := make([]edge, len(inputs))
	any := false
	for i, t := range inputs {
		if t != nil {
			edges[i] = edgeTo(t)
			any = any || edges[i] != edge{}
		}
	}
	if !any || !GradEnabled() {
		return nil
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
		if o != nil && (o.array.DType.IsFloat() || o.array.DType.IsComplex()) {
			o.fn, o.outIndex = fn, i
			o.meta.Store(nil)
		}
	}
	return fn
}

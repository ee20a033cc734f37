package torch

import (
	"fmt"
	"slices"

	"tcdbg/ops"
	"tcdbg/torch/internal/refusal"
)

// This file is what a tensor tells of its gradient; the tape is in tape.go, the pass
// that runs it in backward.go.

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
		refusal.Fail(
			"requires_grad_", "RuntimeError",
			"you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "+
				"doesn't require differentiation use var_no_grad = var.detach().",
		)
	}
	if want && !t.array.DType.IsFloat() && !t.array.DType.IsComplex() {
		refusal.Fail("requires_grad_", "RuntimeError", "only Tensors of floating point dtype can require gradients")
	}
	if t.IsLeaf() {
		t.requiresGrad = want
	}
	t.meta.Store(nil)
	return t
}

// Grad is the gradient that Backward has accumulated; nil before.
func (t *Tensor) Grad() *Tensor {
	Seen(t.grad)
	return t.grad
}

// SetGrad replaces the accumulated gradient by one of t's shape and dtype; nil clears it.
func (t *Tensor) SetGrad(g *Tensor) {
	if why := t.GradRefused(g); why != "" {
		refusal.Fail("", "RuntimeError", "%s", why)
	}
	t.grad = g
}

// GradRefused says why g cannot be the gradient of t; empty where it can.
func (t *Tensor) GradRefused(g *Tensor) string {
	switch {
	case g == nil:
		return ""
	case !slices.Equal(g.Shape(), t.Shape()):
		return fmt.Sprintf(
			"attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please ensure that the gradient and the tensor "+
				"are the same size",
			refusal.Ints(g.Shape()), refusal.Ints(t.Shape()),
		)
	case g.array.DType != t.array.DType:
		return fmt.Sprintf(
			"attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype '%s'. The gradient must match the tensor's "+
				"grad_dtype (defaults to the tensor's dtype).",
			g.array.DType, t.array.DType,
		)
	}
	return ""
}

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
	if !t.RequiresGrad() {
		refusal.Fail("retain_grad", "RuntimeError", "can't retain_grad on Tensor that has requires_grad=False")
	}
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

type hook struct{ f func(*Tensor) *Tensor }

// RegisterHook calls f with the gradient of t when Backward computes it; what
// f returns, unless nil, takes its place. The result removes the hook.
func (t *Tensor) RegisterHook(f func(*Tensor) *Tensor) (remove func()) {
	if !t.RequiresGrad() {
		refusal.Fail("register_hook", "RuntimeError", "cannot register a hook on a tensor that doesn't require gradient")
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

// Detach returns t without its history, sharing its memory.
func (t *Tensor) Detach() *Tensor { return Call(ops.Detach, []ops.Arg{t})[0].(*Tensor) }

package nn

import "tcdbg/torch"

// This file is hooks of modules. A Go program calls Forward itself, so a hook
// cannot slip in between: Hooked is the module with its hooks, to be put where
// the module was.

// Hooked is a module whose calls are seen by hooks. Its state is the module's.
type Hooked struct {
	Module Module `torch:",flat"`

	pre, forward []*moduleHook
}

// moduleHook is a registered function; nil once it is removed.
type moduleHook struct {
	pre     func(m Module, x *torch.Tensor) *torch.Tensor
	forward func(m Module, x, y *torch.Tensor) *torch.Tensor
}

// NewHooked gives m hooks; an m that has them already is returned.
func NewHooked(m Module) *Hooked {
	if h, ok := m.(*Hooked); ok {
		return h
	}
	return &Hooked{Module: m}
}

// RegisterForwardPreHook calls f before Forward with its input; what f returns,
// unless nil, takes its place. The result removes the hook.
func (h *Hooked) RegisterForwardPreHook(f func(m Module, x *torch.Tensor) *torch.Tensor) (remove func()) {
	hook := &moduleHook{pre: f}
	h.pre = append(h.pre, hook)
	return func() { hook.pre = nil }
}

// RegisterForwardHook calls f after Forward with its input and output; what f
// returns, unless nil, takes the output's place. The result removes the hook.
func (h *Hooked) RegisterForwardHook(f func(m Module, x, y *torch.Tensor) *torch.Tensor) (remove func()) {
	hook := &moduleHook{forward: f}
	h.forward = append(h.forward, hook)
	return func() { hook.forward = nil }
}

// RegisterFullBackwardHook calls f, once Backward has the gradients of Forward's
// input and output, with both; what f returns, unless nil, takes the place of
// the input's gradient. An input that needs no gradient has none, and f is not
// called. The result removes the hook.
func (h *Hooked) RegisterFullBackwardHook(f func(m Module, gradInput, gradOutput *torch.Tensor) *torch.Tensor) (remove func()) {
	on := true
	// Views of input and output stand for the module's edges, so that other
	// uses of the same tensors are not seen.
	var last *torch.Tensor
	offPre := h.RegisterForwardPreHook(func(m Module, x *torch.Tensor) *torch.Tensor {
		last = nil
		if !on || !torch.GradEnabled() || !x.RequiresGrad() {
			return nil
		}
		last = x.ViewAs(x)
		return last
	})
	offForward := h.RegisterForwardHook(func(m Module, _, y *torch.Tensor) *torch.Tensor {
		x := last
		if x == nil || !y.RequiresGrad() {
			return nil
		}
		out := y.ViewAs(y)
		var gradOutput *torch.Tensor
		out.RegisterHook(func(g *torch.Tensor) *torch.Tensor {
			gradOutput = g
			return nil
		})
		x.RegisterHook(func(g *torch.Tensor) *torch.Tensor {
			if !on {
				return nil
			}
			return f(m, g, gradOutput)
		})
		return out
	})
	return func() {
		on = false
		offPre()
		offForward()
	}
}

// Forward runs the hooks around the module's Forward.
func (h *Hooked) Forward(x *torch.Tensor) *torch.Tensor {
	for _, hook := range h.pre {
		if hook.pre == nil {
			continue
		}
		if r := hook.pre(h.Module, x); r != nil {
			x = r
		}
	}
	y := h.Module.Forward(x)
	for _, hook := range h.forward {
		if hook.forward == nil {
			continue
		}
		if r := hook.forward(h.Module, x, y); r != nil {
			y = r
		}
	}
	return y
}

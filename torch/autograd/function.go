// Package autograd is torch.autograd's part for those who write derivatives:
// functions with a backward of their own, and checks of gradients against
// finite differences.
//
// It is a source package: the interpreter runs it from source. It imports torch
// and torch/kw only. Open this file first, then gradcheck.go.
package autograd

import (
	"fmt"
	"slices"

	"tcdbg/torch"
)

// Function is an operation with a derivative of its own. Both methods run
// without tape; with create_graph Backward is recorded.
type Function interface {
	// Forward computes the results.
	Forward(ctx *Context, inputs ...*torch.Tensor) []*torch.Tensor
	// Backward takes the gradients of the results to those of the inputs, nil
	// for none.
	Backward(ctx *Context, grads ...*torch.Tensor) []*torch.Tensor
}

// Context carries what Forward leaves for Backward.
type Context struct {
	// NeedsInputGrad says for each input whether its gradient is wanted.
	NeedsInputGrad []bool

	saved      []*torch.Tensor
	versions   []uint64
	constant   []*torch.Tensor // results without gradient
	unmaterial bool
	results    []*torch.Tensor // for the shapes of missing gradients
}

// SaveForBackward keeps tensors for Backward; nil stays nil.
func (c *Context) SaveForBackward(tensors ...*torch.Tensor) {
	c.saved, c.versions = tensors, nil
	if !slices.Contains(c.NeedsInputGrad, true) { // there is no backward
		return
	}
	for _, t := range tensors {
		c.versions = append(c.versions, version(t))
	}
}

// version counts the changes of a tensor in place. The compiler, which sees to them
// itself, takes it as a constant.
func version(t *torch.Tensor) uint64 {
	if t == nil || t.Storage() == nil {
		return 0
	}
	return t.Storage().Version()
}

// SavedTensors returns what SaveForBackward kept. A tensor that was changed in
// place since then is refused.
func (c *Context) SavedTensors() []*torch.Tensor {
	for i, t := range c.saved {
		if i < len(c.versions) {
			if v := version(t); v != c.versions[i] {
				panic(torch.Overwritten(t, v, c.versions[i]))
			}
		}
	}
	return c.saved
}

// MarkNonDifferentiable says that no gradient flows through these results.
func (c *Context) MarkNonDifferentiable(results ...*torch.Tensor) {
	c.constant = append(c.constant, results...)
}

// SetMaterializeGrads with false hands Backward nil for results that were not
// used instead of zeros.
func (c *Context) SetMaterializeGrads(on bool) { c.unmaterial = !on }

func fail(kind, format string, args ...any) {
	panic(&torch.Error{Op: "autograd", Kind: kind, Msg: fmt.Sprintf(format, args...)})
}

// Apply runs f.Forward and records f.Backward as its derivative.
func Apply(f Function, inputs ...*torch.Tensor) []*torch.Tensor {
	ctx := &Context{}
	for _, t := range inputs {
		ctx.NeedsInputGrad = append(ctx.NeedsInputGrad, t != nil && torch.GradEnabled() && t.RequiresGrad())
	}
	if slices.Contains(ctx.NeedsInputGrad, true) {
		return recorded(f, ctx, inputs)
	}
	return forward(f, ctx, inputs)
}

// forward runs f.Forward without tape.
func forward(f Function, ctx *Context, inputs []*torch.Tensor) (outs []*torch.Tensor) {
	torch.NoGrad(func() {
		outs = slices.Clone(f.Forward(ctx, inputs...)) // it may return its inputs, as the list that they are
		for i, y := range outs {
			if y == nil {
				fail("RuntimeError", "%T.Forward returned nil for a result", f)
			}
			for _, x := range inputs {
				if y == x { // the input's own history must stay
					outs[i] = y.ViewAs(y)
				}
			}
		}
	})
	return outs
}

// recorded runs f.Forward with f.Backward as its derivative on the tape. The compiler
// captures the operators of this call as a body of its own.
func recorded(f Function, ctx *Context, inputs []*torch.Tensor) []*torch.Tensor {
	outs := forward(f, ctx, inputs)
	ctx.results = slices.Clone(outs)
	constant := make([]bool, len(outs))
	for i, y := range outs {
		constant[i] = slices.Contains(ctx.constant, y)
	}
	record(nameOf(f), inputs, outs, constant, func(grads []*torch.Tensor) []*torch.Tensor {
		return backward(f, ctx, len(inputs), grads)
	})
	return outs
}

// record puts one call on the tape: run takes the gradients of outs that are not
// constant, nil where unused, to those of inputs. The compiler replaces it: it traces
// run at once.
func record(name string, inputs, outs []*torch.Tensor, constant []bool, run func(grads []*torch.Tensor) []*torch.Tensor) {
	differentiable := make([]*torch.Tensor, len(outs))
	for i, y := range outs {
		if !constant[i] {
			differentiable[i] = y
		}
	}
	torch.WithBackward(name, inputs, differentiable, run)
}

// backward calls f.Backward and checks what it returns.
func backward(f Function, ctx *Context, inputs int, grads []*torch.Tensor) []*torch.Tensor {
	if !ctx.unmaterial {
		grads = append([]*torch.Tensor{}, grads...)
		for i, g := range grads {
			if g == nil {
				grads[i] = torch.ZerosLike(ctx.results[i].Detach())
			}
		}
	}
	out := f.Backward(ctx, grads...)
	if len(out) != inputs {
		fail("RuntimeError", "function %s returned an incorrect number of gradients (expected %d, got %d)", nameOf(f), inputs, len(out))
	}
	return out
}

// nameOf is the name that results print as their grad_fn.
func nameOf(f Function) string {
	name := fmt.Sprintf("%T", f)
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' || name[i] == '*' {
			name = name[i+1:]
			break
		}
	}
	return name + "Backward"
}

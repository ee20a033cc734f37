package autograd

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file compares derivatives with finite differences.

// Func is a function of tensors whose gradients are checked.
type Func func(inputs []*torch.Tensor) []*torch.Tensor

// check are the settings of one check.
type check struct {
	eps, atol, rtol float64
	raise           bool
}

func newCheck(class string, opts []torch.Option) check {
	c := check{1e-6, 1e-5, 1e-3, true}
	for _, o := range opts {
		switch o.Name {
		case "eps":
			eps, ok := o.Value.(float64)
			if !ok {
				fail("TypeError", "%s(): argument 'eps' must be float, not %T", class, o.Value)
			}
			c.eps = eps
		case "atol":
			c.atol = o.Value.(float64)
		case "rtol":
			c.rtol = o.Value.(float64)
		case "raise_exception":
			c.raise = o.Value.(bool)
		default:
			fail("TypeError", "%s() got an unexpected keyword argument '%s'", class, o.Name)
		}
	}
	return c
}

// Gradcheck compares the gradients of f at inputs, those of them that require
// one, with finite differences. Inputs should be float64. It panics where they
// differ, or with kw.RaiseException(false) returns false. Options: kw.Eps(1e-6),
// kw.Atol(1e-5), kw.Rtol(1e-3), kw.RaiseException(true).
func Gradcheck(f Func, inputs []*torch.Tensor, opts ...torch.Option) bool {
	c := newCheck("gradcheck", opts)
	return c.verdict(c.run(f, inputs))
}

// Gradgradcheck is Gradcheck of the gradients of f, weighted by gradOutputs (nil:
// by numbers that differ): it checks second derivatives.
func Gradgradcheck(f Func, inputs, gradOutputs []*torch.Tensor, opts ...torch.Option) bool {
	c := newCheck("gradgradcheck", opts)
	if gradOutputs == nil {
		for _, y := range differentiable(f(inputs)) {
			gradOutputs = append(gradOutputs, weights(y).RequiresGrad_())
		}
	}
	first := func(in []*torch.Tensor) []*torch.Tensor {
		xs, seeds := in[:len(inputs)], in[len(inputs):]
		var used []*torch.Tensor
		torch.EnableGrad(func() { // differences are taken without tape
			for _, g := range torch.Grad(
				differentiable(f(xs)), wanted(xs), kw.GradOutputs(seeds), kw.CreateGraph(true), kw.AllowUnused(true),
			) {
				if g != nil {
					used = append(used, g)
				}
			}
		})
		return used
	}
	return c.verdict(c.run(first, append(append([]*torch.Tensor{}, inputs...), gradOutputs...)))
}

// weights are numbers in [0.5, 1.5) that differ from element to element.
func weights(y *torch.Tensor) *torch.Tensor {
	n := y.Numel()
	return torch.Arange(n, kw.Dtype(y.DType())).Mul(0.6180339887).Frac().Add(0.5).Reshape(y.Shape()...).Detach()
}

func (c check) verdict(err error) bool {
	if err != nil && c.raise {
		panic(&torch.Error{Op: "gradcheck", Kind: "GradcheckError", Msg: err.Error()})
	}
	return err == nil
}

// wanted are the inputs that require a gradient.
func wanted(inputs []*torch.Tensor) []*torch.Tensor {
	var out []*torch.Tensor
	for _, x := range inputs {
		if x != nil && x.RequiresGrad() {
			out = append(out, x)
		}
	}
	return out
}

// differentiable are the results through which a gradient flows.
func differentiable(outs []*torch.Tensor) []*torch.Tensor { return wanted(outs) }

func (c check) run(f Func, inputs []*torch.Tensor) error {
	xs := wanted(inputs)
	if len(xs) == 0 {
		return fmt.Errorf("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True")
	}
	for _, x := range xs {
		if x.DType().IsComplex() {
			return fmt.Errorf("gradcheck: complex inputs are not supported")
		}
	}
	outs := f(inputs)
	if len(differentiable(outs)) == 0 {
		return c.constant(f, inputs, xs)
	}
	for i := range outs {
		if !outs[i].RequiresGrad() {
			continue
		}
		y := f(inputs)[i] // differences change the inputs in place
		analytic := jacobian(y, xs)
		if again := jacobian(y, xs); !same(analytic, again) {
			return fmt.Errorf("two backward passes with one input and one gradient give different values")
		}
		for j, x := range xs {
			numeric := c.differences(f, inputs, x, i, y.Numel())
			if err := c.compare(i, j, analytic[j], numeric); err != nil {
				return err
			}
		}
	}
	return nil
}

// constant checks a function without derivative: nothing may move its results.
func (c check) constant(f Func, inputs, xs []*torch.Tensor) error {
	for i, y := range f(inputs) {
		if !y.DType().IsFloat() {
			continue
		}
		for j, x := range xs {
			zero := make([][]float64, y.Numel())
			for k := range zero {
				zero[k] = make([]float64, x.Numel())
			}
			if err := c.compare(i, j, zero, c.differences(f, inputs, x, i, y.Numel())); err != nil {
				return fmt.Errorf("the numerical gradient should be zero: %w", err)
			}
		}
	}
	return nil
}

// jacobian is by input the derivatives of each element of y by each of the
// input's, by the tape.
func jacobian(y *torch.Tensor, xs []*torch.Tensor) [][][]float64 {
	n := y.Numel()
	out := make([][][]float64, len(xs))
	for k := range n {
		seed := torch.Zeros(n, kw.Dtype(y.DType()))
		seed.Select(0, k).Fill_(1)
		grads := torch.Grad(
			[]*torch.Tensor{y}, xs, kw.GradOutputs([]*torch.Tensor{seed.Reshape(y.Shape()...)}), kw.RetainGraph(true),
			kw.AllowUnused(true),
		)
		for j, g := range grads {
			row := make([]float64, xs[j].Numel())
			if g != nil {
				row = g.Float64s()
			}
			out[j] = append(out[j], row)
		}
	}
	return out
}

// differences is jacobian of result i by x, by finite differences.
func (c check) differences(f Func, inputs []*torch.Tensor, x *torch.Tensor, i, n int) [][]float64 {
	out := make([][]float64, n)
	for k := range out {
		out[k] = make([]float64, x.Numel())
	}
	at := make([]int, x.Dim())
	data := x.Detach()
	for e := range x.Numel() {
		element := data
		for _, p := range at {
			element = element.Select(0, p)
		}
		was := element.Item()
		value := func(v float64) []float64 {
			element.Fill_(v)
			var y []float64
			torch.NoGrad(func() { y = f(inputs)[i].Float64s() })
			return y
		}
		up, down := value(was+c.eps), value(was-c.eps)
		element.Fill_(was)
		for k := range out {
			out[k][e] = (up[k] - down[k]) / (2 * c.eps)
		}
		for d := len(at) - 1; d >= 0; d-- { // the next element in row-major order
			at[d]++
			if at[d] < x.Size(d) {
				break
			}
			at[d] = 0
		}
	}
	return out
}

func (c check) compare(output, input int, analytic, numeric [][]float64) error {
	for k := range numeric {
		for e := range numeric[k] {
			a, n := analytic[k][e], numeric[k][e]
			if !(math.Abs(a-n) <= c.atol+c.rtol*math.Abs(n)) {
				return fmt.Errorf(
					"the Jacobians differ for output %d with respect to input %d: element %d by element %d: numerical %v, analytical %v",
					output, input, k, e, n, a,
				)
			}
		}
	}
	return nil
}

func same(a, b [][][]float64) bool {
	for j := range a {
		for k := range a[j] {
			for e := range a[j][k] {
				if a[j][k][e] != b[j][k][e] && !math.IsNaN(a[j][k][e]) {
					return false
				}
			}
		}
	}
	return true
}

package compiler

import (
	"fmt"

	"tcdbg/torch"
)

// This file is control flow that a graph can hold: what PyTorch calls its higher-order
// operators. The bodies here are what they mean in eager mode.

// Cond calls yes or no on the operands as pred, a tensor with one element,
// says. Compiled, both are traced and the graph holds both, as torch.cond does it. They have
// to return tensors of their own that are alike, and may change nothing from outside; else
// the graph breaks at the call, and the branch that is taken is captured after it.
func Cond(pred *torch.Tensor, yes, no func(...*torch.Tensor) *torch.Tensor, operands ...*torch.Tensor) *torch.Tensor {
	if pred.Bool() {
		return yes(operands...)
	}
	return no(operands...)
}

// WhileLoop repeats body on the carried tensors while cond holds. Without a round it returns
// copies of them. Compiled, both functions are traced and the graph holds the loop, as
// PyTorch's while_loop does it. The body has to return tensors of its own that are like what
// it got, and neither may change anything from outside; else the graph breaks at the call,
// which runs eagerly. So does a loop that gradients would flow through.
func WhileLoop(
	cond func(...*torch.Tensor) *torch.Tensor, body func(...*torch.Tensor) []*torch.Tensor, carried ...*torch.Tensor,
) []*torch.Tensor {
	rounds := 0
	for ; cond(carried...).Bool(); rounds++ {
		carried = body(carried...)
	}
	if rounds > 0 {
		return carried
	}
	copies := make([]*torch.Tensor, len(carried))
	for i, t := range carried {
		copies[i] = t.Clone()
	}
	return copies
}

// Switch calls the branch that index, a tensor with one whole number, says; numbers below 0
// mean the first branch, those past the end the last, as with torch.switch. Compiled, all are
// traced and the graph holds all. What holds of the branches of Cond holds of them.
func Switch(index *torch.Tensor, branches []func(...*torch.Tensor) *torch.Tensor, operands ...*torch.Tensor) *torch.Tensor {
	if len(branches) == 0 {
		panic("compiler.Switch: no branches")
	}
	if d := index.DType(); d.IsFloat() || d.IsComplex() {
		panic(fmt.Sprintf("compiler.Switch: the index is of %s, which is no whole number", d))
	}
	return branches[min(max(index.ItemInt(), 0), len(branches)-1)](operands...)
}

// Map calls f on the slices of xs along their first dimension, a slice of each and then args
// at a time, and stacks what it returns. Compiled, f is traced once and the graph holds it, as
// PyTorch's map does it. It has to return tensors of its own, and may change nothing from
// outside; else the graph breaks at the call, which runs eagerly.
func Map(f func(...*torch.Tensor) []*torch.Tensor, xs []*torch.Tensor, args ...*torch.Tensor) []*torch.Tensor {
	var ys [][]*torch.Tensor
	for i := range slicesOf("Map", xs) {
		ys = append(ys, f(append(cut(xs, i), args...)...))
	}
	return stack(ys)
}

// Scan calls combine on what it carries, init at first, and on the slices of xs along a
// dimension (kw.Dim, the first by default), one after the other or, with kw.Reverse(true),
// from the last to the first. combine returns what is carried on, which has to be like what it
// got, and tensors that Scan stacks along the same dimension. Compiled, combine is traced once
// and the graph holds it, as PyTorch's scan does it. It has to return tensors of its own, and
// may change nothing from outside; else the graph breaks at the call, which runs eagerly.
func Scan(
	combine func(carry, x []*torch.Tensor) (next, y []*torch.Tensor), init, xs []*torch.Tensor, opts ...torch.Option,
) (carry, ys []*torch.Tensor) {
	o := scanOptions("Scan", opts)
	if len(init) == 0 {
		panic("compiler.Scan: no tensor to carry")
	}
	xs = o.turned(xs)
	var all [][]*torch.Tensor
	carry = init
	for i := range slicesOf("Scan", xs) {
		var y []*torch.Tensor
		carry, y = combine(carry, cut(xs, i))
		all = append(all, y)
	}
	return carry, o.turnedBack(stack(all))
}

// AssociativeScan gives for each slice of xs along a dimension what combine makes of it and
// of all slices before it, which are put together by twos: combine has to be associative. The
// options are those of Scan. Compiled, combine is traced once and the graph holds it, as
// PyTorch's associative_scan does it, and the slices are put together from the first on. It
// has to return tensors of its own that are like a slice, and may change nothing from outside;
// else the graph breaks at the call, which runs eagerly.
func AssociativeScan(combine func(a, b []*torch.Tensor) []*torch.Tensor, xs []*torch.Tensor, opts ...torch.Option) []*torch.Tensor {
	o := scanOptions("AssociativeScan", opts)
	xs = o.turned(xs)
	var all [][]*torch.Tensor
	for i := range slicesOf("AssociativeScan", xs) {
		y := cut(xs, i)
		if i > 0 {
			y = combine(all[i-1], y)
		}
		all = append(all, y)
	}
	return o.turnedBack(stack(all))
}

// slicesOf is the number of slices that tensors have.
func slicesOf(name string, xs []*torch.Tensor) int {
	if len(xs) == 0 {
		panic("compiler." + name + ": no tensor to take apart")
	}
	n := xs[0].Size(0)
	for _, x := range xs {
		if x.Size(0) != n {
			panic(fmt.Sprintf("compiler.%s: tensors of %d and of %d slices", name, n, x.Size(0)))
		}
	}
	if n == 0 {
		panic("compiler." + name + ": tensors without slices")
	}
	return n
}

// cut is slice i of each tensor.
func cut(xs []*torch.Tensor, i int) []*torch.Tensor {
	out := make([]*torch.Tensor, len(xs))
	for k, x := range xs {
		out[k] = x.Select(0, i)
	}
	return out
}

// stack stacks the k-th tensors of all lists.
func stack(all [][]*torch.Tensor) []*torch.Tensor {
	var out []*torch.Tensor
	for k := range all[0] {
		var list []*torch.Tensor
		for _, y := range all {
			list = append(list, y[k])
		}
		out = append(out, torch.Stack(list))
	}
	return out
}

// scanning is how a scan goes through its tensors.
type scanning struct {
	dim     int
	reverse bool
}

func scanOptions(name string, opts []torch.Option) *scanning {
	o := &scanning{}
	for _, x := range opts {
		dim, isInt := x.Value.(int)
		reverse, isBool := x.Value.(bool)
		switch {
		case x.Name == "dim" && isInt:
			o.dim = dim
		case x.Name == "reverse" && isBool:
			o.reverse = reverse
		default:
			panic(fmt.Sprintf("compiler.%s: unknown option %s=%v", name, x.Name, x.Value))
		}
	}
	return o
}

// turned are tensors with the dimension in front, from where it is gone through.
func (o *scanning) turned(xs []*torch.Tensor) []*torch.Tensor {
	out := make([]*torch.Tensor, len(xs))
	for i, x := range xs {
		if o.dim < 0 && i == 0 {
			o.dim += x.Dim()
		}
		if out[i] = x.Movedim([]int{o.dim}, []int{0}); o.reverse {
			out[i] = out[i].Flip(0)
		}
	}
	return out
}

func (o *scanning) turnedBack(xs []*torch.Tensor) []*torch.Tensor {
	for i, x := range xs {
		if o.reverse {
			x = x.Flip(0)
		}
		if o.dim < x.Dim() {
			x = x.Movedim([]int{0}, []int{o.dim})
		}
		xs[i] = x
	}
	return xs
}

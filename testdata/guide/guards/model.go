// The rows of docs/guide.md on guards and dynamic shapes.
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn/functional"
)

// net has what guards are on: a mode, a number, a tensor.
type net struct {
	scale    int
	training bool
}

func (n *net) f(x *torch.Tensor) *torch.Tensor {
	if n.training {
		x = x.Mul(0.5)
	}
	return x.Mul(n.scale).Relu()
}

func main() {
	n := &net{scale: 2}
	f := torch.Compile(n.f, kw.Dynamic(false))
	f(torch.Ones(3))
	f(torch.Ones(4))                          // shape
	f(torch.Ones(3, kw.Dtype(torch.Float64))) // dtype
	f(torch.Ones(3, kw.RequiresGrad(true)))   // gradient
	n.scale = 3                               // value
	f(torch.Ones(3))
	n.training = true
	f(torch.Ones(3))
	fmt.Println("row 24: five reasons to compile again")

	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin().Sum() })
	for length := 2; length < 7; length++ {
		x := torch.Ones(length)
		compiler.MarkDynamic(x, 0)
		g(x)
	}
	fmt.Println("row 19: one entry for every length")

	buckets := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Cos().Sum() }, kw.Dynamic(false))
	padded := func(n int) *torch.Tensor {
		for _, size := range []int{16, 32, 64} {
			if n <= size {
				return functional.Pad(torch.Ones(n), []int{0, size - n})
			}
		}
		return torch.Ones(n)
	}
	for _, n := range []int{16, 32, 64, 3, 20, 60, 7} {
		buckets(padded(n))
	}
	fmt.Println("row 21: three lengths for all")
}

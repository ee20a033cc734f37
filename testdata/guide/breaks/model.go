// The rows of docs/guide.md on graph breaks and recompiles.
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

const debug = false

func printing(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	fmt.Println("row 31")
	return y.Cos()
}

func guarded(x *torch.Tensor) *torch.Tensor {
	if debug {
		fmt.Println("never")
	}
	if !compiler.IsCompiling() {
		fmt.Println("row 33: not under the compiler")
	}
	return x.Sin().Cos()
}

func checked(x *torch.Tensor) *torch.Tensor {
	if x.Sum().Lt(0).Bool() {
		panic("negative")
	}
	return x.Sqrt()
}

func chosen(x *torch.Tensor) *torch.Tensor { return torch.Where(x.Gt(0), x.Mul(2), x.Neg()) }

func cond(x *torch.Tensor) *torch.Tensor {
	return compiler.Cond(x.Sum().Gt(0),
		func(o ...*torch.Tensor) *torch.Tensor { return o[0].Sin() }, func(o ...*torch.Tensor) *torch.Tensor { return o[0].Cos() }, x)
}

func main() {
	x := torch.Zeros(3)
	torch.Compile(printing)(x)
	fmt.Println("row 32:", torch.Compile(guarded, kw.Fullgraph(true))(x))
	fmt.Println("row 34:", torch.Compile(checked)(x))
	fmt.Println("row 36:", torch.Compile(chosen, kw.Fullgraph(true))(x))
	fmt.Println("row 37:", torch.Compile(cond, kw.Fullgraph(true))(x))
	g := torch.Compile(func(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(k) }, kw.Dynamic(false))
	for k := range 12 {
		g(x, k)
	}
	p := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Exp().Sum() }, kw.Dynamic(false))
	for _, n := range []int{8, 16, 32, 8, 16, 32} {
		p(torch.Ones(n))
	}
	for i := range 3 {
		torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Add(float64(i)) })(x)
	}
}

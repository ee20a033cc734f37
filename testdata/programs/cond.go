// want differs eager aot_eager inductor: only where something compiles can FailOnRecompile and Fullgraph fail
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

func c1(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	z := compiler.Cond(y.Sum().Gt(0),
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, y)
	return z.Add(1)
}

func w1(x *torch.Tensor) *torch.Tensor {
	r := compiler.WhileLoop(
		func(c ...*torch.Tensor) *torch.Tensor { return c[0].Lt(5) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Add(1), c[1].Mul(1.5)} },
		torch.NewTensor(0), x)
	return r[1].Sub(r[0])
}

func dis(x *torch.Tensor) *torch.Tensor {
	y := x.Add(1)
	y = compiler.Disable(func(t *torch.Tensor) *torch.Tensor { return t.Mul(t) })(y)
	compiler.GraphBreak("on purpose")
	if compiler.IsCompiling() {
		y = y.Add(0)
	}
	return y.Sum()
}

func inner(x *torch.Tensor) *torch.Tensor { return x.Relu().Add(1) }

func main() {
	f := torch.Compile(c1)
	fmt.Println(f(torch.Ones(2)), f(torch.Ones(2).Neg()))
	fmt.Println(torch.Compile(w1)(torch.Ones(2)))
	fmt.Println(torch.Compile(dis)(torch.Ones(2)))
	in := torch.Compile(inner)
	outer := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return in(x.Mul(2)).Sin() })
	fmt.Println(outer(torch.Ones(2)))
	cc := torch.Compile(torch.Compile(inner))
	fmt.Println(cc(torch.Ones(2)))
	lim := torch.Compile(func(x *torch.Tensor, s string) *torch.Tensor { return x.Add(len(s)) }, kw.RecompileLimit(3))
	for i := range 6 {
		fmt.Println(lim(torch.Ones(1), fmt.Sprint("s", i*1000)))
	}
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Add(1) })
	g(torch.Ones(2))
	compiler.SetStance(compiler.FailOnRecompile)
	fmt.Println(g(torch.Ones(2)))
	func() {
		defer func() { fmt.Println("recovered", recover() != nil) }()
		g(torch.Ones(2, 2))
	}()
	compiler.SetStance(compiler.ForceEager)
	fmt.Println(g(torch.Ones(2, 2)))
	compiler.SetStance(compiler.Default)
	compiler.Reset()
	fmt.Println(g(torch.Ones(2, 2)))
	x := torch.Ones(4, 3)
	compiler.MarkDynamic(x, 0)
	fmt.Println(g(x).Shape(), g(torch.Ones(7, 3)).Shape())
	func() {
		defer func() { fmt.Println("recovered", recover() != nil) }()
		torch.Compile(func(x *torch.Tensor) *torch.Tensor {
			if x.Sum().Bool() {
				return x
			}
			return x.Neg()
		}, kw.Fullgraph(true))(torch.Ones(2))
	}()
}

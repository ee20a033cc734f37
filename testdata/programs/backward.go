// want differs aot_eager inductor: what a compiled function saves is the output of no node, where eager names one; PyTorch says other words under each of its backends, too
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func try(f func()) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println("panic:", r)
		}
	}()
	f()
}

func main() {
	leaf := func() *torch.Tensor { return torch.NewTensor([]float64{1, 2, 3}, kw.RequiresGrad(true)) }
	multi := torch.Compile(func(x, w *torch.Tensor) (*torch.Tensor, *torch.Tensor, *torch.Tensor, *torch.Tensor) {
		a := x.Mul(w)
		return a.Sum(), a.Detach().Exp(), a.View(3, 1), x
	})
	try(func() {
		x, w := leaf(), leaf()
		s, d, v, al := multi(x, w)
		s.Backward(kw.RetainGraph(true))
		fmt.Println(x.Grad(), w.Grad(), d.RequiresGrad(), al == x)
		s.Backward()
		fmt.Println(x.Grad())
		v.Backward(kw.Gradient(torch.Ones(3, 1)))
		fmt.Println(x.Grad())
	})
	try(func() {
		x, w := leaf(), leaf()
		s, _, _, _ := multi(x, w)
		s.Backward()
		s.Backward()
	})
	try(func() {
		x, w := leaf(), leaf()
		_, _, v, _ := multi(x, w)
		v.Backward()
	})
	try(func() {
		x, w := leaf(), leaf()
		s, _, _, _ := multi(x, w)
		torch.NoGrad(func() { w.Mul_(2) })
		s.Backward()
		fmt.Println(x.Grad())
	})
	try(func() {
		x := leaf()
		f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Exp() })
		y := f(x)
		y.Add_(1)
		y.Sum().Backward()
		fmt.Println(x.Grad())
	})
	try(func() {
		x := leaf()
		f := torch.Compile(func(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) { y := x.Mul(2); return y, y.Narrow(0, 0, 2) })
		y, v := f(x)
		v.Mul_(3)
		y.Sum().Backward()
		fmt.Println(y.Detach(), x.Grad())
	})
	try(func() {
		x := leaf()
		f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Narrow(0, 0, 2) })
		v := f(x.Mul(1))
		v.Mul_(3)
		v.Sum().Backward()
		fmt.Println(v.Detach(), x.Grad())
	})
	try(func() {
		x := leaf()
		f := torch.Compile(func(x *torch.Tensor, k int) *torch.Tensor { return x.Pow(k).Sum() })
		for k := range 4 {
			f(x, k+1).Backward()
		}
		fmt.Println(x.Grad())
		g := torch.Grad([]*torch.Tensor{f(x, 3)}, []*torch.Tensor{x})[0]
		fmt.Println(g)
	})
	try(func() {
		x := leaf()
		f := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
			m := x.Max()
			i := x.Argmax()
			v, _ := x.MaxDim(0)
			return m.Add(v).Add(i).Add(x.Norm()).Add(x.Std()).Add(x.Prod()).Add(x.Abs().Log().Sum())
		})
		f(x).Backward()
		fmt.Println(x.Grad())
		y := torch.NewTensor([]float64{0, 0, 2}, kw.RequiresGrad(true))
		torch.Compile(func(x *torch.Tensor) *torch.Tensor {
			return x.Abs().Add(x.Norm()).Add(x.Relu()).Add(x.Prod()).Add(x.Amax()).Add(x.Sqrt()).Sum()
		})(y).Backward()
		fmt.Println(y.Grad())
	})
	try(func() {
		x := leaf()
		y := x.Mul(2)
		y.RetainGrad()
		torch.Compile(func(y *torch.Tensor) *torch.Tensor { return y.Square().Sum() })(y).Backward()
		fmt.Println(y.Grad(), x.Grad())
	})
	try(func() {
		x := leaf()
		f := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
			var y *torch.Tensor
			torch.NoGrad(func() { y = x.Mul(2) })
			was := torch.SetGradEnabled(false)
			z := x.Mul(3)
			torch.SetGradEnabled(was)
			return y.Add(z).Add(x.Mul(x)).Sum()
		})
		f(x).Backward()
		fmt.Println(x.Grad())
		torch.NoGrad(func() { fmt.Println(f(x).RequiresGrad()) })
		fmt.Println(f(x).RequiresGrad(), f(x.Detach()).RequiresGrad())
	})
	try(func() {
		x := leaf()
		f := torch.Compile(func(x *torch.Tensor) { x.Mul(2).Sum().Backward() })
		f(x)
		f(x)
		fmt.Println(x.Grad())
		x.Grad().Zero_()
		f(x)
		fmt.Println(x.Grad())
	})
}

package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

func broken(a, b *torch.Tensor) *torch.Tensor {
	x := a.Div(a.Abs().Add(1))
	if b.Sum().Lt(0).Bool() {
		b = b.Mul(-1)
	}
	return x.Mul(b)
}

func printed(a *torch.Tensor) *torch.Tensor {
	a = a.Exp()
	fmt.Println("in between")
	return a.Add(1)
}

func lists(x *torch.Tensor) *torch.Tensor {
	parts := x.Chunk(3, kw.Dim(1))
	return torch.Relu(parts[0]).Mul(parts[2]).Sub(1).Add(torch.Cos(x.Select(1, 0)).Unsqueeze(1))
}

func written(x *torch.Tensor) *torch.Tensor {
	return torch.Sub(1.0, F.Hardswish(x.Add(1), kw.Inplace(true)).Exp())
}

func looked(table, at *torch.Tensor, scale int) *torch.Tensor {
	return F.Embedding(at, table).Mul(scale)
}

func sized(x *torch.Tensor) *torch.Tensor { return x.Reshape(x.Size(0)*2, -1).Sum(kw.Dim(1)) }

func counted(x *torch.Tensor, n int) *torch.Tensor { return x.Mul(n).Add(n * 2) }

func mixed(x, w *torch.Tensor) *torch.Tensor {
	var scale *torch.Tensor
	torch.NoGrad(func() { scale = w.Abs().Max() })
	return x.Mul(w).Div(scale)
}

func stepped(w, d *torch.Tensor) {
	torch.NoGrad(func() { w.Sub_(d.Mul(0.1)) })
}

func main() {
	torch.ManualSeed(1)
	torch.Compile(broken)(torch.Randn(10), torch.Randn(10))
	torch.Compile(printed)(torch.Randn(4))
	torch.Compile(lists)(torch.Randn(6, 4).T())
	torch.Compile(written)(torch.Randn(5))
	table := torch.Randn(7, 3, kw.RequiresGrad(true))
	torch.Compile(looked)(table, torch.NewTensor([]int{6, 2, 5}), 3)
	x := torch.Randn(6, 4)
	compiler.MarkDynamic(x, 0)
	torch.Compile(sized)(x)
	fast := torch.Compile(counted)
	fast(torch.Randn(3), 2)
	fast(torch.Randn(3), 5)
	torch.Compile(mixed)(torch.Randn(5), torch.Randn(5, kw.RequiresGrad(true))).Sum().Backward()
	torch.Compile(stepped)(torch.Randn(5, kw.RequiresGrad(true)), torch.Randn(5))
	net := nn.NewSequential(nn.NewLinear(4, 8), nn.NewReLU(), nn.NewLinear(8, 2))
	torch.NoGrad(func() { torch.Compile(net.Forward)(torch.Randn(3, 4)) })
}

// The rows of docs/guide.md on the stages of the compiler: a small network, its training step, and a mode.
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	"tcdbg/torch/optim"
)

type net struct{ In, Out *nn.Linear }

func (n *net) loss(x, y *torch.Tensor) *torch.Tensor {
	h := n.In.Forward(x).Relu().Mul(0.5)
	return n.Out.Forward(h).Sub(y).Pow(2).Mean()
}

func main() {
	torch.ManualSeed(0)
	n := &net{nn.NewLinear(64, 256), nn.NewLinear(256, 8)}
	loss := torch.Compile(n.loss)
	opt := optim.NewAdam(nn.Parameters(n), kw.Lr(1e-3))
	step := torch.Compile(opt.Step)
	x, y := torch.Randn(512, 64), torch.Randn(512, 8)
	first, last := 0.0, 0.0
	for i := range 8 {
		opt.ZeroGrad()
		l := loss(x, y)
		l.Backward()
		step()
		if last = l.Item(); i == 0 {
			first = last
		}
	}
	fmt.Println("row 68: the loss falls:", last < first)

	wave := func(x *torch.Tensor) *torch.Tensor { return x.Sin().Add(x.Cos()).Sum(kw.Dim(0)) }
	fast := torch.Compile(wave, kw.Mode("reduce-overhead"))
	fmt.Println("row 62:", torch.Allclose(fast(x), wave(x)))

	pair := torch.Compile(wave)
	pair(x)
	compiler.Reset() // the kernels are found again, in the cache of compiled code
	fmt.Println("row 74:", torch.Allclose(pair(x), wave(x)))
}

// want differs aot_eager inductor: the result of a compiled function is one node of autograd
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
	"tcdbg/torch/optim"
)

type sched interface{ Step() }

func main() {
	torch.ManualSeed(0)
	x, y := torch.Randn(16, 4), torch.Randn(16, 1)
	for _, c := range []struct {
		name string
		mk   func(p any) optim.Optimizer
		sc   func(o optim.Optimizer) sched
	}{
		{"sgd+cos", func(p any) optim.Optimizer { return optim.NewSGD(p, kw.Lr(0.1), kw.Momentum(0.9)) }, func(o optim.Optimizer) sched { return optim.NewCosineAnnealingLR(o, 10) }},
		{"adam+onecycle", func(p any) optim.Optimizer { return optim.NewAdam(p, kw.Lr(torch.NewTensor(0.01))) }, func(o optim.Optimizer) sched { return optim.NewOneCycleLR(o, 0.1, 10) }},
		{"adamw+lambda", func(p any) optim.Optimizer { return optim.NewAdamW(p, kw.Lr(0.05)) }, func(o optim.Optimizer) sched {
			return optim.NewLambdaLR(o, func(e int) float64 { return 1 / float64(e+1) })
		}},
		{"muon", func(p any) optim.Optimizer { return optim.NewAdamax(p) }, func(o optim.Optimizer) sched { return optim.NewExponentialLR(o, 0.9) }},
	} {
		torch.ManualSeed(1)
		m := nn.NewSequential(nn.NewLinear(4, 8), nn.NewGELU(), nn.NewLinear(8, 1))
		o := c.mk(nn.Parameters(m))
		s := c.sc(o)
		step := torch.Compile(func(x, y *torch.Tensor) *torch.Tensor {
			o.ZeroGrad()
			l := F.MseLoss(m.Forward(x), y)
			l.Backward()
			o.Step()
			return l.Detach()
		})
		fmt.Print(c.name)
		for range 6 {
			fmt.Printf(" %.4f", step(x, y).Item())
			s.Step()
		}
		fmt.Println()
	}
	w := torch.Zeros(2, kw.RequiresGrad(true))
	lb := optim.NewLBFGS([]*torch.Tensor{w}, kw.Lr(0.5))
	loss := torch.Compile(func(w *torch.Tensor) *torch.Tensor { return w.Sub(3).Square().Sum().Add(w.Prod()) })
	for range 3 {
		l := lb.Step(func() *torch.Tensor { lb.ZeroGrad(); l := loss(w); l.Backward(); return l })
		fmt.Println(l)
	}
	fmt.Println(w.Detach())
}

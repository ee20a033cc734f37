// want differs eager aot_eager inductor: only where something compiles is a backend asked
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

func main() {
	torch.ManualSeed(0)
	m := nn.NewSequential(nn.NewLinear(4, 4), nn.NewReLU(), nn.NewDropout(0.5), nn.NewLinear(4, 2))
	nn.Eval(m)
	x := torch.Randn(3, 4)
	n := 0
	be := torch.BackendFunc(func(gm *torch.GraphModule, ex []torch.Value) (func([]torch.Value) []torch.Value, error) {
		n++
		return gm.Forward, nil
	})
	bad := torch.BackendFunc(func(gm *torch.GraphModule, ex []torch.Value) (func([]torch.Value) []torch.Value, error) {
		return nil, fmt.Errorf("backend says no")
	})
	for _, o := range [][]torch.Option{nil, {kw.Mode("reduce-overhead")}, {kw.Mode("max-autotune")}, {kw.Backend("eager")}, {kw.Backend("aot_eager")}, {kw.Backend(be)}, {kw.Disable(true)}, {kw.Dynamic(true), kw.Fullgraph(true), kw.Name("named")}} {
		func() {
			defer func() {
				if r := recover(); r != nil {
					println("mode panic", fmt.Sprint(r))
				}
			}()
			f := torch.Compile(m.Forward, o...)
			torch.NoGrad(func() { fmt.Println(f(x), f(x.Mul(2)).Sum()) })
		}()
	}
	for _, o := range [][]torch.Option{{kw.Mode("nonsense")}, {kw.Backend("nope")}, {kw.Backend(bad)}, {kw.Backend(42)}, {kw.RecompileLimit(0)}, {kw.Dim(3)}, {kw.ActivationMemoryBudget(1.5)}, {kw.ActivationMemoryBudget(-1)}, {kw.ActivationMemoryBudget(0.5)}} {
		func() {
			defer func() { r := recover(); println("panic?", fmt.Sprint(r)) }()
			f := torch.Compile(m.Forward, o...)
			f(x)
		}()
	}
	r := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Add(1) }, kw.Mode("reduce-overhead"))
	y := torch.Ones(3)
	torch.NoGrad(func() {
		for range 5 {
			y = r(y)
		}
	})
	fmt.Println(y)
	old := compiler.Configure(func(s *compiler.Settings) { s.RecompileLimit = 2; s.AutomaticDynamicShapes = false })
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sum() })
	for i := range 5 {
		fmt.Println(g(torch.Ones(i + 2)))
	}
	fmt.Println(old.RecompileLimit, compiler.Config().RecompileLimit, compiler.Stance(), n >= 0)
	compiler.SetStance(compiler.EagerOnRecompile)
	fmt.Println(g(torch.Ones(2, 2)))
}

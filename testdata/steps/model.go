// steps: how long a compiled step takes, of every optimizer over a large parameter and
// of training a network, beside the same step in eager mode. Both take turns, so that
// other load of the machine disturbs both; the line holds the least time of
// either in milliseconds, eager first. It takes the name of a step; without one it
// lists the names.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
	"tcdbg/torch/optim"
)

// side is the edge of the parameter: with gradient and moments more than a cache holds.
const side = 2048

// Either step runs so often before it is timed, then at least so often and so long.
const (
	warm, rounds = 3, 8
	enough       = 2 * time.Second
)

// optimizers are made by name.
var optimizers = []struct {
	name string
	make func(params []*torch.Tensor) optim.Optimizer
}{
	{"sgd", func(p []*torch.Tensor) optim.Optimizer { return optim.NewSGD(p, kw.Lr(0.1)) }},
	{"momentum", func(p []*torch.Tensor) optim.Optimizer { return optim.NewSGD(p, kw.Lr(0.1), kw.Momentum(0.9)) }},
	{"adam", func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdam(p) }},
	{"amsgrad", func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdam(p, kw.Amsgrad(true)) }},
	{"adamw", func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdamW(p) }},
	{"rmsprop", func(p []*torch.Tensor) optim.Optimizer { return optim.NewRMSprop(p, kw.Centered(true)) }},
	{"adagrad", func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdagrad(p) }},
	{"adadelta", func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdadelta(p) }},
	{"rprop", func(p []*torch.Tensor) optim.Optimizer { return optim.NewRprop(p) }},
	{"adamax", func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdamax(p) }},
	{"nadam", func(p []*torch.Tensor) optim.Optimizer { return optim.NewNAdam(p) }},
	{"radam", func(p []*torch.Tensor) optim.Optimizer { return optim.NewRAdam(p) }},
	{"asgd", func(p []*torch.Tensor) optim.Optimizer { return optim.NewASGD(p) }},
}

// measure runs two steps in turn and prints the least time of either.
func measure(eager, compiled func()) {
	steps, least := []func(){eager, compiled}, []time.Duration{time.Hour, time.Hour}
	first := time.Now()
	for round := 0; round < warm+rounds || time.Since(first) < enough; round++ {
		for i, step := range steps {
			start := time.Now()
			step()
			if d := time.Since(start); round >= warm {
				least[i] = min(least[i], d)
			}
		}
	}
	fmt.Printf("%.3f %.3f\n", least[0].Seconds()*1e3, least[1].Seconds()*1e3)
}

// optimizerStep is one step over a parameter that has its gradient.
func optimizerStep(make func([]*torch.Tensor) optim.Optimizer) func() {
	p := torch.Rand(side, side).RequiresGrad_()
	p.SetGrad(torch.Rand(side, side))
	return make([]*torch.Tensor{p}).Step
}

// trainingStep is a step of training a network, backward pass and optimizer inside.
func trainingStep(model nn.Module, x, class *torch.Tensor) func() {
	opt := optim.NewAdam(nn.Parameters(model))
	return func() {
		opt.ZeroGrad()
		F.CrossEntropy(model.Forward(x), class).Backward()
		opt.Step()
	}
}

// steps are the pairs by name, eager and compiled.
func steps() (names []string, makers []func() func()) {
	add := func(name string, make func() func()) { names, makers = append(names, name), append(makers, make) }
	for _, m := range optimizers {
		add(m.name, func() func() { return optimizerStep(m.make) })
	}
	add("mlp", func() func() {
		model := nn.NewSequential(nn.NewLinear(512, 2048), nn.NewReLU(), nn.NewLinear(2048, 10))
		return trainingStep(model, torch.Randn(32, 512), torch.Randint(0, 10, []int{32}))
	})
	add("resnet18", func() func() {
		return trainingStep(models.ResNet18(), torch.Randn(4, 3, 64, 64), torch.Randint(0, 1000, []int{4}))
	})
	return names, makers
}

func main() {
	torch.ManualSeed(0)
	names, makers := steps()
	if len(os.Args) < 2 {
		fmt.Println(strings.Join(names, "\n"))
		return
	}
	make := makers[slices.Index(names, os.Args[1])]
	measure(make(), torch.Compile(make()))
}

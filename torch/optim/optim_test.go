package optim_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/optim"
)

// testdata/reference.json holds the parameters that PyTorch 2.15 ends with
// after some steps on one small problem, and the learning rates on the way.

type makeOptimizer func(p []*torch.Tensor) optim.Optimizer

type problem struct {
	make     makeOptimizer
	schedule func(o optim.Optimizer) *optim.Scheduler
	steps    int
}

func sgd(lr float64, opts ...torch.Option) makeOptimizer {
	return func(p []*torch.Tensor) optim.Optimizer { return optim.NewSGD(p, append(opts, kw.Lr(lr))...) }
}

var problems = map[string]problem{
	"sgd":          {make: sgd(0.01)},
	"sgd_momentum": {make: sgd(0.01, kw.Momentum(0.9), kw.Dampening(0.1), kw.WeightDecay(0.05))},
	"sgd_nesterov": {make: sgd(0.01, kw.Momentum(0.9), kw.Nesterov(true))},
	"sgd_maximize": {make: sgd(0.0001, kw.Maximize(true))},
	"adam":         {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdam(p) }},
	"adam_wd": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewAdam(p, kw.Lr(0.01), kw.WeightDecay(0.1), kw.Amsgrad(true))
	}},
	"adamw": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdamW(p) }},
	"adamw_betas": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewAdamW(p, kw.Lr(0.05), kw.Betas([2]float64{0.8, 0.95}), kw.Eps(1e-6), kw.WeightDecay(0.2))
	}},
	"rmsprop": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewRMSprop(p) }},
	"rmsprop_centered": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewRMSprop(p, kw.Lr(0.003), kw.Momentum(0.5), kw.Centered(true), kw.WeightDecay(0.01))
	}},
	"adagrad": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdagrad(p) }},
	"adagrad_decay": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewAdagrad(p, kw.Lr(0.1), kw.LrDecay(0.3), kw.WeightDecay(0.1), kw.InitialAccumulatorValue(0.5))
	}},
	"step_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) *optim.Scheduler { return optim.NewStepLR(o, 2) }},
	"multistep_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) *optim.Scheduler {
		return optim.NewMultiStepLR(o, []int{1, 4}, kw.Gamma(0.5))
	}},
	"exponential_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) *optim.Scheduler { return optim.NewExponentialLR(o, 0.9) }},
	"cosine_lr": {make: sgd(0.01), steps: 9, schedule: func(o optim.Optimizer) *optim.Scheduler {
		return optim.NewCosineAnnealingLR(o, 3, kw.EtaMin(0.001))
	}},
	"linear_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) *optim.Scheduler { return optim.NewLinearLR(o) }},
	"lambda_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) *optim.Scheduler {
		return optim.NewLambdaLR(o, func(e int) float64 { return 1 / float64(1+e) })
	}},
}

// minimise runs a problem from step `from` on, over w, which it changes.
func minimise(o optim.Optimizer, s *optim.Scheduler, w *torch.Tensor, steps int) (rates []float64) {
	x := torch.NewTensor([][]float64{{1, 2, -1, 0.5}, {0.25, -1, 3, 2}})
	for range steps {
		o.ZeroGrad()
		x.Matmul(w).Pow(2).Sum().Add(w.Pow(3).Sum()).Backward()
		o.Step()
		if s != nil {
			s.Step()
			rates = append(rates, s.GetLastLr()[0])
		}
	}
	return rates
}

func start() *torch.Tensor {
	return torch.NewTensor([]float64{0.5, -1.25, 2, 0.125}).RequiresGrad_()
}

func TestOptimizersStepAsPyTorch(t *testing.T) {
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct{ W, Lrs []float64 }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(problems) {
		t.Errorf("%d reference runs, %d problems", len(want), len(problems))
	}
	for name, p := range problems {
		w := start()
		o := p.make([]*torch.Tensor{w})
		var s *optim.Scheduler
		if p.schedule != nil {
			s = p.schedule(o)
		}
		rates := minimise(o, s, w, max(p.steps, 6))
		near(t, name+": w", w.Float64s(), want[name].W, 2e-6)
		near(t, name+": lr", rates, want[name].Lrs, 1e-12)
	}
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
		return
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol*(1+math.Abs(want[i]))) {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// TestStateDictGoesOn stops training halfway and continues with a new
// optimizer, which must end where uninterrupted training does.
func TestStateDictGoesOn(t *testing.T) {
	for name, p := range problems {
		whole := start()
		minimise(p.make([]*torch.Tensor{whole}), nil, whole, 6)
		w := start()
		first := p.make([]*torch.Tensor{w})
		minimise(first, nil, w, 3)
		second := p.make([]*torch.Tensor{w})
		if err := second.LoadStateDict(first.StateDict()); err != nil {
			t.Fatal(name, err)
		}
		minimise(second, nil, w, 3)
		near(t, name, w.Float64s(), whole.Float64s(), 0)
	}
}

func TestRefusals(t *testing.T) {
	w := []*torch.Tensor{start()}
	for want, f := range map[string]func(){
		"SGD.__init__() got an unexpected keyword argument 'betas2'": func() { optim.NewSGD(w, torch.Option{Name: "betas2"}) },
		"Invalid learning rate: -1":                                  func() { optim.NewAdam(w, kw.Lr(-1)) },
		"optimizer got an empty parameter list":                      func() { optim.NewSGD([]*torch.Tensor{}) },
		"Nesterov momentum requires a momentum and zero dampening":   func() { optim.NewSGD(w, kw.Nesterov(true)) },
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || e.Msg != want {
					t.Errorf("got %v, want %q", e, want)
				}
			}()
			f()
		}()
	}
}

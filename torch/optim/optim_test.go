package optim_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/optim"
)

// testdata/reference.json holds the parameters that PyTorch 2.15 ends with
// after twenty steps on one small problem, and the learning rates on the way.

type makeOptimizer func(p []*torch.Tensor) optim.Optimizer

type problem struct {
	make     makeOptimizer
	schedule func(o optim.Optimizer) stepper
}

// stepper is a scheduler that is told nothing.
type stepper interface {
	Step()
	GetLastLr() []float64
}

// plateau feeds a ReduceLROnPlateau with measures.
type plateau struct {
	*optim.ReduceLROnPlateau
	at int
}

func (p *plateau) Step() {
	p.ReduceLROnPlateau.Step(append([]float64{5, 4, 4, 4, 4, 3.99999}, slices.Repeat([]float64{3}, 20)...)[p.at])
	p.at++
}

func sgd(lr float64, opts ...torch.Option) makeOptimizer {
	return func(p []*torch.Tensor) optim.Optimizer { return optim.NewSGD(p, append(opts, kw.Lr(lr))...) }
}

// resumed is an optimizer that a scheduler has had.
func resumed(o optim.Optimizer) optim.Optimizer {
	for _, g := range o.ParamGroups() {
		g.InitialLr = 0.02 / 25
	}
	return o
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
	"adamax": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdamax(p) }},
	"adamax_wd": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewAdamax(p, kw.Lr(0.02), kw.Betas([2]float64{0.8, 0.95}), kw.WeightDecay(0.1), kw.Maximize(true))
	}},
	"nadam": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewNAdam(p) }},
	"nadam_wd": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewNAdam(p, kw.Lr(0.01), kw.WeightDecay(0.1), kw.MomentumDecay(0.01))
	}},
	"nadam_decoupled": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewNAdam(p, kw.Lr(0.01), kw.WeightDecay(0.1), kw.DecoupledWeightDecay(true))
	}},
	"radam": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewRAdam(p) }},
	"radam_wd": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewRAdam(p, kw.Lr(0.01), kw.Betas([2]float64{0.8, 0.9}), kw.WeightDecay(0.1))
	}},
	"radam_decoupled": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewRAdam(p, kw.Lr(0.01), kw.WeightDecay(0.1), kw.DecoupledWeightDecay(true))
	}},
	"adadelta": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdadelta(p) }},
	"adadelta_wd": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewAdadelta(p, kw.Lr(0.5), kw.Rho(0.8), kw.Eps(1e-4), kw.WeightDecay(0.1))
	}},
	"asgd": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewASGD(p) }},
	"asgd_late": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewASGD(p, kw.Lr(0.005), kw.Lambd(0.01), kw.Alpha(0.6), kw.T0(4), kw.WeightDecay(0.1))
	}},
	"rprop": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewRprop(p) }},
	"rprop_steps": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewRprop(p, kw.Lr(0.1), kw.Etas([2]float64{0.4, 1.5}), kw.StepSizes([2]float64{1e-3, 0.2}))
	}},
	"adafactor":        {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdafactor(p) }},
	"matrix_adafactor": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdafactor(p) }},
	"matrix_adafactor_settings": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewAdafactor(p, kw.Lr(0.05), kw.Beta2Decay(-0.6), kw.Eps([2]any{1e-5, 0.01}), kw.D(2), kw.WeightDecay(0.1))
	}},
	"matrix_muon": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewMuon(p, kw.Lr(0.01)) }},
	"matrix_muon_settings": {make: func(p []*torch.Tensor) optim.Optimizer {
		return optim.NewMuon(p, kw.Lr(0.02), kw.WeightDecay(0), kw.Momentum(0.8), kw.Nesterov(false), kw.NsSteps(4),
			kw.AdjustLrFn("match_rms_adamw"))
	}},
	"resumed_step": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewStepLR(resumed(o), 2, kw.LastEpoch(4))
	}},
	"resumed_step_between": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewStepLR(resumed(o), 3, kw.LastEpoch(4))
	}},
	"resumed_multistep": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewMultiStepLR(resumed(o), []int{5, 7}, kw.Gamma(0.5), kw.LastEpoch(4))
	}},
	"resumed_exponential": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewExponentialLR(resumed(o), 0.9, kw.LastEpoch(4))
	}},
	"resumed_cosine": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewCosineAnnealingLR(resumed(o), 9, kw.LastEpoch(4))
	}},
	"resumed_linear": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewLinearLR(resumed(o), kw.TotalIters(8), kw.LastEpoch(4))
	}},
	"resumed_lambda": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewLambdaLR(resumed(o), func(e int) float64 { return 1 / float64(1+e) }, kw.LastEpoch(4))
	}},
	"resumed_multiplicative": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewMultiplicativeLR(resumed(o), func(e int) float64 { return 1 - 0.01*float64(e) }, kw.LastEpoch(4))
	}},
	"resumed_constant": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewConstantLR(resumed(o), kw.TotalIters(7), kw.LastEpoch(4))
	}},
	"resumed_polynomial": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewPolynomialLR(resumed(o), kw.TotalIters(12), kw.Power(2), kw.LastEpoch(4))
	}},
	"resumed_cyclic": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewCyclicLR(resumed(o), 0.001, 0.01, kw.StepSizeUp(3), kw.CycleMomentum(false), kw.LastEpoch(4))
	}},
	"resumed_one_cycle": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewOneCycleLR(resumed(o), 0.02, 30, kw.CycleMomentum(false), kw.LastEpoch(4))
	}},
	"step_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper { return optim.NewStepLR(o, 2) }},
	"multistep_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewMultiStepLR(o, []int{1, 4}, kw.Gamma(0.5))
	}},
	"exponential_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper { return optim.NewExponentialLR(o, 0.9) }},
	"cosine_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewCosineAnnealingLR(o, 3, kw.EtaMin(0.001))
	}},
	"linear_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper { return optim.NewLinearLR(o) }},
	"lambda_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewLambdaLR(o, func(e int) float64 { return 1 / float64(1+e) })
	}},
	"constant_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper { return optim.NewConstantLR(o, kw.TotalIters(3)) }},
	"polynomial_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewPolynomialLR(o, kw.TotalIters(6), kw.Power(2))
	}},
	"multiplicative_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewMultiplicativeLR(o, func(e int) float64 { return 1 - 0.1*float64(e) })
	}},
	"warm_restarts": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewCosineAnnealingWarmRestarts(o, 2, kw.TMult(2), kw.EtaMin(0.001))
	}},
	"one_cycle": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewOneCycleLR(o, 0.02, 25, kw.CycleMomentum(false))
	}},
	"one_cycle_linear": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewOneCycleLR(o, 0.02, 25, kw.AnnealStrategy("linear"), kw.ThreePhase(true), kw.CycleMomentum(false))
	}},
	"sequential_lr": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewSequentialLR(o, []*optim.Scheduler{
			optim.NewLinearLR(o, kw.TotalIters(3)),
			optim.NewExponentialLR(o, 0.8),
		}, []int{4})
	}},
	"one_cycle_momentum": {
		make:     sgd(0.01, kw.Momentum(0.9)),
		schedule: func(o optim.Optimizer) stepper { return optim.NewOneCycleLR(o, 0.002, 25) },
	},
	"one_cycle_betas": {
		make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdam(p) },
		schedule: func(o optim.Optimizer) stepper {
			return optim.NewOneCycleLR(o, 0.02, 25, kw.ThreePhase(true), kw.BaseMomentum(0.7), kw.MaxMomentum(0.9))
		},
	},
	"cyclic": {make: sgd(0.01, kw.Momentum(0.9)), schedule: func(o optim.Optimizer) stepper {
		return optim.NewCyclicLR(o, 0.001, 0.01, kw.StepSizeUp(3))
	}},
	"cyclic_halves": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewCyclicLR(o, 0.001, 0.01, kw.StepSizeUp(2), kw.StepSizeDown(4), kw.Mode("triangular2"), kw.CycleMomentum(false))
	}},
	"cyclic_range": {make: func(p []*torch.Tensor) optim.Optimizer { return optim.NewAdamW(p) }, schedule: func(o optim.Optimizer) stepper {
		return optim.NewCyclicLR(o, 0.001, 0.01, kw.StepSizeUp(3), kw.Mode("exp_range"), kw.Gamma(0.9), kw.BaseMomentum(0.7))
	}},
	"cyclic_own": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewCyclicLR(o, 0.001, 0.01, kw.StepSizeUp(3), kw.ScaleFn(func(x float64) float64 { return 1 / x }),
			kw.ScaleMode("cycle"), kw.CycleMomentum(false))
	}},
	"chained": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return optim.NewChainedScheduler(optim.NewConstantLR(o, kw.Factor(0.1), kw.TotalIters(4)), optim.NewExponentialLR(o, 0.9))
	}},
	"plateau": {make: sgd(0.01), schedule: func(o optim.Optimizer) stepper {
		return &plateau{optim.NewReduceLROnPlateau(o, kw.Factor(0.5), kw.Patience(1), kw.Cooldown(1)), 0}
	}},
}

// minimise runs a problem from step `from` on, over w, which it changes.
func minimise(o optim.Optimizer, s stepper, w *torch.Tensor, steps int) (rates []float64) {
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

// start is where the problem of a name begins: a vector, or for problems of
// matrices two columns.
func start(name string) *torch.Tensor {
	w := torch.NewTensor([]float64{0.5, -1.25, 2, 0.125})
	if strings.HasPrefix(name, "matrix") {
		w = torch.Stack([]*torch.Tensor{w, w.Flip(0).Mul(0.5)}, kw.Dim(1))
	}
	return w.RequiresGrad_()
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
		w := start(name)
		o := p.make([]*torch.Tensor{w})
		var s stepper
		if p.schedule != nil {
			s = p.schedule(o)
		}
		rates := minimise(o, s, w, 20)
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

// TestStateIsPyTorchs compares state_dict after the steps: settings with their
// defaults, moments and counters.
func TestStateIsPyTorchs(t *testing.T) {
	text, err := os.ReadFile("testdata/state.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, p := range problems {
		if p.schedule != nil {
			continue
		}
		seen++
		w := start(name)
		o := p.make([]*torch.Tensor{w})
		minimise(o, nil, w, 20)
		text, err := json.Marshal(plain(o.StateDict()))
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		alike(t, name, got, want[name])
	}
	if seen != len(want) {
		t.Errorf("%d optimizers, PyTorch's states are of %d", seen, len(want))
	}
}

// plain replaces tensors by their numbers.
func plain(v any) any {
	switch v := v.(type) {
	case *torch.Tensor:
		if v.Dim() == 0 {
			return v.Item()
		}
		return v.Float64s()
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = plain(x)
		}
		return out
	case map[int]map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[strconv.Itoa(k)] = plain(x)
		}
		return out
	}
	return v
}

// alike compares two JSON values, numbers with a tolerance.
func alike(t *testing.T, what string, got, want any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k := range w {
			if _, ok := g[k]; !ok {
				t.Errorf("%s has no %s", what, k)
				continue
			}
			alike(t, what+"."+k, g[k], w[k])
		}
		for k := range g {
			if _, ok := w[k]; !ok {
				t.Errorf("%s has %s, which PyTorch's has not", what, k)
			}
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			t.Errorf("%s is %v, want %v", what, got, want)
			return
		}
		for i := range w {
			alike(t, what+"."+strconv.Itoa(i), g[i], w[i])
		}
	case float64:
		g, ok := got.(float64)
		if !ok || !(math.Abs(g-w) <= 5e-6*(1+math.Abs(w))) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
}

// TestSchedulersGoOn stops a schedule halfway and goes on with a new scheduler
// and optimizer.
func TestSchedulersGoOn(t *testing.T) {
	make := func() (optim.Optimizer, *optim.Scheduler) {
		o := sgd(0.01)([]*torch.Tensor{start("")})
		return o, optim.NewCosineAnnealingLR(o, 5)
	}
	_, whole := make()
	a, first := make()
	for range 3 {
		whole.Step()
		first.Step()
	}
	b, second := make()
	if err := b.LoadStateDict(a.StateDict()); err != nil {
		t.Fatal(err)
	}
	if err := second.LoadStateDict(first.StateDict()); err != nil {
		t.Fatal(err)
	}
	whole.Step()
	second.Step()
	near(t, "learning rate", second.GetLastLr(), whole.GetLastLr(), 1e-15)
	if err := second.LoadStateDict(map[string]any{"last_epoch": 1}); err == nil {
		t.Error("a state without learning rates is taken")
	}
}

// TestStateDictGoesOn stops training halfway and continues with a new
// optimizer, which must end where uninterrupted training does.
func TestStateDictGoesOn(t *testing.T) {
	for name, p := range problems {
		whole := start(name)
		minimise(p.make([]*torch.Tensor{whole}), nil, whole, 6)
		w := start(name)
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
	w := []*torch.Tensor{start("")}
	for want, f := range map[string]func(){
		"SGD.__init__() got an unexpected keyword argument 'betas2'": func() { optim.NewSGD(w, torch.Option{Name: "betas2"}) },
		"Invalid learning rate: -1":                                  func() { optim.NewAdam(w, kw.Lr(-1)) },
		"optimizer got an empty parameter list; a module's parameters are the tensors in its exported fields and in those of its " +
			"parts": func() {
			optim.NewSGD([]*torch.Tensor{})
		},
		"Nesterov momentum requires a momentum and zero dampening": func() { optim.NewSGD(w, kw.Nesterov(true)) },
		"beta2_decay should be <= 0 but is: 0.5": func() {
			optim.NewAdafactor(w, kw.Beta2Decay(0.5))
		},
		"Clipping threshold d should be >= 1 but is: 0.5":                              func() { optim.NewAdafactor(w, kw.D(0.5)) },
		"Muon only supports 2D parameters whereas we found a parameter with size: [4]": func() { optim.NewMuon(w) },
		"Adjust learning rate function x is not supported": func() {
			optim.NewMuon([]*torch.Tensor{start("matrix")}, kw.AdjustLrFn("x"))
		},
		"SparseAdam does not support dense gradients, please consider Adam instead": func() {
			w[0].Sum().Backward()
			optim.NewSparseAdam(w).Step()
		},
		"param 'initial_lr' is not specified in param_groups[0] when resuming scheduler with last_epoch >= 0.": func() {
			optim.NewStepLR(optim.NewSGD(w), 2, kw.LastEpoch(3))
		},
		"CosineAnnealingWarmRestarts: last_epoch is not supported; LoadStateDict goes on where a scheduler was": func() {
			optim.NewCosineAnnealingWarmRestarts(optim.NewSGD(w), 2, kw.LastEpoch(3))
		},
		"ReduceLROnPlateau.__init__() got an unexpected keyword argument 'last_epoch'": func() {
			optim.NewReduceLROnPlateau(optim.NewSGD(w), kw.LastEpoch(3))
		},
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || e.Msg != want {
					t.Errorf("got %v, want %q", e, want)
				}
			}()
			f()
			t.Errorf("was not refused: %s", want)
		}()
	}
}

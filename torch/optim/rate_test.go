package optim_test

import (
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/optim"
)

// TestLearningRateAsTensor steps with the learning rate as a tensor, under a
// schedule, and wants what the number gives; the tensor stays the caller's.
func TestLearningRateAsTensor(t *testing.T) {
	makers := map[string]func(p any, lr any) optim.Optimizer{
		"SGD":      func(p, lr any) optim.Optimizer { return optim.NewSGD(p, kw.Lr(lr), kw.Momentum(0.9)) },
		"AdamW":    func(p, lr any) optim.Optimizer { return optim.NewAdamW(p, kw.Lr(lr)) },
		"NAdam":    func(p, lr any) optim.Optimizer { return optim.NewNAdam(p, kw.Lr(lr)) },
		"Adagrad":  func(p, lr any) optim.Optimizer { return optim.NewAdagrad(p, kw.Lr(lr), kw.LrDecay(0.1)) },
		"RMSprop":  func(p, lr any) optim.Optimizer { return optim.NewRMSprop(p, kw.Lr(lr)) },
		"Rprop":    func(p, lr any) optim.Optimizer { return optim.NewRprop(p, kw.Lr(lr)) },
		"ASGD":     func(p, lr any) optim.Optimizer { return optim.NewASGD(p, kw.Lr(lr)) },
		"Adadelta": func(p, lr any) optim.Optimizer { return optim.NewAdadelta(p, kw.Lr(lr)) },
	}
	for name, newOptimizer := range makers {
		lr := torch.NewTensor([]float64{0.0625})
		run := func(lr any) (*torch.Tensor, []float64) {
			w := start(name)
			o := newOptimizer([]*torch.Tensor{w}, lr)
			return w, minimise(o, optim.NewStepLR(o, 4, kw.Gamma(0.5)), w, 10)
		}
		want, rates := run(0.0625)
		got, now := run(lr)
		near(t, name+": w", got.Float64s(), want.Float64s(), 1e-7)
		near(t, name+": lr", now, rates, 0)
		if lr.Item() != 0.0625/4 {
			t.Errorf("%s: the tensor holds %v", name, lr.Item())
		}
	}
}

// TestLearningRateTensorIsState saves and loads one, which is copied.
func TestLearningRateTensorIsState(t *testing.T) {
	path := t.TempDir() + "/state.pt"
	lr := torch.NewTensor(0.5)
	w := []*torch.Tensor{torch.Ones(2)}
	if err := optim.Save(optim.NewAdam(w, kw.Lr(lr)), path); err != nil {
		t.Fatal(err)
	}
	o := optim.NewAdam(w)
	if err := optim.Load(o, path); err != nil {
		t.Fatal(err)
	}
	lr.Fill_(3)
	if got := o.ParamGroups()[0].LrTensor; got == nil || got.Item() != 0.5 {
		t.Errorf("loaded %v", got)
	}
	if err := o.LoadStateDict(optim.NewAdam(w, kw.Lr(0.25)).StateDict()); err != nil || o.ParamGroups()[0].LrTensor != nil ||
		o.ParamGroups()[0].Lr != 0.25 {
		t.Errorf("%v, %+v", err, o.ParamGroups()[0])
	}
	groups := optim.NewSGD([]optim.Group{{Params: w}, {Params: w, Lr: 0.125}}, kw.Lr(lr)).ParamGroups()
	if groups[0].LrTensor != lr || groups[1].LrTensor != nil || groups[1].Lr != 0.125 {
		t.Errorf("a group's number replaces the tensor: %+v", groups)
	}
}

func TestLearningRateRefusals(t *testing.T) {
	w := []*torch.Tensor{torch.Ones(2)}
	for want, f := range map[string]func(){
		"Tensor lr must be 1-element":                         func() { optim.NewAdam(w, kw.Lr(torch.Ones(2))) },
		"keyword lr must be a number or a tensor, not string": func() { optim.NewAdam(w, kw.Lr("0.1")) },
		"Invalid learning rate: -1":                           func() { optim.NewLBFGS(w, kw.Lr(torch.NewTensor(-1.0))) },
		"keyword gamma must be a number, not *torch.Tensor": func() {
			optim.NewStepLR(optim.NewSGD(w), 2, torch.Option{Name: "gamma", Value: w[0]})
		},
		"keyword max_iter must be a number, not string": func() {
			optim.NewLBFGS(w, torch.Option{Name: "max_iter", Value: "2"})
		},
		"LBFGS.__init__() got an unexpected keyword argument 'betas'":    func() { optim.NewLBFGS(w, kw.Betas([2]float64{0.1, 0.2})) },
		"SparseAdam.__init__() got an unexpected keyword argument 'rho'": func() { optim.NewSparseAdam(w, kw.Rho(1.0)) },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Msg, want) {
					t.Errorf("got %v", e)
				}
			}()
			f()
		})
	}
}

package optim

import (
	"fmt"
	"math"

	"tcdbg/torch"
)

// This file is torch.optim.lr_scheduler: rules that change the learning rates
// of an optimizer from epoch to epoch.

// Scheduler is a rule for the learning rates of an optimizer. Step is called
// once an epoch, after the optimizer's.
type Scheduler struct {
	optimizer Optimizer
	start     []float64 // learning rates of the groups at the beginning
	epoch     int
	initial   bool // the rule is applied for the first time
	next      func(s *Scheduler, base, now float64) float64
	turns     func(s *Scheduler) float64 // the momentum; nil where it stays
}

// newScheduler makes a scheduler of a rule and the settings of its options.
func newScheduler(class string, o Optimizer, settings map[string]float64, next func(s *Scheduler, base, now float64) float64) *Scheduler {
	return (&Scheduler{optimizer: o, next: next}).begin(class, settings)
}

// begin applies the rule at once, as PyTorch does: for epoch 0, or for the one
// after kw.LastEpoch, which goes on from learning rates that an earlier scheduler
// has set.
func (s *Scheduler) begin(class string, settings map[string]float64) *Scheduler {
	if t, ok := s.optimizer.(turner); s.turns != nil && (!ok || !t.hasMomentum()) {
		panic(&torch.Error{
			Op: class, Kind: "ValueError",
			Msg: "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
		})
	}
	s.epoch = int(settings["last_epoch"]) + 1
	for i, g := range s.optimizer.ParamGroups() {
		if g.InitialLr == 0 {
			if s.epoch > 0 {
				panic(&torch.Error{
					Op: class, Kind: "KeyError",
					Msg: fmt.Sprintf(
						"param 'initial_lr' is not specified in param_groups[%d] when resuming scheduler with last_epoch >= 0.",
						i,
					),
				})
			}
			g.InitialLr = g.rate()
		}
		s.start = append(s.start, g.InitialLr)
	}
	s.initial = true
	s.apply()
	s.initial = false
	return s
}

func (s *Scheduler) apply() {
	for i, g := range s.optimizer.ParamGroups() {
		g.setRate(s.next(s, s.start[i], g.rate()))
		if s.turns != nil {
			s.optimizer.(turner).setMomentum(g, s.turns(s))
		}
	}
}

// turner is an optimizer whose momentum can be set.
type turner interface {
	hasMomentum() bool
	setMomentum(g *Group, v float64)
}

// hasMomentum reports whether the groups have a momentum, or betas.
func (b *base) hasMomentum() bool {
	for _, k := range b.keys {
		if k.name == "momentum" || k.name == "betas" {
			return true
		}
	}
	return false
}

func (b *base) setMomentum(g *Group, v float64) {
	for _, k := range b.keys {
		switch k.name {
		case "momentum":
			g.Momentum = v
		case "betas":
			g.Beta1 = v
		}
	}
}

// Step goes on to the next epoch.
func (s *Scheduler) Step() {
	s.epoch++
	s.apply()
}

// Epoch is the number of steps so far.
func (s *Scheduler) Epoch() int { return s.epoch }

// GetLastLr lists the learning rates of the groups.
func (s *Scheduler) GetLastLr() []float64 {
	var out []float64
	for _, g := range s.optimizer.ParamGroups() {
		out = append(out, g.rate())
	}
	return out
}

// StateDict is the state in PyTorch's form.
func (s *Scheduler) StateDict() map[string]any {
	return map[string]any{"last_epoch": s.epoch, "base_lrs": append([]float64{}, s.start...), "_last_lr": s.GetLastLr()}
}

// LoadStateDict takes over what StateDict returned. The optimizer's state holds
// the learning rates.
func (s *Scheduler) LoadStateDict(state map[string]any) error {
	epoch, ok := state["last_epoch"].(int)
	base, ok2 := state["base_lrs"].([]float64)
	if !ok || !ok2 || len(base) != len(s.start) {
		return fmt.Errorf("the state is not of a scheduler of %d groups", len(s.start))
	}
	s.epoch, s.start = epoch, append([]float64{}, base...)
	return nil
}

// epochOption is schedulerOption of a scheduler that counts epochs: each has
// kw.LastEpoch(-1), the epoch after which it goes on.
func epochOption(name string, opts []torch.Option, defaults map[string]float64) map[string]float64 {
	defaults["last_epoch"] = -1
	return schedulerOption(name, opts, defaults)
}

// schedulerOption are the numbers that options of a scheduler set.
func schedulerOption(name string, opts []torch.Option, defaults map[string]float64) map[string]float64 {
	for _, o := range opts {
		if _, ok := defaults[o.Name]; !ok {
			panic(&torch.Error{
				Op: name, Kind: "TypeError",
				Msg: fmt.Sprintf("%s.__init__() got an unexpected keyword argument '%s'", name, o.Name),
			})
		}
		switch v := o.Value.(type) {
		case float64:
			defaults[o.Name] = v
		case int:
			defaults[o.Name] = float64(v)
		default:
			panic(&torch.Error{Op: name, Kind: "TypeError", Msg: fmt.Sprintf("keyword %s must be a number, not %T", o.Name, v)})
		}
	}
	return defaults
}

// NewLambdaLR multiplies the first learning rate by factor(epoch).
func NewLambdaLR(o Optimizer, factor func(epoch int) float64, opts ...torch.Option) *Scheduler {
	v := epochOption("LambdaLR", opts, map[string]float64{})
	return newScheduler("LambdaLR", o, v, func(s *Scheduler, base, _ float64) float64 { return base * factor(s.epoch) })
}

// NewStepLR multiplies by gamma every stepSize epochs. Option: kw.Gamma(0.1).
func NewStepLR(o Optimizer, stepSize int, opts ...torch.Option) *Scheduler {
	v := epochOption("StepLR", opts, map[string]float64{"gamma": 0.1})
	gamma := v["gamma"]
	return newScheduler("StepLR", o, v, func(s *Scheduler, _, now float64) float64 {
		if s.epoch == 0 || s.epoch%stepSize != 0 {
			return now
		}
		return now * gamma
	})
}

// NewMultiStepLR multiplies by gamma at each milestone. Option: kw.Gamma(0.1).
func NewMultiStepLR(o Optimizer, milestones []int, opts ...torch.Option) *Scheduler {
	v := epochOption("MultiStepLR", opts, map[string]float64{"gamma": 0.1})
	gamma := v["gamma"]
	return newScheduler("MultiStepLR", o, v, func(s *Scheduler, _, now float64) float64 {
		for _, m := range milestones {
			if m == s.epoch {
				now *= gamma
			}
		}
		return now
	})
}

// NewExponentialLR multiplies by gamma every epoch.
func NewExponentialLR(o Optimizer, gamma float64, opts ...torch.Option) *Scheduler {
	v := epochOption("ExponentialLR", opts, map[string]float64{})
	return newScheduler("ExponentialLR", o, v, func(s *Scheduler, _, now float64) float64 {
		if s.initial || s.epoch == 0 {
			return now
		}
		return now * gamma
	})
}

// NewCosineAnnealingLR goes down to eta_min along a cosine in tMax epochs.
// Option: kw.EtaMin(0).
func NewCosineAnnealingLR(o Optimizer, tMax int, opts ...torch.Option) *Scheduler {
	v := epochOption("CosineAnnealingLR", opts, map[string]float64{"eta_min": 0})
	low := v["eta_min"]
	half := func(epoch int) float64 { return 1 + math.Cos(math.Pi*float64(epoch)/float64(tMax)) }
	return newScheduler("CosineAnnealingLR", o, v, func(s *Scheduler, base, now float64) float64 {
		switch {
		case s.initial || s.epoch == 0:
			return now
		case (s.epoch-1-tMax)%(2*tMax) == 0:
			return now + (base-low)*(1-math.Cos(math.Pi/float64(tMax)))/2
		}
		return half(s.epoch)/half(s.epoch-1)*(now-low) + low
	})
}

// NewLinearLR goes from start_factor to end_factor times the first learning
// rate in total_iters epochs. Options: kw.StartFactor(1.0/3), kw.EndFactor(1),
// kw.TotalIters(5).
func NewLinearLR(o Optimizer, opts ...torch.Option) *Scheduler {
	v := epochOption("LinearLR", opts, map[string]float64{"start_factor": 1.0 / 3, "end_factor": 1, "total_iters": 5})
	from, to, n := v["start_factor"], v["end_factor"], v["total_iters"]
	return newScheduler("LinearLR", o, v, func(s *Scheduler, base, now float64) float64 {
		e := float64(s.epoch)
		switch {
		case s.epoch == 0:
			return now * from
		case s.initial || e > n:
			return now
		}
		return now * (1 + (to-from)/(n*from+(e-1)*(to-from)))
	})
}

// This file is the further schedulers: those that combine others, restart, or
// wait for a measure to stop falling.

// NewConstantLR multiplies the first learning rate by factor for total_iters
// epochs. Options: kw.Factor(1.0/3), kw.TotalIters(5).
func NewConstantLR(o Optimizer, opts ...torch.Option) *Scheduler {
	v := epochOption("ConstantLR", opts, map[string]float64{"factor": 1.0 / 3, "total_iters": 5})
	return newScheduler("ConstantLR", o, v, func(s *Scheduler, _, now float64) float64 {
		switch float64(s.epoch) {
		case 0:
			return now * v["factor"]
		case v["total_iters"]:
			return now * (1 / v["factor"])
		}
		return now
	})
}

// NewPolynomialLR goes to zero in total_iters epochs along a power. Options:
// kw.TotalIters(5), kw.Power(1).
func NewPolynomialLR(o Optimizer, opts ...torch.Option) *Scheduler {
	v := epochOption("PolynomialLR", opts, map[string]float64{"total_iters": 5, "power": 1})
	n := v["total_iters"]
	return newScheduler("PolynomialLR", o, v, func(s *Scheduler, _, now float64) float64 {
		e := float64(s.epoch)
		if s.initial || s.epoch == 0 || e > n {
			return now
		}
		return now * math.Pow((1-e/n)/(1-(e-1)/n), v["power"])
	})
}

// NewMultiplicativeLR multiplies the learning rate by factor(epoch) every epoch.
func NewMultiplicativeLR(o Optimizer, factor func(epoch int) float64, opts ...torch.Option) *Scheduler {
	v := epochOption("MultiplicativeLR", opts, map[string]float64{})
	return newScheduler("MultiplicativeLR", o, v, func(s *Scheduler, _, now float64) float64 {
		if s.initial || s.epoch == 0 {
			return now
		}
		return now * factor(s.epoch)
	})
}

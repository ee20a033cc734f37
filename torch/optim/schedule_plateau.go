package optim

import (
	"fmt"
	"math"

	"tcdbg/torch"
)

// This file is the scheduler that waits for a measure to stop falling.

// ReduceLROnPlateau lowers the learning rates when a measure stops improving.
type ReduceLROnPlateau struct {
	optimizer                     Optimizer
	factor, threshold, minLr, eps float64
	patience, cooldown            int
	highest, absolute             bool
	best                          float64
	bad, cooling                  int // epochs without improvement; epochs yet to wait
	epoch                         int
}

// NewReduceLROnPlateau makes a ReduceLROnPlateau. Options: kw.Mode("min" or
// "max"), kw.Factor(0.1), kw.Patience(10), kw.Threshold(1e-4),
// kw.ThresholdMode("rel" or "abs"), kw.Cooldown(0), kw.MinLr(0), kw.Eps(1e-8).
func NewReduceLROnPlateau(o Optimizer, opts ...torch.Option) *ReduceLROnPlateau {
	const class = "ReduceLROnPlateau"
	r := &ReduceLROnPlateau{optimizer: o}
	var numbers []torch.Option
	for _, opt := range opts {
		switch opt.Name {
		case "mode":
			r.highest = choice(class, opt, "min", "max")
		case "threshold_mode":
			r.absolute = choice(class, opt, "rel", "abs")
		default:
			numbers = append(numbers, opt)
		}
	}
	v := schedulerOption(
		class, numbers,
		map[string]float64{"factor": 0.1, "patience": 10, "threshold": 1e-4, "cooldown": 0, "min_lr": 0, "eps": 1e-8},
	)
	if v["factor"] >= 1 {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: "Factor should be < 1.0."})
	}
	r.factor, r.threshold, r.minLr, r.eps = v["factor"], v["threshold"], v["min_lr"], v["eps"]
	r.patience, r.cooldown, r.best = int(v["patience"]), int(v["cooldown"]), math.Inf(1)
	if r.highest {
		r.best = math.Inf(-1)
	}
	return r
}

// choice reads an option of two words and reports whether it is the second.
func choice(class string, o torch.Option, no, yes string) bool {
	switch o.Value.(string) {
	case no:
		return false
	case yes:
		return true
	}
	panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf("%s %v is unknown!", o.Name, o.Value)})
}

// StateDict is what the scheduler knows of the past, under PyTorch's names.
func (r *ReduceLROnPlateau) StateDict() map[string]any {
	return map[string]any{
		"best": r.best, "num_bad_epochs": r.bad, "cooldown_counter": r.cooling, "last_epoch": r.epoch,
		"_last_lr": r.GetLastLr(),
	}
}

// LoadStateDict takes over what StateDict returned.
func (r *ReduceLROnPlateau) LoadStateDict(state map[string]any) error {
	bad, ok := state["num_bad_epochs"].(int)
	cooling, ok2 := state["cooldown_counter"].(int)
	epoch, ok3 := state["last_epoch"].(int)
	if _, known := state["best"]; !ok || !ok2 || !ok3 || !known {
		return fmt.Errorf("the state is not of a ReduceLROnPlateau")
	}
	r.best, r.bad, r.cooling, r.epoch = numberOf(state["best"]), bad, cooling, epoch
	return nil
}

// Step takes the measure of an epoch.
func (r *ReduceLROnPlateau) Step(measure float64) {
	r.epoch++
	if r.better(measure) {
		r.best, r.bad = measure, 0
	} else {
		r.bad++
	}
	if r.cooling > 0 {
		r.cooling--
		r.bad = 0
	}
	if r.bad <= r.patience {
		return
	}
	for _, g := range r.optimizer.ParamGroups() {
		if lr := max(g.rate()*r.factor, r.minLr); g.rate()-lr > r.eps {
			g.setRate(lr)
		}
	}
	r.cooling, r.bad = r.cooldown, 0
}

func (r *ReduceLROnPlateau) better(x float64) bool {
	margin := r.threshold
	if !r.absolute {
		margin *= math.Abs(r.best)
		if math.IsInf(r.best, 0) {
			return true
		}
	}
	if r.highest {
		return x > r.best+margin
	}
	return x < r.best-margin
}

// GetLastLr lists the learning rates of the groups.
func (r *ReduceLROnPlateau) GetLastLr() []float64 {
	var out []float64
	for _, g := range r.optimizer.ParamGroups() {
		out = append(out, g.rate())
	}
	return out
}

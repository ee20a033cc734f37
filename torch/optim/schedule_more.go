package optim

import (
	"fmt"
	"math"

	"tcdbg/torch"
)

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

// NewCosineAnnealingWarmRestarts goes down along a cosine in t0 epochs, starts
// again, and each time takes t_mult times as long. Options: kw.TMult(1),
// kw.EtaMin(0).
func NewCosineAnnealingWarmRestarts(o Optimizer, t0 int, opts ...torch.Option) *Scheduler {
	v := epochOption("CosineAnnealingWarmRestarts", opts, map[string]float64{"t_mult": 1, "eta_min": 0})
	if v["last_epoch"] >= 0 { // PyTorch's begins at another place of the curve
		panic(&torch.Error{
			Op: "CosineAnnealingWarmRestarts", Kind: "NotImplementedError",
			Msg: "CosineAnnealingWarmRestarts: last_epoch is not supported; LoadStateDict goes on where a scheduler was",
		})
	}
	low := v["eta_min"]
	return newScheduler("CosineAnnealingWarmRestarts", o, v, func(s *Scheduler, base, _ float64) float64 {
		at, length := s.epoch, t0
		for at >= length {
			at, length = at-length, length*int(v["t_mult"])
		}
		return low + (base-low)*(1+math.Cos(math.Pi*float64(at)/float64(length)))/2
	})
}

// SequentialLR runs schedulers one after the other.
type SequentialLR struct {
	schedulers []*Scheduler
	milestones []int
	epoch      int
}

// NewSequentialLR runs schedulers of one optimizer one after the other; at each
// milestone the next one starts from the beginning.
func NewSequentialLR(o Optimizer, schedulers []*Scheduler, milestones []int) *SequentialLR {
	if len(milestones) != len(schedulers)-1 {
		panic(&torch.Error{
			Op: "SequentialLR", Kind: "ValueError",
			Msg: fmt.Sprintf(
				"Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, "+
					"but got number of schedulers %d and the number of milestones to be equal to %d",
				len(schedulers), len(milestones),
			),
		})
	}
	for _, s := range schedulers {
		if s.optimizer != o {
			panic(&torch.Error{
				Op: "SequentialLR", Kind: "ValueError",
				Msg: "Sequential Schedulers expects all schedulers to belong to the same optimizer",
			})
		}
	}
	schedulers[0].restart()
	return &SequentialLR{schedulers: schedulers, milestones: milestones}
}

// Step goes on to the next epoch.
func (q *SequentialLR) Step() {
	q.epoch++
	i := 0
	for i < len(q.milestones) && q.milestones[i] <= q.epoch {
		i++
	}
	if i > 0 && q.milestones[i-1] == q.epoch {
		q.schedulers[i].restart()
		return
	}
	q.schedulers[i].Step()
}

// GetLastLr lists the learning rates of the groups.
func (q *SequentialLR) GetLastLr() []float64 { return q.schedulers[0].GetLastLr() }

// ChainedScheduler runs schedulers of one optimizer at once, each on what those
// before it made of the learning rates.
type ChainedScheduler struct{ schedulers []*Scheduler }

// NewChainedScheduler makes a ChainedScheduler.
func NewChainedScheduler(schedulers ...*Scheduler) *ChainedScheduler {
	if len(schedulers) == 0 {
		panic(&torch.Error{
			Op: "ChainedScheduler", Kind: "ValueError",
			Msg: "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.",
		})
	}
	for i, s := range schedulers {
		if s.optimizer != schedulers[0].optimizer {
			panic(&torch.Error{
				Op: "ChainedScheduler", Kind: "ValueError",
				Msg: fmt.Sprintf(
					"ChainedScheduler expects all schedulers to belong to the same optimizer, but got scheduler at index %d to "+
						"be different",
					i,
				),
			})
		}
	}
	return &ChainedScheduler{schedulers}
}

// Step goes on to the next epoch.
func (c *ChainedScheduler) Step() {
	for _, s := range c.schedulers {
		s.Step()
	}
}

// GetLastLr lists the learning rates of the groups.
func (c *ChainedScheduler) GetLastLr() []float64 { return c.schedulers[0].GetLastLr() }

// StateDict is the states of the schedulers.
func (c *ChainedScheduler) StateDict() map[string]any {
	return map[string]any{"_schedulers": statesOf(c.schedulers), "_last_lr": c.GetLastLr()}
}

// LoadStateDict takes over what StateDict returned.
func (c *ChainedScheduler) LoadStateDict(state map[string]any) error {
	return loadStates(c.schedulers, state)
}

func statesOf(schedulers []*Scheduler) []map[string]any {
	out := make([]map[string]any, len(schedulers))
	for i, s := range schedulers {
		out[i] = s.StateDict()
	}
	return out
}

func loadStates(schedulers []*Scheduler, state map[string]any) error {
	var states []map[string]any
	switch v := state["_schedulers"].(type) {
	case []map[string]any:
		states = v
	case []any: // of a file
		for _, x := range v {
			d, _ := x.(torch.OrderedDict)
			states = append(states, StateOf(d))
		}
	}
	if len(states) != len(schedulers) {
		return fmt.Errorf("the state is of %d schedulers, not of %d", len(states), len(schedulers))
	}
	for i, s := range schedulers {
		if err := s.LoadStateDict(states[i]); err != nil {
			return err
		}
	}
	return nil
}

// StateDict is the states of the schedulers and the place in the sequence.
func (q *SequentialLR) StateDict() map[string]any {
	return map[string]any{
		"_schedulers": statesOf(q.schedulers), "last_epoch": q.epoch, "_last_lr": q.GetLastLr(),
		"_milestones": append([]int{}, q.milestones...),
	}
}

// LoadStateDict takes over what StateDict returned.
func (q *SequentialLR) LoadStateDict(state map[string]any) error {
	epoch, ok := state["last_epoch"].(int)
	if !ok {
		return fmt.Errorf("the state of a SequentialLR has no last_epoch")
	}
	if err := loadStates(q.schedulers, state); err != nil {
		return err
	}
	q.epoch = epoch
	return nil
}

// restart begins with epoch 0 at the first learning rates.
func (s *Scheduler) restart() {
	s.epoch = 0
	for i, g := range s.optimizer.ParamGroups() {
		g.setRate(s.start[i])
	}
	s.apply()
}

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

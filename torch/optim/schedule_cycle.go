package optim

import (
	"fmt"
	"math"

	"tcdbg/torch"
)

// This file is the schedulers that go up and down, and turn the momentum the
// other way.

// phase is a stretch of one cycle: from where the one before ends to step end.
type phase struct{ end, from, to float64 }

// NewOneCycleLR goes up to a greatest learning rate and down to almost none in
// total steps, and the momentum the other way. Options: kw.PctStart(0.3),
// kw.DivFactor(25), kw.FinalDivFactor(1e4), kw.AnnealStrategy("cos" or "linear"),
// kw.ThreePhase(false), kw.CycleMomentum(true), kw.BaseMomentum(0.85),
// kw.MaxMomentum(0.95).
func NewOneCycleLR(o Optimizer, maxLr float64, total int, opts ...torch.Option) *Scheduler {
	var numbers []torch.Option
	anneal, three, turning := "cos", false, true
	for _, opt := range opts {
		switch opt.Name {
		case "anneal_strategy":
			anneal = opt.Value.(string)
		case "three_phase":
			three = opt.Value.(bool)
		case "cycle_momentum":
			turning = opt.Value.(bool)
		default:
			numbers = append(numbers, opt)
		}
	}
	if anneal != "cos" && anneal != "linear" {
		panic(&torch.Error{
			Op: "OneCycleLR", Kind: "ValueError",
			Msg: "anneal_strategy must be one of 'cos' or 'linear', instead got " + anneal,
		})
	}
	v := epochOption("OneCycleLR", numbers, map[string]float64{
		"pct_start": 0.3, "div_factor": 25, "final_div_factor": 1e4, "base_momentum": 0.85, "max_momentum": 0.95,
	})
	first := maxLr / v["div_factor"]
	last, up, n := first/v["final_div_factor"], v["pct_start"]*float64(total)-1, float64(total)
	low, high := v["base_momentum"], v["max_momentum"]
	rates, momenta := []phase{{up, first, maxLr}, {n - 1, maxLr, last}}, []phase{{up, high, low}, {n - 1, low, high}}
	if three {
		down := 2*v["pct_start"]*n - 2
		rates = []phase{{up, first, maxLr}, {down, maxLr, first}, {n - 1, first, last}}
		momenta = []phase{{up, high, low}, {down, low, high}, {n - 1, high, high}}
	}
	s := &Scheduler{optimizer: o}
	if turning {
		s.turns = func(s *Scheduler) float64 { return cycle(momenta, float64(s.epoch), anneal == "cos") }
	}
	s.next = func(s *Scheduler, _, _ float64) float64 {
		if s.epoch > total {
			panic(&torch.Error{
				Op: "OneCycleLR", Kind: "ValueError",
				Msg: fmt.Sprintf("Tried to step %d times. The specified number of total steps is %d", s.epoch, total),
			})
		}
		return cycle(rates, float64(s.epoch), anneal == "cos")
	}
	return s.begin("OneCycleLR", v)
}

// cycle is the learning rate at a step of the phases.
func cycle(phases []phase, step float64, cosine bool) float64 {
	start := 0.0
	for i, p := range phases {
		if step > p.end && i+1 < len(phases) {
			start = p.end
			continue
		}
		part := (step - start) / (p.end - start)
		if cosine {
			return p.to + (p.from-p.to)/2*(1+math.Cos(math.Pi*part))
		}
		return p.from + (p.to-p.from)*part
	}
	return 0
}

// NewCyclicLR goes up and down between two learning rates, and the momentum the
// other way. Options: kw.StepSizeUp(2000), kw.StepSizeDown (as many),
// kw.Mode("triangular", "triangular2", whose cycles halve, or "exp_range"),
// kw.Gamma(1), kw.ScaleFn with kw.ScaleMode("cycle" or "iterations") in place of a
// mode, kw.CycleMomentum(true), kw.BaseMomentum(0.8), kw.MaxMomentum(0.9).
func NewCyclicLR(o Optimizer, low, high float64, opts ...torch.Option) *Scheduler {
	const class = "CyclicLR"
	var numbers []torch.Option
	mode, scaleMode, turning := "triangular", "cycle", true
	var scale func(x float64) float64
	for _, opt := range opts {
		switch opt.Name {
		case "mode":
			mode = opt.Value.(string)
		case "scale_mode":
			scaleMode = opt.Value.(string)
		case "scale_fn":
			scale = opt.Value.(func(x float64) float64)
		case "cycle_momentum":
			turning = opt.Value.(bool)
		default:
			numbers = append(numbers, opt)
		}
	}
	v := epochOption(
		class, numbers,
		map[string]float64{"step_size_up": 2000, "step_size_down": 0, "gamma": 1, "base_momentum": 0.8, "max_momentum": 0.9},
	)
	if scale == nil {
		scale, scaleMode = scaleOf(mode, v["gamma"])
	}
	up, down := v["step_size_up"], v["step_size_down"]
	if down == 0 {
		down = up
	}
	// height is how far up the cycle is, of 1, at an epoch.
	height := func(epoch int) float64 {
		e, total := float64(epoch), up+down
		round := math.Floor(1 + e/total)
		x, ratio := 1+e/total-round, up/total
		h := x / ratio
		if x > ratio {
			h = (x - 1) / (ratio - 1)
		}
		if scaleMode == "cycle" {
			return h * scale(round)
		}
		return h * scale(e)
	}
	s := &Scheduler{optimizer: o, next: func(s *Scheduler, base, _ float64) float64 {
		if !s.initial { // an earlier scheduler's counts once
			base = low
		}
		return base + (high-base)*height(s.epoch)
	}}
	if turning {
		s.turns = func(s *Scheduler) float64 {
			return v["max_momentum"] - (v["max_momentum"]-v["base_momentum"])*height(s.epoch)
		}
	}
	if v["last_epoch"] < 0 {
		for _, g := range o.ParamGroups() {
			g.setRate(low)
			g.InitialLr = low
		}
	}
	return s.begin(class, v)
}

// scaleOf is how a mode shrinks the cycles, and of what it is a function.
func scaleOf(mode string, gamma float64) (scale func(x float64) float64, of string) {
	switch mode {
	case "triangular":
		return func(float64) float64 { return 1 }, "cycle"
	case "triangular2":
		return func(x float64) float64 { return 1 / math.Pow(2, x-1) }, "cycle"
	case "exp_range":
		return func(x float64) float64 { return math.Pow(gamma, x) }, "iterations"
	}
	panic(&torch.Error{Op: "CyclicLR", Kind: "ValueError", Msg: "mode is invalid and scale_fn is None"})
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

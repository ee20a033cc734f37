package optim

import (
	"fmt"

	"tcdbg/torch"
)

// This file is the schedulers that combine others: one after the other, and all at once.

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

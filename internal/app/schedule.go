package app

import (
	"errors"

	"tcdbg/explain"
	"tcdbg/inductor"
	"tcdbg/logs"
	"tcdbg/tui"
)

// This file generates the kernels of any fusion step again, when the screens
// look at it.

// errOtherScheduler is why a trace of another version may not be replayed.
var errOtherScheduler = errors.New("this version's scheduler decides differently from what the trace records; run the program again")

// Schedule implements tui.Feed.
func (f *feed) Schedule(fu *explain.Fusion, decisions int) ([]tui.Kernel, error) {
	if fu.Start == nil {
		return nil, errors.New("the trace does not record the scheduler's initial nodes")
	}
	start, ok := fu.Start()
	if !ok {
		return nil, errors.New("the trace's record of the schedule cannot be read")
	}
	groups, steps, err := inductor.Replay(start, decisions)
	if err != nil {
		return nil, err
	}
	if !sameDecisions(steps, fu.Steps) {
		return nil, errOtherScheduler
	}
	out := make([]tui.Kernel, len(groups))
	for i, g := range groups {
		out[i] = tui.Kernel{Node: g.Name, Ranges: g.Ranges, Ops: g.Ops, Name: g.Kernel, Source: g.Source}
	}
	return out, nil
}

// sameDecisions reports whether the recorded decisions begin with those that
// were made again.
func sameDecisions(again, recorded []logs.FusionStep) bool {
	if len(again) > len(recorded) {
		return false
	}
	for i, s := range again {
		if r := recorded[i]; s.A != r.A || s.B != r.B || s.Fused != r.Fused {
			return false
		}
	}
	return true
}

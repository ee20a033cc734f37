package app

import (
	"context"
	"errors"

	"tcdbg/explain"
	"tcdbg/inductor"
	"tcdbg/internal/app/lowering"
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

var _ tui.Lowering = (*feed)(nil)

// Forms implements tui.Lowering.
func (f *feed) Forms(g *explain.Graph, out *explain.OutputCode) (names []string, likely int) {
	forms := lowering.Forms(f.fold(f.now()), g)
	for _, form := range forms {
		names = append(names, form.Title())
	}
	return names, lowering.Likely(forms, out)
}

// Lower implements tui.Lowering.
func (f *feed) Lower(g *explain.Graph, form int) (device string, err error) {
	r := f.fold(f.now())
	forms := lowering.Forms(r, g)
	if form < 0 || form >= len(forms) {
		return "", errors.New("the trace has changed: choose again")
	}
	v, err := lowering.Show(context.Background(), r, &forms[form], Version)
	if refused := new(lowering.Refused); errors.As(err, &refused) {
		return "", errors.New(refused.Text)
	}
	if err != nil {
		return "", err
	}
	f.swapLowered(v)
	return v.Report.Lowered.Device, nil
}

// Lowered implements tui.Lowering.
func (f *feed) Lowered() string {
	if v := f.lowered.Load(); v != nil {
		return v.Of
	}
	return ""
}

// Unlower implements tui.Lowering.
func (f *feed) Unlower() { f.swapLowered(nil) }

// swapLowered shows a lowered graph, nil: the trace. The one before is closed with the next: the screens may still
// read of it.
func (f *feed) swapLowered(v *lowering.View) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unlowered.Close()
	f.unlowered = f.lowered.Swap(v)
}

// shownTitle is the title of what is shown.
func (f *feed) shownTitle() string {
	if of := f.Lowered(); of != "" {
		return f.title + " " + of + ", lowered"
	}
	return f.title
}

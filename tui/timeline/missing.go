package timeline

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs/chrome"
)

// This file says what a timeline does not show of what it was given.

// Missing says which events of the traces are not drawn and how many phases were not kept, "" for none.
func Missing(r *explain.Report, w Wish, traces []*chrome.Tracks) string {
	var notes []string
	if n := r.PhasesLeftOut; n > 0 {
		notes = append(notes, explain.Are(int(n), "phase")+" not kept")
	}
	if n := r.DeepPhases; n > 0 {
		notes = append(notes, explain.Are(int(n), "phase")+fmt.Sprintf(" not kept, within %d others", explain.MostOpen))
	}
	if w.Before != nil && w.Before.PhasesLeftOut > 0 {
		notes = append(notes, explain.Are(int(w.Before.PhasesLeftOut), "phase")+" not kept of the run before")
	}
	var left int64
	for _, t := range traces {
		if t != nil {
			left += t.Left
		}
	}
	if left > 0 {
		notes = append(notes, explain.Are(int(left), "span")+" not kept, the shortest of each trace")
	}
	if text := notDrawn(traces); text != "" {
		notes = append(notes, "not drawn: "+text)
	}
	return strings.Join(notes, " · ")
}

// notDrawn counts the events that are no spans by kind.
func notDrawn(traces []*chrome.Tracks) string {
	var counters, flows, asyncs, others int64
	for _, t := range traces {
		if t != nil {
			counters += t.Counters
			flows += t.Flows
			asyncs += t.Asyncs
			others += t.Other - t.Counters - t.Flows - t.Asyncs
		}
	}
	var out []string
	for _, k := range []struct {
		n    int64
		noun string
	}{{counters, "counter"}, {flows, "flow event"}, {asyncs, "async event"}, {others, "other event"}} {
		if k.n > 0 {
			out = append(out, explain.Count(int(k.n), k.noun))
		}
	}
	return strings.Join(out, ", ")
}

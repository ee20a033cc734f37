package explain

import (
	"strings"

	"tcdbg/logs"
)

// This file finds functions that PyTorch skips for good. Where the first call of a compiled
// function meets no operator, Dynamo leaves the code object alone from then on: no later
// call is looked at, whatever it does, and no record tells it.

// SkippedForGood lists the functions that the program asked to have compiled, and that
// run eagerly since their first call met no operator.
func (r *Report) SkippedForGood() []*Frame {
	if r.OfGo() { // the tracer for Go makes an entry without operators, and the next one where its guards fail
		return nil
	}
	type function struct{ file, name string }
	compiled := map[function]bool{} // and so may have called others
	for _, fr := range r.Frames {
		name := FunctionOf(logs.Pos{Func: fr.Name}, nil)
		if fr.Wraps != nil {
			name = fr.Wraps.Func
		}
		compiled[function{fr.Pos.File, name}] = true
	}
	var out []*Frame
next:
	for _, fr := range r.Frames {
		if !fr.skippedForGood() {
			continue
		}
		st := fr.Compiles[len(fr.Compiles)-1].Stack
		for i := 0; i+1 < len(st); i++ { // a helper after a break often has no operators at all
			if compiled[function{st[i].File, FunctionOf(st[i], nil)}] {
				continue next
			}
		}
		out = append(out, fr)
	}
	return out
}

// skippedForGood says whether a frame of the program ended without a graph, a break or an
// error: nothing was there to capture.
func (fr *Frame) skippedForGood() bool {
	if _, _, resumed := ResumedFunction(fr.Name); resumed || fr.Parent != nil || fr.Name == "" || !fr.OfProgram() || strings.HasPrefix(fr.Pos.File, "<") || InstalledPackage(fr.Pos.File) != "" {
		return false
	}
	for _, c := range fr.Compiles {
		if c.Status != Skipped || len(c.Breaks) > 0 || c.Failure != nil || c.Graph != nil {
			return false
		}
	}
	return len(fr.Compiles) > 0
}

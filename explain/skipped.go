package explain

import (
	"strings"

	"tcdbg/logs"
)

// This file finds functions that PyTorch skips for good. Where a call of a compiled
// function that needs a new entry meets no operator, Dynamo leaves the code object alone
// from then on: no later call is looked at, whatever it does, entries that there were
// are not used any more, and no record tells it.

// SkippedForGood lists the functions that the program asked to have compiled, and that
// run eagerly since a call met no operator: their first one, or a later one (see SkippedAt).
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
		if fr.SkippedAt() != nil {
			out = append(out, fr)
			continue
		}
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
	if _, _, resumed := ResumedFunction(fr.Name); resumed || fr.Parent != nil || fr.Name == "" || !fr.OfProgram() ||
		strings.HasPrefix(fr.Pos.File, "<") || InstalledPackage(fr.Pos.File) != "" {
		return false
	}
	for _, c := range fr.Compiles {
		if !c.MetNoOperator() {
			return false
		}
	}
	return len(fr.Compiles) > 0
}

// SkippedAt is the compile at which a function of the program, or the part of one that
// follows a break, met no operator and lost the graphs that it had; nil for none.
func (fr *Frame) SkippedAt() *Compile {
	n := len(fr.Compiles)
	if n < 2 || !fr.OfProgram() || InstalledPackage(fr.Pos.File) != "" || !fr.Compiles[n-1].MetNoOperator() {
		return nil
	}
	for _, c := range fr.Compiles[:n-1] {
		if c.Status == Compiled && c.Graph != nil && len(c.Graph.Ops) > 0 {
			return fr.Compiles[n-1]
		}
	}
	return nil
}

// MetNoOperator says whether a compile ended without a graph, a break or an error.
func (c *Compile) MetNoOperator() bool {
	return c.Status == Skipped && len(c.Breaks) == 0 && c.Failure == nil && c.Graph == nil
}

package tracer

import (
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file captures autograd.Apply of a function with a derivative of its own:
// where no gradient is wanted its Forward is inlined like any function. Where one
// is wanted, and where Forward itself breaks the graph, the trace is made again
// with a break in front of the whole call, which then runs eagerly.

// beforeApply breaks in front of a call of autograd.Apply in which an earlier
// attempt broke.
func (tr *trace) beforeApply(in *ssa.Call) {
	if why, ok := tr.avoid[in]; ok {
		tr.breakAt(breaks.AutogradFunction, "%s: %s", tr.codeOf(in), why)
	}
}

// applyCall is the outermost call of autograd.Apply that the trace is in.
func (tr *trace) applyCall() ssa.Instruction {
	for _, sh := range tr.shadows {
		if sh.apply != nil {
			return sh.apply
		}
	}
	return nil
}

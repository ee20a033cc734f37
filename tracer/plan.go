package tracer

import (
	"tcdbg/tracer/host"
)

// This file is mode "reduce-overhead": a graph's results stand in memory that
// the compiled function keeps for each goroutine, so that a call allocates
// nothing. A later call on the same goroutine overwrites them; what must live
// longer is cloned by the program. Two rules keep what is still needed: results
// of one call stand until the next but one (so x = f(x) reads what it does not
// write), and a graph that runs several times within one call has memory for
// each time.

// modeReduceOverhead is the option's value.
const modeReduceOverhead = "reduce-overhead"

// maxPlans is how many results of one graph are kept apart within a call; a
// graph that runs more often than that in a call gets fresh memory.
const maxPlans = 8

// plans is what a goroutine keeps: it hangs on the host's thread and dies with it.
type plans struct {
	funcs  map[*Compiled]*turns
	resets int64 // of the tracer when funcs was made
}

// turns counts the calls of one function on one goroutine.
type turns struct {
	depth int // calls that run: a call within a call overwrites nothing of it
	turn  int
	segs  map[*segment]*planned
}

// planned is the memory of one segment: that of odd and of even calls.
type planned struct {
	turn, next int
	runs       [2][]Runnable
}

// turnsOf finds the counters of c on th and begins a call.
func (c *Compiled) turnsOf(th *host.Thread) *turns {
	ps, ok := th.Local.(*plans)
	if resets := c.t.resets.Load(); !ok || ps.resets != resets {
		ps = &plans{funcs: map[*Compiled]*turns{}, resets: resets}
		th.Local = ps
	}
	tu := ps.funcs[c]
	if tu == nil {
		tu = &turns{segs: map[*segment]*planned{}}
		ps.funcs[c] = tu
	}
	if tu.depth == 0 {
		tu.turn++
	}
	tu.depth++
	return tu
}

func (tu *turns) end() { tu.depth-- }

// runnable is the form of the segment's graph for its next run in this call.
func (tu *turns) runnable(s *segment) Runnable {
	if s.plan == nil {
		return s.run
	}
	p := tu.segs[s]
	if p == nil {
		p = &planned{}
		tu.segs[s] = p
	}
	if p.turn != tu.turn {
		p.turn, p.next = tu.turn, 0
	}
	k := p.next
	p.next++
	if k >= maxPlans {
		return s.run
	}
	runs := &p.runs[tu.turn&1]
	if k == len(*runs) {
		*runs = append(*runs, s.plan())
	}
	return (*runs)[k]
}

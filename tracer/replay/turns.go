package replay

import "tcdbg/tracer/host"

// This file is mode "reduce-overhead": a graph's results are in memory that
// the compiled function keeps for each goroutine, so that a call allocates
// nothing. A later call on the same goroutine overwrites them; what must live
// longer is cloned by the program. Two rules keep what is still needed: results
// of one call stay until the next but one (so x = f(x) reads what it does not
// write), and a graph that runs several times within one call has memory for
// each time.

// MaxPlans is how many results of one graph are kept apart within a call; a
// graph that runs more often than that in a call gets fresh memory.
const MaxPlans = 8

// plans is what a goroutine keeps: it hangs on the host's thread and dies with it.
type plans struct {
	funcs  map[any]*Turns
	resets int64 // of the tracer when funcs was made
}

// Turns counts the calls of one function on one goroutine.
type Turns struct {
	depth   int // calls that run: a call within a call overwrites nothing of it
	turn    int
	entries map[*Entry]*planned
}

// planned is the memory of one cache entry: that of odd and of even calls.
type planned struct {
	turn, next int
	runs       [2][]Runnable
}

// BeginCall finds the counters of the compiled function fn on th and begins a call. They
// are forgotten when resets, which counts calls of compiler.Reset, has changed.
func BeginCall(th *host.Thread, fn any, resets int64) *Turns {
	ps, ok := th.Local.(*plans)
	if !ok || ps.resets != resets {
		ps = &plans{funcs: map[any]*Turns{}, resets: resets}
		th.Local = ps
	}
	tu := ps.funcs[fn]
	if tu == nil {
		tu = &Turns{entries: map[*Entry]*planned{}}
		ps.funcs[fn] = tu
	}
	if tu.depth == 0 {
		tu.turn++
	}
	tu.depth++
	return tu
}

func (tu *Turns) End() { tu.depth-- }

// runnable is the form of the cache entry's graph for its next run in this call.
func (tu *Turns) runnable(s *Entry) Runnable {
	if s.Plan == nil {
		return s.Run
	}
	p := tu.entries[s]
	if p == nil {
		p = &planned{}
		tu.entries[s] = p
	}
	if p.turn != tu.turn {
		p.turn, p.next = tu.turn, 0
	}
	k := p.next
	p.next++
	if k >= MaxPlans {
		return s.Run
	}
	runs := &p.runs[tu.turn&1]
	if k == len(*runs) {
		*runs = append(*runs, s.Plan())
	}
	return (*runs)[k]
}

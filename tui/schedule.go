package tui

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"tcdbg/explain"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is the schedule at a fusion step: which kernels there are and what
// they look like, before and after. Nothing of it is kept in the trace; the
// feed makes the state of any step again when it is looked at.

// Kernel is one kernel of a schedule in the making.
type Kernel struct {
	Node   string   // name of the scheduler node: op0_op1
	Ranges string   // its loops
	Ops    []string // operators in it
	Name   string
	Source string // "" for an extern kernel
}

// state is the schedule after some decisions.
type state struct {
	kernels []Kernel
	err     error
}

// maxStates is how many schedules are kept.
const maxStates = 8

// stateMaker makes one schedule at a time, and none for a row that the cursor
// has left.
type stateMaker struct {
	mu  sync.Mutex
	row atomic.Int64 // rows looked at
}

// job makes a schedule for the row that is looked at now; made is false where the
// cursor has left that row before the turn came.
func (s *stateMaker) job(feed Feed, f *explain.Fusion, decisions int) func() (s state, made bool) {
	row := s.row.Load()
	return func() (state, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.row.Load() != row {
			return state{}, false
		}
		ks, err := feed.Schedule(f, decisions)
		return state{ks, err}, true
	}
}

// scheduleAt is the schedule after so many decisions, made beside the UI. A row that
// still waits for one that was not made asks again.
func (scr *fusionScreen) scheduleAt(sc *scene, f *explain.Fusion, decisions int) (state, bool) {
	key := fmt.Sprintf("state %s %d %d", idText(f.ID), f.Seq, decisions)
	if s, ok := scr.states.have[key]; ok {
		return s, true
	}
	job := scr.maker.job(sc.feed, f, decisions)
	sc.texts.later(key, func() func() {
		s, made := job()
		return func() {
			if made {
				scr.states.put(key, s)
			}
		}
	})
	return state{}, false
}

// decisionsAt is how many decisions lead to the schedule in which step i was
// taken, and to the one after it; refusals change nothing, so that both are
// those of the last fusion.
func (r *stepRow) decisionsAt() (before, after int) {
	last := func(from int) int {
		for i := from; i >= 0; i-- {
			if r.f.Steps[i].Fused {
				return i + 1
			}
		}
		return -1
	}
	return last(r.i - 1), last(r.i)
}

// fusionState shows the kernels of a step: the two that became one, or the two
// that stay apart, and the list of all.
func (scr *fusionScreen) fusionState(d *doc, r *stepRow) {
	if r.f.Start == nil {
		return
	}
	if scr.made != r.key() {
		scr.made = r.key()
		scr.maker.row.Add(1)
	}
	from, to := r.decisionsAt()
	before, ok := scr.scheduleAt(d.sc, r.f, from)
	after, ok2 := before, ok
	if to != from {
		after, ok2 = scr.scheduleAt(d.sc, r.f, to)
	}
	switch {
	case !ok || !ok2:
		d.blank()
		d.add(theme.T(theme.Faint, "generating the kernels of this step …"))
		return
	case before.err != nil || after.err != nil:
		err := before.err
		if err == nil {
			err = after.err
		}
		d.blank()
		d.wrap(theme.Faint, 2, "The kernels at this step cannot be shown: "+err.Error())
		return
	}
	s := r.step()
	if !s.Fused {
		d.heading("KERNELS, NOT FUSED")
		d.code(d.sc.hl, syntax.C, sources(before.kernels, s.A, s.B))
		return
	}
	d.heading("KERNELS")
	d.beforeAfter(syntax.C, sources(before.kernels, s.A, s.B), sources(after.kernels, s.Result))
	d.heading("ALL KERNELS")
	d.beforeAfter(syntax.None, kernelList(before.kernels), kernelList(after.kernels))
}

// sources is the code of the kernels of some nodes.
func sources(ks []Kernel, nodes ...string) string {
	var b strings.Builder
	for _, node := range nodes {
		for _, k := range ks {
			switch {
			case k.Node != node:
			case k.Source == "":
				b.WriteString("// " + k.Name + ": an extern kernel\n")
			default:
				b.WriteString(strings.TrimRight(k.Source, "\n") + "\n")
			}
		}
	}
	return b.String()
}

// kernelList is a schedule: a line for each kernel.
func kernelList(ks []Kernel) string {
	var b strings.Builder
	for _, k := range ks {
		fmt.Fprintf(&b, "%s = %s %s\n", k.Node, strings.Join(k.Ops, ", "), k.Ranges)
	}
	return b.String()
}

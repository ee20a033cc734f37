package backends

import (
	"slices"
	"sync"
	"sync/atomic"

	"tcdbg/inductor"
	"tcdbg/inductor/plan"
	"tcdbg/logs"
)

// This file counts how often kernels run and times some of their runs.

// A reading of the clock costs as much as a small kernel, so that of a program's
// runs the first are timed and then one in so many.
const (
	timedAtFirst = 64
	timedOneIn   = 64
)

// profile is what the runs of a program took.
type profile struct {
	graph     string
	slots     []slot // [] /* kernel in the order of the steps, then of the prologue */
	at        []int  // [] /* step */ its first slot
	hoistedAt []int  // [] /* step of the prologue */ the same
	runs      atomic.Int64
	packed    atomic.Int64 // runs of the prologue
	always    bool         // every run is timed
	written   int64        // timed runs at the last record; under Set.profiled
	gone      atomic.Bool  // nobody can run the program any more
}

// slot is one kernel. Its first run meets cold caches and untouched memory and
// counts only where there is no other.
type slot struct {
	name                string
	once                bool
	first, nanos, timed atomic.Int64
}

func newProfile(p *inductor.Program) *profile {
	pr := &profile{graph: p.Name}
	add := func(steps []plan.Step, once bool) (at []int) {
		for i := range steps {
			at = append(at, len(pr.slots))
			for _, name := range steps[i].Names {
				pr.slots = append(pr.slots, slot{name: name, once: once})
			}
		}
		return at
	}
	pr.at = add(p.Steps, false)
	pr.hoistedAt = add(p.Prologue, true)
	return pr
}

// begin tells whether the run that begins is to be timed.
func (p *profile) begin() bool {
	n := p.runs.Load() + 1
	return n <= timedAtFirst || n%timedOneIn == 0 || p.always
}

// end counts a run. What is counted has its times: a record that is written in the
// midst of a run leaves that run to the next one.
func (p *profile) end() { p.runs.Add(1) }

// add takes the time of one run of a slot.
func (p *profile) add(i int, nanos int64) {
	s := &p.slots[i]
	if s.timed.Add(1) == 1 {
		s.first.Store(nanos)
		return
	}
	s.nanos.Add(nanos)
}

// times are the kernels' totals.
func (p *profile) times() []logs.KernelTime {
	out := make([]logs.KernelTime, len(p.slots))
	for i := range p.slots {
		s := &p.slots[i]
		out[i] = logs.KernelTime{Graph: p.graph, Kernel: s.name, Calls: p.runs.Load(), Timed: s.timed.Load() - 1, Nanos: s.nanos.Load()}
		if s.once {
			out[i].Calls = p.packed.Load()
		}
		if out[i].Timed <= 0 {
			out[i].Timed, out[i].Nanos = s.timed.Load(), s.first.Load()
		}
	}
	return out
}

// profiled is the profiles of a process.
type profiled struct {
	sync.Mutex
	list []*profile
}

func (s *Set) register(p *profile) {
	s.profiled.Lock()
	defer s.profiled.Unlock()
	s.profiled.list = append(s.profiled.list, p)
}

// KernelTimes returns the totals of programs that have run at least twice as often
// as when they were last returned, so that a long run writes few of them; with
// all set, of those that have run since. Programs that were collected end here.
func (s *Set) KernelTimes(all bool) []logs.KernelTime {
	s.profiled.Lock()
	defer s.profiled.Unlock()
	var out []logs.KernelTime
	s.profiled.list = slices.DeleteFunc(s.profiled.list, func(p *profile) bool {
		gone := p.gone.Load()
		if n := p.runs.Load(); n >= 2*p.written+1 || (all || gone) && n > p.written {
			p.written = n
			out = append(out, p.times()...)
		}
		return gone
	})
	return out
}

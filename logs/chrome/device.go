package chrome

import (
	"cmp"
	"slices"
)

// This file is the part of GPUs: whom their work is for, and when they had none.

// device gives the work of GPUs to what launched it.
func (s *sums) device() {
	var work []int32
	for i := range s.events {
		if s.events[i].kind == deviceWork {
			work = append(work, int32(i))
		}
	}
	s.p.Device = len(work) > 0
	if !s.p.Device {
		return
	}
	slices.SortFunc(work, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.events[a].device, s.events[b].device), cmp.Compare(s.events[a].ts, s.events[b].ts))
	})
	for len(work) > 0 {
		n := slices.IndexFunc(work, func(i int32) bool { return s.events[i].device != s.events[work[0]].device })
		if n < 0 {
			n = len(work)
		}
		s.oneDevice(work[:n])
		work = work[n:]
	}
}

// oneDevice goes through the work of one GPU in time order.
func (s *sums) oneDevice(work []int32) {
	g := &GPU{Device: int(s.events[work[0]].device)}
	until, by := int64(-1), "" // the end of what ran until now, and the entry that launched it
	begun := false
	for _, i := range work {
		e := &s.events[i]
		from, launched := s.launches[e.link]
		if !launched || !s.places[from].step {
			continue // launched before the steps, or by what was not recorded
		}
		compile := s.owner(from)
		s.ran(from, e)
		if begun && e.ts > until {
			g.Idle += e.ts - until
			if by != "" && by != compile {
				s.region(by).Idle += e.ts - until
			}
		}
		if end := e.ts + e.dur; !begun || end > until {
			g.Busy += end - max(e.ts, until)
			until, by, begun = end, compile, true
		}
	}
	if begun {
		s.p.GPUs = append(s.p.GPUs, g)
	}
}

// owner is the entry for which something was launched, "" where it is none.
func (s *sums) owner(launch int32) string {
	p := &s.places[launch]
	if p.graph != none {
		return s.p.Graphs[s.graphOf(p.graph)].Compile
	}
	return s.compileOf(p.region)
}

// ran counts a kernel, copy or fill for what launched it.
func (s *sums) ran(launch int32, e *event) {
	p := &s.places[launch]
	if compile := s.owner(launch); compile != "" {
		s.region(compile).Device += e.dur
	}
	switch {
	case p.graph != none:
		s.p.Graphs[s.graphOf(p.graph)].Device += e.dur
		name := s.names[e.name]
		if p.op != none {
			name = s.names[s.events[p.op].name]
		}
		if k := s.kernel(p.graph, name); k != nil {
			k.Device += e.dur
			if p.op == none {
				k.Calls++
			}
		}
	case p.op != none:
		s.op(p.op).Device += e.dur
	}
}

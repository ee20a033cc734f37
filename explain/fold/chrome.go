package fold

import (
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file folds chromium events into phases: begin and end come as records
// of their own and are paired here.

// openPhase is a phase whose end has not come yet.
type openPhase struct {
	name  string
	id    explain.ID
	start float64 // µs
	self  float64 // µs in which it was the last of its stack
	alike float64 // µs of those of its name within it, which it counts when it ends
}

// phaseStack is the phases of a thread that are open, by their begin. Workers may share one: then they end in any order.
type phaseStack struct {
	open []openPhase
	at   float64        // of the last event, µs
	deep map[string]int // open phases beyond maxOpen, by name
}

// setBack is by how much a clock that goes back was set back; by less, events of two threads changed places.
const setBack = 1e6 // µs

// tick gives the time since the last event to the phase that began last.
func (s *phaseStack) tick(ts float64) {
	if n := len(s.open); n > 0 && ts > s.at {
		s.open[n-1].self += plausible((ts-s.at)/1e6) * 1e6
	}
	if ts > s.at || ts < s.at-setBack {
		s.at = ts
	}
}

// maxInstants bounds the events without a length.
const maxInstants = 20_000

func chromiumEvent(f *Fold, r *logs.Record) {
	var name string
	var ph byte
	var ts float64
	logs.EachField(r.RawPayload(), func(k, v []byte) bool {
		switch string(k) {
		case "name":
			if len(v) > 2 {
				name = f.internBytes(v[1 : len(v)-1])
			}
		case "ph":
			if len(v) == 3 {
				ph = v[1]
			}
		case "ts":
			ts = number(v)
			return ph == 0
		}
		return ph == 0 || ts == 0
	})
	if ph == 0 || ts == 0 || name == "" {
		f.note(r, "chromium_event", "an event without name, phase or time")
		return
	}
	rs := f.rank(r)
	if !f.calibrated[r.Source] && f.store != nil {
		f.calibrated[r.Source] = true
		f.store.Calibrate(r, time.UnixMicro(int64(ts)))
	}
	switch ph {
	case 'B':
		f.extend(time.UnixMicro(int64(ts)), 0)
		beginPhase(f, rs, r, name, ts)
		if r.HasID && name == "entire_frame_compile" {
			f.compileOf(r).begun = true
		}
	case 'E':
		f.closePhase(rs, r, name, ts)
	case 'i', 'I':
		if len(f.instants) >= maxInstants {
			f.instantsLeftOut++
			return
		}
		at := time.UnixMicro(int64(ts))
		f.instants = append(f.instants, explain.Instant{Name: name, ID: f.id(r), At: at})
		f.extend(at, 0)
	}
}

// beginPhase keeps the begin of a phase until its end comes; within too many others it is only counted.
func beginPhase(f *Fold, rs *rankState, r *logs.Record, name string, ts float64) {
	key := threadKey{r.Source, r.Thread}
	s := rs.stacks[key]
	if s == nil {
		f.hold(heldStage)
		s = &phaseStack{}
		rs.stacks[key] = s
	}
	s.tick(ts)
	if len(s.open) < maxOpen {
		s.open = append(s.open, openPhase{name: name, id: f.id(r), start: ts})
		return
	}
	f.deepPhases++
	if s.deep == nil {
		s.deep = map[string]int{}
	}
	if s.deep[name] > 0 || len(s.deep) < maxOpen {
		s.deep[name]++ // its end is not that of one that is kept
	}
}

// closePhase pairs an end with its begin, which is the innermost open one of
// that name: threads of one process share a stack.
func (f *Fold) closePhase(rs *rankState, r *logs.Record, name string, ts float64) {
	s := rs.stacks[threadKey{r.Source, r.Thread}]
	if s == nil {
		return
	}
	s.tick(ts)
	if s.deep[name] > 0 {
		if s.deep[name]--; s.deep[name] == 0 {
			delete(s.deep, name)
		}
		return
	}
	for i := len(s.open) - 1; i >= 0; i-- {
		p := s.open[i]
		if p.name != name {
			continue
		}
		dur := plausible((ts-p.start)/1e6) * 1e6
		self := min(p.self, dur)
		s.open = append(s.open[:i], s.open[i+1:]...)
		whole := dur
		for k := i - 1; k >= 0; k-- {
			if outer := &s.open[k]; outer.name == name { // the outer one counts it
				outer.alike += dur
				whole = 0
				break
			}
		}
		f.sumPhase(name, whole, self)
		sumSelf(f, rs, name, self)
		f.keepPhase(explain.Phase{
			Name: name, ID: p.id, Start: time.UnixMicro(int64(p.start)), Dur: time.Duration(dur * 1e3),
			Self: time.Duration(self * 1e3), Depth: i, Source: r.Source, Thread: r.Thread,
		})
		if r.HasID && (name == "entire_frame_compile" || name == "_compile.compile_inner") {
			if c := f.compileOf(r); c != nil {
				c.phases += dur / 1e6
			}
		}
		return
	}
}

// longest is the time that anything may have taken. Times are read from the wall clock, which
// may have been set meanwhile.
const longest = 24 * time.Hour

// plausible is what something took by two readings of the clock, in seconds; 0, for unknown,
// where the clock was set back between them, or so far forward that it shows.
func plausible(seconds float64) float64 {
	if seconds >= 0 && seconds <= longest.Seconds() {
		return seconds
	}
	return 0
}

func (f *Fold) sumPhase(name string, dur, self float64) {
	s := f.sums[name]
	if s == nil {
		s = &explain.PhaseSum{Name: name}
		f.hold(heldEvent)
		f.sums[name] = s
		f.sumOrder = append(f.sumOrder, name)
	}
	s.Count++
	s.Seconds += dur / 1e6
	s.Self += self / 1e6
}

// sumSelf adds up what a rank spent in each phase itself, which ranks are compared by.
func sumSelf(f *Fold, rs *rankState, name string, self float64) {
	if rs.selfs == nil {
		rs.selfs = map[string]float64{}
	}
	if _, have := rs.selfs[name]; !have {
		f.hold(heldName)
	}
	rs.selfs[name] += self / 1e6
}

func (f *Fold) internBytes(b []byte) string {
	if s, ok := f.strings[string(b)]; ok {
		return s
	}
	return f.intern(logs.JSONString([]byte(`"` + string(b) + `"`)))
}

// number reads a plain decimal, the form of chromium's times, without going
// through a string.
func number(v []byte) float64 {
	var n, scale float64 = 0, 0
	for _, c := range v {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + float64(c-'0')
			scale *= 10
		case c == '.' && scale == 0:
			scale = 1
		default:
			x, _ := logs.JSONFloat(v)
			return x
		}
	}
	if scale > 1 {
		return n / scale
	}
	return n
}

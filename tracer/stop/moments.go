package stop

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"sync/atomic"

	"tcdbg/logs"
	"tcdbg/tracer/host"
	"tcdbg/tracer/host/journal"
)

// This file counts the moments of a program whose run is kept: the beginnings of the
// user's lines, operators, and what the tracer tells of compiled functions. They come in the
// same order and number whenever the program runs again.

// Position is a place in a run.
type Position struct {
	Moment int64
	// Path is a digest of all moments so far.
	Path uint64
	// Place, where set, is an instruction after the moment, before the next one.
	Place *Place `json:",omitempty"`
	// Nth is which event of Kinds after the moment, before the next one; 0: none.
	Nth   int    `json:",omitempty"`
	Kinds uint32 `json:",omitempty"`
	// Order counts the stops after the moment, before the next one; 0 is the moment itself.
	Order int `json:",omitempty"`
}

// Place is an instruction of a frame.
type Place struct {
	Code  uint64
	PC    int
	Depth int
}

// plain reports whether a position is a moment itself.
func (p *Position) plain() bool { return p.Place == nil && p.Nth == 0 }

// before reports whether p is before q.
func (p *Position) before(q *Position) bool {
	return p.Moment < q.Moment || p.Moment == q.Moment && p.Order < q.Order
}

// visit is an instruction that was reached.
type visit struct {
	moment int64 // the first of its moments
	path   uint64
	thread *host.Thread
	code   *host.Code
	pc     int32
	depth  int32
	number int32 // of the goroutine
	first  bool  // of its frame
}

// kept is how many visits are kept for steps back: a power of two.
const kept = 1 << 15

// far are visits of one depth that are older than those of the ring: a few, so that the line is
// known that has called what ran for long.
type far struct {
	visits [16]visit
	n      int
	lost   int64 // the last moment that was kept here and no longer is
}

// deep is the depth from which on no older visits are kept.
const deep = 64

// moments counts.
type moments struct {
	d    *Debugger
	tape *journal.Tape
	path uint64
	ring []visit
	n    int64 // visits so far
	far  [deep]far
	lost int64 // the last moment at a depth of deep or more that is no longer kept
	// next is the moment from which on somebody has to look at each.
	next atomic.Int64
	// nth counts the events since the moment nthAt.
	nth   int
	nthAt int64
}

func newMoments(d *Debugger, t *journal.Tape) *moments {
	if t == nil {
		return nil
	}
	m := &moments{d: d, tape: t, ring: make([]visit, kept), path: fnv.New64a().Sum64()}
	m.next.Store(math.MaxInt64)
	return m
}

// What a mark says of an instruction.
const (
	markStarts   = 0x1f // how many lines begin there
	markOperator = 0x20
)

// mark notes which instructions of c have moments.
func (m *moments) mark(c *host.Code) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Fn.String())) // it never fails
	marks := &host.Marks{Name: h.Sum64(), At: make([]uint8, len(c.Instrs))}
	if ownFile(fileOf(m.d.prog, c.Fn)) {
		for pc, starts := range m.d.places.of(c).at {
			marks.At[pc] = uint8(min(len(starts), markStarts))
		}
	}
	for _, pc := range m.d.operators(c) {
		marks.At[pc] |= markOperator
	}
	c.Marks = marks
}

// marked are the instructions with moments.
func marked(m *host.Marks) []int {
	var out []int
	for pc, k := range m.At {
		if k != 0 {
			out = append(out, pc)
		}
	}
	return out
}

// momentsOf is how many moments a mark is.
func momentsOf(mark uint8) int {
	n := int(mark & markStarts)
	if mark&markOperator != 0 {
		n++
	}
	return n
}

// tick counts the moments of the instruction that f is about to run. near tells that
// somebody has to look at them.
func (m *moments) tick(f *host.Frame) (first int64, near bool) {
	marks := f.Code.Marks
	if marks == nil {
		return m.tape.Clock.Load() + 1, false
	}
	n := int64(momentsOf(marks.At[f.PC]))
	if n == 0 {
		return m.tape.Clock.Load() + 1, false
	}
	first = m.tape.Clock.Add(n) - n + 1
	th := f.Thread()
	depth := th.Depth()
	m.path = mix(m.path, marks.Name^uint64(f.PC)<<32^uint64(depth)^uint64(th.Number)<<48)
	v := &m.ring[m.n&(kept-1)]
	if m.n++; v.moment != 0 {
		m.age(v, int32(depth))
	}
	v.moment, v.path, v.thread, v.code, v.pc, v.depth, v.first = first, m.path, th, f.Code, int32(f.PC), int32(depth), f.Born == 0
	v.number = int32(th.Number)
	if v.first {
		f.Born = first
	}
	return first, first+n > m.next.Load()
}

// age keeps a visit that leaves the ring, where its frame may wait for what runs at a depth.
func (m *moments) age(v *visit, depth int32) {
	if v.depth >= deep {
		m.lost = v.moment
		return
	}
	f := &m.far[v.depth]
	if v.depth >= depth {
		f.lost = v.moment
		return
	}
	old := &f.visits[f.n&(len(f.visits)-1)]
	f.lost = max(f.lost, old.moment)
	*old = *v
	f.n++
}

// older lists the visits that have left the ring, the newest first, as far as none is missing
// whose depth is at most limit.
func (m *moments) older(limit int32) func(yield func(*visit) bool) {
	return func(yield func(*visit) bool) {
		var all []*visit
		lost := int64(0)
		for d := range min(int(limit)+1, deep) {
			f := &m.far[d]
			lost = max(lost, f.lost)
			for i := range f.visits {
				if f.visits[i].moment != 0 {
					all = append(all, &f.visits[i])
				}
			}
		}
		if limit >= deep {
			lost = max(lost, m.lost)
		}
		slices.SortFunc(all, func(a, b *visit) int { return cmp.Compare(b.moment, a.moment) })
		for _, v := range all {
			if v.moment <= lost || !yield(v) {
				return
			}
		}
	}
}

// ticks counts the moments of the instruction that f is about to run, where the run is
// kept.
func (m *moments) ticks(f *host.Frame) (first int64, look bool) {
	if m == nil {
		return 0, false
	}
	return m.tick(f)
}

func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// event counts one that the tracer tells.
func (m *moments) event(k logs.StopKind) (moment int64, near bool) {
	moment = m.tape.Clock.Add(1)
	m.path = mix(m.path, uint64(bit(k)))
	return moment, moment >= m.next.Load()
}

// uncounted is the position of an event that is no moment.
func (m *moments) uncounted(armed mask) Position {
	now := m.tape.Clock.Load()
	if m.nthAt != now {
		m.nthAt, m.nth = now, 0
	}
	m.nth++
	return Position{Moment: now, Path: m.path, Nth: m.nth, Kinds: uint32(armed &^ counted)}
}

// counted are the events that are moments.
var counted = safePoints | bit(logs.StopStart)

// inside is the position of an instruction that is no moment.
func (m *moments) inside(f *host.Frame) Position {
	p := Position{Moment: m.tape.Clock.Load(), Path: m.path}
	if f.Code.Marks != nil {
		p.Place = &Place{f.Code.Marks.Name, f.PC, depthOf(f)}
	}
	return p
}

// lineBefore is the line before that at which s is, in its function, or the line that has
// called it.
func (m *moments) lineBefore(s *stopped) (Position, bool) {
	w := within{limit: math.MaxInt32}
	if len(s.levels) > 0 {
		w.at(s.levels[0].frame)
	}
	for _, visits := range []func(func(*visit) bool){m.back(), m.older(w.limit)} {
		for v := range visits {
			if !w.has(v) {
				continue
			}
			if p, ok := m.startBefore(v, &s.pos); ok {
				return p, true
			}
		}
	}
	return Position{}, false
}

// within is a frame and those that wait for it.
type within struct {
	thread *host.Thread
	number int   // of the goroutine
	limit  int32 // depth of the frame
	born   int64 // of the frame
	bottom int64 // of the outermost frame of the thread that was seen
}

func (w *within) at(f *host.Frame) {
	w.thread, w.limit, w.born = f.Thread(), int32(depthOf(f)), f.Born
	w.number = w.thread.Number
	for ; f != nil; f = f.Caller {
		if f.Born > 0 {
			w.bottom = f.Born
		}
	}
}

// has reports whether a visit is one of them.
func (w *within) has(v *visit) bool {
	switch {
	case w.number > 0 && v.number != int32(w.number):
		return false
	case v.thread != w.thread:
		return v.moment < w.bottom || w.bottom == 0
	case w.born > 0 && v.moment >= w.born:
		return v.depth <= w.limit
	}
	return v.depth < w.limit
}

// startBefore is the last beginning of a line among the moments of v before a position.
func (m *moments) startBefore(v *visit, now *Position) (Position, bool) {
	starts := m.d.places.of(v.code).at[int(v.pc)]
	for i := len(starts) - 1; i >= 0; i-- {
		p := Position{Moment: v.moment + int64(i), Path: v.path}
		if !starts[i].goesOn && p.before(now) {
			return p, true
		}
	}
	return Position{}, false
}

// operatorBefore is the operator before a position.
func (m *moments) operatorBefore(now *Position) (Position, bool) {
	for v := range m.back() {
		mark := v.code.Marks.At[v.pc]
		p := Position{Moment: v.moment + int64(mark&markStarts), Path: v.path}
		if mark&markOperator != 0 && p.before(now) {
			return p, true
		}
	}
	return Position{}, false
}

// back lists the visits, the newest first.
func (m *moments) back() func(yield func(*visit) bool) {
	return func(yield func(*visit) bool) {
		for i := m.n - 1; i >= 0 && i >= m.n-kept; i-- {
			if !yield(&m.ring[i&(kept-1)]) {
				return
			}
		}
	}
}

// isAt reports whether f is at a place.
func (p *Place) isAt(f *host.Frame) bool {
	return f.Code.Marks != nil && f.Code.Marks.Name == p.Code && f.PC == p.PC && depthOf(f) == p.Depth
}

// position is that of moment n of those at the instruction that f is about to run, the
// first of which is given.
func (m *moments) position(f *host.Frame, first int64, n int) Position {
	switch {
	case m == nil:
		return Position{}
	case f.Code.Marks == nil || n >= momentsOf(f.Code.Marks.At[f.PC]):
		return m.inside(f)
	}
	return Position{Moment: first + int64(n), Path: m.path}
}

// before finds what Back goes to from a stop: "line" or "operator".
func (m *moments) before(what string, s *stopped) (to Position, why string, ok bool) {
	if what == "line" {
		if to, ok = m.lineBefore(s); ok {
			return to, "the line before", true
		}
		if m.n > kept {
			return to, "the line before is further back than lines are kept", false
		}
		return to, "there is no line before this one", false
	}
	if to, ok = m.operatorBefore(&s.pos); ok {
		return to, "the operator before", true
	}
	if m.n > kept {
		return to, "the operator before is further back than operators are kept", false
	}
	return to, "no operator ran before", false
}

package autotune

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tcdbg/inductor/tune"
	"tcdbg/logs"
)

// This file chooses how kernels run: the number of threads, and the tiles of a product that make one task. Nothing is
// built for it: the runtime library is told with each call, so that one pass over the graph times one candidate of every
// kernel.

// unit is kernels that run alike: equal products, or one other kernel.
type unit struct {
	op      string
	shapes  []string
	kernels []int // positions
	tiled   bool
	run     Run // as chosen so far
	saves   int64
	tables  []int // of the record
}

// candidate is one value of what is chosen; it is not for units of which it returns false.
type candidate struct{ run func(u *unit) (Run, bool) }

// units lists those of the program.
func (s *Search) units() []*unit {
	byName := map[string]tune.Product{}
	for _, p := range s.prods {
		byName[p.Kernel] = p
	}
	var out []*unit
	same := map[string]*unit{}
	for i, name := range s.now.Kernels() {
		p, product := byName[name]
		if s.Only == Products && !product || s.Only == Others && product {
			continue
		}
		u := same[p.Key]
		if !product || u == nil {
			u = &unit{op: name}
			out = append(out, u)
		}
		if product {
			u.op, u.shapes, u.tiled = p.Op, p.Shapes, p.Tiled
			same[p.Key] = u
		}
		u.kernels = append(u.kernels, i)
	}
	return out
}

// threadCounts are one, and twice as many each, up to all.
func threadCounts(all int) []candidate {
	var out []candidate
	for n := 1; ; n = min(2*n, all) {
		out = append(out, candidate{func(u *unit) (Run, bool) {
			r := u.run
			r.Threads = n
			return r, true
		}})
		if n >= all {
			return out
		}
	}
}

// tileShapes are rows and columns of the register tiles of one task.
var tileShapes = [][2]int{{12, 4}, {12, 1}, {6, 8}, {4, 4}, {2, 8}, {2, 2}, {1, 1}}

func tiles() []candidate {
	var out []candidate
	for _, t := range tileShapes {
		out = append(out, candidate{func(u *unit) (Run, bool) {
			r := u.run
			r.Rows, r.Cols = t[0], t[1]
			return r, u.tiled
		}})
	}
	return out
}

// neighbours are a step away from what was chosen.
func neighbours(all int) []candidate {
	step := func(change func(r *Run)) candidate {
		return candidate{func(u *unit) (Run, bool) {
			r := u.run
			change(&r)
			ok := r != u.run && r.Threads <= all && (u.run.Threads == 0) == (r.Threads == 0) && (u.run.Rows == 0) == (r.Rows == 0) &&
				(u.run.Cols == 0) == (r.Cols == 0) && r.Rows <= 12 && r.Cols <= 8
			return r, ok
		}}
	}
	return []candidate{
		step(func(r *Run) { r.Threads += min(r.Threads, 1) }),
		step(func(r *Run) { r.Threads -= min(max(r.Threads-1, 0), 1) }),
		step(func(r *Run) { r.Rows *= 2 }),
		step(func(r *Run) { r.Rows /= 2 }),
		step(func(r *Run) { r.Cols *= 2 }),
		step(func(r *Run) { r.Cols /= 2 }),
	}
}

// mostDescents bounds the rounds of a descent.
const mostDescents = 4

// runs chooses threads, then tiles, then, where that is wanted, their neighbours.
func (s *Search) runs() {
	units := s.units()
	if s.Threads > 1 && !s.over(0.7) {
		s.dimension(units, "threads", threadCounts(s.Threads))
		if s.Only == All {
			s.alike = s.together()
		}
	}
	if !s.over(0.8) {
		s.dimension(units, "tiles", tiles())
	}
	for n := 0; s.Descent && n < mostDescents && !s.over(0.85); n++ {
		if !s.dimension(units, "descent", neighbours(s.Threads)) {
			break
		}
	}
	s.keepRuns(units)
}

// together is the number of threads for all kernels alike that made the whole fastest, 0 for none.
func (s *Search) together() int {
	t := logs.Tuning{Op: "graph", What: "threads of all kernels", Chosen: "default", Was: "default"}
	noted(&t, "default", s.wholes[0])
	best := 0
	for i, c := range threadCounts(s.Threads) {
		r, _ := c.run(&unit{})
		noted(&t, runText(r), s.wholes[i+1])
		if faster([]times{s.wholes[0], s.wholes[i+1]}, graphMargin) && (best == 0 || s.wholes[i+1].whole < s.wholes[best].whole) {
			best = i + 1
		}
	}
	s.add(t)
	if best == 0 {
		return 0
	}
	r, _ := threadCounts(s.Threads)[best-1].run(&unit{})
	return r.Threads
}

// dimension times candidates of all units in turns and notes the best of each unit; it reports whether one changed.
func (s *Search) dimension(units []*unit, what string, list []candidate) bool {
	s.progress("%s of %d kernels", what, len(units))
	ways := []way{{program: s.now, runs: s.runsOf(units)}}
	for _, c := range list {
		runs := s.runsOf(units)
		for _, u := range units {
			if r, ok := c.run(u); ok {
				u.fill(runs, r)
			}
		}
		ways = append(ways, way{program: s.now, runs: runs})
	}
	got := inTurns(ways, s.slice(0.25))
	s.wholes = got
	changed := false
	for _, u := range units {
		best := leasts{}
		best.took(0, u.sum(got[0]))
		for i, c := range list {
			if _, ok := c.run(u); ok && got[i+1].wrong == nil {
				best.took(i+1, u.sum(got[i+1]))
			}
		}
		b := best.least(0)
		s.tabled(u, what, list, best, b)
		if b > 0 && best[0]-best[b] > clockNanos {
			u.run, _ = list[b-1].run(u)
			u.saves += best[0] - best[b]
			changed = true
		}
	}
	return changed
}

// clockNanos is what reading the clock differs by.
const clockNanos = 40

// tabled notes the candidates of a unit; only those of units with a choice that matters are shown.
func (s *Search) tabled(u *unit, what string, list []candidate, best leasts, chosen int) {
	if len(best) < 2 {
		return
	}
	name := func(i int) string {
		r := u.run
		if i > 0 {
			r, _ = list[i-1].run(u)
		}
		return runText(r)
	}
	t := logs.Tuning{Op: u.op, Shapes: u.shapes, What: what, Chosen: name(chosen), Was: name(0)}
	for _, k := range u.kernels {
		t.Kernels = append(t.Kernels, s.now.Kernels()[k])
	}
	for i := range len(list) + 1 {
		if ns := best[i]; ns > 0 {
			t.Tried = append(t.Tried, logs.TunedWay{Name: name(i), Nanos: ns})
		}
	}
	u.tables = append(u.tables, len(s.record.Tables))
	s.add(t)
}

// runText says how a kernel runs.
func runText(r Run) string {
	var parts []string
	switch r.Threads {
	case 0:
	case 1:
		parts = append(parts, "1 thread")
	default:
		parts = append(parts, fmt.Sprintf("%d threads", r.Threads))
	}
	if r.Rows > 0 {
		parts = append(parts, fmt.Sprintf("%d x %d tiles", r.Rows, r.Cols))
	}
	return cmp.Or(strings.Join(parts, ", "), "default")
}

// fill writes a unit's run to its kernels.
func (u *unit) fill(runs []Run, r Run) {
	for _, k := range u.kernels {
		runs[k] = r
	}
}

func (u *unit) sum(t times) int64 {
	out := int64(0)
	for _, k := range u.kernels {
		if k < len(t.kernels) {
			out += t.kernels[k]
		}
	}
	return out
}

// runsOf is what was chosen so far.
func (s *Search) runsOf(units []*unit) []Run {
	out := make([]Run, len(s.now.Kernels()))
	for _, u := range units {
		u.fill(out, u.run)
	}
	return out
}

// keepRuns keeps what makes the whole faster: kernels share caches, and what is best for one alone may not be for its
// neighbours. So all choices, the half and the quarter that save most, and one number of threads for all kernels are timed
// in turns.
func (s *Search) keepRuns(units []*unit) {
	var chosen []*unit
	for _, u := range units {
		if u.run != (Run{}) {
			chosen = append(chosen, u)
		}
	}
	slices.SortStableFunc(chosen, func(a, b *unit) int { return cmp.Compare(b.saves, a.saves) })
	ways, kept := []way{{program: s.now}}, [][]*unit{nil}
	for n := len(chosen); n > 0 && len(ways) <= 3; n /= 2 {
		ways, kept = append(ways, way{s.now, s.runsOf(chosen[:n])}), append(kept, chosen[:n])
	}
	if s.alike > 0 {
		all := make([]Run, len(s.now.Kernels()))
		for i := range all {
			all[i].Threads = s.alike
		}
		ways, kept = append(ways, way{s.now, all}), append(kept, nil)
	}
	best := s.fastest(ways)
	if ways[best].runs != nil {
		s.best.Runs = map[string]Run{}
	}
	for i, name := range s.now.Kernels() {
		if runs := ways[best].runs; runs != nil && runs[i] != (Run{}) {
			s.best.Runs[name] = runs[i]
		}
	}
	s.leave(chosen[len(kept[best]):])
}

// fastest is the way whose whole takes least; the first unless another is faster.
func (s *Search) fastest(ways []way) int {
	if len(ways) == 1 {
		return 0
	}
	got := inTurns(ways, s.slice(0.2))
	best := 0
	for i := range got {
		if i > 0 && faster([]times{got[best], got[i]}, 0.995) {
			best = i
		}
	}
	return best
}

// leave notes that units run as they did.
func (s *Search) leave(units []*unit) {
	for _, u := range units {
		for _, i := range u.tables {
			s.record.Tables[i].Chosen = s.record.Tables[i].Was
		}
	}
}

// table is runs by position, nil for none.
func (s *Search) table(runs map[string]Run) []Run { return Table(s.now.Kernels(), runs) }

// Table is runs by the position of their kernels; nil where there are none.
func Table(kernels []string, runs map[string]Run) []Run {
	var out []Run
	for i, name := range kernels {
		if r, ok := runs[name]; ok {
			if out == nil {
				out = make([]Run, len(kernels))
			}
			out[i] = r
		}
	}
	return out
}

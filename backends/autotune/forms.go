package autotune

import (
	"maps"
	"math"
	"slices"

	"tcdbg/inductor/tune"
	"tcdbg/logs"
)

// This file is what is noted of candidates.

// clone copies choices.
func clone(c tune.Choices) tune.Choices {
	c.Forms, c.Runs = maps.Clone(c.Forms), maps.Clone(c.Runs)
	return c
}

func set(c *tune.Choices, key string, form int) {
	if c.Forms == nil {
		c.Forms = map[string]int{}
	}
	c.Forms[key] = form
}

// of is the time of some kernels of a program; 0 where they are not in it.
func (t *times) of(p Program, kernels []string) int64 {
	sum, names := int64(0), p.Kernels()
	for _, k := range kernels {
		i := slices.Index(names, k)
		if i < 0 || i >= len(t.kernels) {
			return 0
		}
		sum += t.kernels[i]
	}
	return sum
}

// leasts are the least times by number.
type leasts map[int]int64

func (l leasts) took(what int, ns int64) {
	if old, ok := l[what]; ns > 0 && (!ok || ns < old) {
		l[what] = ns
	}
}

// least is what was fastest, by enough to leave what there is.
func (l leasts) least(now int) int {
	best, limit := now, int64(math.MaxInt64)
	if l[now] > 0 {
		limit = int64(kernelMargin * float64(l[now]))
	}
	for _, what := range slices.Sorted(maps.Keys(l)) {
		if l[what] < limit {
			best, limit = what, l[what]
		}
	}
	return best
}

// formTable is the forms of equal convolutions.
type formTable struct {
	table  logs.Tuning
	form   int // now
	others []int
	best   leasts
}

func newFormTable(same []tune.Product, name func(int) string) *formTable {
	t := &formTable{form: same[0].Form, best: leasts{}}
	t.table = logs.Tuning{Op: same[0].Op, Shapes: same[0].Shapes, What: "form", Chosen: name(same[0].Form), Was: name(same[0].Form)}
	for _, p := range same {
		t.table.Kernels = append(t.table.Kernels, p.Kernel)
	}
	for _, f := range same[0].Forms {
		if f != t.form {
			t.others = append(t.others, f)
		}
	}
	return t
}

// next is the form of a round; false where there are no more.
func (t *formTable) next(round int) (int, bool) {
	if round >= len(t.others) {
		return 0, false
	}
	return t.others[round], true
}

// fill writes what was timed.
func (t *formTable) fill(chosen int, name func(int) string) {
	for _, f := range slices.Sorted(maps.Keys(t.best)) {
		t.table.Tried = append(t.table.Tried, logs.TunedWay{Name: name(f), Nanos: t.best[f]})
	}
	t.table.Chosen = name(chosen)
}

// noted adds a way to a table, or lowers its time.
func noted(t *logs.Tuning, name string, got times) {
	if got.wrong == nil && got.calls == 0 {
		return
	}
	w := logs.TunedWay{Name: name, Nanos: got.whole}
	if got.wrong != nil {
		w = logs.TunedWay{Name: name, Wrong: got.wrong.Error()}
	}
	if i := slices.IndexFunc(t.Tried, func(o logs.TunedWay) bool { return o.Name == name }); i >= 0 {
		if o := &t.Tried[i]; o.Nanos == 0 || w.Nanos > 0 && w.Nanos < o.Nanos {
			*o = w
		}
		return
	}
	t.Tried = append(t.Tried, w)
}

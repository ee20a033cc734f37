package tui

import (
	"cmp"
	"slices"
	"time"

	"tcdbg/explain"
)

// This file sorts the recompiles: the functions by what their recompiles come to, and below each
// heading its recompiles by the same.

// chain is the recompiles of a function that are shown.
type chain struct {
	head int32 // the heading; -1: the function is not known
	rows []chained
}

// chained is a recompile, and which of all rows it is.
type chained struct {
	i int32
	*recompileRow
}

// recompileOrder sorts recompiles. of compares those of one function, and where a filter leaves no
// headings all of them; chains compares functions by theirs.
func recompileOrder(of func(a, b chained) int, chains func(a, b []chained) int) func(rows rowsOf, shown []int32) {
	return func(rows rowsOf, shown []int32) {
		list, blanks := chainsOf(rows, shown)
		for i := range list {
			slices.SortStableFunc(list[i].rows, of)
		}
		slices.SortStableFunc(list, func(a, b chain) int {
			if a.head < 0 || b.head < 0 { // what has no heading comes before all that have one
				return cmp.Compare(a.head, b.head)
			}
			return chains(a.rows, b.rows)
		})
		at := 0
		put := func(i int32) {
			shown[at] = i
			at++
		}
		for i, c := range list {
			if i > 0 && len(blanks) > 0 {
				put(blanks[0])
				blanks = blanks[1:]
			}
			if c.head >= 0 {
				put(c.head)
			}
			for _, r := range c.rows {
				put(r.i)
			}
		}
		for _, i := range blanks {
			put(i)
		}
	}
}

// chainsOf groups what is shown by function; where no heading is, all of it is one group. blanks are
// the empty lines between groups.
func chainsOf(rows rowsOf, shown []int32) (list []chain, blanks []int32) {
	at := map[*explain.Frame]int{}
	of := func(f *explain.Frame) *chain {
		k, ok := at[f]
		if !ok {
			k = len(list)
			at[f], list = k, append(list, chain{head: -1})
		}
		return &list[k]
	}
	for _, i := range shown {
		if r, ok := rows.At(int(i)).(*chainRow); ok {
			of(r.f).head = i
		}
	}
	headed := len(list) > 0
	for _, i := range shown {
		switch r := rows.At(int(i)).(type) {
		case *recompileRow:
			var f *explain.Frame
			if headed && r.rc.Compile != nil {
				f = r.rc.Compile.Frame
			}
			c := of(f)
			c.rows = append(c.rows, chained{i, r})
		case *chainRow:
		default:
			blanks = append(blanks, i)
		}
	}
	return list, blanks
}

// recompileOrders are the ways to sort recompiles.
func recompileOrders() []order {
	sum := func(rows []chained) (s float64) {
		for _, r := range rows {
			s += r.seconds()
		}
		return s
	}
	first := func(of func(a, b chained) int) func(a, b []chained) int {
		return func(a, b []chained) int { return of(a[0], b[0]) }
	}
	newest := func(a, b chained) int { return cmp.Or(b.start().Compare(a.start()), cmp.Compare(b.i, a.i)) }
	byLine := func(a, b chained) int { return comparePos(recompileSel(a.rc).Pos, recompileSel(b.rc).Pos) }
	return []order{
		{name: "by function, as they came"},
		{name: "most compile time first", arrange: recompileOrder(
			func(a, b chained) int { return cmp.Compare(b.seconds(), a.seconds()) },
			func(a, b []chained) int { return cmp.Compare(sum(b), sum(a)) },
		)},
		{name: "most often first", arrange: recompileOrder(
			func(a, b chained) int { return cmp.Compare(b.times, a.times) },
			func(a, b []chained) int { return cmp.Compare(len(b), len(a)) },
		)},
		{name: "by line", arrange: recompileOrder(byLine, first(byLine))},
		{name: "newest first", arrange: recompileOrder(newest, first(newest)), newest: true},
	}
}

// seconds is what the compile took.
func (r *recompileRow) seconds() float64 {
	if r.rc.Compile == nil {
		return 0
	}
	return r.rc.Compile.Seconds
}

// start is when the compile began; the zero time where that is not known.
func (r *recompileRow) start() (t time.Time) {
	if r.rc.Compile != nil {
		t = r.rc.Compile.Start
	}
	return t
}

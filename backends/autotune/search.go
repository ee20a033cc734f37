// Package autotune chooses by timing: it is given a graph as the cost models have it and a way to build it otherwise,
// times candidates in turns, and keeps what is faster beyond noise. What a candidate computes, and how it is built, is
// its caller's (package backends).
//
// It imports inductor/tune and logs of ours. Open this file first (what is tried in which order), then measure.go (how
// it is timed) and runs.go (threads and tiles, for which nothing is built).
package autotune

import (
	"fmt"
	"slices"
	"time"

	"tcdbg/inductor/tune"
	"tcdbg/logs"
)

// Run is how a kernel runs.
type Run = tune.Run

// Search is one search for one graph.
type Search struct {
	// Build builds the graph with some choices and lists its products; its outputs are held against those of the graph by
	// default: an error says that they differ, or that it could not be built.
	Build func(c tune.Choices) (Program, []tune.Product, error)
	// Variants are choices for the whole graph that are worth trying.
	Variants []Variant
	// Last are those that leave kernels what they are: they are tried when those have been chosen.
	Last []Variant
	// FormName names a convolution's form.
	FormName func(int) string
	Threads  int
	Runs     bool // how kernels run may be chosen
	Budget   time.Duration
	// Only is which kernels are tried.
	Only Part
	// Descent tries the neighbours of what was chosen until none is better.
	Descent bool
	// Progress is told what is tried; may be nil.
	Progress func(what string)

	start  time.Time
	built  time.Duration
	best   tune.Choices
	base   Program // by default
	now    Program // with best
	prods  []tune.Product
	record *logs.Autotuning
	wholes []times // of the last candidates of kernels
	alike  int     // threads for all kernels, 0: each its own
}

// Part is a part of the kernels.
type Part uint8

// The parts.
const (
	All      Part = iota
	Products      // and convolutions
	Others
)

// Variant is a choice for the whole graph.
type Variant struct {
	What, Name string
	Set        func(c *tune.Choices)
}

// By how much a candidate has to be faster, the least of many calls of each: for a kernel, and for the whole graph where
// it stays.
const (
	kernelMargin = 0.98
	graphMargin  = 0.97
)

// Do searches. The record says what was tried; choices that did not make the whole graph faster beyond noise are not
// returned.
func (s *Search) Do() (tune.Choices, *logs.Autotuning, error) {
	s.start = time.Now()
	s.record = &logs.Autotuning{Threads: s.Threads}
	var err error
	if s.base, s.prods, err = s.build(tune.Choices{}); err != nil {
		return tune.Choices{}, nil, err
	}
	defer s.close()
	s.now = s.base
	s.variants(s.Variants, 0.4)
	if s.Only != Others {
		s.forms()
	}
	if s.Runs {
		s.runs()
	}
	s.variants(s.Last, 0.8)
	s.settle()
	s.record.Seconds, s.record.Build = time.Since(s.start).Seconds(), s.built.Seconds()
	return s.best, s.record, nil
}

func (s *Search) close() {
	if s.now != s.base {
		s.now.Close()
	}
	s.base.Close()
}

// build builds and counts the time.
func (s *Search) build(c tune.Choices) (Program, []tune.Product, error) {
	start := time.Now()
	defer func() { s.built += time.Since(start) }()
	return s.Build(c)
}

func (s *Search) progress(format string, args ...any) {
	if s.Progress != nil {
		s.Progress(fmt.Sprintf(format, args...))
	}
}

// over reports whether a part of the budget is spent, and notes it.
func (s *Search) over(part float64) bool {
	if time.Since(s.start) < time.Duration(part*float64(s.Budget)) {
		return false
	}
	s.record.Ended = fmt.Sprintf("%.0f s were over", s.Budget.Seconds())
	return true
}

// slice is a part of the budget, of what is left of it.
func (s *Search) slice(part float64) time.Duration {
	return time.Duration(part * float64(max(s.Budget/20, s.Budget-time.Since(s.start))))
}

// accept makes a program what others are held against.
func (s *Search) accept(p Program, prods []tune.Product, c tune.Choices) {
	if s.now != s.base {
		s.now.Close()
	}
	s.now, s.prods, s.best = p, prods, c
}

// variants tries choices for the whole graph, one after the other, each on top of what was faster.
func (s *Search) variants(list []Variant, part float64) {
	tables := map[string]*logs.Tuning{}
	var order []string
	for i, v := range list {
		if s.over(part) {
			break
		}
		s.progress("%s %s, %d of %d", v.What, v.Name, i+1, len(list))
		t := tables[v.What]
		if t == nil {
			t = &logs.Tuning{Op: "graph", What: v.What, Chosen: "default", Was: "default"}
			tables[v.What], order = t, append(order, v.What)
		}
		s.variant(v, t)
	}
	for _, what := range order {
		s.add(*tables[what])
	}
}

// variant tries one.
func (s *Search) variant(v Variant, t *logs.Tuning) {
	c := clone(s.best)
	v.Set(&c)
	p, prods, err := s.build(c)
	if err != nil {
		t.Tried = append(t.Tried, logs.TunedWay{Name: v.Name, Wrong: err.Error()})
		return
	}
	if p.Code() == s.now.Code() { // it changes nothing here
		p.Close()
		return
	}
	ways := []way{{s.now, s.table(s.best.Runs)}, {p, Table(p.Kernels(), c.Runs)}}
	got := inTurns(ways, s.slice(0.04))
	if faster(got, graphMargin) { // once more: a lucky round is not enough
		again := inTurns(ways, s.slice(0.04))
		if !faster(again, graphMargin) {
			got[1].whole = max(got[1].whole, again[1].whole)
			got[0].whole = min(got[0].whole, again[0].whole)
		}
	}
	noted(t, "default", got[0])
	noted(t, v.Name, got[1])
	if faster(got, graphMargin) {
		t.Chosen = v.Name
		s.accept(p, prods, c)
		return
	}
	p.Close()
}

func faster(got []times, margin float64) bool {
	return got[1].wrong == nil && got[1].calls > 0 && float64(got[1].whole) < margin*float64(got[0].whole)
}

// forms tries the forms of all convolutions at once, each its next one, and takes for each what was fastest.
func (s *Search) forms() {
	byKey, keys := map[string][]tune.Product{}, []string(nil)
	for _, p := range s.prods {
		if len(p.Forms) > 1 {
			if byKey[p.Key] == nil {
				keys = append(keys, p.Key)
			}
			byKey[p.Key] = append(byKey[p.Key], p)
		}
	}
	tables := map[string]*formTable{}
	for _, k := range keys {
		tables[k] = newFormTable(byKey[k], s.FormName)
	}
	for round := 0; len(keys) > 0 && !s.over(0.55); round++ {
		c, any := clone(s.best), false
		for _, k := range keys {
			if f, ok := tables[k].next(round); ok {
				set(&c, k, f)
				any = true
			}
		}
		if !any {
			break
		}
		s.progress("forms of %d convolutions, %d", len(keys), round+1)
		s.tryForms(c, keys, tables, round)
	}
	s.takeForms(keys, tables)
}

// tryForms times one round.
func (s *Search) tryForms(c tune.Choices, keys []string, tables map[string]*formTable, round int) {
	p, _, err := s.build(c)
	if err != nil {
		for _, k := range keys {
			if f, ok := tables[k].next(round); ok {
				tables[k].table.Tried = append(tables[k].table.Tried, logs.TunedWay{Name: s.FormName(f), Wrong: err.Error()})
			}
		}
		return
	}
	defer p.Close()
	got := inTurns([]way{{program: s.now}, {program: p}}, s.slice(0.06))
	for _, k := range keys {
		t := tables[k]
		t.best.took(t.form, got[0].of(s.now, t.table.Kernels))
		if f, ok := t.next(round); ok && got[1].wrong == nil {
			t.best.took(f, got[1].of(p, t.table.Kernels))
		}
	}
}

// takeForms builds what was fastest of each, and keeps it where the whole is faster.
func (s *Search) takeForms(keys []string, tables map[string]*formTable) {
	c, changed := clone(s.best), false
	for _, k := range keys {
		t := tables[k]
		f := t.best.least(t.form)
		t.fill(f, s.FormName)
		if f != t.form {
			set(&c, k, f)
			changed = true
		}
	}
	if changed {
		kept := s.keep(c)
		for _, k := range keys {
			if t := tables[k]; !kept {
				t.table.Chosen = s.FormName(t.form)
			}
		}
	}
	for _, k := range keys {
		s.add(tables[k].table)
	}
}

// keep builds the graph with choices and makes it what others are held against, where it is faster as a whole.
func (s *Search) keep(c tune.Choices) bool {
	p, prods, err := s.build(c)
	if err != nil {
		return false
	}
	got := inTurns([]way{{program: s.now}, {program: p}}, s.slice(0.08))
	if !faster(got, 0.995) {
		p.Close()
		return false
	}
	s.accept(p, prods, c)
	return true
}

// settle times the whole by default and with what was chosen, and drops that unless it is faster beyond noise.
func (s *Search) settle() {
	s.progress("the whole graph by default and as chosen")
	runs := s.table(s.best.Runs)
	ways := []way{{s.base, nil}, {s.now, runs}}
	if s.now == s.base && runs == nil {
		got := inTurns(ways[:1], s.slice(0.02))
		s.record.Default, s.record.Chosen, s.record.Kept = got[0].whole, got[0].whole, true
		return
	}
	got := inTurns(ways, s.slice(0.2))
	s.record.Default, s.record.Chosen = got[0].whole, got[1].whole
	if !faster(got, graphMargin) {
		s.record.Kept, s.best = true, tune.Choices{}
		for i := range s.record.Tables {
			s.record.Tables[i].Chosen = s.record.Tables[i].Was
		}
	}
}

// add adds a table that has something to choose from.
func (s *Search) add(t logs.Tuning) {
	if len(t.Tried) == 0 {
		return
	}
	slices.SortStableFunc(t.Tried, func(a, b logs.TunedWay) int {
		switch { // what could not be timed comes last
		case (a.Nanos == 0) != (b.Nanos == 0):
			return map[bool]int{true: 1, false: -1}[a.Nanos == 0]
		case a.Nanos < b.Nanos:
			return -1
		case a.Nanos > b.Nanos:
			return 1
		}
		return 0
	})
	s.record.Tables = append(s.record.Tables, t)
}

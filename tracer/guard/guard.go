package guard

import (
	"unsafe"

	"tcdbg/logs"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"
)

// This file is guards: what a cache entry relies on, tested on every entry.

// Guard is one leaf of the guard tree.
type Guard struct {
	kind   Kind
	Source *value.Source
	text   string // the check as printed
	want   string
	pos    logs.Pos
	Test   func(a *Addresses) bool
	// actual describes what is there now; only called after a failure.
	actual func(a *Addresses) Failure
	probe  *Probe
	form   form // how a program tests it
}

// Failure is what a guard found.
type Failure struct {
	actual  string
	message string // PyTorch's words; empty: the guard's text
	dim     int    // -1
	broken  bool   // the path to the value does not exist
}

// Set collects the guards of a trace; equal ones are kept once. What a guard tests
// later it gets from the interpreter: nothing of the trace is kept.
type Set struct {
	List  []*Guard
	seen  map[guardKey]bool
	asked map[asked]bool
	in    *host.Interp
	entry *Addresses      // of the traced call
	pos   func() logs.Pos // the line that is being traced
	grad  bool            // the gradient mode is guarded
}

// guardKey is what equal guards have in common.
type guardKey struct {
	kind Kind
	slot int // of the source; -1: it has none
	text string
}

// asked is a question to the value of a source that a trace asks each time it reads the value: what it was answered the first time
// is guarded already, and a further guard would be made to be thrown away.
type asked struct {
	of    *value.Source
	kind  Kind
	given int // the answer
}

// again reports whether a guard was asked for before, and notes it.
func (gs *Set) again(s *value.Source, kind Kind, given int) bool {
	key := asked{s, kind, given}
	if gs.asked[key] {
		return true
	}
	gs.asked[key] = true
	return false
}

func NewSet(in *host.Interp, entry *Addresses, pos func() logs.Pos) *Set {
	return &Set{in: in, entry: entry, pos: pos, seen: map[guardKey]bool{}, asked: map[asked]bool{}}
}

func (gs *Set) add(g *Guard) {
	key := guardKey{kind: g.kind, slot: -1, text: g.text}
	if g.Source != nil { // two places may print alike
		key.slot = g.Source.Slot
	}
	if gs.seen[key] {
		return
	}
	gs.seen[key] = true
	gs.List = append(gs.List, g)
}

// Check adds a guard of a kind that has no method of its own here. It returns it so that it
// can say what it is found by.
func (gs *Set) Check(
	kind Kind, s *value.Source, text, want string, test func(a *Addresses) bool, actual func(a *Addresses) Failure,
) *Guard {
	g := &Guard{kind: kind, Source: s, text: text, want: want, pos: gs.pos(), Test: test, actual: actual}
	gs.add(g)
	return g
}

// at wraps a test on the value at s: a broken path fails.
func at(s *value.Source, f func(p unsafe.Pointer) bool) func(*Addresses) bool {
	return func(a *Addresses) bool {
		p := a.At(s)
		return p != nil && f(p)
	}
}

// found wraps the description of the value at s.
func found(s *value.Source, f func(p unsafe.Pointer) Failure) func(*Addresses) Failure {
	return func(a *Addresses) Failure {
		p := a.At(s)
		if p == nil {
			return Failure{actual: "unreachable", dim: -1, broken: true}
		}
		return f(p)
	}
}

func plain(text string) Failure { return Failure{actual: text, dim: -1} }

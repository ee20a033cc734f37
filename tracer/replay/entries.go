package replay

import (
	"slices"
	"sync"
	"sync/atomic"

	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
)

// This file is the entries of one place, and how a call finds the one that fits: by testing
// one after the other while there are few, else by a word of the call in which they differ.

// Entries are the cache entries of one place, in the order in which they were made. Calls
// may look for theirs while one is added.
type Entries struct {
	list   atomic.Pointer[[]*Entry]
	index  atomic.Pointer[index]
	change atomic.Int64 // grows as a change begins, and as it ends
}

// State is one number between two changes, and odd amid a change.
func (es *Entries) State() int64 { return es.change.Load() }

// List is all entries. It is not to be changed.
func (es *Entries) List() []*Entry {
	if p := es.list.Load(); p != nil {
		return *p
	}
	return nil
}

// Clear forgets all.
func (es *Entries) Clear() {
	es.change.Add(1)
	defer es.change.Add(1)
	es.list.Store(nil)
	es.index.Store(nil)
}

// Add adds the newest entry. One at a time may be added.
func (es *Entries) Add(e *Entry) {
	es.change.Add(1)
	defer es.change.Add(1)
	list := append(es.List(), e) // no list that anybody holds reaches as far
	es.list.Store(&list)
	switch n := len(list); {
	case n >= indexFrom && n&(n-1) == 0: // another word may tell them apart better by now
		es.index.Store(newIndex(list))
	default:
		if ix := es.index.Load(); ix != nil {
			ix.add(e)
		}
	}
}

// Find returns the first entry whose guards hold, with the addresses of the call.
func (es *Entries) Find(in *host.Interp, frames []*host.Frame) (*Entry, *guard.Addresses) {
	ix := es.index.Load()
	if ix == nil {
		return first(in, frames, es.List(), nil)
	}
	likely, rest := ix.look(in, frames)
	return first(in, frames, likely, rest)
}

// Plainly returns what Find has to find, by each guard's own test.
func (es *Entries) Plainly(in *host.Interp, frames []*host.Frame) *Entry {
	for _, e := range es.List() {
		a := guard.TakeAddresses(in, frames, e.Sources)
		holds := a.Hold(e.Guards)
		a.Release()
		if holds {
			return e
		}
	}
	return nil
}

// first tests the entries of two lists in the order in which they were made.
func first(in *host.Interp, frames []*host.Frame, x, y []*Entry) (*Entry, *guard.Addresses) {
	for len(x) > 0 || len(y) > 0 {
		if len(x) == 0 || len(y) > 0 && y[0].ID.Compile < x[0].ID.Compile {
			x, y = y, x
		}
		e := x[0]
		x = x[1:]
		a := guard.TakeAddresses(in, frames, e.Sources)
		if e.Holds(a) {
			return e, a
		}
		a.Release()
	}
	return nil, nil
}

// indexFrom is from how many entries on a word is looked for that tells them apart: PyTorch's
// limit, which few programs raise, is half of it.
const indexFrom = 16

// index has entries by the word that one of their guards compares.
type index struct {
	name    string
	probe   *guard.Probe // of one of them
	sources int          // of the same
	entries sync.Map     // uint64 -> []*Entry
	rest    atomic.Pointer[[]*Entry]
}

// newIndex finds the word by which the fewest entries are left to be tested; nil where none
// leaves less than half.
func newIndex(list []*Entry) *index {
	type word struct {
		probe   *guard.Probe
		sources int
		alike   map[uint64]int
		having  int
	}
	words := map[string]*word{}
	for _, e := range list {
		had := map[string]bool{}
		for _, g := range e.Guards {
			p := g.Probe()
			if p == nil {
				continue
			}
			name := p.Name()
			if had[name] {
				continue
			}
			had[name] = true
			w := words[name]
			if w == nil {
				w = &word{probe: p, sources: e.Sources, alike: map[uint64]int{}}
				words[name] = w
			}
			w.having++
			w.alike[p.Want]++
		}
	}
	n := len(list)
	var ix *index
	least := n * n / 2
	for name, w := range words {
		tests := (n - w.having) * n // over calls of every entry
		for _, c := range w.alike {
			tests += c * c
		}
		if tests < least || ix != nil && tests == least && name < ix.name {
			ix, least = &index{name: name, probe: w.probe, sources: w.sources}, tests
		}
	}
	if ix != nil {
		for _, e := range list {
			ix.add(e)
		}
	}
	return ix
}

func (ix *index) add(e *Entry) {
	i := slices.IndexFunc(e.Guards, func(g *guard.Guard) bool {
		p := g.Probe()
		return p != nil && p.Name() == ix.name
	})
	if i < 0 {
		var rest []*Entry
		if p := ix.rest.Load(); p != nil {
			rest = *p
		}
		rest = append(rest, e)
		ix.rest.Store(&rest)
		return
	}
	want := e.Guards[i].Probe().Want
	alike, _ := ix.entries.Load(want)
	list, _ := alike.([]*Entry)
	ix.entries.Store(want, append(list, e))
}

// look returns the entries that have the call's word, and those that ask for none.
func (ix *index) look(in *host.Interp, frames []*host.Frame) (likely, rest []*Entry) {
	a := guard.TakeAddresses(in, frames, ix.sources)
	word, ok := ix.probe.Read(a)
	a.Release()
	if ok {
		alike, _ := ix.entries.Load(word)
		likely, _ = alike.([]*Entry)
	}
	if p := ix.rest.Load(); p != nil {
		rest = *p
	}
	return likely, rest
}

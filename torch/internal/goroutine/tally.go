package goroutine

import "sync/atomic"

// Tally is some counters for each goroutine, all 0 at first.
type Tally struct{ slots slots[Counts] }

// Counts are the counters of one goroutine, which alone reads and writes them.
type Counts [2]atomic.Int64

// Cheap reports whether finding the counters of a goroutine takes no more than a few loads.
func Cheap() bool { return readable && idPlace() >= 0 }

// Here returns the counters of the calling goroutine.
func (t *Tally) Here() *Counts {
	m := memory()
	s := t.slots.find(m)
	if s == nil {
		s = t.slots.add(m)
	}
	if me := id(); s.owner.Load() != me { // the goroutine before in this memory is over
		s.owner.Store(me)
		for i := range s.value {
			s.value[i].Store(0)
		}
	}
	return &s.value
}

package stop

import (
	"math"
	"time"
)

// This file digests the state of a program that runs and is kept, from time to time: when it
// is run again, it has to be the same there.

const (
	firstCheck = 100 * time.Millisecond
	// rarely is how much longer the program runs between checks than one takes.
	rarely = 60
	// most is how many are kept; of more, every other one goes.
	most = 256
)

// checkIn asks for a check after a time.
func (b *back) checkIn(after time.Duration) {
	if m := b.d.moments; m != nil && b.start != nil {
		time.AfterFunc(after, func() { m.next.Store(0) })
	}
}

// check digests the state at a moment, where it is time for that.
func (b *back) check(at Position, arrive func() *stopped) {
	m := b.d.moments
	if m == nil || b.start == nil || !at.plain() || m.next.Load() != 0 {
		return
	}
	m.next.Store(math.MaxInt64)
	if why, _ := m.tape.Refusal(); why != "" {
		return // no moment from now on can be gone back to
	}
	begin := time.Now()
	s := arrive()
	fr := b.d.stack(s)
	c := Check{Position: at, Digest: digest(b.d, s, fr)}
	if len(fr) > 0 {
		c.Where = shortPos(fr[0].Pos)
	}
	b.others = append(b.others, c)
	if len(b.others) > most {
		n := 0
		for i := 0; i < len(b.others); i += 2 {
			b.others[n] = b.others[i]
			n++
		}
		b.others = b.others[:n]
	}
	b.checkIn(max(firstCheck, rarely*time.Since(begin)))
}

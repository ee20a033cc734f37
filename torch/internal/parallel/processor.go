package parallel

import (
	"sync/atomic"
	"time"
)

// This file is how the threads of an operator come apart that share a processor. Where
// the system counts what a group of processes may use at all (autogroups), it was seen
// to leave both on one processor for long beside another busy program.

const (
	// moveEvery is the least time between two moves: the system may have its reasons.
	moveEvery = 200 * time.Microsecond
	// tryEvery is that after a move that was refused.
	tryEvery = time.Second
)

// mover moves threads now and then.
type mover struct {
	began time.Time
	next  atomic.Int64 // when the next one may move, in nanoseconds from began
	moves atomic.Int64
}

var movers = mover{began: time.Now()}

// leave moves the running thread off a processor, unless one has moved just now.
func (m *mover) leave(processor int) {
	now, next := int64(time.Since(m.began)), m.next.Load()
	if now < next || !m.next.CompareAndSwap(next, now+int64(moveEvery)) {
		return
	}
	if leaveProcessor(processor) {
		m.moves.Add(1)
	} else {
		m.next.Store(now + int64(tryEvery))
	}
}

package parallel

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"tcdbg/torch/internal/simd"
)

// mayUse is the processors that the running thread may use.
func mayUse(t *testing.T) cpuSet {
	t.Helper()
	var s cpuSet
	if _, ok := s.call(syscall.SYS_SCHED_GETAFFINITY); !ok {
		t.Skip("the system does not say which processors there are")
	}
	return s
}

// TestThreadsComeApart: a helper on the caller's processor goes to another one, and may
// use all of them afterwards. The system may bring it back at any time: once of many
// times is enough.
func TestThreadsComeApart(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if simd.Processor() < 0 || runtime.NumCPU() < 2 {
		t.Skip("needs two processors that say which they are")
	}
	before := mayUse(t)
	moved := false
	for range 100 {
		work := &team{f: func(int) {}, n: 1}
		work.open.Add(1)
		at := simd.Processor()
		work.place.Store(int64(at))
		movers.next.Store(0)
		work.help()
		moved = moved || simd.Processor() != at
	}
	if !moved {
		t.Error("the helper stays where the caller is")
	}
	if after := mayUse(t); after != before {
		t.Errorf("may use %x afterwards, %x before", after[:2], before[:2])
	}
}

// TestMovesAreRare: no move follows another one at once, nor one that was refused.
func TestMovesAreRare(t *testing.T) {
	m := &mover{began: time.Now()}
	m.next.Store(int64(time.Hour))
	m.leave(0)
	if m.moves.Load() != 0 {
		t.Error("moves too early")
	}
	m.next.Store(0)
	m.leave(1 << 20) // no such processor
	if m.moves.Load() != 0 || m.next.Load() < int64(tryEvery) {
		t.Errorf("%d moves, the next one may come after %v", m.moves.Load(), time.Duration(m.next.Load()))
	}
}

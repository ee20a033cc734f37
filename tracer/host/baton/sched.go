package baton

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
	"weak"

	"tcdbg/tracer/host/journal"
)

// This file is the baton: who runs, and who is next.

// Sched has the goroutines of one program.
type Sched struct {
	// Deadlock is called where all goroutines wait for each other, with how many there are. It
	// must not return.
	Deadlock func(left int)
	// Turned, where set, is called by a goroutine that goes on after others have run.
	Turned func()
	// Start makes the func value in the word at p a function for a goroutine of its own.
	Start func(p unsafe.Pointer) func()

	tape   *journal.Tape
	still  atomic.Int32 // expressions are being evaluated: nothing may wait
	free   atomic.Bool  // everybody runs
	number atomic.Int64 // of running

	mu      sync.Mutex
	running *routine
	ready   []*routine
	left    int // goroutines that have not ended
	last    int // the number of the newest
	ended   bool
	dead    bool

	waits   int // since the start
	turns   int
	Chans   *Chans
	Locks   *Locks
	clock   *Clock
	random  *rand.Rand
	shuffle *rand.Rand // of tests: turns of any length
}

// routine is a goroutine of the program.
type routine struct {
	number int
	run    chan struct{}
}

// parked is one wait of a goroutine.
type parked struct {
	r    *routine
	nth  int // which wait of the program it is
	over bool
}

// Main is the number of the goroutine of main.
const Main = 1

// slice is how many loops a goroutine runs while others want to.
const slice = 1 << 14

// New returns a scheduler whose baton is the goroutine's of main.
func New(t *journal.Tape) *Sched {
	seeds := t.Seeds()
	s := &Sched{tape: t, left: 1, last: Main, random: rand.New(rand.NewPCG(seeds[0], seeds[1]))}
	s.Chans = &Chans{s, map[unsafe.Pointer]*channel{}}
	s.Locks = &Locks{s, map[unsafe.Pointer]*lock{}, map[*sync.WaitGroup][]*parked{}, map[*sync.Once][]*parked{}, map[*sync.Cond][]*ticket{}}
	s.clock = &Clock{Sched: s, ends: map[weak.Pointer[time.Timer]]*timer{}, ticks: map[weak.Pointer[time.Ticker]]*timer{}}
	if x := t.Shuffled(); x != 0 {
		s.shuffle = rand.New(rand.NewPCG(x, 1))
	}
	s.running = newRoutine(Main)
	s.number.Store(Main)
	t.OnEnd(func() { go s.Free() })
	return s
}

func newRoutine(n int) *routine { return &routine{n, make(chan struct{}, 1)} }

// Serial reports whether one goroutine runs at a time.
func (s *Sched) Serial() bool { return s != nil && !s.free.Load() }

// Running is the number of the goroutine that has the baton; the caller has it, or that one
// stands.
func (s *Sched) Running() int {
	if s == nil || s.free.Load() {
		return 0
	}
	return int(s.number.Load())
}

// Still says that an expression is about to be evaluated while the program stands, until the
// function that it returns is called: what would wait is refused.
func (s *Sched) Still() func() {
	if s == nil {
		return func() {}
	}
	s.still.Add(1)
	return func() { s.still.Add(-1) }
}

var errStill = errors.New("it waits for another goroutine, and at a stop none runs")

// isStill reports whether an expression is being evaluated.
func (s *Sched) isStill() bool { return s.still.Load() > 0 && !s.free.Load() }

// Go runs f as a goroutine, and returns its number.
func (s *Sched) Go(f func()) int {
	if s.isStill() {
		panic(errors.New("it starts a goroutine, and at a stop none runs"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start(f)
}

// start is Go with s.mu held.
func (s *Sched) start(f func()) int {
	s.left++
	s.last++
	r := newRoutine(s.last)
	go func() {
		<-r.run
		defer s.exit()
		f()
	}()
	s.wake(r)
	return r.number
}

// exit ends the goroutine that runs.
func (s *Sched) exit() {
	s.mu.Lock()
	s.left--
	s.running = nil
	s.next()
	s.unlock()
}

// Exit ends the goroutine of main where main has not returned: the others go on.
func (s *Sched) Exit() { s.exit() }

// End is the end of the program: nobody runs any more.
func (s *Sched) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// self is the goroutine that calls.
func (s *Sched) self() *routine {
	if s.free.Load() || s.running == nil {
		return newRoutine(0)
	}
	return s.running
}

// park notes that the calling goroutine is about to wait. Nothing may wait while an expression
// is being evaluated.
func (s *Sched) park() *parked {
	if s.isStill() {
		s.mu.Unlock()
		panic(errStill)
	}
	s.waits++
	return &parked{r: s.self(), nth: s.waits}
}

// wait hands the baton over until p is over. s.mu is held; it is not afterwards.
func (s *Sched) wait(p *parked) {
	if s.running == p.r {
		s.running = nil
		s.next()
	}
	s.unlock()
	<-p.r.run
	s.turned()
}

// turned tells that the goroutine goes on.
func (s *Sched) turned() {
	if s.Turned != nil {
		s.Turned()
	}
}

// unlock releases s.mu and ends a program that cannot go on.
func (s *Sched) unlock() {
	dead, left := s.dead, s.left
	s.mu.Unlock()
	if dead {
		s.Deadlock(left)
	}
}

// end ends a wait.
func (s *Sched) end(p *parked) {
	p.over = true
	s.wake(p.r)
}

// wake lets a goroutine run when it is its turn.
func (s *Sched) wake(r *routine) {
	if s.free.Load() {
		r.run <- struct{}{}
		return
	}
	s.ready = append(s.ready, r)
}

// Yield lets the others run first.
func (s *Sched) Yield() {
	if s.free.Load() || s.still.Load() > 0 {
		return
	}
	s.mu.Lock()
	if !s.several() {
		s.mu.Unlock()
		return
	}
	r := s.self()
	s.wake(r)
	s.running = nil
	s.next()
	mine := s.running == r
	if mine { // its own turn again
		<-r.run
	}
	s.unlock()
	if !mine {
		<-r.run
		s.turned()
	}
}

// several reports whether anybody but the calling goroutine may come to run.
func (s *Sched) several() bool { return !s.free.Load() && (s.left > 1 || len(s.clock.timers) > 0) }

// Slice is called by a goroutine that has run for as many loops as Slice has said before. It
// returns how many it may run now.
func (s *Sched) Slice() int32 {
	s.Yield()
	if s.shuffle != nil && s.Serial() && s.still.Load() == 0 {
		return s.shuffle.Int32N(20)
	}
	return slice
}

// next hands the baton to whoever is next, and leaves it where all wait. s.mu is held, and
// nobody runs.
func (s *Sched) next() {
	if s.ended || s.free.Load() || s.running != nil {
		return
	}
	if s.tape.Again() {
		s.nextAgain()
		return
	}
	for {
		if due := s.clock.timers.due(); due != nil {
			s.tape.Switch(0)
			s.tape.Switch(uint64(due.number))
			s.clock.fire(due)
			continue
		}
		if len(s.ready) == 0 {
			s.look()
		}
		if len(s.ready) > 0 {
			i := 0
			if s.shuffle != nil {
				i = rand.IntN(len(s.ready))
			}
			s.tape.Switch(uint64(s.ready[i].number))
			s.hand(i)
			return
		}
		if s.dead = len(s.clock.timers) == 0; !s.dead {
			s.clock.alarmAt(s.clock.timers[0].when)
		}
		return
	}
}

// nextAgain is next in a program that runs again.
func (s *Sched) nextAgain() {
	for {
		n, ok := s.tape.Switched()
		if !ok {
			s.tape.Lose("its goroutines go on where the journal has no more")
			return
		}
		if n == 0 {
			n, _ = s.tape.Switched()
			t := s.clock.timers.numbered(int(n))
			if t == nil {
				s.tape.Lose("a timer ends that it does not have")
				return
			}
			s.clock.fire(t)
			continue
		}
		if len(s.ready) == 0 {
			s.look()
		}
		i := slices.IndexFunc(s.ready, func(r *routine) bool { return r.number == int(n) })
		if i < 0 {
			s.tape.Lose("its goroutines run in another order")
			return
		}
		s.hand(i)
		return
	}
}

// hand gives the baton to one that is ready.
func (s *Sched) hand(i int) {
	r := s.ready[i]
	s.ready = slices.Delete(s.ready, i, i+1)
	s.running = r
	s.number.Store(int64(r.number))
	s.turns++
	r.run <- struct{}{}
}

// Free ends the baton: all goroutines run at the same time from now on.
func (s *Sched) Free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free.Swap(true) {
		return
	}
	for _, r := range s.ready {
		r.run <- struct{}{}
	}
	s.ready, s.running = nil, nil
	if s.clock.alarm != nil {
		s.clock.alarm.Stop()
	}
	for _, t := range s.clock.timers {
		s.clock.realTimer(t)
	}
	s.clock.timers = nil
	go func() {
		for !s.isEnded() {
			time.Sleep(rest)
			s.mu.Lock()
			s.look()
			s.mu.Unlock()
		}
	}()
}

// rest is how often what compiled code may have changed is looked at without a baton.
const rest = 5 * time.Millisecond

func (s *Sched) isEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Wanted reports whether others are to run while one does, and how many turns were taken.
func (s *Sched) Wanted() (wanted bool, turns int) {
	if !s.Serial() {
		return false, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil && (len(s.ready) > 0 || len(s.clock.timers) > 0), s.turns
}

// look ends waits for what compiled code has done: a context that is cancelled closes its channel.
func (s *Sched) look() {
	s.Chans.look()
	s.Locks.look()
}

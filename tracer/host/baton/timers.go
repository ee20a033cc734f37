package baton

import (
	"cmp"
	"reflect"
	"runtime"
	"slices"
	"time"
	"weak"

	"tcdbg/tracer/host/journal"
)

// This file is timers. They end when somebody else could run, too; a program that runs again
// has them end where they ended, and waits for none.

// Clock has the timers of a program.
type Clock struct {
	*Sched
	timers timers
	made   int // timers, so far
	ends   map[weak.Pointer[time.Timer]]*timer
	ticks  map[weak.Pointer[time.Ticker]]*timer
	alarm  *time.Timer
}

// timer is one that has not ended, or may be set again.
type timer struct {
	number int // of this time that it is set
	when   time.Time
	every  time.Duration
	on     bool
	end    func() // with s.mu held
	ch     chan time.Time
	real   *time.Timer // without a baton
}

// timers are those that are set, by when they end.
type timers []*timer

// due is one that is to end now; nil: none.
func (t timers) due() *timer {
	if len(t) == 0 || time.Now().Before(t[0].when) {
		return nil
	}
	return t[0]
}

func (t timers) numbered(n int) *timer {
	if i := slices.IndexFunc(t, func(x *timer) bool { return x.number == n }); i >= 0 {
		return t[i]
	}
	return nil
}

// set starts a timer.
func (s *Clock) set(t *timer, when time.Time) {
	s.made++
	t.number, t.when, t.on = s.made, when, true
	if s.free.Load() {
		s.realTimer(t)
		return
	}
	at, _ := slices.BinarySearchFunc(s.timers, t, func(a, b *timer) int {
		return cmp.Or(a.when.Compare(b.when), cmp.Compare(a.number, b.number))
	})
	s.timers = slices.Insert(s.timers, at, t)
}

// unset stops a timer; it reports whether it was set.
func (s *Clock) unset(t *timer) bool {
	was := t.on
	t.on = false
	if t.real != nil {
		t.real.Stop()
	}
	s.timers = slices.DeleteFunc(s.timers, func(x *timer) bool { return x == t })
	return was
}

// fire ends a timer.
func (s *Clock) fire(t *timer) {
	s.unset(t)
	if t.every > 0 {
		when := t.when.Add(t.every)
		if now := time.Now(); when.Before(now) {
			when = now.Add(t.every)
		}
		s.set(t, when)
	}
	t.end()
}

// realTimer has the run time end a timer.
func (s *Clock) realTimer(t *timer) {
	number := t.number
	t.real = time.AfterFunc(time.Until(t.when), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.on && t.number == number && !s.ended {
			s.fire(t)
		}
	})
}

// alarmAt has somebody look for timers that are due when nobody runs.
func (s *Clock) alarmAt(when time.Time) {
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.alarm = time.AfterFunc(time.Until(when), func() {
		s.mu.Lock()
		s.next()
		s.unlock()
	})
}

// mayTime refuses a timer of an expression.
func (s *Clock) mayTime() {
	if s.isStill() {
		panic(errStill)
	}
}

// Sleep is time.Sleep; false: nobody else would run meanwhile, and it has not slept.
func (s *Clock) Sleep(d time.Duration) bool {
	s.mu.Lock()
	if d <= 0 || !s.several() || s.isStill() {
		s.mu.Unlock()
		return false
	}
	p := s.park()
	s.set(&timer{end: func() { s.end(p) }}, time.Now().Add(d))
	s.wait(p)
	return true
}

// ticking is a timer that writes the time into a channel.
func (s *Clock) ticking(d, every time.Duration) *timer {
	t := &timer{every: every, ch: make(chan time.Time, 1)}
	ch := reflect.ValueOf(t.ch)
	t.end = func() {
		now := reflect.ValueOf(s.now())
		if q := s.Chans.by[ch.UnsafePointer()]; q != nil {
			if o := first(&q.recv); o != nil {
				s.Chans.give(o, now, true)
				return
			}
		}
		ch.TrySend(now)
	}
	s.mayTime()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(t, time.Now().Add(d))
	return t
}

// now is the time, as it was.
func (s *Clock) now() time.Time {
	now := time.Now()
	v := reflect.ValueOf(&now).Elem()
	if !s.tape.Again() {
		b, err := journal.Encode(nil, v)
		if err == nil {
			s.tape.Put("timer", b)
		}
		return now
	}
	if b, ok := s.tape.Take("timer"); ok {
		if _, err := journal.Decode(b, v); err != nil {
			s.tape.Lose("the journal of a timer is damaged")
		}
	}
	return now
}

// After is time.After.
func (s *Clock) After(d time.Duration) <-chan time.Time { return s.ticking(d, 0).ch }

// NewTimer is time.NewTimer.
func (s *Clock) NewTimer(d time.Duration) *time.Timer {
	t := s.ticking(d, 0)
	return s.handle(&time.Timer{C: t.ch}, t)
}

// AfterFunc is time.AfterFunc.
func (s *Clock) AfterFunc(d time.Duration, f func()) *time.Timer {
	s.mayTime()
	t := &timer{end: func() { s.start(f) }}
	s.mu.Lock()
	s.set(t, time.Now().Add(d))
	s.mu.Unlock()
	return s.handle(&time.Timer{}, t)
}

// handle remembers what the program knows a timer by.
func (s *Clock) handle(h *time.Timer, t *timer) *time.Timer {
	return known(s, s.ends, h, t)
}

// known notes in a table of the clock what the program knows a timer or a ticker by, as long as
// it does.
func known[H any](s *Clock, table map[weak.Pointer[H]]*timer, h *H, t *timer) *H {
	w := weak.Make(h)
	s.mu.Lock()
	table[w] = t
	s.mu.Unlock()
	runtime.AddCleanup(h, func(w weak.Pointer[H]) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(table, w)
	}, w)
	return h
}

// NewTicker is time.NewTicker.
func (s *Clock) NewTicker(d time.Duration) *time.Ticker {
	if d <= 0 {
		panic("non-positive interval for NewTicker")
	}
	t := s.ticking(d, d)
	return known(s, s.ticks, &time.Ticker{C: t.ch}, t)
}

// Tick is time.Tick.
func (s *Clock) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return s.ticking(d, d).ch
}

// stopped stops a timer, and takes back what it has sent. s.mu is held.
func (s *Clock) stopped(t *timer) bool {
	was := s.unset(t)
	select {
	case <-t.ch: // a nil one has nothing
		was = true
	default:
	}
	return was
}

// StopTimer is t.Stop.
func (s *Clock) StopTimer(h *time.Timer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.ends[weak.Make(h)]
	if t == nil {
		return h.Stop() // panics: it was not made
	}
	return s.stopped(t)
}

// ResetTimer is t.Reset.
func (s *Clock) ResetTimer(h *time.Timer, d time.Duration) bool {
	s.mayTime()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.ends[weak.Make(h)]
	if t == nil {
		return h.Reset(d)
	}
	was := s.stopped(t)
	s.set(t, time.Now().Add(d))
	return was
}

// StopTicker is t.Stop.
func (s *Clock) StopTicker(h *time.Ticker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.ticks[weak.Make(h)]; t != nil {
		s.stopped(t)
	}
}

// ResetTicker is t.Reset.
func (s *Clock) ResetTicker(h *time.Ticker, d time.Duration) {
	if d <= 0 {
		panic("non-positive interval for Ticker.Reset")
	}
	s.mayTime()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.ticks[weak.Make(h)]
	if t == nil {
		h.Reset(d) // panics: it was not made
		return
	}
	s.stopped(t)
	t.every = d
	s.set(t, time.Now().Add(d))
}

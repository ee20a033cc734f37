package baton

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"
)

// This file is channels. A channel's own buffer is used, without ever blocking; who waits is
// kept here.

// Chans are the channels of a program.
type Chans struct {
	*Sched
	by map[unsafe.Pointer]*channel
}

// channel is who waits for a channel.
type channel struct {
	ch         reflect.Value
	recv, send []*offer
}

// offer is a case of a select, or a send or receive alone, that waits.
type offer struct {
	p   *exchange
	nth int           // which case
	v   reflect.Value // to send
}

// exchange is a wait for channels.
type exchange struct {
	*parked
	chosen int
	v      reflect.Value // received
	ok     bool
	closed bool // the channel was closed while it waited to send
}

// Send is ch <- v.
func (s *Chans) Send(ch, v reflect.Value) {
	s.Select([]reflect.SelectCase{{Dir: reflect.SelectSend, Chan: ch, Send: v}})
}

// Recv is <-ch.
func (s *Chans) Recv(ch reflect.Value) (v reflect.Value, ok bool) {
	_, v, ok = s.Select([]reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: ch}})
	return v, ok
}

// Select is reflect.Select.
func (s *Chans) Select(cases []reflect.SelectCase) (chosen int, v reflect.Value, ok bool) {
	s.mu.Lock()
	other := -1
	order := make([]int, len(cases))
	for i := range order {
		order[i] = i
		if cases[i].Dir == reflect.SelectDefault {
			other = i
		}
	}
	if len(cases) > 1 {
		s.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for _, i := range order {
		if v, ok, done := s.try(&cases[i]); done {
			s.mu.Unlock()
			return i, v, ok
		}
	}
	if other >= 0 {
		s.mu.Unlock()
		return other, reflect.Value{}, false
	}
	x := s.waitFor(cases)
	if x.closed {
		cases[x.chosen].Chan.TrySend(cases[x.chosen].Send) // panics, in Go's own words
	}
	return x.chosen, x.v, x.ok
}

// waitFor waits until somebody takes one of the cases. s.mu is held; it is not afterwards.
func (s *Chans) waitFor(cases []reflect.SelectCase) *exchange {
	x := &exchange{parked: s.park()}
	for i, c := range cases {
		if c.Chan.IsNil() {
			continue
		}
		q := s.by[c.Chan.UnsafePointer()]
		if q == nil {
			q = &channel{ch: c.Chan}
			s.by[c.Chan.UnsafePointer()] = q
		}
		if o := (&offer{p: x, nth: i, v: c.Send}); c.Dir == reflect.SelectSend {
			q.send = append(q.send, o)
		} else {
			q.recv = append(q.recv, o)
		}
	}
	s.wait(x.parked)
	s.mu.Lock()
	for _, c := range cases { // what is left of it in the queues
		s.tidy(c.Chan.UnsafePointer())
	}
	s.mu.Unlock()
	return x
}

func (s *Chans) tidy(p unsafe.Pointer) {
	q := s.by[p]
	if q == nil {
		return
	}
	over := func(o *offer) bool { return o.p.over }
	q.recv, q.send = slices.DeleteFunc(q.recv, over), slices.DeleteFunc(q.send, over)
	if len(q.recv)+len(q.send) == 0 {
		delete(s.by, p)
	}
}

// first takes the first that still waits from a queue; nil: nobody.
func first(queue *[]*offer) *offer {
	for len(*queue) > 0 {
		o := (*queue)[0]
		*queue = (*queue)[1:]
		if !o.p.over {
			return o
		}
	}
	return nil
}

// try does one case, where it need not wait.
func (s *Chans) try(c *reflect.SelectCase) (v reflect.Value, ok, done bool) {
	switch {
	case c.Dir == reflect.SelectDefault || c.Chan.IsNil():
		return v, false, false
	case c.Dir == reflect.SelectSend:
		return v, false, s.trySend(c.Chan, c.Send)
	}
	return s.tryRecv(c.Chan)
}

// trySend sends where somebody waits, or there is room. It panics where the channel is closed.
func (s *Chans) trySend(ch, v reflect.Value) bool {
	if q := s.by[ch.UnsafePointer()]; q != nil {
		if o := first(&q.recv); o != nil {
			s.give(o, copied(v), true)
			return true
		}
	}
	sent := false
	func() {
		defer func() {
			if r := recover(); r != nil {
				s.mu.Unlock()
				panic(r)
			}
		}()
		sent = ch.TrySend(v)
	}()
	return sent
}

// copied is a value apart from its register.
func copied(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	return out
}

// give ends a wait to receive.
func (s *Chans) give(o *offer, v reflect.Value, ok bool) {
	o.p.chosen, o.p.v, o.p.ok = o.nth, v, ok
	s.end(o.p.parked)
}

// tryRecv receives what is there, or what somebody waits to send.
func (s *Chans) tryRecv(ch reflect.Value) (v reflect.Value, ok, done bool) {
	q := s.by[ch.UnsafePointer()]
	if v, ok = ch.TryRecv(); v.IsValid() {
		if ok && q != nil {
			if o := first(&q.send); o != nil { // there is room now
				ch.TrySend(o.v)
				o.p.chosen = o.nth
				s.end(o.p.parked)
			}
		}
		return v, ok, true
	}
	if q == nil {
		return v, false, false
	}
	if o := first(&q.send); o != nil {
		v = copied(o.v)
		o.p.chosen = o.nth
		s.end(o.p.parked)
		return v, true, true
	}
	return v, false, false
}

// Close is close(ch).
func (s *Chans) Close(ch reflect.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch.Close() // panics where Go does
	q := s.by[ch.UnsafePointer()]
	if q == nil {
		return
	}
	for o := first(&q.recv); o != nil; o = first(&q.recv) {
		s.give(o, reflect.Zero(ch.Type().Elem()), false)
	}
	for o := first(&q.send); o != nil; o = first(&q.send) {
		o.p.chosen, o.p.closed = o.nth, true
		s.end(o.p.parked)
	}
}

// look ends waits for channels that compiled code has written or closed.
func (s *Chans) look() {
	for _, q := range s.by {
		q.recv = slices.DeleteFunc(q.recv, func(o *offer) bool { return o.p.over })
	}
	var all []*channel
	for _, q := range s.by {
		if len(q.recv) > 0 {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b *channel) int { return cmp.Compare(a.recv[0].p.nth, b.recv[0].p.nth) })
	for _, q := range all {
		for len(q.recv) > 0 {
			if q.recv[0].p.over {
				first(&q.recv)
				continue
			}
			v, ok := q.ch.TryRecv()
			if !v.IsValid() {
				break
			}
			s.give(first(&q.recv), v, ok)
		}
	}
}

package logs

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// This file writes records beside the work that they tell of. A compile writes hundreds, of megabytes in all: their JSON,
// sums and bytes take a goroutine as long as a good part of the compile takes, and nothing in it waits for them. Their order
// and times are those in which they were emitted.

// What may wait at most, beside what is being written: whoever emits more waits until that is.
const (
	waitingRecords = 1024
	waitingBytes   = 64 << 20
	madeAhead      = 8 // records whose payloads are there before their turn
)

// queue is the records that wait to be written. The Writer's lock guards it.
type queue struct {
	users   int // of Beside, which have not ended
	list    []waiting
	bytes   int
	writing bool      // a goroutine takes from the list
	moved   sync.Cond // it has taken some, or has ended
	failed  any       // what a record that could not be made panicked with
}

// waiting is a record that was emitted.
type waiting struct {
	out  Out
	body func() []byte // makes the payload; nil: it is there
	size int
	at   time.Time
	meta []byte // once it is made
}

// Beside has the records of a sink written by another goroutine until end is called, which returns once all of them are
// written: what may end the process without a word, as compiled code may, is called after it. Records that are
// not made of text by a Writer are made where they are emitted.
func Beside(s Sink) (end func()) {
	switch s := s.(type) {
	case *Writer:
		if s != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.waiting.users++
			return s.endBeside
		}
	case tee:
		ends := make([]func(), len(s))
		for i, one := range s {
			ends[i] = Beside(one)
		}
		return func() {
			for _, end := range ends {
				end()
			}
		}
	}
	return func() {}
}

func (w *Writer) endBeside() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting.users--
	w.written()
	if failed := w.waiting.failed; failed != nil {
		w.waiting.failed = nil
		panic(failed)
	}
}

// written waits until no record waits.
func (w *Writer) written() {
	for w.waiting.writing {
		w.waiting.moved.Wait()
	}
}

// EmitArtifact emits an artifact that nobody changes any more; what a Writer makes of it is made when it is written.
func EmitArtifact(s Sink, id CompileID, a Versioned) {
	size := 0
	if p, ok := a.(PassStep); ok {
		size = len(p.Before) + len(p.After)
	}
	emitMade(s, bareArtifact(id, a, place(2)), size, func() []byte { return artifactJSON(a) })
}

// Ahead makes the payload of a record that is to be written later by another goroutine, where s writes any, else once it is
// wanted; it returns what EmitMade takes.
func Ahead(s Sink, body func() []byte) func() []byte {
	if !writes(s) {
		return sync.OnceValue(body)
	}
	made := make(chan []byte, 1)
	go func() { made <- body() }()
	return sync.OnceValue(func() []byte { return <-made })
}

// writes reports whether records become bytes.
func writes(s Sink) bool {
	switch s := s.(type) {
	case *Writer:
		return s != nil
	case tee:
		return slices.ContainsFunc(s, writes)
	}
	return false
}

// EmitArtifactMade is EmitArtifact of one whose Payload a function makes.
func EmitArtifactMade[A Versioned](s Sink, id CompileID, body func() []byte) {
	var a A
	emitMade(s, bareArtifact(id, a, place(2)), 0, body)
}

// EmitMade emits a record whose payload a function makes, of what nobody changes any more: once for each sink that wants it.
func EmitMade(s Sink, o Out, body func() []byte) { emitMade(s, o, 0, body) }

func emitMade(s Sink, o Out, size int, body func() []byte) {
	switch s := s.(type) {
	case *Writer:
		if s != nil {
			s.emit(o, size, body)
		}
	case *Renderer:
		if s.wants(&o) {
			o.Payload = body()
			s.Emit(o)
		}
	case tee:
		for _, one := range s {
			emitMade(one, o, size, body)
		}
	default:
		o.Payload = body()
		s.Emit(o)
	}
}

// put has a record written, now or beside. The lock is held.
func (w *Writer) put(x waiting) {
	q := &w.waiting
	x.at = w.o.Now()
	if q.users == 0 {
		w.written() // of a compile that others are at the end of
		if v := x.make(); v != nil {
			panic(v)
		}
		w.write(&x)
		return
	}
	for q.writing && (len(q.list) >= waitingRecords || q.bytes >= waitingBytes) {
		q.moved.Wait()
	}
	q.list = append(q.list, x)
	q.bytes += x.size
	if !q.writing {
		q.writing = true
		go w.drain()
	}
}

// drain writes what waits until nothing does.
func (w *Writer) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := &w.waiting
	for len(q.list) > 0 {
		list := q.list
		q.list, q.bytes = nil, 0
		q.moved.Broadcast()
		w.mu.Unlock()
		failed := w.writeAll(list)
		w.mu.Lock()
		if q.failed == nil {
			q.failed = failed
		}
	}
	q.writing = false
	q.moved.Broadcast()
}

// writeAll writes records without the lock, which nobody else does while q.writing is set. What cannot be made is left out.
// Payloads and their sums take about as long as writing, so of many records the next one's are made meanwhile.
func (w *Writer) writeAll(list []waiting) (failed any) {
	made := make(chan any, madeAhead) // what making each one panicked with
	makeAll := func() {
		for i := range list {
			made <- list[i].make()
		}
	}
	if len(list) > 1 {
		go makeAll()
	} else {
		makeAll()
	}
	for i := range list {
		v := <-made
		if v == nil {
			w.write(&list[i])
		} else if failed == nil {
			failed = v
		}
		list[i] = waiting{}
	}
	return failed
}

// make makes what is not made of a record; v is what it panicked with.
func (x *waiting) make() (v any) {
	defer func() { v = recover() }()
	if x.body != nil {
		x.out.Payload = x.body()
	}
	meta, err := metaOf(&x.out)
	if err != nil {
		panic(fmt.Sprintf("logs: record %s: %v", x.out.Kind, err))
	}
	x.meta = meta
	if x.out.Payload != nil && x.out.Sum == "" {
		x.out.Sum = PayloadSum(x.out.Payload)
	}
	return nil
}

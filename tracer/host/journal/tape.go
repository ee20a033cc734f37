package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// This file is the journal itself.

// Data is a journal as one process hands it to another.
type Data struct {
	Entries []Entry
	Seeds   [2]uint64 // of the generators that have no seed of the program's own
	Stdin   []byte
	Ended   bool // Stdin is all there was
	NoStdin bool // standard input is empty
	// Schedule is which goroutine ran, each time that another might have, and which timers
	// ended: see package baton.
	Schedule []byte `json:",omitempty"`
	// Shuffle, where set, is the seed of turns of any length: of tests.
	Shuffle uint64 `json:",omitempty"`
	// Refused says why the program cannot be run again past the moment RefusedAt; "": it can.
	Refused   string
	RefusedAt int64
}

// Clock is a count that one goroutine at a time adds to: whose turn it is.
type Clock struct{ n int64 }

// Load is the count.
func (c *Clock) Load() int64 { return atomic.LoadInt64(&c.n) }

// Store sets the count.
func (c *Clock) Store(n int64) { atomic.StoreInt64(&c.n, n) }

// Add adds to the count and returns it. It is not watched for races: another goroutine
// that adds at the same time, which there is only after the journal has ended, may get the same.
//
//go:norace
func (c *Clock) Add(n int64) int64 {
	c.n += n
	return c.n
}

// Entry is one thing that was met.
type Entry struct {
	Name string
	Data []byte
}

// Tape is a journal that is being written, or read while the program runs again.
type Tape struct {
	// Clock counts the moments of the program; see package tracer/stop.
	Clock Clock
	// Lost, where set, is called once, when the program does not do again what it did.
	Lost func(why string)
	// Over, where set, is called when a program that runs again comes to what cannot be
	// repeated. It must not return.
	Over func(why string)

	again bool // it is read
	ended func()
	mu    sync.Mutex
	data  Data
	size  int // of what is kept, in bytes
	next  int
	taken int // of Data.Schedule
	lost  bool
	out   uint64
	files files
	one   *rand.Rand
	two   *randv2.Rand
}

// Record returns a tape to write.
func Record() *Tape {
	return newTape(Data{Seeds: [2]uint64{randv2.Uint64(), randv2.Uint64()}})
}

// Replay returns a tape that gives again what is in a journal. What the program writes into
// files goes below the folder scratch.
func Replay(d Data, scratch string) *Tape {
	t := newTape(d)
	t.again = true
	t.files.scratch = scratch
	return t
}

func newTape(d Data) *Tape {
	t := &Tape{data: d, out: fnv.New64a().Sum64()}
	t.one = rand.New(&locked{src: rand.NewSource(int64(d.Seeds[0])).(rand.Source64)})
	t.two = randv2.New(&locked{src: randv2.NewPCG(d.Seeds[0], d.Seeds[1])})
	return t
}

// Again reports whether the program runs again.
func (t *Tape) Again() bool { return t.again }

// Data is the journal so far.
func (t *Tape) Data() Data {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.data
	d.Entries, d.Stdin, d.Schedule = slices.Clone(d.Entries), slices.Clone(d.Stdin), slices.Clone(d.Schedule)
	return d
}

// Refusal says why the program cannot be run again past a moment, "" where it can.
func (t *Tape) Refusal() (why string, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.data.Refused, t.data.RefusedAt
}

// Refuse ends the journal: what comes now cannot be repeated. The first reason is kept.
func (t *Tape) Refuse(why string) {
	if t.again && t.Over != nil {
		t.Over(why)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.again {
		t.end(why)
	}
}

// end is Refuse with t.mu held.
func (t *Tape) end(why string) {
	if t.data.Refused != "" {
		return
	}
	t.data.Refused, t.data.RefusedAt = why, t.Clock.Load()
	if t.ended != nil {
		t.ended()
	}
}

// OnEnd has f called when the journal ends because of what cannot be repeated.
func (t *Tape) OnEnd(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended = f; t.data.Refused != "" && !t.again {
		f()
	}
}

// Seeds are those of the generators that have no seed of the program's own.
func (t *Tape) Seeds() [2]uint64 { return t.data.Seeds }

// Shuffle has goroutines take turns of any length, in any order.
func (t *Tape) Shuffle(seed uint64) { t.data.Shuffle = seed }

// Shuffled is the seed that Shuffle was given, 0 for none.
func (t *Tape) Shuffled() uint64 { return t.data.Shuffle }

// Switch keeps a number of the schedule.
func (t *Tape) Switch(n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.data.Refused != "" {
		return
	}
	if t.size++; t.size > mostBytes {
		t.end("its goroutines have taken more turns than are kept")
		return
	}
	t.data.Schedule = binary.AppendUvarint(t.data.Schedule, n)
}

// Switched is the next number of the schedule; false: there is none.
func (t *Tape) Switched() (n uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, w := binary.Uvarint(t.data.Schedule[t.taken:])
	if w <= 0 {
		return 0, false
	}
	t.taken += w
	return n, true
}

// Put keeps a result.
func (t *Tape) Put(name string, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.data.Refused != "" {
		return
	}
	if t.size += len(data); len(t.data.Entries) >= mostEntries || t.size > mostBytes {
		t.end("it has met more times, files and inputs than are kept")
		return
	}
	t.data.Entries = append(t.data.Entries, Entry{name, data})
}

// What is kept at most.
const (
	mostEntries = 1 << 20
	mostBytes   = 64 << 20
)

// Take gives the next result, which has to be name's.
func (t *Tape) Take(name string) ([]byte, bool) {
	t.mu.Lock()
	if t.next >= len(t.data.Entries) {
		t.mu.Unlock()
		t.Lose(fmt.Sprintf("it calls %s, where the journal has no more", name))
		return nil, false
	}
	e := t.data.Entries[t.next]
	t.next++
	t.mu.Unlock()
	if e.Name != name {
		t.Lose(fmt.Sprintf("it calls %s, where it called %s", name, e.Name))
		return nil, false
	}
	return e.Data, true
}

// Lose says that the program does something else than it did.
func (t *Tape) Lose(why string) {
	t.mu.Lock()
	first := !t.lost
	t.lost = true
	t.mu.Unlock()
	if first && t.Lost != nil {
		t.Lost(why)
	}
}

// Printed adds to the digest of what the program has printed.
func (t *Tape) Printed(text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.out
	for _, b := range text {
		h = (h ^ uint64(b)) * 1099511628211
	}
	t.out = h
}

// Output is the digest of what the program has printed.
func (t *Tape) Output() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out
}

// Rand has the methods that are functions of math/rand; RandV2 those of math/rand/v2.
func (t *Tape) Rand() *rand.Rand { return t.one }

// RandV2 is Rand of math/rand/v2.
func (t *Tape) RandV2() *randv2.Rand { return t.two }

// locked is a source of random numbers for several goroutines.
type locked struct {
	mu  sync.Mutex
	src randv2.Source
}

func (l *locked) Uint64() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.src.Uint64()
}

func (l *locked) Int63() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.src.(rand.Source64).Int63()
}

func (l *locked) Seed(seed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.src.(rand.Source64).Seed(seed)
}

// KeepsStdin reports whether standard input is kept: the empty one stays what it is.
func (t *Tape) KeepsStdin(r io.Reader) bool {
	if !t.again {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.data.NoStdin = isNull(r)
	}
	return !t.data.NoStdin
}

// isNull reports whether r is the null device.
func isNull(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	st, err := f.Stat()
	return err == nil && os.SameFile(st, null)
}

// Stdin is standard input: what is read is kept, and given again.
func (t *Tape) Stdin(r io.Reader) io.Reader {
	if t.again {
		return io.MultiReader(bytes.NewReader(t.data.Stdin), &over{t})
	}
	return &tee{t, r}
}

type tee struct {
	t *Tape
	r io.Reader
}

func (s *tee) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if s.t.size += n; s.t.size <= mostBytes {
		s.t.data.Stdin = append(s.t.data.Stdin, p[:n]...)
	} else {
		s.t.end("it has read more input than is kept")
	}
	s.t.data.Ended = s.t.data.Ended || err == io.EOF
	return n, err
}

// over is standard input after what was read of it.
type over struct{ t *Tape }

func (o *over) Read([]byte) (int, error) {
	if o.t.data.Ended {
		return 0, io.EOF
	}
	select {} // it waits, as it did
}

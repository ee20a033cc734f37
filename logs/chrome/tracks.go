package chrome

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// This file reads a Chrome trace as it is: every span of every process and thread, whoever wrote it.

// Tracks are the spans of a trace. Times are nanoseconds since 1970 where the trace says when it
// began, else since whatever it counts from.
type Tracks struct {
	Names  []string // of spans
	Cats   []string
	Tracks []string // processes with their threads, by first event
	Spans  []Span
	// Other are all events that are no spans: those below, what is not closed or cannot be read.
	Other int64
	// Counters, Flows and Asyncs are those of Other that are of these kinds.
	Counters, Flows, Asyncs int64

	// Left counts the spans that Longest left out.
	Left int64

	did    func() string
	extent func() int64
}

// Span is one event with a duration, or an instant, which has none.
type Span struct {
	Start, Dur       int64
	Name, Cat, Track int32
}

// tracks are those in the making.
type tracks struct {
	out               Tracks
	names, cats, tids map[string]int32
	process, thread   map[string]string // what they are called
	open              map[int32][]Span  // begun, by track
	pids              []string          // of each track
	keys              []string
	base              int64
}

// plain is an event as every trace has it.
type plain struct {
	Ph   string          `json:"ph"`
	Cat  string          `json:"cat"`
	Name string          `json:"name"`
	PID  json.RawMessage `json:"pid"`
	TID  json.RawMessage `json:"tid"`
	TS   json.Number     `json:"ts"`
	Dur  json.Number     `json:"dur"`
	Args json.RawMessage `json:"args"`
}

// ReadTracks reads the spans of a trace.
func ReadTracks(r io.Reader) (*Tracks, error) {
	t := &tracks{
		names: map[string]int32{}, cats: map[string]int32{}, tids: map[string]int32{},
		process: map[string]string{}, thread: map[string]string{}, open: map[int32][]Span{},
	}
	err := walk(r, t.event, func(name string, text []byte) {
		if name == "baseTimeNanoseconds" {
			t.base, _ = strconv.ParseInt(string(text), 10, 64)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, open := range t.open {
		t.out.Other += int64(len(open))
	}
	for i := range t.out.Spans {
		t.out.Spans[i].Start += t.base
	}
	for i, key := range t.keys {
		t.out.Tracks = append(t.out.Tracks, t.title(t.pids[i], key))
	}
	t.out.did, t.out.extent = sync.OnceValue(t.out.compared), sync.OnceValue(t.out.long)
	return &t.out, nil
}

func (t *tracks) event(text []byte) error {
	var e plain
	if json.Unmarshal(text, &e) != nil {
		t.out.Other++
		return nil
	}
	switch e.Ph {
	case "M":
		t.call(&e)
	case "X", "B", "E", "i", "I":
		return t.span(&e)
	default:
		t.other(e.Ph)
	}
	return nil
}

// other counts an event that is no span by its kind.
func (t *tracks) other(ph string) {
	t.out.Other++
	switch ph {
	case "C":
		t.out.Counters++
	case "s", "t", "f":
		t.out.Flows++
	case "b", "n", "e", "S", "T", "p", "F":
		t.out.Asyncs++
	}
}

// call notes what a process or a thread is called.
func (t *tracks) call(e *plain) {
	var args struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(e.Args, &args) != nil || args.Name == "" || len(t.process)+len(t.thread) >= maxNames {
		return
	}
	switch e.Name {
	case "process_name":
		t.process[string(e.PID)] = clip(args.Name)
	case "thread_name":
		t.thread[string(e.PID)+"/"+string(e.TID)] = clip(args.Name)
	}
}

// title is a track's name.
func (t *tracks) title(pid, key string) string {
	bare := func(s string) string { return strings.Trim(s, `"`) }
	p, th := t.process[pid], t.thread[key]
	if p == "" {
		p = "process " + bare(pid)
	}
	if th == "" {
		th = "thread " + bare(strings.TrimPrefix(key, pid+"/"))
	}
	return clip(p) + " / " + clip(th) // an id may be any JSON
}

func (t *tracks) span(e *plain) error {
	ts, ok := microseconds(e.TS)
	dur, timed := microseconds(e.Dur)
	if !ok || e.Ph == "X" && !timed && e.Dur != "" || dur < 0 {
		t.out.Other++
		return nil
	}
	if len(t.out.Spans) >= maxEvents {
		return fmt.Errorf("has more than %d events", maxEvents)
	}
	key := string(e.PID) + "/" + string(e.TID)
	track, ok := index(&t.keys, t.tids, key)
	if !ok {
		return fmt.Errorf("has more than %d threads", maxNames)
	}
	if int(track) == len(t.pids) {
		t.pids = append(t.pids, string(e.PID))
	}
	name, ok := index(&t.out.Names, t.names, clip(e.Name))
	cat, ok2 := index(&t.out.Cats, t.cats, clip(e.Cat))
	if !ok || !ok2 {
		return fmt.Errorf("has more than %d names of events", maxNames)
	}
	s := Span{Start: ts, Dur: dur, Name: name, Cat: cat, Track: track}
	switch e.Ph {
	case "B":
		if len(t.open[track]) >= maxNames {
			return errors.New("has too many events that begin and do not end")
		}
		t.open[track] = append(t.open[track], s)
	case "E":
		t.end(track, ts)
	default:
		t.out.Spans = append(t.out.Spans, s)
	}
	return nil
}

// end closes the innermost event that is open.
func (t *tracks) end(track int32, ts int64) {
	open := t.open[track]
	if len(open) == 0 || ts < open[len(open)-1].Start || ts-open[len(open)-1].Start < 0 { // beyond int64
		t.out.Other++
		return
	}
	s := open[len(open)-1]
	s.Dur = ts - s.Start
	t.open[track] = open[:len(open)-1]
	t.out.Spans = append(t.out.Spans, s)
}

func clip(s string) string {
	if len(s) <= maxName {
		return s
	}
	return strings.ToValidUTF8(s[:maxName], "") + string(utf8.RuneError)
}

// microseconds are those of a number, as nanoseconds: whole ones of since 1970 with three more digits are more
// than a float64 holds.
func microseconds(n json.Number) (int64, bool) {
	whole, part, _ := strings.Cut(string(n), ".")
	us, err := strconv.ParseInt(whole, 10, 64)
	const most = 1 << 53
	if err != nil || us > most || us < -most || strings.ContainsAny(part, "eE") {
		f, err := n.Float64()
		if err != nil || !(f < most && f > -most) {
			return 0, false
		}
		return int64(f * 1e3), true
	}
	ns := int64(0)
	for i := range 3 {
		ns *= 10
		if i < len(part) && part[i] >= '0' && part[i] <= '9' {
			ns += int64(part[i] - '0')
		}
	}
	if strings.HasPrefix(whole, "-") {
		ns = -ns
	}
	return us*1e3 + ns, true
}

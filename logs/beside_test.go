package logs

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// slowly is a file that is slow, and can be held.
type slowly struct {
	mu   sync.Mutex
	held sync.Mutex
	text bytes.Buffer
}

func (s *slowly) Write(b []byte) (int, error) {
	s.held.Lock()
	defer s.held.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *slowly) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// ticking gives each record a time of its own.
func ticking() WriterOptions {
	at := clock()
	return WriterOptions{PID: 42, Now: func() time.Time { at = at.Add(time.Millisecond); return at }}
}

// several emits a number of records in every way.
func several(s Sink) {
	id := CompileID{Frame: 1}
	for i := range 50 {
		s.Emit(Out{
			Kind: "dynamo_start", ID: id, Place: "a.go:1",
			Meta: map[string]any{"stack": s.Stack([]Frame{{File: fmt.Sprint(i/2, ".go"), Line: i, Name: "f"}})},
		})
		EmitArtifact(s, id, PassStep{Stage: "aot", Pass: "cse", Index: i, Before: "a\n", After: "b\n"})
		tree := Ahead(s, func() []byte { return fmt.Appendf(nil, "tree %d", i) })
		EmitMade(s, Out{Kind: "dynamo_cpp_guards_str", ID: id, Place: "a.go:2"}, tree)
		EmitArtifactMade[Guards](s, id, func() []byte { return Payload(Guards{}) })
		s.Emit(Text(id, "recompile_reasons", fmt.Sprint(i)))
	}
}

// TestBesideWritesTheSame: a trace is the same, byte by byte, whether its records are written beside or not, and is whole at the end.
func TestBesideWritesTheSame(t *testing.T) {
	var now bytes.Buffer
	several(NewWriter(&now, ticking()))
	for _, sink := range []func(*Writer) Sink{
		func(w *Writer) Sink { return w },
		func(w *Writer) Sink {
			return Tee(w, NewRenderer(io.Discard, LogSet{"recompiles": true}, WriterOptions{}))
		},
	} {
		var later slowly
		s := sink(NewWriter(&later, ticking()))
		end := Beside(s)
		several(s)
		end()
		if later.String() != now.String() {
			t.Errorf("beside it wrote\n%s\nwant\n%s", later.String(), now.String())
		}
	}
}

// TestBesideWaits: nobody waits for a file while records are written beside, and the end waits for all of them; so does what is
// emitted afterwards.
func TestBesideWaits(t *testing.T) {
	var file slowly
	w := NewWriter(&file, ticking())
	file.held.Lock()
	end := Beside(w)
	inner := Beside(w) // of a compile within, or of another thread's
	w.Emit(Text(NoCompile, "first", "1"))
	w.Emit(Text(NoCompile, "second", "2"))
	if file.String() != "" {
		t.Fatal("the file was written to while it was held")
	}
	file.held.Unlock()
	inner()
	end()
	if text := file.String(); !strings.Contains(text, "first") || !strings.Contains(text, "second") {
		t.Errorf("after the end there is %q", text)
	}
	w.Emit(Text(NoCompile, "third", "3"))
	if text := file.String(); !strings.HasSuffix(text, "\t3\n") {
		t.Errorf("after a record there is %q", text)
	}
}

// TestBesideIsBounded: who emits more than may wait waits for the file.
func TestBesideIsBounded(t *testing.T) {
	var file slowly
	w := NewWriter(&file, ticking())
	file.held.Lock()
	end := Beside(w)
	const fit = 4
	payload := bytes.Repeat([]byte{'x'}, waitingBytes/fit)
	records := 2*fit + 1 // the goroutine that writes may have taken the first ones, all of which it took at once
	emitted := make(chan int, records)
	go func() {
		defer close(emitted)
		for i := range records {
			w.Emit(Out{Kind: "k", ID: NoCompile, Payload: payload})
			emitted <- i
		}
	}()
	for range fit { // at least these may wait
		<-emitted
	}
	w.mu.Lock()
	for w.waiting.bytes < waitingBytes { // and at last they are as many as may
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
		w.mu.Lock()
	}
	n := w.waiting.bytes
	w.mu.Unlock()
	if n > waitingBytes+len(payload) {
		t.Errorf("%d bytes wait, of at most %d", n, waitingBytes)
	}
	file.held.Unlock()
	for range emitted {
	}
	end()
	if got := strings.Count(file.String(), `{"k"`); got != records {
		t.Errorf("%d records were written, want %d", got, records)
	}
}

// TestBesideTellsOfBugs: a record that cannot be made panics where the compile ends; the others are written.
func TestBesideTellsOfBugs(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, ticking())
	func() {
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, "record odd") {
				t.Errorf("it panicked with %q", text)
			}
		}()
		defer Beside(w)()
		w.Emit(Out{Kind: "odd", Meta: func() {}})
		w.Emit(Text(NoCompile, "after", "text"))
	}()
	if !strings.Contains(file.String(), "after") {
		t.Errorf("what followed is not there: %q", file.String())
	}
}

// TestAheadMakesOnce: what several records take from is made once, whoever listens.
func TestAheadMakesOnce(t *testing.T) {
	for name, sink := range map[string]Sink{"nobody": (*Writer)(nil), "a writer": NewWriter(io.Discard, ticking())} {
		var made atomic.Int32
		body := Ahead(sink, func() []byte { made.Add(1); return []byte("x") })
		for range 3 {
			EmitMade(sink, Out{Kind: "k"}, func() []byte { return body() })
			body()
		}
		if made.Load() != 1 {
			t.Errorf("%s: it was made %d times", name, made.Load())
		}
	}
}

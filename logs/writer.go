package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// WriterOptions are the settings of a Writer; the zero value is good.
type WriterOptions struct {
	Rank int // written when > 0 or HasRank
	// HasRank writes rank 0 too.
	HasRank bool
	Now     func() time.Time // nil: time.Now
	PID     int              // 0: this process
}

// Writer writes records as PyTorch does: one header line of glog prefix and
// JSON, then the payload after TABs, each record in one write. It is safe for
// concurrent use. A nil *Writer drops everything.
type Writer struct {
	mu    sync.Mutex
	w     io.Writer
	c     io.Closer
	o     WriterOptions
	buf   []byte
	files map[string]int
	err   error
	// waiting is what is written beside. While its goroutine writes, buf and err are that one's.
	waiting queue
}

// NewWriter writes to w.
func NewWriter(w io.Writer, o WriterOptions) *Writer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
	out := &Writer{w: w, o: o, files: map[string]int{}}
	out.waiting.moved.L = &out.mu
	return out
}

// Create opens a new trace file; it fails if the file exists.
func Create(path string, o WriterOptions) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	w := NewWriter(f, o)
	w.c = f
	return w, nil
}

// Close closes the file and returns the first error of all writes.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written()
	if w.c != nil {
		if err := w.c.Close(); w.err == nil {
			w.err = err
		}
		w.c = nil
	}
	return w.err
}

// Err is the first error that a write met; later records are dropped.
func (w *Writer) Err() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written()
	return w.err
}

// Emit writes one record. A Meta that cannot be JSON is a bug of the caller
// and panics with the record's kind.
func (w *Writer) Emit(o Out) {
	if w != nil {
		w.emit(o, len(o.Payload), nil)
	}
}

func (w *Writer) emit(o Out, size int, body func() []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(waiting{out: o, size: size, body: body})
}

// metaOf is the metadata of a record as JSON.
func metaOf(o *Out) ([]byte, error) {
	if named, ok := o.Meta.(map[string]string); ok && named["encoding"] == "json" && len(named) == 2 && plain(named["name"]) {
		return []byte(`{"encoding":"json","name":"` + named["name"] + `"}`), nil // of an artifact, of which there are very many
	}
	if o.Meta == nil {
		return []byte("{}"), nil
	}
	return marshal(o.Meta)
}

// write writes a record that is made.
func (w *Writer) write(x *waiting) {
	if w.err != nil {
		return
	}
	o, meta := &x.out, x.meta
	b := w.buf[:0]
	if need := headRoom + len(meta) + len(o.Payload) + bytes.Count(o.Payload, newline); cap(b) < need {
		b = make([]byte, 0, max(need, min(2*cap(b), keptRoom))) // the next may be somewhat longer
	}
	b = w.prefix(b, o.Place, x.at)
	b = append(b, '{')
	b = strconv.AppendQuote(b, o.Kind)
	b = append(b, ": "...)
	b = append(b, meta...)
	if w.o.HasRank || w.o.Rank > 0 {
		b = fmt.Appendf(b, `, "rank": %d`, w.o.Rank)
	}
	if o.ID.Frame >= 0 && o.Kind != "str" {
		b = strconv.AppendInt(append(b, `, "frame_id": `...), int64(o.ID.Frame), 10)
		b = strconv.AppendInt(append(b, `, "frame_compile_id": `...), int64(max(o.ID.Compile, 0)), 10)
		b = strconv.AppendInt(append(b, `, "attempt": `...), int64(o.ID.Attempt), 10)
	}
	if o.Payload != nil {
		b = append(b, `, "has_payload": "`...)
		b = append(append(b, o.Sum...), '"')
	}
	b = append(b, "}\n"...)
	if o.Payload != nil {
		for rest := o.Payload; ; {
			j := bytes.IndexByte(rest, '\n')
			b = append(b, '\t')
			if j < 0 {
				b = append(b, rest...)
				b = append(b, '\n')
				break
			}
			b = append(b, rest[:j+1]...)
			rest = rest[j+1:]
		}
	}
	if cap(b) <= keptRoom {
		w.buf = b
	}
	_, w.err = w.w.Write(b)
}

const (
	headRoom = 512     // what a header takes besides its metadata, mostly
	keptRoom = 2 << 20 // of the buffer for the next record
)

var newline = []byte{'\n'}

// plain reports whether JSON has the name of an artifact as it is.
func plain(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func (w *Writer) prefix(b []byte, place string, at time.Time) []byte {
	if place == "" {
		place = "tcdbg:0"
	}
	b = at.AppendFormat(append(b, 'V'), "0102 15:04:05.000")
	b = strconv.AppendInt(append(b, "000 "...), int64(w.o.PID), 10)
	return append(append(append(b, ' '), place...), "] "...)
}

// stackEntry is the written form of a Frame.
type stackEntry struct {
	Line     int    `json:"line"`
	Name     string `json:"name"`
	Filename int    `json:"filename"`
	Loc      string `json:"loc,omitempty"`
}

// Stack interns the file names of s and returns what to put into Meta.
func (w *Writer) Stack(s []Frame) any {
	out := make([]stackEntry, 0, len(s))
	if w == nil {
		return out
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range s {
		id, ok := w.files[f.File]
		if !ok {
			id = len(w.files)
			w.files[f.File] = id
			w.put(waiting{out: Out{Kind: "str", ID: NoCompile, Place: Here(), Meta: []any{f.File, id}}})
		}
		out = append(out, stackEntry{f.Line, f.Name, id, f.Loc})
	}
	return out
}

// marshal is json.Marshal without HTML escapes: source lines carry < and >.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// Tee sends records to several sinks; nil ones are left out. Stacks are
// interned by the first.
func Tee(sinks ...Sink) Sink {
	var t tee
	for _, s := range sinks {
		if s == nil || reflect.ValueOf(s).Kind() == reflect.Pointer && reflect.ValueOf(s).IsNil() {
			continue
		}
		t = append(t, s)
	}
	return t
}

type tee []Sink

// Emit implements Sink.
func (t tee) Emit(o Out) {
	for _, s := range t {
		s.Emit(o)
	}
}

// Stack implements Sink.
func (t tee) Stack(s []Frame) any {
	if len(t) == 0 {
		return nil
	}
	return t[0].Stack(s)
}

package logs

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"slices"
	"sync/atomic"
	"unsafe"
)

// Record is one record of a trace, or one message of a text log brought into
// the same form.
//
// During Store.Read and Store.Follow it borrows the reader's buffer and is
// valid only until the callback returns; Keep makes it last. Records from
// Store.Record last. A record is for one goroutine: Payload and what calls it change it.
type Record struct {
	Seq    int64 // number in the store, from 0
	Source int   // index into Store.Sources
	Offset int64 // of its header in the source's bytes, decompressed
	Size   int64 // bytes of header and payload together
	Level  byte  // V, I, W, E, C, D
	Micros int64 // time of day and date without a year, see Store.Time
	Thread int   // process or thread id

	Kind     string // event key after the alias table; "artifact" for artifacts; BadJSON
	Name     string // name of an artifact, after the alias table
	RawName  string // Kind or Name as written
	Rank     int    // -1: none
	Autograd int    // compiled autograd id, -1: none
	ID       CompileID
	HasID    bool
	Epoch    int    // how often ids had started again before this record
	Subgraph string // regional compilation
	place    []byte
	md5      []byte // hex; empty without payload
	meta     []byte
	stack    []byte
	payload  []byte // as written, then without its TABs; nil: load
	store    *Store
	bare     bool    // payload has lost its TABs and was compared with its sum
	fields   []field // of meta, where it is an object; nil: not known
	kind     uint32  // number of its names in the index
	hasTry   bool
}

// BadJSON is the Kind of records whose envelope is no JSON object with an
// event key.
const BadJSON = "(bad JSON)"

// Key is how the record is counted: its kind, artifacts as artifact:NAME.
func (r *Record) Key() string {
	if r.Kind == "artifact" {
		return "artifact:" + r.RawName
	}
	return r.RawName
}

// Place is path:line of the framework's log call.
func (r *Record) Place() string { return string(r.place) }

// Meta is the raw JSON value of the event key.
func (r *Record) Meta() []byte { return r.meta }

// SetMeta replaces the metadata, on a copy of a record.
func (r *Record) SetMeta(meta []byte) { r.meta, r.fields = meta, nil }

// EachField calls f with every key and value of the metadata until it returns
// false, the values as raw JSON.
func (r *Record) EachField(f func(key, val []byte) bool) {
	if r.fields == nil {
		EachField(r.meta, f)
		return
	}
	for _, x := range r.fields {
		if !f(r.meta[x.key:x.keyEnd], r.meta[x.val:x.end]) {
			return
		}
	}
}

// Field is one field of the metadata as raw JSON, nil when absent.
func (r *Record) Field(name string) []byte {
	var out []byte
	r.EachField(func(k, v []byte) bool {
		if string(k) == name {
			out = v
			return false
		}
		return true
	})
	return out
}

// RawPayload is the payload as it is in the file, each line after a TAB,
// or what Payload made of it. It suits readers of JSON, to which a TAB is space;
// md5 is not checked.
func (r *Record) RawPayload() []byte {
	if r.payload == nil && len(r.md5) > 0 && r.store != nil {
		if full, err := r.store.Load(r.Source, r.Offset, r.Size); err == nil {
			r.payload = full.payload
		}
	}
	return r.payload
}

// Payload is the record's text: its lines without their TABs. The first call
// checks the md5; a mismatch is counted in Store.Stats and the text is given
// all the same.
func (r *Record) Payload() []byte {
	if !r.bare {
		r.payload, r.bare = r.verify(undress(r.RawPayload())), true
	}
	return r.payload
}

// verify compares a payload's text with its sum and counts a mismatch; the text
// comes back, repaired where a copy had spoilt it.
func (r *Record) verify(text []byte) []byte {
	if len(r.md5) == 0 {
		return text
	}
	text, ok := verify(text, r.md5)
	if !ok && r.store != nil {
		r.store.mismatch(r)
	}
	return text
}

// Text is Payload as a string.
func (r *Record) Text() string { return string(r.Payload()) }

// View is Text without a copy, for those who keep no part of it: it is borrowed
// like the record.
func (r *Record) View() string {
	b := r.Payload()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// HasPayload says whether the header announces a payload.
func (r *Record) HasPayload() bool { return len(r.md5) > 0 || len(r.payload) > 0 }

// IsOutput says whether a record is nothing but what a program printed between the
// messages of a text log.
func (r *Record) IsOutput() bool {
	return r.Kind == "torch_log" && JSONString(r.Field("name")) == "output"
}

// Keep copies what the record borrows, so that it outlives the callback.
func (r *Record) Keep() *Record {
	c := *r
	c.place, c.md5 = bytes.Clone(r.place), bytes.Clone(r.md5)
	c.meta, c.fields = bytes.Clone(r.meta), slices.Clone(r.fields)
	c.stack = bytes.Clone(r.stack)
	c.payload = bytes.Clone(r.payload)
	return &c
}

// Loader returns a function that reads the record's text again from the store,
// for those who want to remember a text without holding it.
func (r *Record) Loader() func() string {
	if r.store == nil {
		s := r.Text()
		return func() string { return s }
	}
	st, src, off, size := r.store, r.Source, r.Offset, r.Size
	return func() string {
		full, err := st.Load(src, off, size)
		if err != nil {
			return "(cannot be read: " + err.Error() + ")"
		}
		return full.Text()
	}
}

// undress drops the TAB of every line and the last line end, in raw's own
// memory.
func undress(raw []byte) []byte {
	out := raw[:0]
	raw = bytes.TrimSuffix(raw, []byte{'\n'})
	for len(raw) > 0 {
		if raw[0] == '\t' {
			raw = raw[1:]
		}
		j := bytes.IndexByte(raw, '\n')
		if j < 0 {
			return append(out, raw...)
		}
		out = append(out, raw[:j+1]...)
		raw = raw[j+1:]
	}
	return out
}

// verify compares text with its md5. Copies that went through other programs
// gained blank lines or carriage returns: where the text without them fits, it
// is the true one.
func verify(text, want []byte) ([]byte, bool) {
	if sumIs(text, want) {
		return text, true
	}
	for _, repair := range repairs {
		if t := repair(text); t != nil && sumIs(t, want) {
			return t, true
		}
	}
	return text, false
}

var repairs = []func([]byte) []byte{
	func(b []byte) []byte { return bytes.TrimRight(b, "\n") },
	func(b []byte) []byte {
		if bytes.IndexByte(b, '\r') < 0 {
			return nil
		}
		return bytes.TrimSuffix(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\r"))
	},
	func(b []byte) []byte { return append(bytes.Clone(b), '\n') },
	dropBlankLines,
}

func dropBlankLines(b []byte) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		if len(bytes.TrimSpace(line)) > 0 {
			out = append(out, line...)
		}
	}
	return bytes.TrimSuffix(out, []byte("\n"))
}

func sumIs(b, want []byte) bool {
	sum := md5.Sum(b)
	var hexed [32]byte
	hex.Encode(hexed[:], sum[:])
	return string(hexed[:]) == string(want)
}

// Stats counts what is wrong with a store's sources.
type Stats struct {
	Records     int64
	Bytes       int64
	BadJSON     int64 // headers whose envelope is broken
	MD5Mismatch int64 // payloads read so far that do not fit their sum
	Stray       int64 // lines that belong to no record
	Oversized   int64 // records cut because they exceed MaxRecord
}

type counters struct {
	badJSON, mismatch, stray, oversized, bytes atomic.Int64
}

// MetaLoader is Loader for the metadata.
func (r *Record) MetaLoader() func() string {
	if r.store == nil {
		s := string(r.meta)
		return func() string { return s }
	}
	st, src, off, size := r.store, r.Source, r.Offset, r.Size
	return func() string {
		full, err := st.Load(src, off, size)
		if err != nil {
			return ""
		}
		return string(full.meta)
	}
}

// NewRecord makes a record outside of any store, for decoders of a text that
// was loaded on its own.
func NewRecord(name string, payload []byte) *Record {
	return &Record{
		Seq: -1, Kind: "artifact", Name: name, RawName: name, Rank: -1, Autograd: -1, ID: NoCompile, payload: payload,
		bare: true,
	}
}

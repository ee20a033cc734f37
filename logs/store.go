package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the settings of Open; the zero value is good.
type Options struct {
	Follow      bool      // sources grow, and folders gain files
	Empty       bool      // a folder may hold nothing: that of a run in which nothing was compiled
	Stdin       io.Reader // for "-"
	SpoolDir    string    // for temporary files, "" for the system's folder
	SpoolMemory int64     // kept in memory before a temporary file is made; 0: 32 MB
	limits      limits    // of archives; tests have smaller ones
	openFiles   int       // at most; 0: what the process may have allows
}

// Store is an index of the records of all its sources: offsets and what
// filters need, never payloads. It only grows. Its methods are safe for
// concurrent use, but only one Read or Follow may run.
type Store struct {
	opts     Options
	paths    []string
	files    files
	spools   spools
	count    counters
	total    atomic.Int64
	unpacked atomic.Int64 // bytes of all archives
	mu       sync.RWMutex
	sources  []*source
	known    map[string]bool
	entries  index
	kinds    []kindName
	kindIDs  map[string]uint32
	epochs   map[int]int // rank -> next epoch
	bad      map[int64]bool
	wanted   func(*Record) bool
}

type kindName struct{ kind, name, raw string }

// maxKinds bounds the table of names, which hostile input could fill.
const maxKinds = 1 << 16

// Open opens files, folders and "-". With Follow a folder may be empty yet, and what
// is not there is waited for.
func Open(paths []string, o Options) (*Store, error) {
	if o.SpoolMemory == 0 {
		o.SpoolMemory = 32 << 20
	}
	if o.openFiles == 0 {
		o.openFiles = openFiles()
	}
	if o.limits == (limits{}) {
		o.limits = standardLimits()
	}
	st := &Store{
		opts: o, paths: paths, files: files{max: o.openFiles}, spools: spools{dir: o.SpoolDir, limit: o.SpoolMemory},
		known: map[string]bool{}, kindIDs: map[string]uint32{}, epochs: map[int]int{}, bad: map[int64]bool{},
	}
	for _, p := range paths {
		if _, err := st.addPath(p); err != nil && !(o.Follow && errors.Is(err, fs.ErrNotExist)) {
			return nil, errors.Join(err, st.Close())
		}
	}
	if len(st.sources) == 0 && !o.Follow && !o.Empty {
		return nil, fmt.Errorf("%s: holds no trace (*.log), no text log (*.txt) and no Chrome trace (*.json)", strings.Join(paths, " "))
	}
	return st, nil
}

// addPath adds the files of p that are not known yet.
func (st *Store) addPath(p string) (added int, err error) {
	files, err := expand(p)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if st.known[f] {
			continue
		}
		if len(st.sources) >= 1<<16-1 {
			return added, fmt.Errorf("%s: too many files", p)
		}
		if err := st.addSource(f, f == p); err != nil {
			if f == p {
				return added, err
			}
			if !st.passOver(f, err) {
				continue
			}
		}
		st.known[f] = true
		added++
	}
	return added, nil
}

// Close closes all sources; texts can no longer be loaded.
func (st *Store) Close() error {
	var errs []error
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, s := range st.sources {
		s.mu.Lock()
		for _, c := range s.closers {
			errs = append(errs, c.Close())
		}
		s.closers = nil
		s.mu.Unlock()
	}
	errs = append(errs, st.files.Close(), st.spools.Close())
	return errors.Join(errs...)
}

// Sources lists the files, in the order in which they are read.
func (st *Store) Sources() []Source {
	st.mu.RLock()
	defer st.mu.RUnlock()
	out := make([]Source, len(st.sources))
	for i, s := range st.sources {
		s.mu.Lock()
		out[i] = s.Source
		s.mu.Unlock()
	}
	return out
}

// Size is the size of the plain files at opening, for a progress bar.
func (st *Store) Size() int64 { return st.total.Load() }

// Stats counts what was read and what was wrong with it.
func (st *Store) Stats() Stats {
	return Stats{
		Records: int64(st.Len()), Bytes: st.count.bytes.Load(), BadJSON: st.count.badJSON.Load(),
		MD5Mismatch: st.count.mismatch.Load(), Stray: st.count.stray.Load(), Oversized: st.count.oversized.Load(),
	}
}

// Len is the number of records indexed so far.
func (st *Store) Len() int {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.entries.len()
}

// Entry is what the index knows of record i without reading it: everything
// but place, thread, metadata and payload.
func (st *Store) Entry(i int) Record {
	st.mu.RLock()
	defer st.mu.RUnlock()
	if i < 0 || i >= st.entries.len() {
		return Record{Seq: -1, ID: NoCompile, Rank: -1}
	}
	e := st.entries.at(i)
	k := st.kinds[e.kind]
	return Record{
		Seq: int64(i), Source: int(e.origin.source), Offset: e.off, Size: e.size, Level: e.origin.level, Micros: e.micros,
		Kind: k.kind, Name: k.name, RawName: k.raw, Rank: int(e.origin.rank), Autograd: -1,
		ID: CompileID{int(e.frame), int(e.compile), int(e.attempt)}, HasID: e.origin.hasID, Epoch: int(e.epoch), store: st,
	}
}

// Record reads record i.
func (st *Store) Record(i int) (*Record, error) {
	e := st.Entry(i)
	if e.Seq < 0 {
		return nil, fmt.Errorf("record %d: there are %d", i, st.Len())
	}
	r, err := st.Load(e.Source, e.Offset, e.Size)
	if err != nil {
		return nil, err
	}
	r.Seq, r.Rank, r.Epoch = e.Seq, e.Rank, e.Epoch
	if r.HasID && !e.HasID { // a text log of a process without a trace
		r.HasID, r.ID = false, NoCompile
	}
	return r, nil
}

// Load reads the record at a place; Seq, Rank and Epoch are not known to it.
func (st *Store) Load(source int, off, size int64) (*Record, error) {
	st.mu.RLock()
	if source < 0 || source >= len(st.sources) || size < 0 || size > MaxRecord {
		st.mu.RUnlock()
		return nil, fmt.Errorf("source %d has no record at %d", source, off)
	}
	src := st.sources[source]
	st.mu.RUnlock()
	b := make([]byte, size)
	n, err := src.at.ReadAt(b, off)
	if err != nil && (err != io.EOF || n == 0) {
		return nil, fmt.Errorf("%s: %w", src.Path, err)
	}
	b = b[:n] // the last line of a file may lack its end
	sp := span{off: off, size: size}
	j := 0
	for j < len(b) && b[j] != '\n' {
		j++
	}
	sp.header = trimEOL(b[:j])
	if j < len(b) {
		sp.body = b[j+1:]
	}
	r := &Record{Seq: -1, Source: source, store: st}
	st.fill(r, src, sp, nil)
	return r, nil
}

// mismatch notes a payload that does not fit its sum, once a record.
func (st *Store) mismatch(r *Record) {
	st.mu.Lock()
	defer st.mu.Unlock()
	key := int64(r.Source)<<48 ^ r.Offset
	if !st.bad[key] && len(st.bad) < 1<<20 {
		st.bad[key] = true
		st.count.mismatch.Add(1)
	}
}

// Time is the moment of a record. Logs carry neither year nor zone: both come
// from the first chromium event where there is one, else from the file's date.
func (st *Store) Time(r *Record) time.Time {
	st.mu.RLock()
	src := st.sources[r.Source]
	st.mu.RUnlock()
	src.mu.Lock()
	defer src.mu.Unlock()
	return src.base.Add(time.Duration(r.Micros) * time.Microsecond)
}

// Calibrate ties the clock of r's source to a known moment of the record.
func (st *Store) Calibrate(r *Record, at time.Time) {
	st.mu.RLock()
	src := st.sources[r.Source]
	st.mu.RUnlock()
	src.mu.Lock()
	defer src.mu.Unlock()
	if src.based {
		return
	}
	src.based = true
	const zone = 15 * time.Minute
	src.base = at.Add(-time.Duration(r.Micros) * time.Microsecond).Round(zone)
}

// largeTrace is the size from which Read has the collector run more often: the
// report of a trace of 1 GB then stays well under 300 MB.
const largeTrace = 256 << 20

// Read reads all sources to their ends and calls each with every record, in
// order, on the caller's goroutine. A source that cannot be read on is ended
// and its error kept in Sources; Read fails only when nothing could be read.
func (st *Store) Read(ctx context.Context, each func(*Record)) error {
	if st.Size() > largeTrace {
		defer debug.SetGCPercent(debug.SetGCPercent(60))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newPipe(ctx)
	// The first batch is read here: there is nothing to fold yet, and a thread
	// takes a while to start.
	more := len(st.sources) > 0 && st.advance(p, 0, true)
	go func() {
		defer close(p.out)
		for i := range st.sources {
			for more {
				more = st.advance(p, i, true)
			}
			more = true
		}
	}()
	for b := range p.batches() {
		st.deliver(b, each)
		p.recycle(b)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return st.firstError()
}

// firstError is the error of a store none of whose sources gave a record.
func (st *Store) firstError() error {
	if st.Len() > 0 {
		return nil
	}
	for _, s := range st.Sources() {
		if s.Err != nil {
			return fmt.Errorf("%s: %w", s.Path, s.Err)
		}
	}
	return nil
}

// verifyAll is the size up to which every payload's md5 is checked while a
// store is read; beyond it only those that somebody reads.
const verifyAll = 64 << 20

// Prefetch names the records whose payloads the caller of Read will ask for:
// they are undressed and checked beside the caller's own work.
func (st *Store) Prefetch(wanted func(*Record) bool) { st.wanted = wanted }

// verifiesAll says whether sums are still compared that nobody asked for.
func (st *Store) verifiesAll() bool {
	return st.count.bytes.Load() <= verifyAll && st.total.Load() <= verifyAll
}

// check compares the sum of a payload that is wanted or, in a batch of a small
// trace, of any that was not read yet.
func (st *Store) check(r *Record, b *batch) {
	switch {
	case len(r.md5) == 0:
	case b.all || st.wanted != nil && st.wanted(r):
		r.Payload()
	}
}

// batch is the records of one chunk, which share its buffer.
type batch struct {
	recs   []Record
	spans  []span
	buf    []byte
	fields []field // of the records' metadata

	all     bool // every payload's md5 is looked at
	checked int  // records whose payloads the reading goroutine looked at
}

// roomy is how large a batch's buffer is at least: what is not touched of it
// costs nothing, and long records do not need another.
const roomy = 1 << 20

// grow makes room for n bytes.
func (b *batch) grow(n int) {
	if cap(b.buf) < n {
		b.buf = make([]byte, max(n+n/8, roomy))
	}
	b.buf = b.buf[:cap(b.buf)]
}

// pipe takes batches from the goroutine that reads to the one that folds, and
// their memory back. Payloads are checked on the one that is ahead: mostly the
// reader, but not while the other waits for it.
type pipe struct {
	ctx       context.Context
	out, free chan *batch
	waits     atomic.Bool // the goroutine that folds has nothing to do
}

// ahead is how many batches the reading goroutine may be ahead: with fewer it
// stands still, and compares no sums, while the other is at a dear record.
const ahead = 4

func newPipe(ctx context.Context) *pipe {
	p := &pipe{ctx: ctx, out: make(chan *batch, ahead), free: newFree()}
	p.waits.Store(true)
	return p
}

// newFree holds all batches that can be under way: those that wait, the one that is folded and the one
// that is filled.
func newFree() chan *batch { return make(chan *batch, ahead+2) }

// batches are those that come until the reading ends.
func (p *pipe) batches() iter.Seq[*batch] {
	return func(yield func(*batch) bool) {
		for {
			p.waits.Store(len(p.out) == 0)
			b, ok := <-p.out
			p.waits.Store(false)
			if !ok || !yield(b) {
				return
			}
		}
	}
}

// empty is a batch to fill.
func (p *pipe) empty() *batch {
	select {
	case b := <-p.free:
		return b
	default:
		return &batch{}
	}
}

// keepBatch is the size up to which a batch's memory is used again: one that a
// huge record needed is let go.
const keepBatch = 2 << 20

func (p *pipe) recycle(b *batch) {
	if cap(b.buf) > keepBatch {
		return
	}
	clear(b.recs)
	select {
	case p.free <- b:
	default:
	}
}

// advance reads one chunk of source i and sends it; false at the end of what
// there is.
func (st *Store) advance(p *pipe, i int, final bool) bool {
	src := st.sources[i]
	if src.dead || p.ctx.Err() != nil {
		return false
	}
	more := st.read(p, i, final)
	if src.dead {
		src.release()
	}
	return more
}

// read is advance for a source that lives.
func (st *Store) read(p *pipe, i int, final bool) bool {
	src := st.sources[i]
	final = final || src.pipe != nil && src.pipe.ended()
	b := p.empty()
	if !src.started {
		ok, err := st.begin(src, b)
		if err != nil {
			src.fail(err)
		}
		if !ok {
			src.dead = src.dead || final
			p.recycle(b)
			return false
		}
	}
	if src.text != nil {
		src.text.final = final
	}
	if err := src.scan.next(b, final); err != nil {
		src.fail(err)
		b.spans = append(b.spans, src.scan.remains()...)
	}
	if src.scan.eof && !final {
		if sp, ok := whole(src.scan.carry); ok {
			sp.off = src.scan.off
			sp.header, sp.body = cloneSpan(sp)
			b.spans = append(b.spans, sp)
			src.scan.off += int64(len(src.scan.carry))
			src.scan.carry = src.scan.carry[:0]
		}
	}
	if len(b.spans) == 0 {
		p.recycle(b)
	} else if !st.send(p, i, b) {
		return false
	}
	if src.scan.eof {
		if src.cutShort() {
			src.fail(errCutShort)
		}
		src.dead = src.dead || final || src.file == nil && src.pipe == nil && src.text == nil
		return false
	}
	return true
}

// send makes records of a batch's spans and hands them on; false when nobody
// waits for them any longer.
func (st *Store) send(p *pipe, i int, b *batch) bool {
	src := st.sources[i]
	b.recs = slices.Grow(b.recs[:0], len(b.spans))[:len(b.spans)]
	b.all, b.checked, b.fields = st.verifiesAll(), 0, b.fields[:0]
	for j, sp := range b.spans {
		b.recs[j] = Record{Source: i, store: st}
		b.fields = st.fill(&b.recs[j], src, sp, b.fields)
		if b.checked == j && !p.waits.Load() {
			st.check(&b.recs[j], b)
			b.checked++
		}
	}
	st.index(src, b.recs)
	select {
	case p.out <- b:
		return true
	case <-p.ctx.Done():
		return false
	}
}

func cloneSpan(sp span) (header, body []byte) {
	return append([]byte(nil), sp.header...), append([]byte(nil), sp.body...)
}

// remains gives the open record after an error ended the source.
func (s *scanner) remains() []span {
	spans, _ := s.cut(nil, append([]byte(nil), s.carry...), true)
	s.carry = nil
	return spans
}

func (src *source) failed() bool {
	src.mu.Lock()
	defer src.mu.Unlock()
	return src.Err != nil
}

func (src *source) fail(err error) {
	src.mu.Lock()
	defer src.mu.Unlock()
	src.dead = true
	if src.Err == nil {
		src.Err = err
	}
}

// maxRank is the largest rank that is believed; the index has no room for more.
const maxRank = math.MaxInt16

// fill makes a record of raw bytes. The fields of its metadata are appended to
// fields.
func (st *Store) fill(r *Record, src *source, sp span, fields []field) []field {
	h := header{fields: fields}
	r.Offset, r.Size = sp.off, sp.size
	i := isTraceHeader(sp.header, &h)
	ok := i >= 0 && parseEnvelope(sp.header[i:], &h)
	r.Level, r.Micros, r.Thread, r.place = h.level, h.micros, h.thread, h.place
	r.Rank, r.Autograd, r.ID, r.HasID, r.hasTry = h.rank, h.autograd, h.id, h.hasID, h.hasTry
	if r.Rank < 0 || r.Rank > maxRank {
		r.Rank = src.Rank
	}
	r.md5, r.meta, r.stack, r.payload = h.md5, h.meta, h.stack, sp.body
	if h.subgraph != nil {
		r.Subgraph = JSONString(h.subgraph)
	}
	if !ok {
		r.meta = sp.header
		r.setKind(st.kindOf([]byte(BadJSON), nil))
		return fields
	}
	if h.first >= 0 {
		r.fields = h.fields[h.first:]
	}
	var name []byte
	if string(h.kind) == "artifact" {
		name = r.Field("name")
	}
	r.setKind(st.kindOf(h.kind, name))
	return h.fields
}

func (r *Record) setKind(k kindName, number uint32) {
	r.Kind, r.Name, r.RawName, r.kind = k.kind, k.name, k.raw, number
}

// kindOf interns the names of a record; the number is that of the names in the
// index, 0 where its table is full.
func (st *Store) kindOf(kind, name []byte) (kindName, uint32) {
	key := kind
	if name != nil {
		key = name // raw JSON, with its quotes: no event key looks so
	}
	st.mu.RLock()
	if id, ok := st.kindIDs[string(key)]; ok {
		k := st.kinds[id]
		st.mu.RUnlock()
		return k, id
	}
	st.mu.RUnlock()
	k := kindName{raw: JSONString(quoted(kind))}
	k.kind = canonical(k.raw)
	if name != nil {
		k.raw = JSONString(name)
		k.name = canonical(k.raw)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.kinds) >= maxKinds {
		return k, 0
	}
	id := uint32(len(st.kinds))
	st.kindIDs[string(key)] = id
	st.kinds = append(st.kinds, k)
	return k, id
}

func quoted(b []byte) []byte {
	out := make([]byte, 0, len(b)+2)
	return append(append(append(out, '"'), b...), '"')
}

// index appends records to the index and gives them number and epoch.
func (st *Store) index(src *source, recs []Record) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range recs {
		r := &recs[i]
		r.Seq = int64(st.entries.len())
		r.Epoch = st.epochOf(src, r)
		if r.Kind == BadJSON {
			st.count.badJSON.Add(1)
		}
		src.told = src.told || !r.IsOutput()
		st.entries.add(entry{
			off: r.Offset, size: r.Size, micros: r.Micros, kind: r.kind,
			owner: owner{
				attemptID: attemptID{frame: int32(r.ID.Frame), compile: int32(r.ID.Compile), attempt: int16(r.ID.Attempt)},
				epoch:     int32(r.Epoch),
				origin:    origin{rank: int16(r.Rank), source: uint16(r.Source), level: r.Level, hasID: r.HasID},
			},
		})
	}
}

// Foreign names those of the store's paths whose files hold no record: neither a trace
// nor the text of a log, or a log to which nothing was written. Ask it when they were
// read; what could not be read has its error in Sources.
func (st *Store) Foreign() []string {
	st.mu.RLock()
	defer st.mu.RUnlock()
	var out []string
	for _, p := range st.paths {
		if !slices.ContainsFunc(st.sources, func(src *source) bool {
			return (src.told || src.failed()) && (src.Path == p || filepath.Dir(src.Path) == filepath.Clean(p))
		}) {
			out = append(out, p)
		}
	}
	return out
}

// deliver hands the records of a batch to each and checks what the reading
// goroutine left.
func (st *Store) deliver(b *batch, each func(*Record)) {
	for i := range b.recs {
		r := &b.recs[i]
		if r.Kind == "str" {
			src := st.sources[r.Source]
			src.mu.Lock()
			src.names.note(r.meta)
			src.mu.Unlock()
		}
		each(r)
		if i >= b.checked {
			st.check(r, b)
		}
	}
}

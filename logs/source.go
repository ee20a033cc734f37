package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"tcdbg/logs/chrome"
	"tcdbg/logs/regular"
)

// This file opens what a user names: plain files, .gz and .zst, standard input
// and folders, and tells traces from text.

// Format is what a source holds.
type Format string

// The formats.
const (
	FormatUnknown Format = ""
	FormatTrace   Format = "trace" // TORCH_TRACE
	FormatText    Format = "text"  // TORCH_LOGS, or what was pasted from it
	FormatChrome  Format = "Chrome trace"
)

// Source is one file of a store.
type Source struct {
	Path   string // as given; "-" for standard input
	Rank   int    // from the name or the first record that tells, -1: none
	Format Format
	Err    error // what ended it early, such as a truncated archive
	Unread bool  // it could not be opened: Err says why, and nothing was read
}

type source struct {
	Source
	mu      sync.Mutex // guards names, Rank, Format, Err, closers
	names   internTable
	taken   internTable // names of the process that it was forked from; nil: not looked for
	listed  namesAsRead // of a file that others may have been forked from
	scan    scanner
	at      io.ReaderAt
	closers []io.Closer
	file    *plainFile // of regular files
	pipe    *piped     // of followed ones that are none
	dead    bool       // reached its end for good
	started bool       // format is known
	told    bool       // it has a record that is more than output; guarded by the store's lock
	text    *textReader
	beside  bool // a text log that accompanies a trace

	epochs  map[int]*epochState // by rank
	process int                 // of the first record, as its header tells it
	base    time.Time           // time of Micros 0
	changed time.Time           // when the file was written last; zero: unknown
	based   bool
}

type compileKey struct{ autograd, frame, compile int }

// rankInName is the number after "rank", "rank_" or "rank-" in a file's name,
// -1 when there is none.
func rankInName(name string) int {
	for {
		_, rest, ok := strings.Cut(name, "rank")
		if !ok {
			return -1
		}
		number := rest
		if number != "" && (number[0] == '_' || number[0] == '-') {
			number = number[1:]
		}
		if n := digits(number); n > 0 {
			return intOr([]byte(number[:n]), -1)
		}
		name = rest
	}
}

// addSource opens a file. One that the user has named may be a pipe of the user's shell, or
// where it is followed any other; what lies in a folder is a regular file or refused.
func (st *Store) addSource(path string, named bool) error {
	src := &source{Source: Source{Path: path, Rank: rankInName(filepath.Base(path))}, names: internTable{}, epochs: map[int]*epochState{}}
	src.scan.count = &st.count
	var raw io.Reader
	switch {
	case path == "-":
		if st.opts.Stdin == nil {
			return errors.New("-: standard input is not available here")
		}
		raw = st.opts.Stdin
	case named && st.opts.Follow && regular.Pipe(path):
		raw = &waitingPipe{path: path}
	default:
		var err error
		if raw, err = st.openFile(src, named); err != nil {
			return err
		}
	}
	if src.base.IsZero() {
		src.base = yearStart(time.Now())
	}
	if err := st.wire(src, raw); err != nil {
		src.release()
		return fmt.Errorf("%s: %w", path, err)
	}
	st.mu.Lock()
	st.sources = append(st.sources, src)
	st.mu.Unlock()
	return nil
}

// passOver notes a file of a folder that cannot be opened: the others are read, and the
// report names it. One that is gone again, such as a temporary file, is none.
func (st *Store) passOver(path string, err error) (noted bool) {
	if _, gone := os.Lstat(path); errors.Is(gone, fs.ErrNotExist) {
		return false
	}
	var special *regular.Error
	var pe *fs.PathError
	switch {
	case errors.As(err, &special):
		err = errors.New(special.Reason)
	case errors.As(err, &pe):
		err = pe.Err
	case errors.Unwrap(err) != nil: // the source has the path
		err = errors.Unwrap(err)
	}
	src := &source{Source: Source{Path: path, Rank: -1, Err: err, Unread: true}, dead: true}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.sources = append(st.sources, src)
	return true
}

// openFile opens a source's file.
func (st *Store) openFile(src *source, named bool) (io.Reader, error) {
	open := regular.Open
	if named {
		open = regular.OpenNamed
	}
	f, err := st.files.first(open, src.Path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	src.base, src.changed = yearStart(info.ModTime()), info.ModTime()
	st.total.Add(info.Size())
	if !info.Mode().IsRegular() { // what a pipe gave cannot be read again
		src.closers = append(src.closers, f)
		return f, nil
	}
	src.file = st.files.add(f, info)
	return src.file, nil
}

// wire puts decompression and spool between the file and the scanner.
func (st *Store) wire(src *source, raw io.Reader) error {
	magic := make([]byte, 4)
	in := raw
	switch {
	case src.file != nil:
		n, _ := src.file.ReadAt(magic, 0)
		magic = magic[:n]
	case st.opts.Follow: // what it holds shows when something comes
		sp := st.spool()
		src.pipe = newPiped(&pouring{from: raw, limit: st.opts.limits.piped}, raw, sp)
		src.scan.in, src.at = src.pipe, sp
		return nil
	default:
		br := bufio.NewReaderSize(raw, 64<<10)
		magic, _ = br.Peek(4)
		in = br
	}
	z, err := st.unpack(src, in, magic)
	if err != nil {
		return err
	}
	pipe := in
	if z == nil && src.file != nil {
		src.scan.in, src.at = in, src.file
		return nil
	}
	if in = z; z == nil {
		in = &pouring{from: pipe, limit: st.opts.limits.piped}
	}
	sp := st.spool()
	src.scan.in, src.at = io.TeeReader(in, sp), sp
	src.file = nil
	return nil
}

// unpack is what in holds where it is an archive, else nil.
func (st *Store) unpack(src *source, in io.Reader, magic []byte) (io.Reader, error) {
	packed := &counting{from: in}
	z, err := src.decoder(packed, magic)
	if z == nil || err != nil {
		return nil, err
	}
	return &unpacking{limits: st.opts.limits, from: z, packed: packed, all: &st.unpacked}, nil
}

// decoder is that of the archive that in is, nil where it is none.
func (src *source) decoder(in io.Reader, magic []byte) (io.Reader, error) {
	ext := strings.ToLower(filepath.Ext(src.Path))
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(in)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(maxZstdMemory), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		src.closers = append(src.closers, closerFunc(z.Close))
		return z, nil
	case (ext == ".gz" || ext == ".zst") && len(magic) > 0:
		return nil, fmt.Errorf("is no %s archive", ext[1:])
	}
	return nil, nil
}

// spool makes a spool for a source.
func (st *Store) spool() *spool {
	return &spool{of: &st.spools}
}

// release lets go of what only reading needs.
func (src *source) release() {
	src.scan.in, src.scan.carry = nil, nil
	src.mu.Lock()
	defer src.mu.Unlock()
	src.text = nil
	for _, c := range src.closers {
		_ = c.Close() // they were only read
	}
	src.closers = nil
}

type closerFunc func()

func (f closerFunc) Close() error { f(); return nil }

// headSize is how much of a source is looked at before it is read.
const headSize = 64 << 10

// begin looks at the first bytes and decides on the format. It reports false
// while there are none. scratch lends its memory.
func (st *Store) begin(src *source, scratch *batch) (bool, error) {
	var head []byte
	var err error
	var br *bufio.Reader
	if src.file != nil {
		scratch.grow(headSize) // a chunk is read into it next
		var n int
		n, err = src.file.ReadAt(scratch.buf[:headSize], 0)
		head = scratch.buf[:n]
	} else {
		br, head, err = st.peek(src)
	}
	if len(head) == 0 {
		if err != nil && err != io.EOF {
			return false, err
		}
		if src.file == nil && src.pipe == nil {
			src.dead = true
		}
		return false, nil
	}
	if isBinary(head) {
		return false, errors.New("is binary data, neither a trace nor a log")
	}
	format := FormatText
	switch {
	case looksLikeTrace(head):
		format = FormatTrace
	case chrome.Looks(head):
		format = FormatChrome
	}
	src.mu.Lock()
	src.Format = format
	src.mu.Unlock()
	src.started = true
	if format == FormatTrace && src.file != nil && src.Rank < 0 {
		src.Rank = peekRank(src.file, scratch)
	}
	if br != nil {
		src.scan.in = br
	}
	if format == FormatChrome {
		sp := st.spool()
		src.scan.in, src.at = io.TeeReader(newProfileReader(src), sp), sp
		src.file = nil
	}
	if format == FormatText {
		sp := st.spool()
		src.text = newTextReader(src.scan.in)
		src.text.grows = st.opts.Follow
		src.beside = st.besideTrace(src)
		src.text.conv.beside = src.beside
		src.scan.in, src.at = io.TeeReader(src.text, sp), sp
	}
	return true, nil
}

// peek looks at what comes first from a source that is no plain file; what a followed
// pipe brings may be an archive.
func (st *Store) peek(src *source) (br *bufio.Reader, head []byte, err error) {
	br = bufio.NewReaderSize(src.scan.in, 2*headSize)
	head, err = br.Peek(headSize)
	if src.pipe == nil || len(head) == 0 {
		return br, head, err
	}
	src.pipe.waits = true // should it be one
	z, err := st.unpack(src, br, head[:min(4, len(head))])
	if src.pipe.waits = z != nil; z == nil {
		return br, head, err
	}
	sp := st.spool()
	src.scan.in, src.at = io.TeeReader(z, sp), sp
	br = bufio.NewReaderSize(src.scan.in, 2*headSize)
	head, err = br.Peek(headSize)
	return br, head, err
}

// besideTrace says whether a text log accompanies a trace of the same run: its
// breaks and graphs would count twice.
func (st *Store) besideTrace(text *source) bool {
	if filepath.Base(text.Path) == companionLog {
		return true
	}
	st.mu.RLock()
	defer st.mu.RUnlock()
	head := make([]byte, 64<<10)
	for _, s := range st.sources {
		if s.Format == FormatTrace {
			return true
		}
		if s == text || s.started || s.file == nil {
			continue
		}
		if n, _ := s.file.ReadAt(head, 0); looksLikeTrace(head[:n]) {
			return true
		}
	}
	return false
}

// companionLog is the text log that lies beside the traces in a run's folder:
// it holds what traces lack (fusion, schedule).
const companionLog = "torch_logs.txt"

// peekRank looks for the rank that a process tells only once it has joined its
// group, so that its first records count as that rank's too.
func peekRank(f io.ReaderAt, scratch *batch) int {
	const look, longest = 256 << 10, 32 // bytes of the file; of a rank's field
	key := []byte(`, "rank": `)
	scratch.grow(headSize)
	for off := int64(0); off < look; off += headSize - longest {
		n, _ := f.ReadAt(scratch.buf[:headSize], off)
		b := scratch.buf[:n]
		if i := bytes.Index(b, key); i >= 0 {
			b = b[i+len(key):]
			return intOr(b[:digits(string(b[:min(len(b), 20)]))], -1)
		}
		if n < headSize {
			break
		}
	}
	return -1
}

func isBinary(head []byte) bool {
	return bytes.IndexByte(head, 0) >= 0
}

// looksLikeTrace says whether any of the first lines is a record's header.
func looksLikeTrace(head []byte) bool {
	var h header
	for line := range bytes.Lines(head) {
		if isTraceHeader(trimEOL(line), &h) >= 0 {
			return true
		}
	}
	return false
}

// yearStart is the time of Micros 0: the table of days counts a February 29.
func yearStart(t time.Time) time.Time {
	return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
}

// expand turns what the user named into files: a folder becomes its traces,
// sorted by name with numbers in order.
func expand(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var traces, texts, profiles, others []string
	for _, f := range files {
		if f.IsDir() || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		name := strings.ToLower(f.Name())
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
		switch filepath.Ext(name) {
		case ".json":
			if profileName(name) {
				profiles = append(profiles, filepath.Join(path, f.Name()))
			} else {
				others = append(others, filepath.Join(path, f.Name()))
			}
		case ".log", ".trace":
			traces = append(traces, filepath.Join(path, f.Name()))
		case ".txt":
			if name == companionLog {
				traces = append(traces, filepath.Join(path, f.Name()))
				continue
			}
			texts = append(texts, filepath.Join(path, f.Name()))
		}
	}
	if len(traces) == 0 {
		traces = texts
	}
	traces = append(traces, profiles...)
	if len(traces) == 0 {
		traces = slices.DeleteFunc(others, func(path string) bool { return !holdsChrome(path) })
	}
	sort.Slice(traces, func(i, j int) bool { return naturalLess(traces[i], traces[j]) })
	return traces, nil
}

// naturalLess orders rank_2 before rank_10.
func naturalLess(a, b string) bool {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			na, nb := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if len(na) != len(nb) {
				return len(na) < len(nb)
			}
			if na != nb {
				return na < nb
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

func digits(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

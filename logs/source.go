package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
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
)

// Source is one file of a store.
type Source struct {
	Path   string // as given; "-" for standard input
	Rank   int    // from the name or the first record that tells, -1: none
	Format Format
	Err    error // what ended it early, such as a truncated archive
}

type source struct {
	Source
	mu      sync.Mutex // guards names, Rank, Format, Err
	names   internTable
	scan    scanner
	at      io.ReaderAt
	closers []io.Closer
	file    *os.File // of plain files
	dead    bool     // reached its end for good
	started bool     // format is known
	text    *textReader

	epochs  map[int]*epochState // by rank
	process int                 // of the first record, as its header tells it
	base    time.Time           // time of Micros 0
	based   bool
}

type compileKey struct{ autograd, frame, compile int }

var rankInName = regexp.MustCompile(`rank[_-]?(\d+)`)

func (st *Store) addSource(path string) error {
	src := &source{Source: Source{Path: path, Rank: -1}, names: internTable{}, epochs: map[int]*epochState{}}
	src.scan.count = &st.count
	if m := rankInName.FindStringSubmatch(filepath.Base(path)); m != nil {
		if n, ok := JSONInt([]byte(m[1])); ok {
			src.Rank = int(n)
		}
	}
	var raw io.Reader
	if path == "-" {
		if st.opts.Stdin == nil {
			return errors.New("-: standard input is not available here")
		}
		raw = st.opts.Stdin
	} else {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if info, err := f.Stat(); err == nil {
			src.base = yearStart(info.ModTime())
			if info.IsDir() {
				return errors.Join(fmt.Errorf("%s: is a folder", path), f.Close())
			}
			st.total.Add(info.Size())
		}
		src.file, raw = f, f
		src.closers = append(src.closers, f)
	}
	if src.base.IsZero() {
		src.base = yearStart(time.Now())
	}
	if err := st.wire(src, raw); err != nil {
		for _, c := range src.closers {
			_ = c.Close()
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	st.mu.Lock()
	st.sources = append(st.sources, src)
	st.mu.Unlock()
	return nil
}

// wire puts decompression and spool between the file and the scanner.
func (st *Store) wire(src *source, raw io.Reader) error {
	ext := strings.ToLower(filepath.Ext(src.Path))
	magic := make([]byte, 4)
	var in io.Reader
	switch {
	case src.file != nil:
		n, _ := src.file.ReadAt(magic, 0)
		magic = magic[:n]
		in = raw
	default:
		br := bufio.NewReaderSize(raw, 64<<10)
		magic, _ = br.Peek(4)
		in = br
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = z
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		src.closers = append(src.closers, closerFunc(z.Close))
		in = z
	case ext == ".gz" || ext == ".zst":
		if len(magic) > 0 {
			return fmt.Errorf("is no %s archive", ext[1:])
		}
	}
	if src.file != nil && in == raw {
		src.scan.in, src.at = in, src.file
		return nil
	}
	sp := &spool{dir: st.opts.SpoolDir, limit: st.opts.SpoolMemory}
	src.closers = append(src.closers, sp)
	src.scan.in, src.at = io.TeeReader(in, sp), sp
	src.file = nil
	return nil
}

type closerFunc func()

func (f closerFunc) Close() error { f(); return nil }

// begin looks at the first bytes and decides on the format. It reports false
// while there are none.
func (st *Store) begin(src *source) (bool, error) {
	br := bufio.NewReaderSize(src.scan.in, 256<<10)
	head, err := br.Peek(64 << 10)
	if len(head) == 0 {
		if err != nil && err != io.EOF {
			return false, err
		}
		if src.file == nil {
			src.dead = true
		}
		return false, nil
	}
	if binary(head) {
		return false, errors.New("is binary data, neither a trace nor a log")
	}
	format := FormatText
	if looksLikeTrace(head) {
		format = FormatTrace
	}
	src.mu.Lock()
	src.Format = format
	src.mu.Unlock()
	src.started = true
	switch {
	case format == FormatText:
		sp := &spool{dir: st.opts.SpoolDir, limit: st.opts.SpoolMemory}
		src.closers = append(src.closers, sp)
		src.text = newTextReader(br)
		src.text.conv.beside = st.besideTrace(src)
		src.scan.in, src.at = io.TeeReader(src.text, sp), sp
	case src.file != nil:
		// Read the file itself: a buffered reader would keep an end of file.
		if _, err := src.file.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		if src.Rank < 0 {
			src.Rank = peekRank(src.file)
		}
		src.scan.in = src.file
	default:
		src.scan.in = br
	}
	return true, nil
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
func peekRank(f *os.File) int {
	b := make([]byte, 256<<10)
	n, _ := f.ReadAt(b, 0)
	key := []byte(`, "rank": `)
	i := bytes.Index(b[:n], key)
	if i < 0 {
		return -1
	}
	b = b[i+len(key) : n]
	j := 0
	for j < len(b) && b[j] >= '0' && b[j] <= '9' {
		j++
	}
	return intOr(b[:j], -1)
}

func binary(head []byte) bool {
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
	var traces, texts []string
	for _, f := range files {
		if f.IsDir() || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		name := strings.ToLower(f.Name())
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
		switch filepath.Ext(name) {
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

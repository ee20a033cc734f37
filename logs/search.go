package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
)

// This file searches the payloads and metadata of a store.

// Query is what to look for, and where. Zero filters let everything through.
type Query struct {
	Text   string // plain text, unless Regexp
	Regexp bool
	Fold   bool // upper and lower case are the same
	Kind   string
	Frame  int // with HasFrame
	Rank   int // with HasRank
	File   string
	Code   string // GB0170: records that name it

	HasFrame, HasRank bool
	Limit             int // 0: 10,000
}

// Match is one line that fits.
type Match struct {
	Record int // number in the store
	Line   int // 0: the header, 1..: line of the payload
	Text   string
	From   int // byte range of the match within Text
	To     int
}

// searchBlock is how much is read at once.
const searchBlock = 4 << 20

// Search looks through all records and calls found with every match, and
// progress, if not nil, with bytes done and in all. It stops at the query's
// limit or when ctx ends.
func Search(ctx context.Context, st *Store, q Query, found func(Match), progress func(done, total int64)) error {
	find, err := q.finder()
	if err != nil {
		return err
	}
	limit := q.Limit
	if limit == 0 {
		limit = 10_000
	}
	n := st.Len()
	var done, total int64
	for i := 0; i < n; i++ {
		total += st.Entry(i).Size
	}
	buf := make([]byte, 0, searchBlock)
	for i := 0; i < n && limit > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := st.Entry(i)
		last := i
		end := first.Offset + first.Size
		for last+1 < n && end-first.Offset < searchBlock { // neighbours are read together
			e := st.Entry(last + 1)
			if e.Source != first.Source || e.Offset != end {
				break
			}
			end = e.Offset + e.Size
			last++
		}
		size := int(min(end-first.Offset, MaxRecord))
		if cap(buf) < size {
			buf = make([]byte, 0, size)
		}
		buf = buf[:size]
		if m, err := st.readAt(first.Source, buf, first.Offset); err != nil && m == 0 {
			return err
		} else {
			buf = buf[:m]
		}
		if len(find(buf, false)) > 0 { // most blocks hold no match at all
			for j := i; j <= last && limit > 0; j++ {
				e := st.Entry(j)
				from := e.Offset - first.Offset
				to := min(from+e.Size, int64(len(buf)))
				if from < to && q.admits(&e, buf[from:to]) {
					limit -= matches(find, j, buf[from:to], limit, found)
				}
			}
		}
		done += end - first.Offset
		if progress != nil {
			progress(done, total)
		}
		i = last + 1
	}
	return nil
}

func (st *Store) readAt(source int, b []byte, off int64) (int, error) {
	st.mu.RLock()
	src := st.sources[source]
	st.mu.RUnlock()
	n, err := src.at.ReadAt(b, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// finder returns the function that finds the ranges of q in bytes: all of
// them, or the first.
func (q *Query) finder() (func(b []byte, all bool) [][]int, error) {
	if q.Regexp || q.Fold && !ascii(q.Text) {
		return q.expression()
	}
	if q.Fold {
		f := newFolded(q.Text)
		return f.find, nil
	}
	want := []byte(q.Text)
	return func(b []byte, all bool) [][]int {
		var out [][]int
		for i := 0; ; {
			j := bytes.Index(b[i:], want)
			if j < 0 || len(want) == 0 && i > 0 {
				return out
			}
			out = append(out, []int{i + j, i + j + len(want)})
			if !all {
				return out
			}
			i += j + max(len(want), 1)
			if i > len(b) {
				return out
			}
		}
	}, nil
}

func (q *Query) expression() (func(b []byte, all bool) [][]int, error) {
	expr := q.Text
	if !q.Regexp {
		expr = regexp.QuoteMeta(expr)
	}
	if q.Fold {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return nil, fmt.Errorf("search %q: %w", q.Text, err)
	}
	return func(b []byte, all bool) [][]int {
		if all {
			return re.FindAllIndex(b, -1)
		}
		if loc := re.FindIndex(b); loc != nil {
			return [][]int{loc}
		}
		return nil
	}, nil
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// folded finds a text of ASCII letters in either case: it looks for the text's
// rarest byte, in both cases, and compares around it.
type folded struct {
	lower []byte
	at    int // index of the rarest byte
	a, b  byte
}

// common are the bytes that traces consist of, most frequent first.
const common = " _etaornsicldu\"0:,=(1)p.m[2]fg/-3bh|4vy5"

func newFolded(text string) *folded {
	f := &folded{lower: bytes.ToLower([]byte(text))}
	best := -1
	for i, c := range f.lower {
		rank := strings.IndexByte(common, c)
		if rank < 0 {
			rank = len(common)
		}
		if rank > best {
			best, f.at = rank, i
		}
	}
	if len(f.lower) > 0 {
		f.a = f.lower[f.at]
		f.b = f.a
		if f.a >= 'a' && f.a <= 'z' {
			f.b = f.a - 'a' + 'A'
		}
	}
	return f
}

func (f *folded) find(b []byte, all bool) [][]int {
	if len(f.lower) == 0 {
		return [][]int{{0, 0}}
	}
	var out [][]int
	pos := 0 // where the next match may begin
	nextA, nextB := -1, -1
	for {
		from := pos + f.at
		if nextA = next(b, f.a, from, nextA); f.a != f.b {
			nextB = next(b, f.b, from, nextB)
		} else {
			nextB = len(b)
		}
		i := min(nextA, nextB)
		if i >= len(b) {
			return out
		}
		start := i - f.at
		if start+len(f.lower) <= len(b) && equalFold(b[start:start+len(f.lower)], f.lower) {
			out = append(out, []int{start, start + len(f.lower)})
			if !all {
				return out
			}
			pos = start + len(f.lower)
			continue
		}
		pos = start + 1
	}
}

// next is the place of c at or after from; known is an earlier answer.
func next(b []byte, c byte, from, known int) int {
	if known >= from {
		return known
	}
	if from >= len(b) {
		return len(b)
	}
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}

func equalFold(b, lower []byte) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// admits applies the filters.
func (q *Query) admits(e *Record, raw []byte) bool {
	switch {
	case q.Kind != "" && e.Kind != q.Kind && e.Name != q.Kind && e.RawName != q.Kind:
		return false
	case q.HasFrame && e.ID.Frame != q.Frame:
		return false
	case q.HasRank && e.Rank != q.Rank:
		return false
	case q.File != "" && !bytes.Contains(raw, []byte(q.File)) && !bytes.Contains(raw, []byte(filepath.Base(q.File))):
		return false
	case q.Code != "" && !bytes.Contains(raw, []byte(strings.ToLower(q.Code))) && !bytes.Contains(raw, []byte(q.Code)):
		return false
	}
	return true
}

// matches reports the matching lines of one record.
func matches(find func([]byte, bool) [][]int, rec int, raw []byte, limit int, found func(Match)) int {
	n, line := 0, 0
	for len(raw) > 0 && n < limit {
		j := bytes.IndexByte(raw, '\n')
		l := raw
		if j >= 0 {
			l = raw[:j]
			raw = raw[j+1:]
		} else {
			raw = nil
		}
		text := bytes.TrimPrefix(trimEOL(l), []byte{'\t'})
		for _, loc := range find(text, true) {
			m := Match{Record: rec, Line: line, From: loc[0], To: loc[1]}
			m.Text, m.From, m.To = clip(text, loc[0], loc[1])
			found(m)
			if n++; n >= limit {
				break
			}
		}
		line++
	}
	return n
}

// clip cuts long lines around the match.
func clip(line []byte, from, to int) (string, int, int) {
	const before, after = 200, 600
	start := 0
	if from > before {
		start = from - before
	}
	end := min(len(line), max(to, from)+after)
	return string(line[start:end]), from - start, min(to, end) - start
}

package logs

import (
	"bytes"
	"io"
)

// This file cuts bytes into records. A record is a header line and all lines
// up to the next header: payload lines open with a TAB, but copies lose TABs
// and gain blank lines, so only a header ends a payload.

// MaxRecord is the largest record that is held in memory; a longer one is cut
// there and its rest is skipped, so that a hostile line cannot fill memory.
const MaxRecord = 32 << 20

// Chunks are small at first: touching memory for the first time is a large part
// of the cost of a short report.
const (
	smallChunk = 64 << 10
	largeChunk = 1 << 20
	maxChunk   = 16 << 20 // while a record does not end
)

// span is one raw record within a chunk.
type span struct {
	off    int64 // in the source
	size   int64 // with the ends of its lines, which header and body may lack
	header []byte
	body   []byte
}

// scanner reads a source in chunks that end at record boundaries.
type scanner struct {
	in    io.Reader
	off   int64 // source offset of carry[0]
	carry []byte
	eof   bool
	skip  bool // inside the rest of an oversized record
	mid   bool // and within a line of it: what comes is no line's beginning
	count *counters
}

// next reads on and puts the whole records of one chunk into b, whose memory it
// uses; where a record does not end there, it reads on after. final says that
// the source does not grow: then the open record at its end is one of them.
func (s *scanner) next(b *batch, final bool) error {
	b.spans = b.spans[:0]
	rest, want := s.carry, s.chunkSize()
	for {
		buf, err := s.read(b, rest, want)
		b.spans, rest = s.cut(b.spans, s.restOfLine(buf), s.eof && final)
		switch {
		case len(rest) >= MaxRecord && !s.skip:
			s.count.oversized.Add(1)
			b.spans = append(b.spans, s.cutOversized(rest)...)
			s.skip = true
			rest = s.drop(rest)
		case s.skip && len(rest) > 0 && (rest[0] == '\t' || len(rest) >= MaxRecord):
			rest = s.drop(rest)
		}
		if err != nil || s.eof || len(b.spans) > 0 || len(rest) == 0 {
			s.carry = append(s.carry[:0], rest...)
			return err
		}
		want = min(2*len(buf), maxChunk)
	}
}

// read puts open, what is there of a record, and up to want further bytes into
// b's memory, which open may be a part of.
func (s *scanner) read(b *batch, open []byte, want int) ([]byte, error) {
	n := len(open)
	b.grow(n + want)
	copy(b.buf, open)
	m, err := fill(s.in, b.buf[n:n+want])
	s.count.bytes.Add(int64(m))
	if s.eof = err == io.EOF; s.eof {
		err = nil
	}
	return b.buf[:n+m], err
}

// chunkSize is how much is read next: an eighth of what was read, within limits.
func (s *scanner) chunkSize() int {
	return int(min(max(s.off/8&^(smallChunk-1), smallChunk), largeChunk))
}

// drop leaves out bytes of an oversized record.
func (s *scanner) drop(b []byte) []byte {
	s.off += int64(len(b))
	s.mid = b[len(b)-1] != '\n'
	return nil
}

// restOfLine leaves out what still belongs to a line whose beginning was dropped.
func (s *scanner) restOfLine(b []byte) []byte {
	if !s.mid || len(b) == 0 {
		return b
	}
	j := bytes.IndexByte(b, '\n')
	if j < 0 {
		return s.drop(b)
	}
	s.mid = false
	s.off += int64(j + 1)
	return b[j+1:]
}

// fill reads until b is full. Unlike io.ReadFull it keeps the end of a source
// apart from a truncated archive, which reports an unexpected end of its own.
func fill(r io.Reader, b []byte) (n int, err error) {
	empty := 0
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
		if m == 0 {
			if empty++; empty > 100 {
				return n, io.ErrNoProgress
			}
		}
	}
	return n, err
}

// cut appends the records of b to spans; rest is the open one at the end.
func (s *scanner) cut(spans []span, b []byte, all bool) (_ []span, rest []byte) {
	start, headEnd, pos := -1, 0, 0
	var h header
	done := 0
	for pos < len(b) {
		j := bytes.IndexByte(b[pos:], '\n')
		if j < 0 && !all {
			break
		}
		end := pos + j + 1
		if j < 0 {
			end = len(b)
		}
		if b[pos] == '\t' {
			pos = end
			continue
		}
		line := trimEOL(b[pos:end])
		if len(line) > 0 && isTraceHeader(line, &h) >= 0 {
			if start >= 0 {
				spans = append(spans, span{s.off + int64(start), int64(pos - start), trimEOL(b[start:headEnd]), b[headEnd:pos]})
			}
			start, headEnd, s.skip = pos, end, false
			done = pos
		} else if start < 0 {
			if len(line) > 0 && !s.skip {
				s.count.stray.Add(1)
			}
			done = end
		}
		pos = end
	}
	if start < 0 && pos > done && !all {
		done = pos
	}
	if all && start >= 0 {
		spans = append(spans, span{s.off + int64(start), int64(len(b) - start), trimEOL(b[start:headEnd]), b[headEnd:]})
		done = len(b)
	} else if all {
		done = len(b)
	}
	s.off += int64(done)
	return spans, b[done:]
}

func (s *scanner) cutOversized(b []byte) []span {
	j := bytes.IndexByte(b, '\n')
	if j < 0 {
		j = len(b) - 1
	}
	var h header
	if isTraceHeader(b[:j], &h) < 0 {
		return nil
	}
	return []span{{s.off, int64(len(b)), b[:j], b[j+1:]}}
}

// whole says whether an open record at the end of a growing file is complete:
// its payload fits its sum, or it has none and its line ended.
func whole(rest []byte) (span, bool) {
	j := bytes.IndexByte(rest, '\n')
	if j < 0 {
		return span{}, false
	}
	line := trimEOL(rest[:j+1])
	var h header
	i := isTraceHeader(line, &h)
	if i < 0 || !parseEnvelope(line[i:], &h) {
		return span{}, false
	}
	body := rest[j+1:]
	if h.md5 != nil {
		if len(body) == 0 || body[len(body)-1] != '\n' || !sumIs(undress(bytes.Clone(body)), h.md5) {
			return span{}, false
		}
	}
	return span{size: int64(len(rest)), header: line, body: body}, true
}

func trimEOL(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte{'\n'})
	return bytes.TrimSuffix(b, []byte{'\r'})
}

package logs

import (
	"bufio"
	"bytes"
	"io"
	"time"
)

// textReader turns TORCH_LOGS text into the bytes of a trace, so that one
// scanner, index and fold read both. Lines are lexed (textlex.go), grouped into
// messages (this file, textplain.go) and converted (textconv.go).
type textReader struct {
	in     *bufio.Reader
	final  bool // the end of in is the end of all
	line   []byte
	num    int
	open   map[groupKey]*message // messages that further lines may join
	plain  plainState
	conv   converter
	out    bytes.Buffer
	ended  bool
	failed error     // of what is read
	grows  bool      // it is followed: what stays open for too long is converted
	grew   time.Time // when bytes came last
}

// message is one log message or block of plain text.
type message struct {
	textLine
	lines []string
	first int // line number
	size  int
	stop  bool
	told  int // lines that are converted already, because nothing came for a while
}

// groupKey tells whose message a line continues: ranks and processes
// interleave in one stream.
type groupKey struct{ rank, thread int }

// maxMessage bounds one message, maxTextLine one line.
const (
	maxMessage  = 32 << 20
	maxTextLine = 8 << 20
)

func newTextReader(in io.Reader) *textReader {
	return &textReader{in: bufio.NewReaderSize(in, 256<<10), open: map[groupKey]*message{}, conv: newConverter()}
}

// Read implements io.Reader.
func (t *textReader) Read(p []byte) (int, error) {
	for t.out.Len() < len(p) && !t.ended {
		if err := t.readLine(); err != nil {
			switch {
			case err != io.EOF: // what came before it is shown
				t.failed = err
				t.finish()
			case t.final:
				t.finish()
			case t.grows:
				t.settle(time.Since(t.grew))
			}
			break
		}
	}
	switch {
	case t.out.Len() > 0:
		return t.out.Read(p)
	case t.failed != nil:
		return 0, t.failed
	}
	return 0, io.EOF
}

// readLine takes one whole line; a line that is still being written stays.
func (t *textReader) readLine() error {
	chunk, err := t.in.ReadSlice('\n')
	if len(chunk) > 0 && t.grows {
		t.grew = time.Now()
	}
	if len(t.line)+len(chunk) <= maxTextLine {
		t.line = append(t.line, chunk...)
	}
	switch {
	case err == bufio.ErrBufferFull:
		return nil
	case err != nil && !(err == io.EOF && t.final && len(t.line) > 0):
		return err
	}
	t.num++
	t.take(trimEOL(t.line))
	t.line = t.line[:0]
	return err
}

// take sorts one line into its message.
func (t *textReader) take(raw []byte) {
	l := lexLine(raw)
	if !l.prefixed {
		t.takePlain(l)
		return
	}
	t.plain.flush(t)
	key := groupKey{l.rank, l.thread}
	m := t.open[key]
	if m != nil && !m.stop && m.continues(&l) {
		m.add(l.text)
		return
	}
	t.closeGroup(key)
	if len(t.open) > 256 {
		t.closeAll()
	}
	m = &message{textLine: l, first: t.num}
	m.add(l.text)
	t.open[key] = m
}

func (m *message) add(text string) {
	if m.size += len(text); m.size > maxMessage {
		m.stop = true
		return
	}
	m.lines = append(m.lines, text)
}

// oneLiners are artifacts each of whose lines is a message, unless indented.
var oneLiners = map[string]bool{
	"fusion": true, "loop_ordering": true, "perf_hints": true, "trace_bytecode": true, "dynamic": true, "": false,
}

// continues says whether l is a further line of m: the prefixes are equal, and
// the text does not begin a message of its own.
func (m *message) continues(l *textLine) bool {
	if m.artifact != l.artifact || m.id != l.id || m.autograd != l.autograd {
		return false
	}
	if m.artifact == "guards" { // head, tree and latency come from three places
		return l.text != "GUARDS:"
	}
	if m.place != l.place || m.micros != l.micros || m.level != l.level {
		return false
	}
	if oneLiners[m.artifact] || m.artifact == "" && isOneLine(l.text) {
		return len(l.text) > 0 && l.text[0] == ' '
	}
	return m.artifact == "" && m.level == 'W' || !startsMessage(l.text)
}

// closeGroup converts the open message of a key.
func (t *textReader) closeGroup(key groupKey) {
	if m := t.open[key]; m != nil {
		delete(t.open, key)
		if len(m.lines) > m.told {
			t.conv.convert(&t.out, m)
		}
	}
}

func (t *textReader) closeAll() {
	for key := range t.open {
		t.closeGroup(key)
	}
}

// finish converts what is open at the end.
func (t *textReader) finish() {
	if t.ended {
		return
	}
	t.ended = true
	if len(t.line) > 0 {
		t.num++
		t.take(trimEOL(t.line))
		t.line = nil
	}
	t.plain.flush(t)
	var keys []groupKey
	for k := range t.open {
		keys = append(keys, k)
	}
	for len(keys) > 0 { // in the order in which they began
		best := 0
		for i, k := range keys {
			if t.open[k].first < t.open[keys[best]].first {
				best = i
			}
		}
		t.closeGroup(keys[best])
		keys = append(keys[:best], keys[best+1:]...)
	}
}

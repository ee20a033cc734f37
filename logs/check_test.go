package logs

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestUnreadPayloads: the sum of a payload is compared though nobody reads it,
// by the reading goroutine while the other is busy, else by the other, and by
// the two together exactly once.
func TestUnreadPayloads(t *testing.T) {
	const records, every = 400, 7 // every so many records one is spoilt
	var b bytes.Buffer
	w := testWriter(&b)
	for i := range records {
		w.Emit(Text(CompileID{Frame: i}, "note", strings.Repeat(fmt.Sprintln("line", i), 200)))
	}
	lines := strings.SplitAfter(b.String(), "\n")
	bad, seen := int64(0), 0
	for i, l := range lines {
		if strings.HasPrefix(l, "\tline") && !strings.HasPrefix(lines[i-1], "\t") {
			if seen%every == 0 {
				lines[i] = "\tLine" + l[len("\tline"):]
				bad++
			}
			seen++
		}
	}
	path := file(t, "unread.log", strings.Join(lines, ""))
	if seen != records || b.Len() < 4*smallChunk {
		t.Fatalf("%d records in %d bytes", seen, b.Len())
	}
	free := make(chan *batch, 100) // batches are used again
	for _, c := range []struct {
		waits  bool
		wanted func(*Record) bool
	}{{false, nil}, {true, nil}, {false, isNote}, {true, isNote}} {
		st, err := Open([]string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		st.Prefetch(c.wanted)
		p := &pipe{ctx: context.Background(), out: make(chan *batch, 100), free: free}
		p.waits.Store(c.waits)
		for st.advance(p, 0, true) {
		}
		close(p.out)
		early := bad
		if c.waits {
			early = 0
		}
		if got := st.Stats().MD5Mismatch; got != early {
			t.Errorf("waits %v: the reading goroutine found %d of %d spoilt payloads, want %d", c.waits, got, bad, early)
		}
		for batch := range p.out {
			st.deliver(batch, func(*Record) {})
			p.recycle(batch)
		}
		if got := st.Stats().MD5Mismatch; got != bad {
			t.Errorf("waits %v: %d spoilt payloads were found of %d", c.waits, got, bad)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// And all of it together.
	st, err := Open([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Read(context.Background(), func(*Record) {}); err != nil {
		t.Fatal(err)
	}
	if got := st.Stats().MD5Mismatch; got != bad {
		t.Errorf("Read found %d spoilt payloads of %d", got, bad)
	}
}

func isNote(r *Record) bool { return r.Name == "note" }

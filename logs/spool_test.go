package logs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
)

// TestSpoolReads: what was written is read back at any place, from memory and
// from the file that a spool over its limit goes on in; what ends early says so.
func TestSpoolReads(t *testing.T) {
	for name, limit := range map[string]int64{"memory": 8, "to the file between two writes": 5, "file": 0} {
		t.Run(name, func(t *testing.T) {
			all := &spools{dir: t.TempDir(), limit: limit}
			s := &spool{of: all}
			for _, text := range []string{"abcd", "efgh"} {
				if n, err := io.WriteString(s, text); n != 4 || err != nil {
					t.Fatalf("%d bytes written, %v", n, err)
				}
			}
			if (all.f == nil) != (limit == 8) || all.f != nil && (s.mem != nil || all.held != 0) {
				t.Errorf("file %v and %d bytes in memory at a limit of %d", all.f != nil, len(s.mem), limit)
			}
			for _, c := range []struct {
				off, size int
				want      string
				err       error
			}{
				{0, 8, "abcdefgh", nil},
				{3, 3, "def", nil},
				{5, 3, "fgh", nil},
				{5, 4, "fgh", io.EOF},
				{8, 1, "", io.EOF},
				{9, 1, "", io.EOF},
			} {
				p := make([]byte, c.size)
				if n, err := s.ReadAt(p, int64(c.off)); string(p[:n]) != c.want || err != c.err {
					t.Errorf("%d bytes at %d are %q, %v", c.size, c.off, p[:n], err)
				}
			}
			if n, err := s.ReadAt(make([]byte, 1), -1); n != 0 || err == nil {
				t.Errorf("%d bytes are read before the first one, %v", n, err)
			}
			if err := all.Close(); err != nil {
				t.Error(err)
			}
			if _, err := s.Write([]byte("x")); err != os.ErrClosed {
				t.Errorf("a closed one is written to, %v", err)
			}
		})
	}
}

// TestSpoolsShare: many spools that are written in turns have one limit and one file, and each
// gives back what is its own, in every piece.
func TestSpoolsShare(t *testing.T) {
	all := &spools{dir: t.TempDir(), limit: 1000}
	defer func() { _ = all.Close() }()
	var spools [20]*spool
	var want [20]bytes.Buffer
	for i := range spools {
		spools[i] = &spool{of: all}
	}
	for turn := range 50 {
		for i, s := range spools {
			text := fmt.Sprintf("<%d:%d>", i, turn)[:(turn+i)%4+1]
			want[i].WriteString(text)
			if _, err := io.WriteString(s, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	inMemory := 0
	for i, s := range spools {
		inMemory += len(s.mem)
		whole := want[i].Bytes()
		for off := 0; off < len(whole); off += 7 {
			for _, size := range []int{1, 9, 40, len(whole) - off} {
				size = min(size, len(whole)-off)
				got := make([]byte, size)
				if n, err := s.ReadAt(got, int64(off)); n != size || err != nil || !bytes.Equal(got, whole[off:off+size]) {
					t.Fatalf("spool %d: %d bytes at %d are %q, %v", i, size, off, got[:n], err)
				}
			}
		}
	}
	if inMemory > 1000 || int64(inMemory) != all.held {
		t.Errorf("%d bytes in memory, %d counted", inMemory, all.held)
	}
}

package logs

import (
	"io"
	"testing"
)

// TestSpoolReads: what was written is read back at any place, from memory and
// from the file that a spool over its limit goes on in; what ends early says so.
func TestSpoolReads(t *testing.T) {
	for name, limit := range map[string]int64{"memory": 8, "to the file between two writes": 5, "file": 0} {
		t.Run(name, func(t *testing.T) {
			s := &spool{dir: t.TempDir(), limit: limit}
			for _, text := range []string{"abcd", "efgh"} {
				if n, err := io.WriteString(s, text); n != 4 || err != nil {
					t.Fatalf("%d bytes written, %v", n, err)
				}
			}
			if (s.f == nil) != (limit == 8) || s.f != nil && s.mem != nil {
				t.Errorf("file %v and %d bytes in memory at a limit of %d", s.f != nil, len(s.mem), limit)
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
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

package codecache

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzEntry puts any bytes in the place of an entry: they are loaded only if they are those
// that were written. Nothing here is code, and nothing is given to a loader of code.
func FuzzEntry(f *testing.F) {
	write := func(t *testing.T) (c *tried, whole []byte) {
		c = open(t, filepath.Join(t.TempDir(), "cache"), 0)
		c.want("a", false)
		c.want("b", false)
		whole, err := os.ReadFile(c.path("a"))
		if err != nil {
			t.Fatal(err)
		}
		return c, whole
	}
	sum := made([]string{"a"})
	head := append([]byte("code of a"), magic...)
	f.Add([]byte(nil), uint16(0), false)
	f.Add([]byte("junk"), uint16(3), false)
	f.Add(append(head, sum[:]...), uint16(1), true)
	f.Add(bytes.Repeat([]byte{0}, trailerSize+1), uint16(100), true)
	f.Fuzz(func(t *testing.T, data []byte, at uint16, patch bool) {
		c, whole := write(t)
		entry := data
		if patch { // of the real entry: bytes replaced, or added at its end
			entry = bytes.Clone(whole)
			entry = append(entry[:int(at)%(len(entry)+1)], data...)
			if len(entry) < len(whole) {
				entry = append(entry, whole[len(entry):]...)
			}
		}
		if err := os.WriteFile(c.path("a"), entry, 0o600); err != nil {
			t.Fatal(err)
		}
		same := bytes.Equal(entry, whole)
		c.want("a", same) // get compares what is loaded with what was built
		if said := len(c.said) > 0; said == same {
			t.Errorf("the same bytes: %t; it said %q", same, c.said)
		}
		c.want("a", true)
		c.want("b", true)
	})
}

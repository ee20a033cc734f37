package codecache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// read is what a text was squeezed from.
func read(in []byte) ([]byte, error) {
	n, err := squeezedSize(in)
	if err != nil {
		return nil, err
	}
	out := unsqueezed(in, make([]byte, n))
	if len(out) != n {
		return nil, fmt.Errorf("%d bytes, and %d were said", len(out), n)
	}
	return out, nil
}

// squeezedTexts are texts with repeats of all lengths and distances.
func squeezedTexts() []string {
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return string(b)
	}
	line := noise(200)
	out := []string{
		"", "a", noise(blockSize - 1), noise(5000), strings.Repeat("a", 5000), strings.Repeat(line, 50), line + noise(100) + line,
	}
	for range 50 {
		text := noise(1 + r.IntN(300))
		for range 20 {
			at := r.IntN(len(text))
			text += text[at:at+r.IntN(len(text)-at+1)] + noise(r.IntN(40))
		}
		out = append(out, text)
	}
	return out
}

// TestSqueezed: what is read is what was written, repeats take next to nothing, and other texts hardly more than they are.
func TestSqueezed(t *testing.T) {
	for i, text := range squeezedTexts() {
		b := squeezed([]byte(text))
		got, err := read(b)
		if err != nil || string(got) != text {
			t.Errorf("text %d of %d bytes: %d are read (%v)", i, len(text), len(got), err)
		}
		if len(b) > len(text)+8 {
			t.Errorf("text %d: %d bytes for %d", i, len(b), len(text))
		}
	}
	if b := squeezed([]byte(strings.Repeat(squeezedTexts()[3], 20))); len(b) > 5200 {
		t.Errorf("20 times 5,000 bytes take %d", len(b))
	}
}

// TestSqueezedIsRefused: bytes that are cut are refused, and others give no more than they say.
func TestSqueezedIsRefused(t *testing.T) {
	text := squeezedTexts()[10]
	whole := squeezed([]byte(text))
	for n := range whole {
		if _, err := read(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are read", n, len(whole))
		}
		for _, v := range []byte{0, 1, 0x80, 0xff} {
			b := bytes.Clone(whole)
			b[n] = v
			if got, err := read(b); err == nil && len(got) > 4*len(text) && n > 0 {
				t.Errorf("%d bytes instead of %d", len(got), len(text))
			}
		}
	}
	for _, b := range [][]byte{
		{}, {5}, {5, 0, 5, 1}, {5, 1, 'a', 4, 0}, {5, 1, 'a', 4, 2}, {5, 1, 'a', 9, 1}, {1, 1, 'a', 'b'}, {0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		if got, err := read(b); err == nil {
			t.Errorf("%v is %q", b, got)
		}
	}
	if got, err := read([]byte{5, 1, 'a', 4, 1}); err != nil || string(got) != "aaaaa" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPlanParts: both parts of a plan are read as they were, and what is cut is refused before any is.
func TestPlanParts(t *testing.T) {
	texts := squeezedTexts()
	for i, head := range texts {
		rest := texts[(i+1)%len(texts)]
		b := joined([]byte(head), []byte(rest))
		got, later, err := planParts(b)
		if err != nil || string(got) != head || later.Len() != len(rest) {
			t.Fatalf("text %d: %d bytes and %d (%v), not %d and %d", i, len(got), later.Len(), err, len(head), len(rest))
		}
		if text := later.Read(func(n int) []byte { return make([]byte, n) }); string(text) != rest {
			t.Errorf("text %d: the rest differs", i)
		}
		for n := range min(len(b), 300) {
			if _, _, err := planParts(b[:n]); err == nil {
				t.Errorf("text %d: %d of %d bytes are read", i, n, len(b))
			}
		}
	}
}

package codecache

import (
	"encoding/binary"
	"errors"
)

// This file writes bytes without what is in them twice, and reads them again. Of a compile the text of the program is in a
// dozen records, so that a plan is a fifth of them; and reading is copying, which takes less time than reading and hashing
// what was left out.

const (
	blockSize = 64        // bytes that are looked for: shorter repeats stay
	maxText   = 256 << 20 // bytes that a plan may be
	rollBase  = 0x9E3779B97F4A7C15
)

// squeezed is the length of b, and then turns of two: bytes as they are, and a repeat of earlier ones, each behind its length;
// a repeat says first how far back it begins.
func squeezed(b []byte) []byte {
	out := binary.AppendUvarint(make([]byte, 0, len(b)/4+64), uint64(len(b)))
	from := 0 // of what is not written yet
	f := newFinder(b)
	for i := 0; i+blockSize <= len(b); {
		at := f.find(i)
		if at < 0 {
			i++
			continue
		}
		start, n := i, blockSize
		for at > 0 && start > from && b[at-1] == b[start-1] {
			at, start, n = at-1, start-1, n+1
		}
		for start+n < len(b) && b[at+n] == b[start+n] {
			n++
		}
		out = append(binary.AppendUvarint(out, uint64(start-from)), b[from:start]...)
		out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(n)), uint64(start-at))
		from = start + n
		i = from
	}
	if from < len(b) {
		out = append(binary.AppendUvarint(out, uint64(len(b)-from)), b[from:]...)
	}
	return out
}

// finder knows where each block of the bytes that were passed begins, at every multiple of its size.
type finder struct {
	b     []byte
	table []int32 // begin of a block plus one, by the hash
	shift uint
	hash  uint64
	at    int    // that hash is of the block here; -1: of none
	next  int    // the block to note
	out   uint64 // what the first byte of a block counts in its hash
}

func newFinder(b []byte) *finder {
	bits := uint(10)
	for 1<<bits < len(b)/blockSize*2 && bits < 24 {
		bits++
	}
	f := &finder{b: b, table: make([]int32, 1<<bits), shift: 64 - bits, at: -1, out: 1}
	for range blockSize - 1 {
		f.out *= rollBase
	}
	return f
}

// find returns where an earlier copy of the block at i begins, or -1 if there is none. Calls must pass ascending i.
func (f *finder) find(i int) int {
	for ; f.next+blockSize <= i; f.next += blockSize {
		f.table[f.slot(f.of(f.next))] = int32(f.next + 1)
	}
	switch {
	case f.at >= 0 && f.at == i-1:
		f.hash = (f.hash-uint64(f.b[i-1])*f.out)*rollBase + uint64(f.b[i+blockSize-1])
	default:
		f.hash = f.of(i)
	}
	f.at = i
	at := int(f.table[f.slot(f.hash)]) - 1
	if at < 0 || string(f.b[at:at+blockSize]) != string(f.b[i:i+blockSize]) {
		return -1
	}
	return at
}

func (f *finder) of(i int) uint64 {
	var h uint64
	for _, c := range f.b[i : i+blockSize] {
		h = h*rollBase + uint64(c)
	}
	return h
}

// slot is the place of a hash in the table: its upper bits, mixed once more, as few of the last byte reach them.
func (f *finder) slot(h uint64) uint64 { return (h ^ h>>29) * rollBase >> f.shift }

var errSqueezed = errors.New("it does not say what was written")

// pieces walks squeezed bytes and returns the size of the original. For each piece it calls each, which may be nil, with bytes to
// copy, then with the length and the distance of the repeat that follows them; at the end there may be none.
func pieces(in []byte, each func(plain []byte, n, back int)) (size int, err error) {
	bad := false
	number := func() int {
		v, n := binary.Uvarint(in)
		if n <= 0 || v > maxText {
			bad = true
			return 0
		}
		in = in[n:]
		return int(v)
	}
	size = number()
	for done := 0; done < size; {
		n := number()
		if bad || n > len(in) || n > size-done {
			return 0, errSqueezed
		}
		plain := in[:n]
		in, done = in[n:], done+n
		again, back := 0, 0
		if done < size {
			again, back = number(), number()
			if bad || again == 0 || again > size-done || back == 0 || back > done {
				return 0, errSqueezed
			}
			done += again
		}
		if each != nil {
			each(plain, again, back)
		}
	}
	if bad || len(in) != 0 {
		return 0, errSqueezed
	}
	return size, nil
}

// squeezedSize is the length of what unsqueezed makes of in.
func squeezedSize(in []byte) (int, error) { return pieces(in, nil) }

// unsqueezed is what squeezed was given, in the memory of out, which is of squeezedSize.
func unsqueezed(in, out []byte) []byte {
	out = out[:0]
	_, _ = pieces(in, func(plain []byte, n, back int) {
		out = append(out, plain...)
		for n > 0 { // a repeat may reach into itself
			at := len(out) - back
			k := min(n, back)
			out = append(out, out[at:at+k]...)
			n -= k
		}
	})
	return out
}

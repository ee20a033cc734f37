package logs

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
)

// This file is the index of a store: what filters need of every record. A log
// may hold tens of millions of records, so all but the newest are kept in
// blocks of bytes, each record as its difference from the one before: six bytes
// or so instead of sixty.

// entry is one record of the index.
type entry struct {
	off    int64
	size   int64
	micros int64
	kind   uint32
	owner
}

// owner is what neighbouring records mostly have in common.
type owner struct {
	attemptID
	epoch  int32
	origin origin
}

// attemptID changes from one compile to the next, mostly by one.
type attemptID struct {
	frame   int32
	compile int32
	attempt int16
}

// origin is where a record comes from.
type origin struct {
	rank   int16
	source uint16
	level  byte
	hasID  bool
}

// blockLen is the number of records of a block.
const blockLen = 256

// index is an append-only list of entries. Its methods need the store's lock;
// at needs it only for reading.
type index struct {
	blocks [][]byte
	tail   []entry // the newest, fewer than a block
	code   []byte  // to encode in

	mu      sync.Mutex // guards decoded and of
	decoded []entry    // the block that was looked at last
	of      int        // its number
}

func (x *index) len() int { return len(x.blocks)*blockLen + len(x.tail) }

func (x *index) add(e entry) {
	x.tail = append(x.tail, e)
	if len(x.tail) < blockLen {
		return
	}
	x.code = encodeBlock(x.code[:0], x.tail)
	x.blocks = append(x.blocks, append([]byte(nil), x.code...))
	x.tail = x.tail[:0]
}

// at is entry i, which must exist. Neighbours cost next to nothing.
func (x *index) at(i int) entry {
	n := i / blockLen
	if n == len(x.blocks) {
		return x.tail[i%blockLen]
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.decoded == nil || x.of != n {
		x.decoded, x.of = decodeBlock(x.decoded[:0], x.blocks[n]), n
	}
	return x.decoded[i%blockLen]
}

// The first byte of an encoded entry says what follows.
const (
	elsewhere = 1 << iota // it does not begin where the one before ended
	otherTime
	otherKind
	otherID
	otherEpoch
	otherOrigin
	again // so many more times what the entry before was
)

// encodeBlock appends entries. What differs from one to the next often does so in the
// same way, as in a log of nothing but tiny records: such a run takes two bytes.
func encodeBlock(b []byte, list []entry) []byte {
	var before entry
	from, times := 0, 0 // where the newest entry's bytes begin, and how often it came again
	for i := range list {
		end := len(b)
		b = appendEntry(b, &before, &list[i])
		before = list[i]
		if bytes.Equal(b[from:end], b[end:]) {
			b = b[:end]
			times++
			continue
		}
		if times > 0 { // is between the two
			mark := appendAgain(nil, times)
			b = slices.Insert(b, end, mark...)
			end, times = end+len(mark), 0
		}
		from = end
	}
	if times > 0 {
		b = appendAgain(b, times)
	}
	return b
}

func appendAgain(b []byte, times int) []byte {
	return binary.AppendUvarint(append(b, again), uint64(times))
}

func appendEntry(b []byte, before, e *entry) []byte {
	at := len(b)
	b = append(b, 0)
	b = binary.AppendUvarint(b, uint64(e.size))
	if end := before.off + before.size; e.off != end {
		b[at] |= elsewhere
		b = binary.AppendVarint(b, e.off-end)
	}
	if e.micros != before.micros {
		b[at] |= otherTime
		b = binary.AppendVarint(b, e.micros-before.micros)
	}
	if e.kind != before.kind {
		b[at] |= otherKind
		b = binary.AppendUvarint(b, uint64(e.kind))
	}
	if e.attemptID != before.attemptID {
		b[at] |= otherID
		b = binary.AppendVarint(b, int64(e.frame)-int64(before.frame))
		b = binary.AppendVarint(b, int64(e.compile)-int64(before.compile))
		b = binary.AppendVarint(b, int64(e.attempt)-int64(before.attempt))
	}
	if e.epoch != before.epoch {
		b[at] |= otherEpoch
		b = binary.AppendVarint(b, int64(e.epoch)-int64(before.epoch))
	}
	if e.origin != before.origin {
		b[at] |= otherOrigin
		b = appendOrigin(b, &e.origin)
	}
	return b
}

func appendOrigin(b []byte, o *origin) []byte {
	b = binary.AppendVarint(b, int64(o.rank))
	b = binary.AppendUvarint(b, uint64(o.source))
	has := byte(0)
	if o.hasID {
		has = 1
	}
	return append(b, o.level, has)
}

func decodeBlock(out []entry, b []byte) []entry {
	var e entry
	var same []byte // the bytes of the entry before
	d := decoder{b}
	for len(d.b) > 0 {
		if d.b[0] == again {
			d.byte()
			for n := d.uvarint(); n > 0; n-- {
				(&decoder{same}).entry(&e)
				out = append(out, e)
			}
			continue
		}
		same = d.b
		d.entry(&e)
		out = append(out, e)
	}
	return out
}

// entry reads what differs from the entry before.
func (d *decoder) entry(e *entry) {
	says := d.byte()
	e.off += e.size
	e.size = int64(d.uvarint())
	if says&elsewhere != 0 {
		e.off += d.varint()
	}
	if says&otherTime != 0 {
		e.micros += d.varint()
	}
	if says&otherKind != 0 {
		e.kind = uint32(d.uvarint())
	}
	if says&otherID != 0 {
		e.frame += int32(d.varint())
		e.compile += int32(d.varint())
		e.attempt += int16(d.varint())
	}
	if says&otherEpoch != 0 {
		e.epoch += int32(d.varint())
	}
	if says&otherOrigin != 0 {
		e.origin = origin{rank: int16(d.varint()), source: uint16(d.uvarint()), level: d.byte(), hasID: d.byte() == 1}
	}
}

// decoder reads what appendEntry wrote.
type decoder struct{ b []byte }

func (d *decoder) byte() byte {
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.b = d.b[n:]
	return v
}

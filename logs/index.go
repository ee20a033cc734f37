package logs

import (
	"encoding/binary"
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
	frame   int32
	compile int32
	epoch   int32
	attempt int16
	rank    int16
	source  uint16
	level   byte
	hasID   bool
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
	x.code = x.code[:0]
	var before entry
	for _, e := range x.tail {
		x.code = appendEntry(x.code, &before, &e)
		before = e
	}
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
	otherOwner
)

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
	if e.owner != before.owner {
		b[at] |= otherOwner
		b = appendOwner(b, &e.owner)
	}
	return b
}

func appendOwner(b []byte, o *owner) []byte {
	for _, v := range []int64{int64(o.frame), int64(o.compile), int64(o.epoch), int64(o.attempt), int64(o.rank)} {
		b = binary.AppendVarint(b, v)
	}
	b = binary.AppendUvarint(b, uint64(o.source))
	has := byte(0)
	if o.hasID {
		has = 1
	}
	return append(b, o.level, has)
}

func decodeBlock(out []entry, b []byte) []entry {
	var e entry
	d := decoder{b}
	for len(d.b) > 0 {
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
		if says&otherOwner != 0 {
			e.owner = owner{
				frame: int32(d.varint()), compile: int32(d.varint()), epoch: int32(d.varint()),
				attempt: int16(d.varint()), rank: int16(d.varint()), source: uint16(d.uvarint()),
				level: d.byte(), hasID: d.byte() == 1,
			}
		}
		out = append(out, e)
	}
	return out
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

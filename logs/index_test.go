package logs

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestIndex: what is put in comes out, in any order, extreme values included,
// and neighbours of one compile take a tenth of their size.
func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var x index
	var want []entry
	off := int64(0)
	for i := range 5*blockLen + 17 {
		e := entry{
			off: off, size: int64(rng.IntN(3000)), micros: int64(1e15 + i), kind: uint32(i % 7),
			owner: owner{attemptID{int32(i / 50), 0, 1}, 0, origin{rank: -1, level: 'V', hasID: true}},
		}
		if i%20 < 9 { // a run of equal differences
			e.size, e.kind = 100, 3
		}
		switch i % 97 {
		case 5:
			e = entry{
				off: 1 << 62, size: 1 << 40, micros: -(1 << 62), kind: 1<<32 - 1,
				owner: owner{attemptID{-1 << 31, 1<<31 - 1, -1 << 15}, -1, origin{1<<15 - 1, 1<<16 - 1, 255, true}},
			}
		case 6:
			e = entry{}
		}
		off = e.off + e.size
		if off < 0 || off > 1<<61 {
			off = 0
		}
		want = append(want, e)
		x.add(e)
	}
	if x.len() != len(want) {
		t.Fatalf("%d entries, want %d", x.len(), len(want))
	}
	for _, i := range rng.Perm(len(want)) {
		if got := x.at(i); got != want[i] {
			t.Fatalf("entry %d is %+v, want %+v", i, got, want[i])
		}
	}
	held := 0
	for _, b := range x.blocks {
		held += len(b)
	}
	if full := len(x.blocks) * blockLen * int(unsafe.Sizeof(entry{})); held*6 > full {
		t.Errorf("%d bytes held for %d", held, full)
	}
}

// TestIndexOfTinyCompiles: of a log each record of which begins another compile, or
// another epoch, a record takes few bytes.
func TestIndexOfTinyCompiles(t *testing.T) {
	const most = 0.2
	var compiles, epochs index
	for i := range int32(100 * blockLen) {
		e := entry{off: int64(i) * 100, size: 100, owner: owner{origin: origin{rank: -1, level: 'V', hasID: true}}}
		e.frame = i
		compiles.add(e)
		e.frame, e.epoch = 0, i
		epochs.add(e)
	}
	for name, x := range map[string]*index{"compiles": &compiles, "epochs": &epochs} {
		held := 0
		for _, b := range x.blocks {
			held += cap(b)
		}
		if n := x.len(); float64(held) > most*float64(n) {
			t.Errorf("%s: %d records take %d bytes, %v each at most", name, n, held, most)
		}
		if got := x.at(77); got.off != 7700 || got.frame+got.epoch != 77 {
			t.Errorf("%s: entry 77 is %+v", name, got)
		}
	}
}

// BenchmarkIndexWalk visits the entries of a million records one after the other.
func BenchmarkIndexWalk(b *testing.B) {
	var x index
	for i := range 1_000_000 {
		x.add(entry{off: int64(i) * 100, size: 100, micros: int64(i), kind: uint32(i % 5)})
	}
	for b.Loop() {
		for i := range x.len() {
			x.at(i)
		}
	}
}

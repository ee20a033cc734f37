package rng

import (
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file draws many numbers at once. The words of the generator's state follow from
// each other one by one, but cheaply; they are made a block at a time, and what takes
// long, distributions, is computed of a block's words on all threads. The numbers are
// those that would come one by one.

// streamWords is about how many words are made at once: they stay in the caches.
const streamWords = 256 << 10

// nearWords is that of what takes no longer than to make the words: they are used by the thread that made them, out of
// its first cache. Other threads would wait for half of the time, and fetch them. From farWords on they help nevertheless.
const (
	nearWords = 8 << 10
	farWords  = 1 << 20
)

// stream calls use for the next n words, about a block at a time and in their order: words[i] is
// word at+i, as it is in the state. But for the last time it is given a multiple of
// step words, a divisor of 64. The caller holds the lock.
func (g *Source) stream(n, block int, use func(at int, words []uint32)) {
	const size = simd.TwisterSize
	room := min((n+2*size-1)/size*size, block/size*size)
	if len(g.line) < size+room {
		g.line = make([]uint32, size+room)
	}
	line := g.line[:size+room]
	copy(line, g.state[:])
	pos := g.next
	if g.left <= 1 { // all words of the state were drawn, or there are none yet
		pos = size
	}
	for at := 0; at < n; {
		take := n - at
		if most := len(line) - pos; take > most {
			take = most &^ 63
		}
		end := (pos + take + size - 1) / size * size
		simd.Active().Twist(line[:end])
		use(at, line[pos:pos+take])
		at += take
		pos += take - (end - size)
		copy(line[:size], line[end-size:end])
	}
	copy(g.state[:], line)
	g.next, g.left = pos, size+1-pos
}

// draw makes n numbers, each of so many words, on all threads: use gets the words of
// numbers from on.
func (g *Source) draw(n, each int, use func(from int, words []uint32)) {
	g.stream(n*each, streamWords, func(at int, words []uint32) {
		const piece = 4096
		count := len(words) / each
		parallel.For((count+piece-1)/piece, 4*len(words), func(from, to int) {
			first, last := from*piece, min(to*piece, count)
			use(at/each+first, words[first*each:last*each])
		})
	})
}

// drawCheap is draw for what takes a word no longer than it takes to make one.
func (g *Source) drawCheap(n, each int, use func(from int, words []uint32)) {
	if n*each >= farWords {
		g.draw(n, each, use)
		return
	}
	g.stream(n*each, nearWords, func(at int, words []uint32) { use(at/each, words) })
}

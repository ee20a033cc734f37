package order

import (
	"cmp"
	"slices"
)

// This file sorts stably by radix: digit after digit from the lowest on, each by counting. A key of 32
// bits travels in one word with its position, a wider one is sorted by its lower and then by its upper half.

const (
	digitBits = 11 // three digits make 32 bits, and their counts fit the first cache
	digits    = 3
	// fewKeys are sorted by comparing: there clearing and adding up the counts is most of the work.
	fewKeys = 512
)

// Sorter sorts rows of keys; it keeps its memory for the next row.
type Sorter struct {
	words, next []uint64
	counts      [digits][1 << digitBits]uint32
}

// Sort writes to at the positions of keys, of so many bits each, by ascending key; equal ones stay in order.
func (s *Sorter) Sort(at []int64, keys []uint64, bits int) {
	n := len(keys)
	s.words, s.next = slices.Grow(s.words[:0], n)[:n], slices.Grow(s.next[:0], n)[:n]
	if bits > 32 && n < fewKeys {
		for i := range at {
			at[i] = int64(i)
		}
		slices.SortFunc(at, func(a, b int64) int {
			if c := cmp.Compare(keys[a], keys[b]); c != 0 {
				return c
			}
			return cmp.Compare(a, b)
		})
		return
	}
	for i, k := range keys {
		s.words[i] = k<<32 | uint64(i)
	}
	if n < fewKeys {
		slices.Sort(s.words) // positions differ, so no two words are equal
	} else {
		s.radix()
		if bits > 32 {
			for i, w := range s.words {
				s.words[i] = keys[uint32(w)]&^(1<<32-1) | w&(1<<32-1)
			}
			s.radix()
		}
	}
	for i, w := range s.words {
		at[i] = int64(uint32(w))
	}
}

// radix sorts the words by their upper halves.
func (s *Sorter) radix() {
	clear(s.counts[:])
	for _, w := range s.words {
		s.counts[0][w>>32&(1<<digitBits-1)]++
		s.counts[1][w>>(32+digitBits)&(1<<digitBits-1)]++
		s.counts[2][w>>(32+2*digitBits)]++
	}
	for d := range digits {
		shift := 32 + d*digitBits
		starts := &s.counts[d]
		if n := starts[s.words[0]>>shift&(1<<digitBits-1)]; int(n) == len(s.words) {
			continue // all have the same digit
		}
		sum := uint32(0)
		for i, c := range starts {
			starts[i] = sum
			sum += c
		}
		for _, w := range s.words {
			digit := w >> shift & (1<<digitBits - 1)
			s.next[starts[digit]] = w
			starts[digit]++
		}
		s.words, s.next = s.next, s.words
	}
}

package order

import "math/bits"

// This file selects the first elements of a row in the order that C++'s
// standard library leaves equal ones in: heap selection, quick selection and
// introsort (Musser 1997) over positions. PyTorch's topk shows that order.

// Place is a position of a row with its key.
type Place struct {
	Key uint64
	At  int64
}

// Places are the positions of a row in the order of their selection so far, the least key first.
type Places []Place

// PlacesOf makes s, whose memory is used again, the places of keys in their order.
func PlacesOf(s Places, keys []uint64) Places {
	s = s[:0]
	for i, k := range keys {
		s = append(s, Place{k, int64(i)})
	}
	return s
}

// First are the k places of the least keys, sorted if sorted is asked for (few of many are sorted anyway); their
// memory is that of s.
func First(s Places, keys []uint64, k int, sorted bool) Places {
	n := len(keys)
	switch {
	case k == 0:
		return s[:0]
	case k*64 <= n:
		s = PlacesOf(s, keys[:k])
		s.heapSelect(0, k, k)
		for i, key := range keys[k:] { // what leaves the heap is not looked at again
			if key < s[0].Key {
				s.sift(0, 0, k, Place{key, int64(k + i)})
			}
		}
		s.sortHeap(0, k)
		return s
	}
	s = PlacesOf(s, keys)
	s.nthElement(0, k-1, n)
	if sorted {
		s.Sort(0, k-1)
	}
	return s[:k]
}

// before compares the elements at two places.
func (s Places) before(i, j int) bool { return s[i].Key < s[j].Key }

// sift moves value down from hole in the heap of n places from first on, and up
// again to where it belongs.
func (s Places) sift(first, hole, n int, value Place) {
	top, child := hole, hole
	for child < (n-1)/2 {
		child = 2 * (child + 1)
		if s.before(first+child, first+child-1) {
			child--
		}
		s[first+hole] = s[first+child]
		hole = child
	}
	if n%2 == 0 && child == (n-2)/2 {
		child = 2*child + 1
		s[first+hole] = s[first+child]
		hole = child
	}
	for hole > top {
		parent := (hole - 1) / 2
		if s[first+parent].Key >= value.Key {
			break
		}
		s[first+hole] = s[first+parent]
		hole = parent
	}
	s[first+hole] = value
}

// heapSelect leaves the first middle-first elements of a range as a heap.
func (s Places) heapSelect(first, middle, last int) {
	n := middle - first
	for parent := (n - 2) / 2; parent >= 0 && n > 1; parent-- {
		s.sift(first, parent, n, s[first+parent])
	}
	for i := middle; i < last; i++ {
		if s.before(i, first) {
			s.popTo(first, n, i)
		}
	}
}

// popTo puts the root of a heap at place to and what was there into the heap.
func (s Places) popTo(first, n, to int) {
	value := s[to]
	s[to] = s[first]
	s.sift(first, 0, n, value)
}

func (s Places) sortHeap(first, last int) {
	for last--; last > first; last-- {
		s.popTo(first, last-first, last)
	}
}

// depthLimit is how often a range is parted before heaps take over.
func depthLimit(n int) int { return 2 * (bits.Len(uint(n)) - 1) }

// nthElement puts the element of rank nth in its place.
func (s Places) nthElement(first, nth, last int) {
	if nth == last {
		return
	}
	for depth := depthLimit(last - first); last-first > 3; depth-- {
		if depth == 0 {
			s.heapSelect(first, nth+1, last)
			s[first], s[nth] = s[nth], s[first]
			return
		}
		if cut := s.part(first, last); cut <= nth {
			first = cut
		} else {
			last = cut
		}
	}
	s.insertionSort(first, last)
}

// part divides a range at the median of three and returns where the upper part
// begins.
func (s Places) part(first, last int) int {
	s.medianTo(first, first+1, first+(last-first)/2, last-1)
	lo, hi := first+1, last
	for {
		for s.before(lo, first) {
			lo++
		}
		hi--
		for s.before(first, hi) {
			hi--
		}
		if lo >= hi {
			return lo
		}
		s[lo], s[hi] = s[hi], s[lo]
		lo++
	}
}

// medianTo swaps the median of three places with place to.
func (s Places) medianTo(to, a, b, c int) {
	switch {
	case s.before(a, b):
		if s.before(b, c) {
			a = b
		} else if s.before(a, c) {
			a = c
		}
	case s.before(a, c):
	case s.before(b, c):
		a = c
	default:
		a = b
	}
	s[to], s[a] = s[a], s[to]
}

// smallRange is sorted by insertion.
const smallRange = 16

// Sort sorts the places from first to last.
func (s Places) Sort(first, last int) {
	if first == last {
		return
	}
	s.partAll(first, last, depthLimit(last-first))
	if last-first <= smallRange {
		s.insertionSort(first, last)
		return
	}
	s.insertionSort(first, first+smallRange)
	for i := first + smallRange; i < last; i++ {
		s.insert(i)
	}
}

// partAll leaves no element further than a small range from its place.
func (s Places) partAll(first, last, depth int) {
	for last-first > smallRange {
		if depth == 0 {
			s.heapSelect(first, last, last)
			s.sortHeap(first, last)
			return
		}
		depth--
		cut := s.part(first, last)
		s.partAll(cut, last, depth)
		last = cut
	}
}

func (s Places) insertionSort(first, last int) {
	for i := first + 1; i < last; i++ {
		if !s.before(i, first) {
			s.insert(i)
			continue
		}
		value := s[i]
		copy(s[first+1:i+1], s[first:i])
		s[first] = value
	}
}

// insert moves the element at i down to its place; one below it stops it.
func (s Places) insert(i int) {
	value := s[i]
	for value.Key < s[i-1].Key {
		s[i] = s[i-1]
		i--
	}
	s[i] = value
}

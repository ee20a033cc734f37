package torch

import "math/bits"

// This file selects the first elements of a row in the order that C++'s
// standard library leaves equal ones in: heap selection, quick selection and
// introspective sort over positions. PyTorch's topk shows that order.

// selection is a row of positions that less compares.
type selection struct {
	at   []int
	less func(i, j int) bool
}

func newSelection(n int, less func(i, j int) bool) *selection {
	s := &selection{make([]int, n), less}
	for i := range s.at {
		s.at[i] = i
	}
	return s
}

// firstOf returns the k first of n positions, sorted if sorted is asked for
// (few of many are sorted anyway).
func firstOf(n, k int, sorted bool, less func(i, j int) bool) []int {
	s := newSelection(n, less)
	switch {
	case k == 0:
	case k*64 <= n:
		s.heapSelect(0, k, n)
		s.sortHeap(0, k)
	default:
		s.nthElement(0, k-1, n)
		if sorted {
			s.sort(0, k-1)
		}
	}
	return s.at[:k]
}

func (s *selection) swap(i, j int) { s.at[i], s.at[j] = s.at[j], s.at[i] }

// before compares the elements at two places.
func (s *selection) before(i, j int) bool { return s.less(s.at[i], s.at[j]) }

// sift moves value down from hole in the heap of n places from first on, and up
// again to where it belongs.
func (s *selection) sift(first, hole, n, value int) {
	top, child := hole, hole
	for child < (n-1)/2 {
		child = 2 * (child + 1)
		if s.before(first+child, first+child-1) {
			child--
		}
		s.at[first+hole] = s.at[first+child]
		hole = child
	}
	if n%2 == 0 && child == (n-2)/2 {
		child = 2*child + 1
		s.at[first+hole] = s.at[first+child]
		hole = child
	}
	for hole > top {
		parent := (hole - 1) / 2
		if !s.less(s.at[first+parent], value) {
			break
		}
		s.at[first+hole] = s.at[first+parent]
		hole = parent
	}
	s.at[first+hole] = value
}

// heapSelect leaves the first middle-first elements of a range as a heap.
func (s *selection) heapSelect(first, middle, last int) {
	n := middle - first
	for parent := (n - 2) / 2; parent >= 0 && n > 1; parent-- {
		s.sift(first, parent, n, s.at[first+parent])
	}
	for i := middle; i < last; i++ {
		if s.before(i, first) {
			s.popTo(first, n, i)
		}
	}
}

// popTo puts the root of a heap at place to and what was there into the heap.
func (s *selection) popTo(first, n, to int) {
	value := s.at[to]
	s.at[to] = s.at[first]
	s.sift(first, 0, n, value)
}

func (s *selection) sortHeap(first, last int) {
	for last--; last > first; last-- {
		s.popTo(first, last-first, last)
	}
}

// depthLimit is how often a range is parted before heaps take over.
func depthLimit(n int) int { return 2 * (bits.Len(uint(n)) - 1) }

// nthElement puts the element of rank nth in its place.
func (s *selection) nthElement(first, nth, last int) {
	if nth == last {
		return
	}
	for depth := depthLimit(last - first); last-first > 3; depth-- {
		if depth == 0 {
			s.heapSelect(first, nth+1, last)
			s.swap(first, nth)
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
func (s *selection) part(first, last int) int {
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
		s.swap(lo, hi)
		lo++
	}
}

// medianTo swaps the median of three places with place to.
func (s *selection) medianTo(to, a, b, c int) {
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
	s.swap(to, a)
}

// smallRange is sorted by insertion.
const smallRange = 16

func (s *selection) sort(first, last int) {
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
func (s *selection) partAll(first, last, depth int) {
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

func (s *selection) insertionSort(first, last int) {
	for i := first + 1; i < last; i++ {
		if !s.before(i, first) {
			s.insert(i)
			continue
		}
		value := s.at[i]
		copy(s.at[first+1:i+1], s.at[first:i])
		s.at[first] = value
	}
}

// insert moves the element at i down to its place; one below it stops it.
func (s *selection) insert(i int) {
	value := s.at[i]
	for s.less(value, s.at[i-1]) {
		s.at[i] = s.at[i-1]
		i--
	}
	s.at[i] = value
}

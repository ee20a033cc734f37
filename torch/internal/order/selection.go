package order

import "math/bits"

// This file selects the first elements of a row in the order that C++'s
// standard library leaves equal ones in: heap selection, quick selection and
// introsort (Musser 1997) over positions. PyTorch's topk shows that order.

// Selection is a row of positions that less compares.
type Selection struct {
	At   []int
	less func(i, j int) bool
}

// NewSelection is the row of the positions from 0 to n-1.
func NewSelection(n int, less func(i, j int) bool) *Selection {
	s := &Selection{make([]int, n), less}
	for i := range s.At {
		s.At[i] = i
	}
	return s
}

// First returns the k first of n positions, sorted if sorted is asked for
// (few of many are sorted anyway).
func First(n, k int, sorted bool, less func(i, j int) bool) []int {
	s := NewSelection(n, less)
	switch {
	case k == 0:
	case k*64 <= n:
		s.heapSelect(0, k, n)
		s.sortHeap(0, k)
	default:
		s.nthElement(0, k-1, n)
		if sorted {
			s.Sort(0, k-1)
		}
	}
	return s.At[:k]
}

func (s *Selection) swap(i, j int) { s.At[i], s.At[j] = s.At[j], s.At[i] }

// before compares the elements at two places.
func (s *Selection) before(i, j int) bool { return s.less(s.At[i], s.At[j]) }

// sift moves value down from hole in the heap of n places from first on, and up
// again to where it belongs.
func (s *Selection) sift(first, hole, n, value int) {
	top, child := hole, hole
	for child < (n-1)/2 {
		child = 2 * (child + 1)
		if s.before(first+child, first+child-1) {
			child--
		}
		s.At[first+hole] = s.At[first+child]
		hole = child
	}
	if n%2 == 0 && child == (n-2)/2 {
		child = 2*child + 1
		s.At[first+hole] = s.At[first+child]
		hole = child
	}
	for hole > top {
		parent := (hole - 1) / 2
		if !s.less(s.At[first+parent], value) {
			break
		}
		s.At[first+hole] = s.At[first+parent]
		hole = parent
	}
	s.At[first+hole] = value
}

// heapSelect leaves the first middle-first elements of a range as a heap.
func (s *Selection) heapSelect(first, middle, last int) {
	n := middle - first
	for parent := (n - 2) / 2; parent >= 0 && n > 1; parent-- {
		s.sift(first, parent, n, s.At[first+parent])
	}
	for i := middle; i < last; i++ {
		if s.before(i, first) {
			s.popTo(first, n, i)
		}
	}
}

// popTo puts the root of a heap at place to and what was there into the heap.
func (s *Selection) popTo(first, n, to int) {
	value := s.At[to]
	s.At[to] = s.At[first]
	s.sift(first, 0, n, value)
}

func (s *Selection) sortHeap(first, last int) {
	for last--; last > first; last-- {
		s.popTo(first, last-first, last)
	}
}

// depthLimit is how often a range is parted before heaps take over.
func depthLimit(n int) int { return 2 * (bits.Len(uint(n)) - 1) }

// nthElement puts the element of rank nth in its place.
func (s *Selection) nthElement(first, nth, last int) {
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
func (s *Selection) part(first, last int) int {
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
func (s *Selection) medianTo(to, a, b, c int) {
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

// Sort sorts the places from first to last.
func (s *Selection) Sort(first, last int) {
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
func (s *Selection) partAll(first, last, depth int) {
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

func (s *Selection) insertionSort(first, last int) {
	for i := first + 1; i < last; i++ {
		if !s.before(i, first) {
			s.insert(i)
			continue
		}
		value := s.At[i]
		copy(s.At[first+1:i+1], s.At[first:i])
		s.At[first] = value
	}
}

// insert moves the element at i down to its place; one below it stops it.
func (s *Selection) insert(i int) {
	value := s.At[i]
	for s.less(value, s.At[i-1]) {
		s.At[i] = s.At[i-1]
		i--
	}
	s.At[i] = value
}

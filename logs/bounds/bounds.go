// Package bounds keeps lists within a bound: it divides the room among their owners and picks what each one
// keeps. It imports nothing of this project; bounds.go is all of it.
package bounds

import (
	"cmp"
	"math"
	"slices"
)

// EvenShare is how many each owner may keep of what it has, so that no more than all are kept together: those that
// have less leave more to the others. It sorts the counts.
func EvenShare(counts []int, all int) int {
	slices.Sort(counts)
	for i, n := range counts {
		share := all / (len(counts) - i)
		if n > share {
			return share
		}
		all -= n
	}
	return math.MaxInt32
}

// Longest returns the n longest of a list in their order, of those that are equally long the first, and how long the
// longest is that it leaves out. n must be less than the length of the list.
func Longest[T any, L cmp.Ordered](list []T, n int, length func(*T) L) (kept []T, cut L) {
	lengths := make([]L, len(list))
	for i := range list {
		lengths[i] = length(&list[i])
	}
	slices.Sort(lengths)
	cut = lengths[len(lengths)-n-1]
	equal := n // how many as long as cut are kept
	for _, d := range slices.Backward(lengths) {
		if d == cut {
			break
		}
		equal--
	}
	kept = make([]T, 0, n)
	for i := range list {
		switch d := length(&list[i]); {
		case d == cut && equal > 0:
			equal--
			kept = append(kept, list[i])
		case d > cut:
			kept = append(kept, list[i])
		}
	}
	return kept, cut
}

package explain

import (
	"math"
	"slices"
)

// This file divides room among ranks.

// EvenShare is how many each may keep of what it has, so that there are no more than so many in all: those that have less
// leave more to the others. The counts are sorted.
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

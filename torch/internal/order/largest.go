package order

import (
	"math"
	"slices"
)

// Largest puts the places of the largest numbers of row in first, the largest first and
// of equal ones the one that comes first. It keeps those so far as a heap under the
// last of them.
func Largest(first []int64, row []float64) {
	after := func(a, b int64) bool { return row[a] < row[b] || row[a] == row[b] && a > b }
	sink := func(i int) {
		for {
			last := i
			for c := 2*i + 1; c <= 2*i+2 && c < len(first); c++ {
				if after(first[c], first[last]) {
					last = c
				}
			}
			if last == i {
				return
			}
			first[i], first[last] = first[last], first[i]
			i = last
		}
	}
	for i, v := range row {
		if v != v { // nothing over nothing
			row[i] = math.Inf(-1)
		}
	}
	for i := range first {
		first[i] = int64(i)
	}
	for i := len(first)/2 - 1; i >= 0; i-- {
		sink(i)
	}
	least := row[first[0]]
	for i := len(first); i < len(row); i++ {
		if row[i] > least {
			first[0] = int64(i)
			sink(0)
			least = row[first[0]]
		}
	}
	slices.SortFunc(first, func(a, b int64) int {
		if after(b, a) {
			return -1
		}
		return 1
	})
}

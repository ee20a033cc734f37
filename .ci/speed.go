// Command speed prints how many milliseconds of processor time this machine takes for a fixed piece of work of the kind
// that compilers do: sorting, hashing and small allocations. CI divides the tests' processor time by it.
package main

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"
)

func main() {
	state, names := uint64(1), map[string][]int{}
	for round := range 6 {
		numbers := make([]uint64, 1<<19)
		for i := range numbers {
			state = state*6364136223846793005 + 1442695040888963407
			numbers[i] = state >> 33
		}
		slices.Sort(numbers)
		for i, n := range numbers[:1<<17] {
			key := strconv.FormatUint(n, 36)
			names[key] = append(names[key], i+round)
		}
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	fmt.Println((used.Utime.Nano() + used.Stime.Nano()) / 1e6)
}

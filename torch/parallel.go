package torch

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// This file splits work over goroutines.

type scratch [maxOperands][chunkSize]uint64

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

var numThreads atomic.Int32

// SetNumThreads limits how many threads an operator uses.
func SetNumThreads(n int) { numThreads.Store(int32(n)) }

// GetNumThreads is the number of threads that an operator uses.
func GetNumThreads() int {
	if n := int(numThreads.Load()); n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// parallel runs f over 0..n in pieces; work is the number of elements that n
// steps touch, which decides whether more than one goroutine pays. A panic of
// f is raised in the caller.
func parallel(n, work int, f func(from, to int)) {
	workers := min(GetNumThreads(), n, work/parallelGrain)
	if workers <= 1 {
		f(0, n)
		return
	}
	parallelN(workers, func(i int) { f(n*i/workers, n*(i+1)/workers) })
}

// parallelN runs f(0) to f(n-1) at once.
func parallelN(n int, f func(i int)) {
	var wg sync.WaitGroup
	var failed atomic.Pointer[any]
	piece := func(i int) {
		defer func() {
			if r := recover(); r != nil {
				failed.CompareAndSwap(nil, &r)
			}
		}()
		f(i)
	}
	for i := 1; i < n; i++ {
		wg.Go(func() { piece(i) })
	}
	piece(0)
	wg.Wait()
	if r := failed.Load(); r != nil {
		panic(*r)
	}
}

// chunks runs f for every i below n on so many goroutines, each of which takes
// the next i when it is done with one. A panic of f is raised in the caller.
func chunks(threads, n int, f func(i int)) {
	threads = min(threads, n)
	if threads <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	parallelN(threads, func(int) {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	})
}

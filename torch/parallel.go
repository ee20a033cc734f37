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
	var wg sync.WaitGroup
	var failed atomic.Pointer[any]
	piece := func(i int) {
		defer func() {
			if r := recover(); r != nil {
				failed.CompareAndSwap(nil, &r)
			}
		}()
		f(n*i/workers, n*(i+1)/workers)
	}
	for i := 1; i < workers; i++ {
		wg.Go(func() { piece(i) })
	}
	piece(0)
	wg.Wait()
	if r := failed.Load(); r != nil {
		panic(*r)
	}
}

package parallel

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// This file splits work over goroutines.

// Grain is the least number of elements worth a second thread.
const Grain = 16 << 10

// numThreads is the limit that the user set, 0 for none.
var numThreads atomic.Int32

// SetThreads limits how many threads an operator uses.
func SetThreads(n int) { numThreads.Store(int32(n)) }

// Threads is the number of threads that an operator uses: where nobody set it, one for each core,
// since two that share a core's units do not multiply faster than one.
func Threads() int {
	if n := int(numThreads.Load()); n > 0 {
		return n
	}
	n := runtime.GOMAXPROCS(0)
	if c := cores(); c > 0 {
		n = min(n, c)
	}
	return n
}

// cores is how many cores the process may use, whatever the number of their threads; 0 where that
// is not known, or GOMAXPROCS says how many threads the user wants.
var cores = sync.OnceValue(func() int {
	if os.Getenv("GOMAXPROCS") != "" {
		return 0
	}
	return physicalCores("/sys/devices/system/cpu")
})

// piecesPerThread is how many pieces of a range there are for each thread: one
// that is held up leaves the others to the rest.
const piecesPerThread = 4

// For runs f over 0..n in pieces; work is the number of elements that n
// steps touch, which decides whether more than one goroutine pays. A panic of
// f is raised in the caller.
func For(n, work int, f func(from, to int)) {
	threads := min(Threads(), n, work/Grain)
	if threads <= 1 {
		f(0, n)
		return
	}
	pieces := min(n, threads*piecesPerThread, max(work/Grain, threads))
	Each(threads, pieces, func(i int) { f(n*i/pieces, n*(i+1)/pieces) })
}

// Each runs f for every i below n on so many goroutines, each of which takes
// the next i when it is done with one. A panic of f is raised in the caller.
func Each(threads, n int, f func(i int)) {
	threads = min(threads, n)
	if threads <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	t := &team{f: f, n: int64(n)}
	t.open.Add(n)
	t.place.Store(-1)
	for range threads - 1 {
		hire(t)
	}
	t.lead()
	t.wait()
}

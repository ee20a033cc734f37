package goroutine

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
)

// This file tells goroutines apart by the number that the runtime gives each, which it
// prints and does not export: no two goroutines of a process have the same. It lies in
// the goroutine's memory, at a place that releases of Go may change; so the place is
// looked for at the first use, among goroutines whose numbers are known as printed.

// searched is how much of a goroutine's memory the number is looked for in; it is less
// than the runtime's structure has.
const searched = 256

// ID is the number of the calling goroutine.
func ID() uint64 { return id() }

// id is the number of the calling goroutine.
func id() uint64 {
	if at := idPlace(); at >= 0 {
		return word(uintptr(at))
	}
	return printedID()
}

// idPlace is where a goroutine's memory holds its number, -1 where it is not found in
// one place and no other.
var idPlace = sync.OnceValue(func() int {
	if !readable {
		return -1
	}
	possible := candidates()
	for range 4 {
		found := make(chan map[int]bool)
		go func() { found <- candidates() }()
		other := <-found
		for at := range possible {
			if !other[at] {
				delete(possible, at)
			}
		}
	}
	if len(possible) != 1 {
		return -1
	}
	for at := range possible {
		return at
	}
	return -1
})

// candidates are the places that hold the number of the calling goroutine.
func candidates() map[int]bool {
	want, out := printedID(), map[int]bool{}
	for at := 0; at < searched; at += 8 {
		if word(uintptr(at)) == want {
			out[at] = true
		}
	}
	return out
}

// printedID reads the number from the head of a stack trace: goroutine 18 [running]:
func printedID() uint64 {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("goroutine: a stack trace begins with " + strconv.Quote(string(text)))
	}
	return n
}

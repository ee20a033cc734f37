//go:build amd64 || arm64

package goroutine

// readable tells that the memory of goroutines can be read.
const readable = true

// memory is the address of the runtime's structure of the calling goroutine.
//
//go:noescape
func memory() uintptr

// word is what lies at an offset of that structure.
//
//go:noescape
func word(offset uintptr) uint64

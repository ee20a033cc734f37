//go:build amd64 || arm64

// Package prefetch asks the processor for memory that will be read. It imports nothing.
package prefetch

// Lines asks for the cache lines at addresses, which need not be memory of the process any more: nothing is
// read, and nothing faults.
//
//go:noescape
func Lines(addresses []uintptr)

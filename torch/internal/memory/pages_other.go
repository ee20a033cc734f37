//go:build !linux

package memory

func hugeBytes(n int, _ bool) []byte { return alignedBytes(n) }

func releaseHuge([]byte) {}

//go:build !linux

package memory

func hugeBytes(n int) []byte { return alignedBytes(n) }

func releaseHuge([]byte) {}

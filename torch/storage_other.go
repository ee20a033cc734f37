//go:build !linux

package torch

func hugeBytes(n int) []byte { return alignedBytes(n) }

func releaseHuge([]byte) {}
